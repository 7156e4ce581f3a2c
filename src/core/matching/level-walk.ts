import { NONE } from "../base/columns.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { nextSliceLots } from "./iceberg.ts";

/**
 * The orders of a price in the sequence in which a taker that takes them all would meet them: the queue, and behind it
 * the further slices of its icebergs, each at the back when the one before it is used up. Changes nothing.
 */
export class LevelWalk {
  /** What is met, and with how much: an order with all of it, an iceberg with a slice. */
  slot = NONE;
  lots: QuantityLots = 0;
  private state!: SymbolState;
  private nextInQueue = NONE;
  /** Icebergs that come again, in that order: slot and hidden lots by turns. */
  private readonly requeued: number[] = [];
  private nextRequeued = 0;
  private isShownOnly = false;

  /** `isShownOnly`: the queue as everyone may know it, without what is hidden. */
  begin(state: SymbolState, priceTicks: PriceTicks, isShownOnly = false): void {
    this.state = state;
    this.isShownOnly = isShownOnly;
    this.nextInQueue = state.book.first(priceTicks);
    this.requeued.length = 0;
    this.nextRequeued = 0;
  }

  /** False when nothing is left. */
  next(): boolean {
    const { state, nextInQueue } = this;
    if (nextInQueue !== NONE) {
      this.slot = nextInQueue;
      this.lots = state.open.shownLots(nextInQueue);
      this.nextInQueue = state.orders.next(nextInQueue);
      if (state.orders.isIceberg(nextInQueue)) this.requeue(state.open.hiddenLots(nextInQueue));
      return true;
    }
    if (this.nextRequeued === this.requeued.length) return false;
    this.slot = this.requeued[this.nextRequeued++];
    const hiddenLots = this.requeued[this.nextRequeued++];
    this.lots = nextSliceLots(state, this.slot, hiddenLots);
    this.requeue(hiddenLots - this.lots);
    return true;
  }

  /** What is met is gone as a whole: nothing of it comes again. */
  dropCurrent(): void {
    const { requeued } = this;
    if (requeued.length > this.nextRequeued && requeued.at(-2) === this.slot) requeued.length -= 2;
  }

  private requeue(hiddenLots: QuantityLots): void {
    if (hiddenLots > 0 && !this.isShownOnly) this.requeued.push(this.slot, hiddenLots);
  }
}
