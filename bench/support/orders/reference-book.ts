import { BUY, SELL } from "../../../src/core/base/enums.ts";
import type { Fills } from "./fills.ts";

interface Queue {
  readonly adds: number[];
  head: number;
}

/**
 * The simplest order book by price and time: it determines the fills of a stream. Orders are identified by their number
 * among all adds.
 */
export class ReferenceBook {
  readonly fills: Fills;
  private readonly remaining: Int32Array;
  private readonly queues = new Map<number, Queue>();
  /** Bounds: no resting order of the side is better. */
  private bestBid = Number.NEGATIVE_INFINITY;
  private bestAsk = Number.POSITIVE_INFINITY;

  constructor(maxAdds: number, fills: Fills) {
    this.remaining = new Int32Array(maxAdds);
    this.fills = fills;
  }

  rest(add: number, side: number, priceTicks: number, lots: number): void {
    this.remaining[add] = lots;
    let queue = this.queues.get(priceTicks);
    if (queue === undefined) {
      queue = { adds: [], head: 0 };
      this.queues.set(priceTicks, queue);
    }
    queue.adds.push(add);
    if (side === BUY) this.bestBid = Math.max(this.bestBid, priceTicks);
    else this.bestAsk = Math.min(this.bestAsk, priceTicks);
  }

  cancel(add: number): void {
    this.remaining[add] = 0;
  }

  /**
   * Fills `lots` from the other side, up (down) to `limitTicks`. Calls `filled` for each order that it fills
   * completely.
   */
  take(side: number, limitTicks: number, lots: number, filled: (add: number) => void): void {
    let left = lots;
    while (left > 0) {
      const price = side === BUY ? this.bestAsk : this.bestBid;
      if (side === BUY ? price > limitTicks : price < limitTicks)
        throw new Error("the book has no more orders within the limit");
      left = this.takeFrom(this.queues.get(price), left, filled);
      if (left === 0) break;
      if (side === SELL) this.bestBid--;
      else this.bestAsk++;
    }
  }

  private takeFrom(queue: Queue | undefined, lots: number, filled: (add: number) => void): number {
    if (queue === undefined) return lots;
    let left = lots;
    for (; queue.head < queue.adds.length; queue.head++) {
      const add = queue.adds[queue.head];
      const taken = Math.min(left, this.remaining[add]);
      if (taken === 0) {
        if (left === 0) break;
        continue; // canceled
      }
      this.remaining[add] -= taken;
      left -= taken;
      this.fills.add(add, taken);
      if (this.remaining[add] > 0) break;
      filled(add);
    }
    return left;
  }
}
