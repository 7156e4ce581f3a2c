import { applyLegDetached } from "../apply/conditional-order-events.ts";
import { NONE } from "../base/columns.ts";
import type { Transaction } from "../protocol/actor.ts";
import { LegDetached } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const detached = blank(LegDetached);

/**
 * Makes a parent order forget one of its attached orders, so that its further fills attach a new one. Call it when the
 * attached order has triggered, or was canceled with its sibling or with the position. Not when the account cancels it:
 * then it must not come back.
 */
export function detachLeg(state: SymbolState, transaction: Transaction, legId: number, parentId: number): void {
  const parent = parentId === 0 ? NONE : state.findOrder(parentId);
  // A parent without remaining lots has no further fills.
  if (parent === NONE || state.orders.remainingLots(parent) === 0) return;
  detached.orderId = parentId;
  detached.accountId = state.accountId(parent);
  detached.legId = legId;
  applyLegDetached(state, detached);
  transaction.emit(detached);
}
