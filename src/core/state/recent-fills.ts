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
 * The latest trades, at most MAX_CAPACITY entries of them. A settlement traces with them from whom a bankrupt account took its
 * position. The trades of an order with one account at one time are one entry: else the slices of a few icebergs would push out
 * all others for little money. They are not in snapshots: after a restart only the trades of the replayed log are known.
 */
export class RecentFills {
  private entries = new Float64Array(FIRST_CAPACITY * STRIDE);
  private capacity = FIRST_CAPACITY;
  private count = 0;
  /** Of the oldest entry. */
  private first = 0;
  /** Entries that were made before the oldest one. */
  private forgotten = 0;
  /** Of the latest trade. */
  private time: TimeMs = 0;
  private takerOrderId = 0;
  /** The maker of that order's first trade, and how many entries were made before this trade's. */
  private firstMaker = 0;
  private firstEntry = 0;
  /** The same of its other makers. Most orders have none, and pay nothing for it. */
  private readonly entryOfMaker = new Map<number, number>();

  add(time: TimeMs, takerOrderId: number, buyerRow: number, sellerRow: number, lots: QuantityLots): void {
    const isNext = takerOrderId === this.takerOrderId && time === this.time;
    // One of the two rows is the same in all trades of an order. So the sum tells the makers apart.
    const maker = buyerRow + sellerRow;
    if (isNext && this.merge(maker, lots)) return;
    if (this.count === this.capacity) this.makeRoom(time);
    const entry = this.forgotten + this.count;
    if (isNext) this.entryOfMaker.set(maker, entry);
    else {
      this.time = time;
      this.takerOrderId = takerOrderId;
      this.firstMaker = maker;
      this.firstEntry = entry;
      if (this.entryOfMaker.size > 0) this.entryOfMaker.clear();
    }
    const at = this.offset(this.count++);
    const { entries } = this;
    entries[at] = time;
    entries[at + 1] = buyerRow;
    entries[at + 2] = sellerRow;
    entries[at + 3] = lots;
  }

  /** Adds the lots to the order's entry with this maker. Returns false if there is none, or none any more. */
  private merge(maker: number, lots: QuantityLots): boolean {
    const entry = maker === this.firstMaker ? this.firstEntry : this.entryOfMaker.get(maker);
    if (entry === undefined || entry < this.forgotten) return false;
    this.entries[this.offset(entry - this.forgotten) + 3] += lots;
    return true;
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
    this.forgotten++;
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
