import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, QuantityLots, TimeMs } from "../base/units.ts";
import type {
  CancelAfterSet,
  OrderAmended,
  OrderExtended,
  OrderPlaced,
  OrderReduced,
  OrderRested,
  SliceShown,
} from "../protocol/events.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import { NO_TERMS } from "../state/order-terms.ts";
import { packAttributes } from "../state/orders.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const { NONE } = columns;
const { idToSerial } = enums;

/** Returns the order's slot. */
export function applyOrderPlaced(state: SymbolState, event: MessageOf<typeof OrderPlaced>, time: TimeMs): number {
  state.progress.eventCount++;
  const attributes = packAttributes(
    event.side,
    event.orderType,
    event.timeInForce,
    event.flags,
    event.selfTradePrevention,
  );
  const { orderId, accountId, priceTicks, quantityLots, clientOrderId, bodyHash } = event;
  const slot = addOrder(state, orderId, accountId, attributes, priceTicks, quantityLots, clientOrderId, bodyHash, time);
  if (event.rests === 1) state.open.rest(slot, event.marginPriceTicks, event.lossTicks);
  else state.progress.beginTaking(slot);
  return slot;
}

/** Adds an order that neither rests, waits nor matches yet. Takes numbers, since events of two shapes come here. */
export function addOrder(
  state: SymbolState,
  orderId: number,
  accountId: number,
  attributes: number,
  priceTicks: PriceTicks,
  quantityLots: QuantityLots,
  clientOrderId: string,
  bodyHash: number,
  time: TimeMs,
): number {
  const { orders } = state;
  const at = state.positions.ensure(accountId);
  const serial = idToSerial(orderId, state.instrument.id);
  const slot = orders.add(serial, at, attributes, priceTicks, quantityLots, time);
  if (clientOrderId !== "") {
    orders.setClientOrderId(slot, clientOrderId);
    state.clientIds.add(accountId, clientOrderId, orderId, bodyHash, time);
  }
  state.nextOrderSerial = serial + 1;
  state.changed = true;
  state.dirty.order(slot);
  state.dirty.row(at);
  return slot;
}

export function applyOrderExtended(state: SymbolState, event: MessageOf<typeof OrderExtended>, slot: number): void {
  const { goodTillDate, legs, displayLots } = event;
  state.open.extend(slot, { ...NO_TERMS, goodTillDate, legs, displayLots });
  state.dirty.order(slot);
}

export function applyOrderRested(state: SymbolState, event: MessageOf<typeof OrderRested>, slot: number): void {
  state.progress.activeTaker = NONE;
  state.open.rest(slot, event.marginPriceTicks, event.lossTicks);
  state.dirty.row(state.orders.row(slot));
}

export function applyOrderReduced(state: SymbolState, event: MessageOf<typeof OrderReduced>, slot: number): void {
  const { orders, open } = state;
  state.progress.eventCount++;
  if (event.resting === 1) open.takeFromResting(slot, event.byLots);
  else if (orders.isResting(slot)) open.takeFromHidden(slot, event.byLots);
  orders.reduce(slot, event.byLots);
  state.dirty.order(slot);
  state.dirty.row(orders.row(slot));
}

export function applyOrderAmended(state: SymbolState, event: MessageOf<typeof OrderAmended>, slot: number): void {
  state.progress.eventCount++;
  const { orders, open, terms, dirty } = state;
  const { priceTicks, quantityLots, remainingLots, queueSerial, displayLots, hiddenLots, goodTillDate, legs } = event;
  dirty.order(slot);
  dirty.row(orders.row(slot));
  if (goodTillDate !== 0) open.extend(slot, { ...terms.of(slot), goodTillDate });
  if (legs !== null) open.setTerms(slot, { ...terms.of(slot), legs });
  if (queueSerial === 0) {
    const shownLots = remainingLots - hiddenLots;
    open.takeFromHidden(slot, open.hiddenLots(slot) - hiddenLots);
    open.takeFromResting(slot, event.oldRestingLots - shownLots);
    orders.amend(slot, priceTicks, quantityLots, remainingLots);
    if (displayLots !== 0) open.setTerms(slot, { ...terms.of(slot), displayLots, shownLots });
    return;
  }
  open.unrest(slot);
  orders.amend(slot, priceTicks, quantityLots, remainingLots);
  open.setTerms(slot, { ...terms.of(slot), queueSerial, displayLots });
  state.nextOrderSerial = queueSerial + 1;
  state.changed = true;
  if (event.rests === 1) open.rest(slot, event.marginPriceTicks, event.lossTicks);
  else state.progress.beginTaking(slot);
}

export function applySliceShown(state: SymbolState, event: MessageOf<typeof SliceShown>, slot: number): void {
  state.progress.eventCount++;
  const { shownLots, queueSerial } = event;
  const terms = state.terms.of(slot);
  terms.shownLots = shownLots;
  if (queueSerial === 0) {
    state.progress.activeTaker = NONE;
    state.open.rest(slot, event.marginPriceTicks, event.lossTicks);
    state.dirty.row(state.orders.row(slot));
    return;
  }
  terms.queueSerial = queueSerial;
  state.nextOrderSerial = queueSerial + 1;
  state.changed = true;
  state.book.requeue(slot, shownLots);
  state.book.hide(event.priceTicks, -shownLots);
  state.dirty.order(slot);
}

/** An OrderClosed, or a trade that has filled a resting order. */
export function applyOrderClosed(state: SymbolState, slot: number): void {
  const { orders, progress } = state;
  progress.eventCount++;
  state.dirty.row(orders.row(slot));
  if (orders.isResting(slot)) state.open.unrest(slot);
  if (progress.activeTaker === slot) progress.activeTaker = NONE;
  state.open.forget(slot);
}

export function applyCancelAfterSet(state: SymbolState, event: MessageOf<typeof CancelAfterSet>): void {
  state.progress.eventCount++;
  state.cancelSwitches.set(event.accountId, event.cancelAt);
}
