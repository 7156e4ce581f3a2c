import { NONE } from "../base/columns.ts";
import { REASON_GOOD_TILL_DATE, STATUS_EXPIRED } from "../base/enums.ts";
import { closeOrder } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/**
 * Expires the orders whose goodTillDate has come. Runs before the rest of a transaction, so that none of them trades. If
 * one transaction has no room for all, the next ones go on; until then nothing trades, see refuseWhileHalted().
 */
export function expireOrders(state: SymbolState, transaction: Transaction): void {
  while (!state.progress.isLong) {
    const serial = state.open.expiries.takeDue(transaction.time);
    if (serial === undefined) break;
    const slot = state.orders.find(serial);
    if (slot !== NONE) closeOrder(state, transaction, slot, STATUS_EXPIRED, REASON_GOOD_TILL_DATE);
  }
  state.contributions.trackDirty();
}
