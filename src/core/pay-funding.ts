import type { Turn } from "./actor.ts";
import { fundingPayment } from "./funding.ts";
import { FundingPaid } from "./messages.ts";
import { blank } from "./shape.ts";
import type { SymbolState } from "./symbol-state.ts";
import { ACCOUNT, SIZE } from "./tables.ts";

const paid = blank(FundingPaid);

/** Pays what a position owes for the interval that ended last: before anything else may change its size. */
export function payFunding(state: SymbolState, turn: Turn, row: number): void {
  if (!state.owesFunding(row)) return;
  const n = state.positions.numbers;
  paid.accountId = n[row + ACCOUNT];
  paid.fundingTime = state.fundingTime;
  paid.ratePpb = state.fundingRatePpb;
  paid.markTicks = state.fundingMarkTicks;
  paid.sizeLots = n[row + SIZE];
  paid.amountQuanta = fundingPayment(state.instrument, n[row + SIZE], state.fundingMarkTicks, state.fundingRatePpb);
  state.fundingPaid(paid);
  turn.emit(paid);
}
