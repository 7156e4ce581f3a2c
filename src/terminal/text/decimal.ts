/** Exact arithmetic with decimal texts, such as the API sends: digits, at most one point, a sign in front. */

const DECIMAL = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;

/** What a person types, as the API wants it: "01,000.50" → "1000.50", ".5" → "0.5". Null when it is no number. */
export function cleanDecimal(typed: string): string | null {
  const text = typed
    .replaceAll(/[\s,_]/g, "")
    .replace(/^\./, "0.")
    .replace(/\.$/, "")
    .replace(/^0+(?=\d)/, "");
  return /[0-9]/.test(typed) && DECIMAL.test(text) && text.length <= 25 ? text : null;
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

/** A number from a calculation as a decimal text, cut to a multiple of `step`. "0" when it is not finite or negative. */
export function fromNumber(value: number, step: string, rounding: Rounding = "DOWN"): string {
  if (!Number.isFinite(value) || value <= 0) return "0";
  // Two further decimals keep 0.3 - 0.1 from becoming a step less.
  return toStep(value.toFixed(Math.min(20, decimalsOf(step) + 2)), step, rounding);
}

export const times = (value: string, factor: number, step: string): string => fromNumber(Number(value) * factor, step);
