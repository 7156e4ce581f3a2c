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
  if (!state.owesFunding(row)) return 0;
  const { instrument, positions, fundingMarkTicks, fundingRatePpb } = state;
  return fundingPayment(instrument, positions.numbers[row + SIZE], fundingMarkTicks, fundingRatePpb);
}

/** Pays owedFunding(). Must come before any change of the position's size, which it depends on. */
export function payFunding(state: SymbolState, transaction: Transaction, row: number): void {
  if (!state.owesFunding(row)) return;
  const n = state.positions.numbers;
  paid.accountId = n[row + ACCOUNT];
  paid.fundingTime = state.fundingTime;
  paid.ratePpb = state.fundingRatePpb;
  paid.markTicks = state.fundingMarkTicks;
  paid.sizeLots = n[row + SIZE];
  paid.amountQuanta = owedFunding(state, row);
  state.fundingPaid(paid);
  transaction.emit(paid);
}
