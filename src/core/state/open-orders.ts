import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import { ExpiryQueue } from "../base/expiry-queue.ts";
import type { PriceTicks, QuantityLots, RatePpm } from "../base/units.ts";
import { type Instrument, requireBelowMaxPrice } from "../protocol/instrument.ts";
import { Book } from "./book.ts";
import { DueOrders } from "./due-orders.ts";
import { type OrderTerms, OrderTermsTable, WITH_POSITION, waitsForRise } from "./order-terms.ts";
import { Orders } from "./orders.ts";
import { OrdersByRow } from "./orders-by-row.ts";
import type { Positions } from "./positions.ts";
import { TrailingOrders } from "./trailing.ts";
import { Triggers } from "./triggers.ts";

const { CLOSING_ORDERS, FIRST_ORDER, NONE, OPEN_ORDERS, REDUCE_ONLY_ORDERS, WAITING_ORDERS } = columns;
const { BUY, REDUCE_ONLY } = enums;

/**
 * Where each open order is: resting in the book, waiting for a trigger, in its account's list. Keeps the sums that each
 * account's row has over its orders.
 */
export class OpenOrders {
  readonly orders = new Orders();
  readonly book: Book;
  /** Of conditional orders, also after they fired, and of orders with an end, legs or slices. */
  readonly terms = new OrderTermsTable();
  readonly triggers: Triggers;
  readonly trailing: TrailingOrders;
  readonly due = new DueOrders();
  /** Orders with a goodTillDate, by serial. */
  readonly expiries = new ExpiryQueue();
  /** Reduce-only orders in the book. */
  readonly reducing = new OrdersByRow();
  /** Conditional orders that end with their position. */
  readonly closing = new OrdersByRow();
  reduceOnlyResting = 0;
  /** Conditional orders that have not fired. */
  waitingCount = 0;
  private readonly instrument: Instrument;
  private readonly positions: Positions;

  constructor(instrument: Instrument, positions: Positions) {
    this.instrument = instrument;
    this.positions = positions;
    const { orders, terms } = this;
    this.book = new Book(orders, instrument.maxPriceTicks);
    this.triggers = new Triggers((slot) => orders.serial(slot));
    this.trailing = new TrailingOrders(instrument.maxPriceTicks, {
      terms: (slot) => terms.of(slot),
      side: (slot) => orders.side(slot),
      serial: (slot) => orders.serial(slot),
      moved: (slot) => orders.touch(slot),
    });
  }

  /** Puts an order into the book and into its account's list and sums. */
  rest(slot: number, marginPriceTicks: PriceTicks, lossTicks: PriceTicks): void {
    const { orders, positions } = this;
    const at = orders.row(slot);
    const n = positions.numbers;
    requireBelowMaxPrice(this.instrument, orders.priceTicks(slot), "an order");
    orders.setMarginTerms(slot, marginPriceTicks, lossTicks);
    orders.setResting(slot, true);
    this.book.add(slot, this.shownLots(slot));
    if (orders.isIceberg(slot)) this.book.hide(orders.priceTicks(slot), this.hiddenLots(slot));
    // A conditional order is in the list already.
    if (!orders.isListed(slot)) this.list(slot);
    n[at + OPEN_ORDERS]++;
    if (this.isReduceOnly(slot)) {
      n[at + REDUCE_ONLY_ORDERS]++;
      this.reducing.add(at, slot);
      this.reduceOnlyResting++;
    } else this.addToSums(slot, orders.remainingLots(slot));
  }

  /** Takes a resting order out of the book and its account's sums. It stays in its account's list. */
  unrest(slot: number): void {
    const { orders, positions } = this;
    const at = orders.row(slot);
    const n = positions.numbers;
    this.book.remove(slot, this.shownLots(slot));
    if (orders.isIceberg(slot)) this.book.hide(orders.priceTicks(slot), -this.hiddenLots(slot));
    n[at + OPEN_ORDERS]--;
    if (this.isReduceOnly(slot)) {
      n[at + REDUCE_ONLY_ORDERS]--;
      this.reducing.delete(at, slot);
      this.reduceOnlyResting--;
    } else this.addToSums(slot, -orders.remainingLots(slot));
    orders.setResting(slot, false);
  }

  /** Lots that the book shows of a resting order: all that may still trade, or an iceberg's slice. */
  shownLots(slot: number): QuantityLots {
    const { orders } = this;
    return orders.isIceberg(slot) ? this.terms.of(slot).shownLots : orders.remainingLots(slot);
  }

  /** Lots of a resting order that may trade and are not shown. */
  hiddenLots(slot: number): QuantityLots {
    return this.orders.remainingLots(slot) - this.shownLots(slot);
  }

  /** `lots` shown lots of a resting order are about to trade or be given up. */
  takeFromResting(slot: number, lots: QuantityLots): void {
    this.book.reduce(this.orders.priceTicks(slot), lots);
    if (this.orders.isIceberg(slot)) this.terms.of(slot).shownLots -= lots;
    if (!this.isReduceOnly(slot)) this.addToSums(slot, -lots);
  }

  /** `lots` hidden lots of a resting iceberg are about to be given up. */
  takeFromHidden(slot: number, lots: QuantityLots): void {
    if (lots === 0) return;
    this.book.hide(this.orders.priceTicks(slot), -lots);
    if (!this.isReduceOnly(slot)) this.addToSums(slot, -lots);
  }

  /** The orders of a price queue in the order of this number. */
  queueSerial(slot: number): number {
    const { orders } = this;
    return (orders.isExtended(slot) && this.terms.of(slot).queueSerial) || orders.serial(slot);
  }

  isReduceOnly(slot: number): boolean {
    return (this.orders.flags(slot) & REDUCE_ONLY) !== 0;
  }

  /** Makes an order wait for its trigger. */
  wait(slot: number, terms: OrderTerms): void {
    const { orders } = this;
    this.extend(slot, terms);
    orders.setWaiting(slot, true);
    this.list(slot);
    this.countWaiting(slot, 1);
    if (terms.dueSerial !== 0) this.due.load(slot, terms);
    else if (terms.callbackPpm !== 0) this.trailing.add(slot);
    else this.triggers.add(terms.triggerBy, this.isRiseAwaited(slot), terms.triggerTicks, slot);
  }

  /** The order waits no more, and does not rest yet. */
  endWait(slot: number): void {
    const { triggerTicks, triggerBy, callbackPpm, dueSerial } = this.terms.of(slot);
    if (dueSerial !== 0) this.due.remove(slot);
    else if (callbackPpm !== 0) this.trailing.remove(slot);
    else this.triggers.remove(triggerBy, this.isRiseAwaited(slot), triggerTicks, slot);
    this.orders.setWaiting(slot, false);
    this.countWaiting(slot, -1);
  }

  /** Gives a waiting order another trigger. It must not trail or be due. */
  moveTrigger(slot: number, triggerTicks: PriceTicks): void {
    const terms = this.terms.of(slot);
    const rises = this.isRiseAwaited(slot);
    this.triggers.remove(terms.triggerBy, rises, terms.triggerTicks, slot);
    terms.triggerTicks = triggerTicks;
    this.triggers.add(terms.triggerBy, rises, triggerTicks, slot);
  }

  /** Gives a trailing order another callback rate or activation price. It must not be due. */
  setTrailing(slot: number, callbackPpm: RatePpm, activationTicks: PriceTicks): void {
    this.trailing.remove(slot);
    this.setTerms(slot, { ...this.terms.of(slot), callbackPpm, activationTicks });
    this.trailing.add(slot);
  }

  /** The first order whose trigger this price reaches, or NONE. Orders that do not trail come first. */
  firstReached(source: number, rises: boolean, priceTicks: PriceTicks): number {
    const slot = this.triggers.firstOf(source, rises, priceTicks);
    return slot !== NONE ? slot : this.trailing.firstOf(source, rises, priceTicks);
  }

  /** Makes all orders due whose trigger this price reaches. */
  reach(source: number, rises: boolean, priceTicks: PriceTicks): void {
    const { triggers, trailing } = this;
    // There may be very many, so they are taken price by price.
    for (let slots = triggers.takeReached(source, rises, priceTicks); slots.length > 0; ) {
      for (const slot of slots) this.comeDue(slot);
      slots = triggers.takeReached(source, rises, priceTicks);
    }
    for (;;) {
      const slot = trailing.firstOf(source, rises, priceTicks);
      if (slot === NONE) return;
      trailing.remove(slot);
      this.comeDue(slot);
    }
  }

  private comeDue(slot: number): void {
    this.due.append(slot, this.terms.of(slot));
    this.orders.touch(slot);
  }

  /** Gives an order terms, or another end. */
  extend(slot: number, terms: OrderTerms): void {
    this.setTerms(slot, terms);
    if (terms.goodTillDate !== 0) this.expiries.add(this.orders.serial(slot), terms.goodTillDate);
  }

  /** Replaces the terms of an order. */
  setTerms(slot: number, terms: OrderTerms): void {
    this.orders.setExtended(slot);
    if (terms.displayLots !== 0) this.orders.setIceberg(slot);
    this.terms.set(slot, terms);
  }

  /** Removes an order that neither rests nor matches. */
  forget(slot: number): void {
    const { orders } = this;
    if (orders.isListed(slot)) this.unlist(slot);
    if (orders.isExtended(slot)) {
      if (orders.isWaiting(slot)) this.endWait(slot);
      this.expiries.remove(orders.serial(slot));
      this.terms.remove(slot, orders.serial(slot));
    }
    orders.remove(slot);
  }

  /** Puts an order at the head of its account's list, which is newest first. */
  private list(slot: number): void {
    const { orders, positions } = this;
    const at = orders.row(slot) + FIRST_ORDER;
    const first = positions.numbers[at];
    orders.setAccountNext(slot, first);
    orders.setAccountPrevious(slot, NONE);
    if (first !== NONE) orders.setAccountPrevious(first, slot);
    positions.numbers[at] = slot;
    orders.setListed(slot, true);
  }

  private unlist(slot: number): void {
    const { orders, positions } = this;
    const next = orders.accountNext(slot);
    const previous = orders.accountPrevious(slot);
    if (previous === NONE) positions.numbers[orders.row(slot) + FIRST_ORDER] = next;
    else orders.setAccountNext(previous, next);
    if (next !== NONE) orders.setAccountPrevious(next, previous);
  }

  private countWaiting(slot: number, by: number): void {
    const n = this.positions.numbers;
    const at = this.orders.row(slot);
    this.waitingCount += by;
    n[at + WAITING_ORDERS] += by;
    if ((this.orders.flags(slot) & WITH_POSITION) === 0) return;
    n[at + CLOSING_ORDERS] += by;
    if (by > 0) this.closing.add(at, slot);
    else this.closing.delete(at, slot);
  }

  private isRiseAwaited(slot: number): boolean {
    return waitsForRise(this.orders.type(slot), this.orders.side(slot));
  }

  private addToSums(slot: number, lots: QuantityLots): void {
    const { orders } = this;
    const quantaPerTick = lots * this.instrument.quantaPerTickLot;
    this.positions.addResting(
      orders.row(slot),
      orders.side(slot) === BUY,
      lots,
      quantaPerTick * orders.marginPriceTicks(slot),
      quantaPerTick * orders.lossTicks(slot),
    );
  }
}
