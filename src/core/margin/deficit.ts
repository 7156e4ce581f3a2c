import { applyDeficitCovered } from "../apply/position-events.ts";
import { CONTRIBUTED } from "../base/columns.ts";
import { INSURANCE_ACCOUNT } from "../base/enums.ts";
import { PPM, type Quanta } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import { DeficitCovered } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const covered = blank(DeficitCovered);

/**
 * Brings the fund's gains and losses in this transaction into the totals, and returns its row. It may use its gains: one log
 * record has both.
 */
export function refreshFund(state: SymbolState): number {
  const fund = state.positions.ensure(INSURANCE_ACCOUNT);
  state.contributions.refresh(fund);
  state.marginTable.useDeferred();
  return fund;
}

/**
 * Quanta that the fund may still lose in this symbol within the running hour: a share of all its equity, less its losses of
 * the hour, those of its position included. Negative when it has lost more.
 */
export function fundAllowance(state: SymbolState): Quanta {
  const { marginTable, instrument, fundHour } = state;
  const lost = Math.max(0, fundHour.baseQuanta - state.fundEquity());
  const equity = Math.max(0, marginTable.usableEquity(INSURANCE_ACCOUNT));
  return Math.floor((equity * instrument.fundLossPpm) / PPM) - lost;
}

/**
 * Moves up to `amountQuanta` from the insurance fund to an account, or to its isolated position, that is below zero by as
 * much. The fund pays within its allowance, and is never below zero by it. Returns what it has paid.
 */
export function coverFromFund(
  state: SymbolState,
  transaction: Transaction,
  accountId: number,
  amountQuanta: Quanta,
): Quanta {
  const { marginTable, positions } = state;
  const fund = refreshFund(state);
  const payable = Math.min(amountQuanta, Math.max(0, fundAllowance(state)));
  if (payable === 0 || !marginTable.pay(INSURANCE_ACCOUNT, payable, positions.numbers, fund + CONTRIBUTED)) return 0;
  covered.accountId = accountId;
  covered.amountQuanta = payable;
  applyDeficitCovered(state, covered);
  transaction.emit(covered);
  return payable;
}
