/** Splits a safe integer into two halves, many of which add up in plain numbers. */
const SPLIT = 2 ** 26;

/** The exact sum of up to 2^26 safe integers, at the cost of plain numbers. */
export class ExactSum {
  private high = 0;
  private low = 0;

  add(value: number): void {
    const high = Math.floor(value / SPLIT);
    this.high += high;
    this.low += value - high * SPLIT;
  }

  get total(): bigint {
    return BigInt(this.high) * BigInt(SPLIT) + BigInt(this.low);
  }
}
