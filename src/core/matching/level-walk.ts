import { NONE } from "../base/columns.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { nextSliceLots } from "./iceberg.ts";

/**
 * Iterates over the orders of one price as a taker would meet them: first the queue, then the further slices of icebergs,
 * each in the order in which it would join the back of the queue. Changes nothing.
 */
export class LevelWalk {
  /** The current order, and its lots: all of them, or one slice of an iceberg. */
  slot = NONE;
  lots: QuantityLots = 0;
  private state!: SymbolState;
  private nextInQueue = NONE;
  /** Icebergs with further slices: slot and hidden lots, alternating. */
  private readonly requeued: number[] = [];
  private nextRequeued = 0;
  private isShownOnly = false;

  /** `isShownOnly`: without the hidden slices, as market data shows the queue. */
  begin(state: SymbolState, priceTicks: PriceTicks, isShownOnly = false): void {
    this.state = state;
    this.isShownOnly = isShownOnly;
    this.nextInQueue = state.book.first(priceTicks);
    this.requeued.length = 0;
    this.nextRequeued = 0;
  }

  /** Goes to the next order or slice. Returns false at the end. */
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

  /** The current order is canceled: drop its further slices, too. */
  dropCurrent(): void {
    const { requeued } = this;
    if (requeued.length > this.nextRequeued && requeued.at(-2) === this.slot) requeued.length -= 2;
  }

  private requeue(hiddenLots: QuantityLots): void {
    if (hiddenLots > 0 && !this.isShownOnly) this.requeued.push(this.slot, hiddenLots);
  }
}
