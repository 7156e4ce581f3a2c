import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { QuantityLots } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { detachLeg } from "./legs.ts";
import { closeOrder, reduceOrder } from "./order-closing.ts";

const { CLOSING_ORDERS, REDUCE_ONLY_ORDERS, SIZE } = columns;
const { REASON_POSITION_CLOSED, REASON_REDUCE_ONLY, SELL, STATUS_CANCELED } = enums;

/**
 * Holds the orders that close the position of a row to the position's size. Call it after each change of the size, in the
 * same transaction: a reduce-only order must never be larger than the position.
 */
export function clampReduceOnlyOrders(state: SymbolState, transaction: Transaction, row: number): void {
  const { positions } = state;
  if (positions.numbers[row + CLOSING_ORDERS] > 0) cancelIfPositionGone(state, transaction, row);
  if (positions.numbers[row + REDUCE_ONLY_ORDERS] > 0) reduceToPosition(state, transaction, row);
}

/** Each reduce-only order by itself may be as large as the position; the newest are reduced or canceled first. */
function reduceToPosition(state: SymbolState, transaction: Transaction, row: number): void {
  const { orders, open, positions } = state;
  const size = positions.numbers[row + SIZE];
  const closableLots = (slot: number): QuantityLots => Math.max(0, orders.side(slot) === SELL ? size : -size);
  const tooLarge: number[] = [];
  for (const slot of open.reducing.of(row)) if (orders.remainingLots(slot) > closableLots(slot)) tooLarge.push(slot);
  for (const slot of newestFirst(state, tooLarge)) {
    if (closableLots(slot) === 0) closeOrder(state, transaction, slot, STATUS_CANCELED, REASON_REDUCE_ONLY);
    else reduceBy(state, transaction, slot, orders.remainingLots(slot) - closableLots(slot));
  }
}

const newestFirst = ({ orders }: SymbolState, slots: number[]): number[] =>
  slots.sort((a, b) => orders.serial(b) - orders.serial(a));

/** Takes hidden lots first: an iceberg keeps the place of its shown slice in the queue. */
function reduceBy(state: SymbolState, transaction: Transaction, slot: number, byLots: QuantityLots): void {
  const hiddenLots = Math.min(byLots, state.open.hiddenLots(slot));
  if (hiddenLots > 0) reduceOrder(state, transaction, slot, hiddenLots, REASON_REDUCE_ONLY, true);
  if (byLots > hiddenLots) reduceOrder(state, transaction, slot, byLots - hiddenLots, REASON_REDUCE_ONLY);
}

/** Cancels the untriggered orders that were to close a position, once it is closed or reversed. */
function cancelIfPositionGone(state: SymbolState, transaction: Transaction, row: number): void {
  const { orders, open, positions } = state;
  const size = positions.numbers[row + SIZE];
  const closing = open.closing.of(row);
  // All of them are on the side that closed the old position: one is enough to see whether it is still there.
  const [first] = closing;
  if (orders.side(first) === SELL ? size > 0 : size < 0) return;
  for (const slot of newestFirst(state, [...closing])) {
    const orderId = state.orderId(slot);
    const { parentId } = state.terms.of(slot);
    closeOrder(state, transaction, slot, STATUS_CANCELED, REASON_POSITION_CLOSED);
    detachLeg(state, transaction, orderId, parentId);
  }
}
