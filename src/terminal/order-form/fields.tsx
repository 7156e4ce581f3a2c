import type { ComponentChildren } from "preact";
import { nearestOf, refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import type { Draft, Fault, Field } from "./draft.ts";
import { built, change, draft, formFieldOf, refusal } from "./form-state.ts";

/** A labelled input of the draft with its fault below it. */
export function DecimalField(props: {
  field: Field;
  label: string;
  unit?: ComponentChildren;
  placeholder?: string;
  /** Buttons inside the box, before the unit. */
  children?: ComponentChildren;
}) {
  const { field, label, unit, placeholder, children } = props;
  const typed = String(draft.value[field]);
  const fault = typed === "" ? undefined : built.value.faults.get(field);
  const refused = refusal.value !== null && formFieldOf(refusal.value.field) === field ? refusal.value : null;
  const noteId = `note-${field}`;
  const hasNote = fault !== undefined || refused !== null;
  return (
    <div class="field">
      <div class="box" data-bad={hasNote || undefined}>
        <label class="box-label" for={`field-${field}`}>
          {label}
        </label>
        <input
          id={`field-${field}`}
          inputMode="decimal"
          autocomplete="off"
          spellcheck={false}
          maxLength={40}
          value={typed}
          placeholder={placeholder ?? ""}
          aria-invalid={hasNote}
          {...(hasNote && { "aria-describedby": noteId })}
          onInput={(event) => change({ [field]: event.currentTarget.value } as Partial<Draft>)}
        />
        {children}
        {unit !== undefined && <span class="box-unit">{unit}</span>}
      </div>
      {hasNote && (
        <p class="note bad" id={noteId}>
          {fault !== undefined ? faultText(fault) : refused === null ? "" : refusalText(refused)}{" "}
          {(fault?.nearest ?? (refused === null ? [] : nearestOf(refused))).map((value) => (
            <button type="button" class="link" onClick={() => change({ [field]: value } as Partial<Draft>)}>
              {text.use(value)}
            </button>
          ))}
        </p>
      )}
    </div>
  );
}

function faultText({ kind, limit }: Fault): string {
  switch (kind) {
    case "EMPTY":
      return text.faultEmpty;
    case "NO_NUMBER":
      return text.faultNoNumber;
    case "ZERO":
      return text.faultZero;
    case "OFF_STEP":
      return text.faultOffStep(limit);
    case "OUT_OF_RANGE":
      return text.faultRange(limit);
  }
}

export function Check(props: { field: Field; label: string; hint?: string; isDisabled?: boolean }) {
  const { field, label, hint, isDisabled } = props;
  return (
    <label class="check" title={hint}>
      <input
        type="checkbox"
        checked={draft.value[field] === true}
        disabled={isDisabled === true}
        onChange={(event) => change({ [field]: event.currentTarget.checked } as Partial<Draft>)}
      />
      {label}
    </label>
  );
}
