import type { QuantityLots, TimeMs } from "../base/units.ts";

/** How far a settlement looks back from the last mark: longer than any price feed is behind the market. */
export const TRACED_MS = 15_000;
const FIRST_CAPACITY = 1024;
/** 4 MiB of memory. */
const MAX_CAPACITY = 131_072;
/** Within this time no trade makes room for a later one: the mark may have stood for a while before a settlement looks back. */
export const KEPT_MS = 60_000;

/** Numbers of an entry: time in ms, row of the buyer, row of the seller, lots. */
const STRIDE = 4;

/**
 * The latest trades, at most MAX_CAPACITY of them. A settlement traces with them from whom a bankrupt account
 * took its position. They are not in snapshots: after a restart only the trades of the replayed log are known.
 */
export class RecentFills {
  private entries = new Float64Array(FIRST_CAPACITY * STRIDE);
  private capacity = FIRST_CAPACITY;
  private count = 0;
  /** Of the oldest entry. */
  private first = 0;

  add(time: TimeMs, buyerRow: number, sellerRow: number, lots: QuantityLots): void {
    if (this.count === this.capacity) this.makeRoom(time);
    const at = this.offset(this.count++);
    const { entries } = this;
    entries[at] = time;
    entries[at + 1] = buyerRow;
    entries[at + 2] = sellerRow;
    entries[at + 3] = lots;
  }

  /** Visits the trades since `time`, the oldest first. */
  eachSince(time: TimeMs, visit: (buyerRow: number, sellerRow: number, lots: QuantityLots) => void): void {
    const { entries } = this;
    for (let i = 0; i < this.count; i++) {
      const at = this.offset(i);
      if (entries[at] >= time) visit(entries[at + 1], entries[at + 2], entries[at + 3]);
    }
  }

  private offset(index: number): number {
    return ((this.first + index) & (this.capacity - 1)) * STRIDE;
  }

  /** Grows while the oldest trade is to be kept. Otherwise, and at the largest capacity, that one is forgotten. */
  private makeRoom(time: TimeMs): void {
    const isKept = this.entries[this.offset(0)] >= time - KEPT_MS;
    if (isKept && this.capacity < MAX_CAPACITY) return this.grow();
    this.first = (this.first + 1) & (this.capacity - 1);
    this.count--;
  }

  private grow(): void {
    const larger = new Float64Array(this.entries.length * 2);
    const split = this.first * STRIDE;
    larger.set(this.entries.subarray(split));
    larger.set(this.entries.subarray(0, split), this.entries.length - split);
    this.entries = larger;
    this.capacity *= 2;
    this.first = 0;
  }
}
