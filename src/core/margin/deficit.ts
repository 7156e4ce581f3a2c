import { applyDeficitCovered } from "../apply/position-events.ts";
import type { Quanta } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import { DeficitCovered } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const covered = blank(DeficitCovered);

/** Moves `amountQuanta` from the insurance fund to an account, or to its isolated position, that is below zero by as much. */
export function coverFromFund(
  state: SymbolState,
  transaction: Transaction,
  accountId: number,
  amountQuanta: Quanta,
): void {
  covered.accountId = accountId;
  covered.amountQuanta = amountQuanta;
  applyDeficitCovered(state, covered);
  transaction.emit(covered);
}
