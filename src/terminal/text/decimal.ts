/** Exact arithmetic with decimal texts, such as the API sends: digits, at most one point, a sign in front. */

const DECIMAL = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;

/** With the same separator after each three digits. */
const GROUPED = /^-?[1-9][0-9]{0,2}(?:([ ,_\u00a0\u2009\u202f])[0-9]{3})(?:\1[0-9]{3})*(?:\.[0-9]*)?$/;

/**
 * A number that a person typed or pasted, as the API wants it: "1,000.50" → "1000.50", ".5" → "0.5". Null when it is no
 * number. So is "0,5": one that takes the comma for a point must not trade ten times the size.
 */
export function cleanDecimal(typed: string): string | null {
  const trimmed = typed.trim();
  const text = (GROUPED.test(trimmed) ? trimmed.replaceAll(/[^0-9.-]/g, "") : trimmed)
    .replace(/^\.(?=[0-9])/, "0.")
    .replace(/(?<=[0-9])\.$/, "")
    .replace(/^0+(?=[0-9])/, "");
  return DECIMAL.test(text) && text.length <= 25 ? text : null;
}

export const decimalsOf = (text: string): number => (text.includes(".") ? text.length - text.indexOf(".") - 1 : 0);

/** In units of 10 ** -decimals. Further decimals are cut off. */
export function toUnits(text: string, decimals: number): bigint {
  const [whole = "0", part = ""] = text.replace("-", "").split(".");
  const units = BigInt(whole + part.slice(0, decimals).padEnd(decimals, "0"));
  return text.startsWith("-") ? -units : units;
}

/** The reverse of toUnits(), without zeros at the end. */
export function fromUnits(units: bigint, decimals: number): string {
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const part = decimals === 0 ? "" : digits.slice(-decimals).replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${whole}${part === "" ? "" : `.${part}`}`;
}

export type Rounding = "DOWN" | "UP" | "NEAREST";

/** The multiple of `step` at or beside a value that is not negative. */
export function toStep(value: string, step: string, rounding: Rounding): string {
  const decimals = Math.max(decimalsOf(value), decimalsOf(step));
  const units = toUnits(value, decimals);
  const stepUnits = toUnits(step, decimals);
  const down = units / stepUnits;
  const rest = units % stepUnits;
  const isUp = rest > 0n && (rounding === "UP" || (rounding === "NEAREST" && 2n * rest >= stepUnits));
  return fromUnits((isUp ? down + 1n : down) * stepUnits, decimals);
}

export const isMultiple = (value: string, step: string): boolean => {
  const decimals = Math.max(decimalsOf(value), decimalsOf(step));
  return toUnits(value, decimals) % toUnits(step, decimals) === 0n;
};

/** Whether a value that is not negative is above another. */
export const isAbove = (value: string, other: string): boolean => {
  const decimals = Math.max(decimalsOf(value), decimalsOf(other));
  return toUnits(value, decimals) > toUnits(other, decimals);
};

/** A number from a calculation as a decimal text, cut to a multiple of `step`. "0" when it is not finite or negative. */
export function fromNumber(value: number, step: string, rounding: Rounding = "DOWN"): string {
  if (!Number.isFinite(value) || value <= 0) return "0";
  // Two further decimals keep 0.3 - 0.1 from becoming a step less.
  return toStep(value.toFixed(Math.min(20, decimalsOf(step) + 2)), step, rounding);
}

/** Exact. A value may be negative. */
export function sum(values: readonly string[]): string {
  const decimals = Math.max(0, ...values.map(decimalsOf));
  return fromUnits(
    values.reduce((total, value) => total + toUnits(value, decimals), 0n),
    decimals,
  );
}

export const times = (value: string, factor: number, step: string): string => fromNumber(Number(value) * factor, step);
