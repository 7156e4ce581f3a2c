/** Where a safe integer is split, so that many halves can be added up in plain numbers: see ExactSum. */
const SPLIT = 2 ** 26;

/** Σ of safe integers, exact for up to 2^26 of them, at the cost of plain numbers. */
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
