import { applyOrderClosed, applyOrderReduced } from "../apply/order-events.ts";
import { FIRST_ORDER, NONE } from "../base/columns.ts";
import { STATUS_CANCELED } from "../base/enums.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import { OrderClosed, OrderReduced } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const reduced = blank(OrderReduced);
const closed = blank(OrderClosed);

/** Ends an order before it is filled. `status`: canceled, expired or rejected; `reason`: one of REASONS. */
export function closeOrder(
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
  closed.triggerTicks = orders.isExtended(slot) ? trailedTriggerTicks(state, slot) : 0;
  applyOrderClosed(state, slot);
  transaction.emit(closed);
}

/** Cancels all orders of a row, untriggered ones included. */
export function closeAllOrders(state: SymbolState, transaction: Transaction, row: number, reason: number): void {
  let slot = state.positions.numbers[row + FIRST_ORDER];
  while (slot !== NONE) {
    const next = state.orders.accountNext(slot);
    closeOrder(state, transaction, slot, STATUS_CANCELED, reason);
    slot = next;
  }
}

/** The last trigger price of a trailing order, which no event has recorded; 0 = the order does not trail. */
function trailedTriggerTicks({ terms }: SymbolState, slot: number): PriceTicks {
  const { callbackPpm, triggerTicks } = terms.of(slot);
  return callbackPpm === 0 ? 0 : triggerTicks;
}

/** Takes lots from an order, which stays open. `isHidden`: from the hidden part of an iceberg. */
export function reduceOrder(
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
