/** A checksum over fills, in order: two runs with equal sums filled the same lots of the same orders. */
export class Fills {
  count = 0;
  lots = 0;
  checksum = 0;

  /** `maker`: number of the resting order among all adds of the stream. */
  add(maker: number, lots: number): void {
    this.count++;
    this.lots += lots;
    this.checksum = Math.imul(Math.imul(this.checksum ^ maker, 0x01000193) ^ lots, 0x01000193);
  }

  /** Throws unless both are equal: a fast engine must also be right. */
  mustEqual(other: Fills, who: string): void {
    if (this.count === other.count && this.lots === other.lots && this.checksum === other.checksum) return;
    throw new Error(`${who} made ${text(this)}; the stream says ${text(other)}`);
  }
}

const text = ({ count, lots, checksum }: Fills): string => `${count} fills of ${lots} lots (checksum ${checksum})`;
