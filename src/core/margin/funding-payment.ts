import { applyFundingPaid } from "../apply/position-events.ts";
import { ACCOUNT, SIZE } from "../base/columns.ts";
import type { Quanta } from "../base/units.ts";
import { fundingPayment } from "../formulas/funding.ts";
import type { Transaction } from "../protocol/actor.ts";
import { FundingPaid } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const paid = blank(FundingPaid);

/** The payment that the position still receives for the last ended interval, in quanta; negative = it pays; 0 = settled. */
export function owedFunding(state: SymbolState, row: number): Quanta {
  if (!state.funding.owes(row)) return 0;
  const { instrument, positions, funding } = state;
  return fundingPayment(instrument, positions.numbers[row + SIZE], funding.lastMarkTicks, funding.lastRatePpb);
}

/** Pays owedFunding(). Must come before any change of the position's size, which it depends on. */
export function payFunding(state: SymbolState, transaction: Transaction, row: number): void {
  if (!state.funding.owes(row)) return;
  const n = state.positions.numbers;
  paid.accountId = n[row + ACCOUNT];
  paid.fundingTime = state.funding.lastTime;
  paid.ratePpb = state.funding.lastRatePpb;
  paid.markTicks = state.funding.lastMarkTicks;
  paid.sizeLots = n[row + SIZE];
  paid.amountQuanta = owedFunding(state, row);
  applyFundingPaid(state, paid);
  transaction.emit(paid);
}
