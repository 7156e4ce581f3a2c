import { assert } from "../../assert.ts";
import { BUY, otherSide, SELL, type Side } from "../base/enums.ts";
import { PriceBitmap } from "../base/price-bitmap.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import {
  OrderAmended,
  OrderClosed,
  OrderPlaced,
  OrderReduced,
  OrderRested,
  SliceShown,
  type SymbolEvent,
  Traded,
} from "../protocol/events.ts";
import type { Levels } from "../protocol/payloads.ts";

/** The shown lots of a symbol's book by price, folded from its events. */
export class Depth {
  private readonly bids: PriceBitmap;
  private readonly asks: PriceBitmap;
  /** By tick, for both sides: in an uncrossed book a price belongs to one side. */
  private readonly lots: Float64Array;

  constructor(maxPriceTicks: PriceTicks) {
    this.bids = new PriceBitmap(maxPriceTicks, BUY);
    this.asks = new PriceBitmap(maxPriceTicks, SELL);
    this.lots = new Float64Array(maxPriceTicks + 1);
  }

  /** Replaces all levels. */
  reset(bids: Levels, asks: Levels): void {
    this.empty(this.bids);
    this.empty(this.asks);
    this.fill(this.bids, bids);
    this.fill(this.asks, asks);
  }

  /** Returns whether the event changed the book. */
  apply(event: SymbolEvent): boolean {
    switch (event.type) {
      case OrderPlaced.code:
        if (event.rests === 0) return false;
        return this.add(event.side, event.priceTicks, event.quantityLots);
      case OrderRested.code:
        return this.add(event.side, event.priceTicks, event.restingLots);
      case Traded.code:
        return this.add(otherSide(event.takerSide), event.priceTicks, -event.quantityLots);
      case OrderAmended.code:
        this.add(event.side, event.oldPriceTicks, -event.oldRestingLots);
        return event.rests === 0 || this.add(event.side, event.priceTicks, event.remainingLots - event.hiddenLots);
      case SliceShown.code:
        return this.add(event.side, event.priceTicks, event.shownLots);
      case OrderReduced.code:
        if (event.resting === 0) return false;
        return this.add(event.side, event.priceTicks, -event.byLots);
      case OrderClosed.code:
        if (event.restingLots === 0) return false;
        return this.add(event.side, event.priceTicks, -event.restingLots);
      default:
        return false;
    }
  }

  /** The best `depth` levels, best first, each mapped by `level`. */
  levels<T>(side: Side, depth: number, level: (tick: PriceTicks, lots: QuantityLots) => T): T[] {
    const bitmap = side === BUY ? this.bids : this.asks;
    const levels: T[] = [];
    for (let tick = bitmap.best(); tick >= 0 && levels.length < depth; tick = bitmap.next(tick))
      levels.push(level(tick, this.lots[tick]));
    return levels;
  }

  private add(side: number, tick: PriceTicks, byLots: QuantityLots): true {
    const bitmap = side === BUY ? this.bids : this.asks;
    const lots = this.lots[tick] + byLots;
    assert(lots >= 0, "a price level below zero");
    this.lots[tick] = lots;
    if (lots === 0) bitmap.clear(tick);
    else bitmap.set(tick);
    return true;
  }

  private empty(bitmap: PriceBitmap): void {
    for (let tick = bitmap.best(); tick >= 0; tick = bitmap.best()) {
      this.lots[tick] = 0;
      bitmap.clear(tick);
    }
  }

  private fill(bitmap: PriceBitmap, levels: Levels): void {
    for (const [tick, lots] of levels) {
      this.lots[tick] = lots;
      bitmap.set(tick);
    }
  }
}
