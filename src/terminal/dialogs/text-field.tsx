import { useId } from "preact/hooks";
import type { PerpdError } from "../../client/error.ts";
import { nearestOf, refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";

/** A labelled input of a dialog, with the exchange's refusal below it and the nearest valid values. */
export function TextField(props: {
  label: string;
  value: string;
  unit?: string;
  /** A text, such as an address: the label stands above it. Otherwise a number. */
  isText?: boolean;
  placeholder?: string;
  /** The last refusal, if it concerns this field. */
  refusal?: PerpdError | null;
  onChange: (value: string) => void;
}) {
  const { label, value, unit, isText = false, placeholder, refusal, onChange } = props;
  const id = useId();
  const isBad = refusal != null;
  return (
    <div class="field">
      <div class={isText ? "box stacked" : "box"} data-bad={isBad || undefined}>
        <label class="box-label" for={id}>
          {label}
        </label>
        <input
          id={id}
          inputMode={isText ? "text" : "decimal"}
          autocomplete="off"
          spellcheck={false}
          maxLength={isText ? 1000 : 80}
          value={value}
          placeholder={placeholder ?? ""}
          aria-invalid={isBad}
          {...(isBad && { "aria-describedby": `${id}-note` })}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
        {unit !== undefined && <span class="box-unit">{unit}</span>}
      </div>
      {isBad && (
        <p class="note bad" id={`${id}-note`}>
          {refusalText(refusal)}{" "}
          {nearestOf(refusal).map((each) => (
            <button
              type="button"
              class="link"
              onClick={() => {
                onChange(each);
                // The button goes with the refusal.
                document.getElementById(id)?.focus();
              }}
            >
              {text.use(each)}
            </button>
          ))}
        </p>
      )}
    </div>
  );
}
