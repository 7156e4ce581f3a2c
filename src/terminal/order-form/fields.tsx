import type { ComponentChildren } from "preact";
import type { PerpdError } from "../../client/error.ts";
import { instrument } from "../state/markets.ts";
import { refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import type { Draft, Field } from "./draft.ts";
import { built, change, draft, formFieldOf, isAttempted, isTooLarge, nearestValues, refusal } from "./form-state.ts";
import { takeShare } from "./largest-order.ts";

/** The fault of a field: one that the page sees, or the exchange's refusal. An empty field may wait until the order is sent. */
function faultOf(field: Field): PerpdError | null {
  const fault = built.value.faults.get(field);
  if (fault !== undefined && (fault.code !== "EMPTY" || isAttempted.value)) return fault;
  return refusal.value !== null && formFieldOf(refusal.value.field) === field ? refusal.value : null;
}

/** A labelled input of the draft with its fault below it. */
export function DecimalField(props: {
  field: Field;
  label: string;
  unit?: ComponentChildren;
  placeholder?: string;
  /** Controls inside the box, before the unit. */
  children?: ComponentChildren;
}) {
  const { field, label, unit, placeholder, children } = props;
  const fault = faultOf(field);
  return (
    <div class="field">
      <div class="box" data-bad={fault !== null || undefined}>
        <label class="box-label" for={`field-${field}`}>
          {label}
        </label>
        <input
          id={`field-${field}`}
          inputMode="decimal"
          autocomplete="off"
          spellcheck={false}
          maxLength={40}
          value={String(draft.value[field])}
          placeholder={placeholder ?? ""}
          aria-invalid={fault !== null}
          {...(fault !== null && { "aria-describedby": `note-${field}` })}
          onInput={(event) => enter(field, event.currentTarget.value)}
        />
        {children}
        {unit !== undefined && <span class="box-unit">{unit}</span>}
      </div>
      <FieldNote field={field} />
    </div>
  );
}

function enter(field: Field, value: string): void {
  change({ [field]: value, ...(field === "price" && { priceMatch: "" }) } as Partial<Draft>);
}

/** The button that was pressed goes with the fault. */
const focusField = (field: Field): void => document.getElementById(`field-${field}`)?.focus();

/** The fault of a field, and values that would do. */
export function FieldNote({ field }: { field: Field }) {
  const fault = faultOf(field);
  if (fault === null) return null;
  const asset = field === "size" ? ` ${instrument.value?.baseAsset ?? ""}` : "";
  // The exchange counts in the base asset.
  const use = (value: string): void => {
    if (field === "size") change({ size: value, sizeUnit: "BASE" });
    else enter(field, value);
    focusField(field);
  };
  return (
    <p class="note bad" id={`note-${field}`}>
      {refusalText(fault)}{" "}
      {nearestValues(fault).map((value) => (
        <button type="button" class="link" onClick={() => use(value)}>
          {text.use(value + asset)}
        </button>
      ))}
      {isTooLarge(fault) && (
        <button
          type="button"
          class="link"
          onClick={() => void takeShare(100).then((isTaken) => isTaken && focusField("size"))}
        >
          {text.largestOrder}
        </button>
      )}
    </p>
  );
}

export function Check(props: { field: Field; label: string; hint?: string; isDisabled?: boolean }) {
  const { field, label, hint, isDisabled } = props;
  const fault = faultOf(field);
  return (
    <label class="check" title={hint}>
      <input
        type="checkbox"
        checked={draft.value[field] === true}
        disabled={isDisabled === true}
        aria-invalid={fault !== null}
        {...(fault !== null && { "aria-describedby": `note-${field}` })}
        onChange={(event) => change({ [field]: event.currentTarget.checked } as Partial<Draft>)}
      />
      {label}
    </label>
  );
}

/** A choice of a few inside a box. */
export function BoxSelect<F extends "priceMatch" | "sizeUnit" | "stopUnit" | "triggerBy" | "timeInForce">(props: {
  field: F;
  label: string;
  hint?: string;
  value?: Draft[F];
  options: readonly Draft[F][];
  textOf: (option: Draft[F]) => string;
  /** Further fields that the choice changes. */
  also?: Partial<Draft>;
}) {
  const { field, label, hint, options, textOf, also } = props;
  return (
    <select
      class="bare"
      aria-label={label}
      title={hint}
      value={props.value ?? draft.value[field]}
      onChange={(event) => change({ ...also, [field]: event.currentTarget.value } as Partial<Draft>)}
    >
      {options.map((each) => (
        <option value={each}>{textOf(each)}</option>
      ))}
    </select>
  );
}
