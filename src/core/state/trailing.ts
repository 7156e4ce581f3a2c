import { NONE } from "../base/columns.ts";
import { BUY } from "../base/enums.ts";
import { PPM, type PriceTicks } from "../base/units.ts";
import { Triggers } from "./triggers.ts";

/** The callback rates that an order may have, in parts per million: 0.1 % to 10 %, as Binance's. */
export const MIN_CALLBACK_PPM = 1_000;
export const MAX_CALLBACK_PPM = 100_000;
/** So many orders trail in one symbol at most: a price may touch them all in one turn. */
export const MAX_TRAILING_ORDERS = 2000;

/** What a trailing order is at the moment. The two prices move without an event: see TrailingOrders.follow. */
export interface Trailing {
  readonly callbackPpm: number;
  /** It trails once this price is reached; 0 = from the first price on. */
  readonly activationTicks: PriceTicks;
  /** The lowest price that a BUY has seen since it trails, the highest of a SELL; 0 = it does not trail yet. */
  bestTicks: PriceTicks;
  /** Follows from bestTicks; 0 = it does not trail yet. */
  triggerTicks: PriceTicks;
  readonly triggerBy: number;
}

/**
 * Where an order fires whose best price is this: a BUY at best × (1 + rate) or above, a SELL at best × (1 − rate) or
 * below, whole ticks behind it, and never past the prices that there are.
 * Source: Binance USDⓈ-M Futures, New Order, TRAILING_STOP_MARKET.
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

/** Whether the price lets the order trail that does not yet: a BUY follows a fall, a SELL a rise. */
export const activates = (side: number, priceTicks: PriceTicks, activationTicks: PriceTicks): boolean =>
  priceTicks !== 0 &&
  (activationTicks === 0 || (side === BUY ? priceTicks <= activationTicks : priceTicks >= activationTicks));

/** Whether the first price is a better one to trail than the other. */
const isBetter = (side: number, ticks: PriceTicks, thanTicks: PriceTicks): boolean =>
  side === BUY ? ticks < thanTicks : ticks > thanTicks;

/** What trailing orders are known by to those who hold them. */
export interface TrailingBook {
  terms(slot: number): Trailing;
  side(slot: number): number;
  serial(slot: number): number;
  /** Its prices have moved. */
  moved(slot: number): void;
}

/**
 * The orders of a symbol that trail a price or wait to. What a price costs depends on how many it lets trail or takes
 * along, which may be all of them: that is why there is a limit on how many.
 */
export class TrailingOrders {
  private readonly maxPriceTicks: PriceTicks;
  private readonly book: TrailingBook;
  /** What waits to trail, by the price that lets it; and what trails, by the price that fires it. */
  private readonly activations: Triggers;
  private readonly triggers: Triggers;
  /** What trails, by source and side: the best price first, so that a better one takes along those at the end. */
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

  /** A turn has ended at these prices (0 = there is none yet): orders begin to trail, or take their best price along. */
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

  /** Without an activation price any price will do. */
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
