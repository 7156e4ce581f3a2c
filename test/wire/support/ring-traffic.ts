/** Records whose length and bytes both ends can derive from their number. */
export class RingTraffic {
  private readonly seed: number;
  private readonly maxBytes: number;

  constructor(seed: number, maxBytes: number) {
    this.seed = seed;
    this.maxBytes = maxBytes;
  }

  /** A number from 0 to 2^32 − 1 that belongs to this record and purpose. */
  draw(record: number, purpose: number): number {
    let x = Math.imul(this.seed ^ Math.imul(record + 1, 0x9e3779b1) ^ Math.imul(purpose + 1, 0x85ebca6b), 0xc2b2ae35);
    x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
    x = Math.imul(x ^ (x >>> 12), 0x297a2d39);
    return (x ^ (x >>> 15)) >>> 0;
  }

  /** Mostly short, sometimes as long as a record may be, sometimes empty. */
  lengthOf(record: number): number {
    const kind = this.draw(record, 0) % 16;
    if (kind === 0) return this.maxBytes - (this.draw(record, 1) % 16);
    if (kind === 1) return this.draw(record, 1) % 3;
    return this.draw(record, 1) % (kind < 4 ? this.maxBytes : 200);
  }

  fill(bytes: Uint8Array, at: number, record: number, length: number): void {
    for (let i = 0; i < length; i++) bytes[at + i] = record + i * 7;
  }

  /** Index of the first wrong byte, or -1. */
  firstWrong(bytes: Uint8Array, at: number, record: number, length: number): number {
    for (let i = 0; i < length; i++) if (bytes[at + i] !== ((record + i * 7) & 255)) return i;
    return -1;
  }
}
