import { applyLegSpent } from "../apply/conditional-order-events.ts";
import { NONE } from "../base/columns.ts";
import type { Transaction } from "../protocol/actor.ts";
import { LegSpent } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const spent = blank(LegSpent);

/**
 * An order that came with another one has fired, or goes since its sibling has or with the position: what that other one
 * fills from here on brings a new one. One that its account cancels is never spent, and does not come back.
 */
export function spendLeg(state: SymbolState, transaction: Transaction, legId: number, parentId: number): void {
  const parent = parentId === 0 ? NONE : state.findOrder(parentId);
  // It fills no more.
  if (parent === NONE || state.orders.remainingLots(parent) === 0) return;
  spent.orderId = parentId;
  spent.accountId = state.accountId(parent);
  spent.legId = legId;
  applyLegSpent(state, spent);
  transaction.emit(spent);
}
