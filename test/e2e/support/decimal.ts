/** Exact decimal arithmetic for tests, in whole millionths. */
const MILLION = 1_000_000n;

export function millionths(text: string): bigint {
  const negative = text.startsWith("-");
  const [whole = "0", fraction = ""] = (negative ? text.slice(1) : text).split(".");
  const value = BigInt(whole) * MILLION + BigInt(fraction.padEnd(6, "0"));
  return negative ? -value : value;
}

export function decimal(value: bigint): string {
  const digits = (value < 0n ? -value : value).toString().padStart(7, "0");
  const fraction = digits.slice(-6).replace(/0+$/, "");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -6)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** a × b. Throws unless the product is a whole number of millionths. */
export function times(a: string, b: string): string {
  const product = millionths(a) * millionths(b);
  if (product % MILLION !== 0n) throw new Error(`${a} × ${b} is finer than a millionth`);
  return decimal(product / MILLION);
}

export const sum = (...terms: string[]): string => decimal(terms.reduce((total, term) => total + millionths(term), 0n));
