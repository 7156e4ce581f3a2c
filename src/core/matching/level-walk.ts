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
  private following = NONE;
  /** Icebergs that come again, in that order: slot and hidden lots by turns. */
  private readonly again: number[] = [];
  private nextAgain = 0;
  private isShownOnly = false;

  /** `isShownOnly`: the queue as everyone may know it, without what is hidden. */
  begin(state: SymbolState, priceTicks: PriceTicks, isShownOnly = false): void {
    this.state = state;
    this.isShownOnly = isShownOnly;
    this.following = state.book.first(priceTicks);
    this.again.length = 0;
    this.nextAgain = 0;
  }

  /** False when nothing is left. */
  next(): boolean {
    const { state, following } = this;
    if (following !== NONE) {
      this.slot = following;
      this.lots = state.open.shownLots(following);
      this.following = state.orders.next(following);
      if (state.orders.isIceberg(following)) this.comeAgain(state.open.hiddenLots(following));
      return true;
    }
    if (this.nextAgain === this.again.length) return false;
    this.slot = this.again[this.nextAgain++];
    const hiddenLots = this.again[this.nextAgain++];
    this.lots = nextSliceLots(state, this.slot, hiddenLots);
    this.comeAgain(hiddenLots - this.lots);
    return true;
  }

  /** What is met is gone as a whole: nothing of it comes again. */
  drop(): void {
    const { again } = this;
    if (again.length > this.nextAgain && again.at(-2) === this.slot) again.length -= 2;
  }

  private comeAgain(hiddenLots: QuantityLots): void {
    if (hiddenLots > 0 && !this.isShownOnly) this.again.push(this.slot, hiddenLots);
  }
}
