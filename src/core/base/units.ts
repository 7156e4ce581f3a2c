import { Decimal } from "decimal.js";

/** A price as a whole number of the instrument's ticks. */
export type PriceTicks = number;
/** A quantity as a whole number of the instrument's lots (`stepSize`). */
export type QuantityLots = number;
/** Money as a whole number of 1e-6 USDC. */
export type Quanta = number;
/** A rate in parts per million: 500 = 0.05 %. */
export type RatePpm = number;
/** Milliseconds since the epoch. */
export type TimeMs = number;

export const QUANTA_DECIMALS = 6;
export const QUANTA_PER_USDC = 1_000_000;
export const PPM = 1_000_000;
export const PPM_DECIMALS = 6;
export const PPB = 1_000_000_000;
export const PPB_DECIMALS = 9;

/** A clone, since `precision` is global in decimal.js. Its default of 20 digits would cut products silently. */
const Exact = Decimal.clone({ precision: 60, rounding: Decimal.ROUND_DOWN });

/**
 * The only decimals accepted: digits, at most one point, no sign, no exponent, no leading zeros. Checked before anything
 * parses them, since raw input can hang decimal.js.
 */
export const DECIMAL_PATTERN = "^(0|[1-9][0-9]{0,11})(\\.[0-9]{1,12})?$";
const DECIMAL = new RegExp(DECIMAL_PATTERN);

/**
 * A decimal string as a whole number of `10^-decimals`. NaN when it is malformed, finer than that, or beyond 2^53.
 * Written by hand, because every order needs it twice: about 30 ns, against 1 us with decimal.js.
 */
export function parseFixed(text: string, decimals: number): number {
  if (!DECIMAL.test(text)) return Number.NaN;
  const point = text.indexOf(".");
  if (point < 0) return toSafe(Number(text) * 10 ** decimals);
  let end = text.length;
  while (text.charCodeAt(end - 1) === 48) end--;
  const fraction = end - point - 1;
  if (fraction > decimals) return Number.NaN;
  const digits = Number(text.slice(0, point) + text.slice(point + 1, end));
  return toSafe(digits * 10 ** (decimals - fraction));
}

/** A whole number of `10^-decimals` as a decimal string without trailing zeros. */
export function printFixed(value: number, decimals: number): string {
  if (value === 0) return "0";
  const negative = value < 0;
  const digits = String(negative ? -value : value);
  if (decimals === 0) return negative ? `-${digits}` : digits;
  const padded = digits.length > decimals ? digits : digits.padStart(decimals + 1, "0");
  const point = padded.length - decimals;
  let end = padded.length;
  while (end > point && padded.charCodeAt(end - 1) === 48) end--;
  const text = end === point ? padded.slice(0, point) : `${padded.slice(0, point)}.${padded.slice(point, end)}`;
  return negative ? `-${text}` : text;
}

export const printQuanta = (quanta: Quanta): string => printFixed(quanta, QUANTA_DECIMALS);
export const parseQuanta = (text: string): Quanta => parseFixed(text, QUANTA_DECIMALS);

/** Quanta as decimal USDC. For sums over all accounts, which may be beyond 2^53. */
export function printBigQuanta(quanta: bigint): string {
  const negative = quanta < 0n;
  const digits = (negative ? -quanta : quanta).toString().padStart(QUANTA_DECIMALS + 1, "0");
  const point = digits.length - QUANTA_DECIMALS;
  const fraction = digits.slice(point).replace(/0+$/, "");
  return `${negative ? "-" : ""}${digits.slice(0, point)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** ceil(a × b ÷ c) for a, b ≥ 0 and c > 0. Exact, also when a × b is beyond 2^53. */
export function mulDivCeil(a: number, b: number, c: number): number {
  const product = a * b;
  if (product <= Number.MAX_SAFE_INTEGER) return divCeil(product, c);
  if (!isNearEnough(product, c)) return Number((BigInt(a) * BigInt(b) + BigInt(c) - 1n) / BigInt(c));
  const quotient = Math.floor(product / c);
  return quotient + Math.ceil(excess(a, b, quotient, c) / c);
}

/** floor(a × b ÷ c) for a, b ≥ 0 and c > 0. Exact, also when a × b is beyond 2^53. */
export function mulDivFloor(a: number, b: number, c: number): number {
  const product = a * b;
  if (product <= Number.MAX_SAFE_INTEGER) return divFloor(product, c);
  if (!isNearEnough(product, c)) return Number((BigInt(a) * BigInt(b)) / BigInt(c));
  const quotient = Math.floor(product / c);
  return quotient + Math.floor(excess(a, b, quotient, c) / c);
}

/** Whether the error of the rounded quotient is so small that excess() and its division by c are exact. */
const isNearEnough = (product: number, c: number): boolean => c <= 2 ** 50 && product <= c * 2 ** 52;

/** a × b − c × d, exact when it is small: the leading parts of the products cancel, and their rounding errors are known. */
function excess(a: number, b: number, c: number, d: number): number {
  return a * b - c * d + (roundingError(a, b) - roundingError(c, d));
}

/** Exact product − rounded product. T. J. Dekker, "A floating-point technique for extending the available precision", 1971. */
function roundingError(a: number, b: number): number {
  const aHigh = highHalf(a);
  const aLow = a - aHigh;
  const bHigh = highHalf(b);
  const bLow = b - bHigh;
  return aHigh * bHigh - a * b + aHigh * bLow + aLow * bHigh + aLow * bLow;
}

/** The upper 26 of a double's 53 bits. */
function highHalf(value: number): number {
  const scaled = value * (2 ** 27 + 1);
  return scaled - (scaled - value);
}

/** amount × part ÷ whole, rounded towards zero, for part ≤ whole. Exact for any size; `amount` when part = whole. */
export function proportion(amount: number, part: number, whole: number): number {
  if (part === whole) return amount;
  return amount < 0 ? -mulDivFloor(-amount, part, whole) : mulDivFloor(amount, part, whole);
}

/**
 * ceil(a ÷ b) for safe integers a ≥ 0, b > 0. The division is rounded, but never to or past a whole number: a quotient that is
 * not whole differs from it by more than the rounding error. V. Lefèvre, "The Euclidean division implemented with a
 * floating-point division and a floor", 2005.
 */
export const divCeil = (a: number, b: number): number => Math.ceil(a / b);

/** floor(a ÷ b), as divCeil(). Several times as fast as `%`, which is a call into C for doubles. */
export const divFloor = (a: number, b: number): number => Math.floor(a / b);

/** numerator ÷ denominator as a decimal string, truncated after `decimals` places. For display only. */
export function printRatio(numerator: number | bigint, denominator: number | bigint, decimals: number): string {
  if (denominator === 0 || denominator === 0n) return "0";
  const text = new Exact(numerator.toString()).div(denominator.toString()).toFixed(decimals);
  if (!text.includes(".")) return text;
  const short = text.replace(/\.?0+$/, "");
  return short === "-0" ? "0" : short;
}

/** A configured decimal, for example a rate or a tick size. Throws on anything that DECIMAL_PATTERN refuses. */
export function configDecimal(text: string, name: string): Decimal {
  if (!DECIMAL.test(text))
    throw new Error(`${name}: "${text}" is not a decimal; use digits and at most one point, for example "0.0005"`);
  return new Exact(text);
}

/** A configured rate ("0.0005") in parts per million. Throws when it is finer than that. */
export function configPpm(text: string, name: string): RatePpm {
  const ppm = configDecimal(text, name).mul(PPM);
  if (!ppm.isInteger()) throw new Error(`${name}: ${text} is finer than 0.000001; use at most 6 decimals`);
  return ppm.toNumber();
}

function toSafe(value: number): number {
  return Number.isSafeInteger(value) ? value : Number.NaN;
}
