import { applyOrderClosed, applyOrderReduced } from "../apply/order-events.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import * as events from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { spendLeg } from "./legs.ts";

const { CLOSING_ORDERS, FIRST_ORDER, NONE, REDUCE_ONLY_ORDERS, SIZE } = columns;
const { REASON_POSITION_CLOSED, REASON_REDUCE_ONLY, SELL, STATUS_CANCELED } = enums;
const { OrderClosed, OrderReduced } = events;

// Filled in again for each event: a turn hands them on before it goes on (see Turn).
const reduced = blank(OrderReduced);
const closed = blank(OrderClosed);

/**
 * A reduce-only order is never larger than the position it closes: what is too much is given up at once, in the turn
 * that made it too much.
 */
export function clipReduceOnly(state: SymbolState, transaction: Transaction, row: number): void {
  const { positions } = state;
  if (positions.numbers[row + CLOSING_ORDERS] > 0) cancelPointless(state, transaction, row);
  if (positions.numbers[row + REDUCE_ONLY_ORDERS] > 0) clipTooLarge(state, transaction, row);
}

function clipTooLarge(state: SymbolState, transaction: Transaction, row: number): void {
  const { orders, open, positions } = state;
  const size = positions.numbers[row + SIZE];
  const closableLots = (slot: number): QuantityLots => Math.max(0, orders.side(slot) === SELL ? size : -size);
  const tooLarge: number[] = [];
  for (const slot of open.reducing.of(row)) if (orders.remainingLots(slot) > closableLots(slot)) tooLarge.push(slot);
  for (const slot of newestFirst(state, tooLarge)) {
    if (closableLots(slot) === 0) close(state, transaction, slot, STATUS_CANCELED, REASON_REDUCE_ONLY);
    else clip(state, transaction, slot, orders.remainingLots(slot) - closableLots(slot));
  }
}

const newestFirst = ({ orders }: SymbolState, slots: number[]): number[] =>
  slots.sort((a, b) => orders.serial(b) - orders.serial(a));

/** Takes from a reduce-only order what is too much of it: first what is hidden, so that what is shown keeps its place. */
function clip(state: SymbolState, transaction: Transaction, slot: number, byLots: QuantityLots): void {
  const hiddenLots = Math.min(byLots, state.open.hiddenLots(slot));
  if (hiddenLots > 0) reduce(state, transaction, slot, hiddenLots, REASON_REDUCE_ONLY, true);
  if (byLots > hiddenLots) reduce(state, transaction, slot, byLots - hiddenLots, REASON_REDUCE_ONLY);
}

/** What was to close a position ends with it: the orders that wait with a position that is gone or has turned around. */
function cancelPointless(state: SymbolState, transaction: Transaction, row: number): void {
  const { orders, open, positions } = state;
  const size = positions.numbers[row + SIZE];
  const waiting = open.closing.of(row);
  // All of them close the position that there was before: one tells for all whether it is still there.
  const [first] = waiting;
  if (orders.side(first) === SELL ? size > 0 : size < 0) return;
  for (const slot of newestFirst(state, [...waiting])) {
    const orderId = state.orderId(slot);
    const { parentId } = state.terms.of(slot);
    close(state, transaction, slot, STATUS_CANCELED, REASON_POSITION_CLOSED);
    spendLeg(state, transaction, orderId, parentId);
  }
}

/** Ends an order early: canceled or expired, for a reason. */
export function close(
  state: SymbolState,
  transaction: Transaction,
  slot: number,
  status: number,
  reason: number,
): void {
  const { orders } = state;
  closed.orderId = state.orderId(slot);
  closed.accountId = state.accountId(slot);
  closed.side = orders.side(slot);
  closed.priceTicks = orders.priceTicks(slot);
  closed.restingLots = orders.isResting(slot) ? state.open.shownLots(slot) : 0;
  closed.status = status;
  closed.reason = reason;
  closed.triggerTicks = orders.isExtended(slot) ? trailedTo(state, slot) : 0;
  applyOrderClosed(state, slot);
  transaction.emit(closed);
}

/** Cancels all orders of a row, also those that wait. */
export function closeAll(state: SymbolState, transaction: Transaction, row: number, reason: number): void {
  let slot = state.positions.numbers[row + FIRST_ORDER];
  while (slot !== NONE) {
    const next = state.orders.accountNext(slot);
    close(state, transaction, slot, STATUS_CANCELED, reason);
    slot = next;
  }
}

/** No event has said so while it trailed. */
function trailedTo({ terms }: SymbolState, slot: number): PriceTicks {
  const { callbackPpm, triggerTicks } = terms.of(slot);
  return callbackPpm === 0 ? 0 : triggerTicks;
}

/** Takes lots from an order that goes on. */
export function reduce(
  state: SymbolState,
  transaction: Transaction,
  slot: number,
  byLots: QuantityLots,
  reason: number,
  isHidden = false,
): void {
  const { orders } = state;
  reduced.orderId = state.orderId(slot);
  reduced.accountId = state.accountId(slot);
  reduced.side = orders.side(slot);
  reduced.priceTicks = orders.priceTicks(slot);
  reduced.byLots = byLots;
  reduced.resting = orders.isResting(slot) && !isHidden ? 1 : 0;
  reduced.reason = reason;
  applyOrderReduced(state, reduced, slot);
  transaction.emit(reduced);
}
