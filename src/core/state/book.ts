import * as columns from "../base/columns.ts";
import type { Side } from "../base/enums.ts";
import * as enums from "../base/enums.ts";
import { PriceBitmap } from "../base/price-bitmap.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { Orders } from "./orders.ts";

const { NONE } = columns;
const { BUY, SELL } = enums;

/**
 * Price levels and their queues. A level is three numbers in flat arrays, indexed by its price in ticks. The operating
 * system gives memory only to pages that are written. Matching decides which orders trade.
 */
export class Book {
  readonly bids: PriceBitmap;
  readonly asks: PriceBitmap;
  private readonly orders: Orders;
  /** Slot + 1 of the first and the last order of each price; 0 = no order. */
  private readonly ends: Int32Array;
  /** Lots that each price shows. A price belongs to one side at a time, since the book is never crossed. */
  private readonly lots: Float64Array;
  /** Hidden lots of icebergs, for prices that have any. */
  private readonly hidden = new Map<PriceTicks, QuantityLots>();

  constructor(orders: Orders, maxPriceTicks: PriceTicks) {
    this.orders = orders;
    this.bids = new PriceBitmap(maxPriceTicks, BUY);
    this.asks = new PriceBitmap(maxPriceTicks, SELL);
    this.ends = new Int32Array((maxPriceTicks + 1) * 2);
    this.lots = new Float64Array(maxPriceTicks + 1);
  }

  side(side: number): PriceBitmap {
    return side === BUY ? this.bids : this.asks;
  }

  opposite(side: number): PriceBitmap {
    return side === BUY ? this.asks : this.bids;
  }

  /** The oldest order of a price, or NONE. */
  first(priceTicks: PriceTicks): number {
    return this.ends[priceTicks * 2] - 1;
  }

  /** Lots that the price shows. */
  levelLots(priceTicks: PriceTicks): QuantityLots {
    return this.lots[priceTicks];
  }

  hiddenLots(priceTicks: PriceTicks): QuantityLots {
    return this.hidden.size === 0 ? 0 : (this.hidden.get(priceTicks) ?? 0);
  }

  /** Lots that may trade at the price, shown or hidden. */
  executableLots(priceTicks: PriceTicks): QuantityLots {
    return this.lots[priceTicks] + this.hiddenLots(priceTicks);
  }

  /** Adds hidden lots to a price; negative lots take them away. */
  hide(priceTicks: PriceTicks, lots: QuantityLots): void {
    const hidden = this.hiddenLots(priceTicks) + lots;
    if (hidden === 0) this.hidden.delete(priceTicks);
    else this.hidden.set(priceTicks, hidden);
  }

  /** Appends an order to its price's queue, which shows `lots` more. */
  add(slot: number, lots: QuantityLots): void {
    const price = this.orders.priceTicks(slot);
    this.append(slot, price);
    this.lots[price] = this.lots[price] + lots;
  }

  /** Takes an order out of its queue, which shows `lots` less. */
  remove(slot: number, lots: QuantityLots): void {
    const price = this.orders.priceTicks(slot);
    this.detach(slot, price);
    this.lots[price] = this.lots[price] - lots;
    if (this.ends[price * 2] === 0) this.side(this.orders.side(slot)).clear(price);
  }

  /** Moves an iceberg whose slice is used up to the end of its queue, which shows `lots` more. */
  requeue(slot: number, lots: QuantityLots): void {
    const price = this.orders.priceTicks(slot);
    this.detach(slot, price);
    this.append(slot, price);
    this.lots[price] = this.lots[price] + lots;
  }

  private append(slot: number, price: PriceTicks): void {
    const { orders, ends } = this;
    const at = price * 2;
    const last = ends[at + 1] - 1;
    orders.setNext(slot, NONE);
    orders.setPrevious(slot, last);
    if (last === NONE) {
      ends[at] = slot + 1;
      this.side(orders.side(slot)).set(price);
    } else orders.setNext(last, slot);
    ends[at + 1] = slot + 1;
  }

  private detach(slot: number, price: PriceTicks): void {
    const { orders, ends } = this;
    const at = price * 2;
    const next = orders.next(slot);
    const previous = orders.previous(slot);
    if (previous === NONE) ends[at] = next + 1;
    else orders.setNext(previous, next);
    if (next === NONE) ends[at + 1] = previous + 1;
    else orders.setPrevious(next, previous);
  }

  /** Swaps an order with the one before it in its queue. */
  advance(slot: number): void {
    const { orders, ends } = this;
    const at = orders.priceTicks(slot) * 2;
    const previous = orders.previous(slot);
    const first = orders.previous(previous);
    const next = orders.next(slot);
    orders.setPrevious(slot, first);
    if (first === NONE) ends[at] = slot + 1;
    else orders.setNext(first, slot);
    orders.setNext(slot, previous);
    orders.setPrevious(previous, slot);
    orders.setNext(previous, next);
    if (next === NONE) ends[at + 1] = previous + 1;
    else orders.setPrevious(next, previous);
  }

  /** Takes away shown lots that traded or were given up. */
  reduce(priceTicks: PriceTicks, lots: QuantityLots): void {
    this.lots[priceTicks] = this.lots[priceTicks] - lots;
  }

  /** Best bid (highest) or best ask (lowest), or −1. */
  best(side: Side): PriceTicks {
    return this.side(side).best();
  }
}
