import { NONE } from "../base/columns.ts";
import { BUY } from "../base/enums.ts";
import { PPM, type PriceTicks } from "../base/units.ts";
import { Triggers } from "./triggers.ts";

/** Callback rates in parts per million: 0.1 % to 10 %, as on Binance. */
export const MIN_CALLBACK_PPM = 1_000;
export const MAX_CALLBACK_PPM = 100_000;
/** Per symbol. A bound is needed because one price may change all of them in one transaction. */
export const MAX_TRAILING_ORDERS = 2000;
/** Of these, only for orders that close a position and end with it: accounts without one must not take them from the others. */
export const TRAILING_ORDERS_FOR_POSITIONS = 500;
/** An account with more untriggered orders in the symbol takes none of those. */
export const MOST_WAITING_BESIDE = 5;

/** The terms of a trailing order. Its two prices move without an event: see TrailingOrders.follow. */
export interface Trailing {
  readonly callbackPpm: number;
  /** The order trails from this price on; 0 = from the first price. */
  readonly activationTicks: PriceTicks;
  /** Since it trails, the lowest price for a BUY and the highest for a SELL; 0 = it does not trail yet. */
  bestTicks: PriceTicks;
  /** Follows from bestTicks; 0 = it does not trail yet. */
  triggerTicks: PriceTicks;
  readonly triggerBy: number;
}

/**
 * The trigger of a trailing order, in ticks: best × (1 + rate) rounded up for a BUY, best × (1 − rate) rounded down for a
 * SELL, within 1 and maxPriceTicks. Source: Binance USDⓈ-M Futures, New Order, TRAILING_STOP_MARKET.
 */
export function trailingTrigger(
  side: number,
  bestTicks: PriceTicks,
  callbackPpm: number,
  maxPriceTicks: PriceTicks,
): PriceTicks {
  if (side === BUY) return Math.min(maxPriceTicks, Math.ceil((bestTicks * (PPM + callbackPpm)) / PPM));
  return Math.max(1, Math.floor((bestTicks * (PPM - callbackPpm)) / PPM));
}

/** Whether an order begins to trail at this price: a BUY follows a fall, a SELL a rise. */
export const activates = (side: number, priceTicks: PriceTicks, activationTicks: PriceTicks): boolean =>
  priceTicks !== 0 &&
  (activationTicks === 0 || (side === BUY ? priceTicks <= activationTicks : priceTicks >= activationTicks));

/** Whether an order takes the first price as its best one instead of the other. */
const isBetter = (side: number, ticks: PriceTicks, thanTicks: PriceTicks): boolean =>
  side === BUY ? ticks < thanTicks : ticks > thanTicks;

/** Gives access to the orders by slot. */
interface TrailingBook {
  terms(slot: number): Trailing;
  side(slot: number): number;
  serial(slot: number): number;
  /** Its prices have moved. */
  moved(slot: number): void;
}

/**
 * The orders of a symbol that trail a price, or wait to begin. The work for a new price grows with the orders that it
 * activates or moves, which may be all: see MAX_TRAILING_ORDERS.
 */
export class TrailingOrders {
  private readonly maxPriceTicks: PriceTicks;
  private readonly book: TrailingBook;
  /** Orders that do not trail yet, by activation price; and orders that trail, by trigger. */
  private readonly activations: Triggers;
  private readonly triggers: Triggers;
  /** Orders that trail, by source and side, sorted from the best price: a better price moves those at the end. */
  private readonly byBest: number[][] = Array.from({ length: 6 }, () => []);
  size = 0;

  constructor(maxPriceTicks: PriceTicks, book: TrailingBook) {
    this.maxPriceTicks = maxPriceTicks;
    this.book = book;
    this.activations = new Triggers();
    this.triggers = new Triggers((slot) => book.serial(slot));
  }

  add(slot: number): void {
    this.size++;
    const terms = this.book.terms(slot);
    if (terms.bestTicks === 0) this.awaitActivation(slot, terms);
    else this.trail(slot, terms, terms.bestTicks);
  }

  remove(slot: number): void {
    this.size--;
    const { book } = this;
    const terms = book.terms(slot);
    const side = book.side(slot);
    if (terms.bestTicks === 0) {
      this.activations.remove(terms.triggerBy, side !== BUY, this.activationOf(side, terms), slot);
      return;
    }
    this.triggers.remove(terms.triggerBy, side === BUY, terms.triggerTicks, slot);
    const list = this.listOf(terms.triggerBy, side);
    list.splice(list.indexOf(slot), 1);
  }

  /** Orders begin to trail, or move, by the prices at the end of a transaction (0 = there is none yet). */
  follow(markTicks: PriceTicks, lastTicks: PriceTicks, indexTicks: PriceTicks): void {
    const { book, activations } = this;
    const prices = [markTicks, lastTicks, indexTicks];
    for (const [i, list] of this.byBest.entries()) {
      const side = i & 1;
      const priceTicks = prices[i >> 1];
      for (let end = list.length - 1; end >= 0 && priceTicks !== 0; end--) {
        const slot = list[end];
        const terms = book.terms(slot);
        if (!isBetter(side, priceTicks, terms.bestTicks)) break;
        this.triggers.remove(terms.triggerBy, side === BUY, terms.triggerTicks, slot);
        this.setBest(slot, terms, priceTicks);
        book.moved(slot);
      }
    }
    for (;;) {
      const slot = activations.firstReached(markTicks, lastTicks, indexTicks);
      if (slot === NONE) return;
      const terms = book.terms(slot);
      const side = book.side(slot);
      activations.remove(terms.triggerBy, side !== BUY, this.activationOf(side, terms), slot);
      this.trail(slot, terms, prices[terms.triggerBy]);
      book.moved(slot);
    }
  }

  /** The order that this price reaches next (0 = there is none yet), or NONE. */
  firstOf(source: number, rises: boolean, priceTicks: PriceTicks): number {
    return this.size === 0 ? NONE : this.triggers.firstOf(source, rises, priceTicks);
  }

  private awaitActivation(slot: number, terms: Trailing): void {
    const side = this.book.side(slot);
    this.activations.add(terms.triggerBy, side !== BUY, this.activationOf(side, terms), slot);
  }

  /** Without an activation price the order trails from any price. */
  private activationOf(side: number, { activationTicks }: Trailing): PriceTicks {
    return activationTicks || (side === BUY ? this.maxPriceTicks : 1);
  }

  private trail(slot: number, terms: Trailing, bestTicks: PriceTicks): void {
    const { book } = this;
    const side = book.side(slot);
    const list = this.listOf(terms.triggerBy, side);
    let at = list.length;
    while (at > 0 && isBetter(side, bestTicks, book.terms(list[at - 1]).bestTicks)) at--;
    list.splice(at, 0, slot);
    this.setBest(slot, terms, bestTicks);
  }

  private setBest(slot: number, terms: Trailing, bestTicks: PriceTicks): void {
    const side = this.book.side(slot);
    terms.bestTicks = bestTicks;
    terms.triggerTicks = trailingTrigger(side, bestTicks, terms.callbackPpm, this.maxPriceTicks);
    this.triggers.add(terms.triggerBy, side === BUY, terms.triggerTicks, slot);
  }

  private listOf(source: number, side: number): number[] {
    return this.byBest[source * 2 + side];
  }
}
