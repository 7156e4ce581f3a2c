import { ACCOUNT, COST, FUNDING, NONE, SIZE } from "../base/columns.ts";
import { BUY, EXEC_LIQUIDATION, INSURANCE_ACCOUNT, MODE_CANCEL_ONLY, REASON_LIQUIDATION, SELL } from "../base/enums.ts";
import { type PriceTicks, proportion, type Quanta, type QuantityLots } from "../base/units.ts";
import { bankruptcyTicks } from "../liquidation/close-plan.ts";
import type { DeleveragingQueue } from "../liquidation/deleveraging.ts";
import { closeInBook } from "../liquidation/house-order.ts";
import { type TracedCounterparties, transferPosition } from "../liquidation/position-transfer.ts";
import { fundAllowance } from "../margin/deficit.ts";
import { owedFunding, payFunding } from "../margin/funding-payment.ts";
import { isolatedEquity } from "../margin/isolated.ts";
import { positionMaintenance } from "../margin/position-margin.ts";
import { crosses } from "../matching/matching.ts";
import { closeAllOrders } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** The account is not bankrupt, or not any more, or nothing is left to close. */
export const SETTLED = 0;
/** A part is done, and the next transaction goes on. */
const STEPPED = 1;
/** Another thread is changing the account or the fund, or the transaction is long: nothing was done. */
export const BUSY = 2;
type SettlementOutcome = typeof SETTLED | typeof STEPPED | typeof BUSY;

/**
 * Whether the row's position may have less than nothing behind it: the isolated position, or the cross account as far as
 * this thread can see. The row must be at the mark. settleBankrupt() decides.
 */
export function mayBeBankrupt(state: SymbolState, row: number): boolean {
  const n = state.positions.numbers;
  if (n[row + SIZE] === 0) return false;
  if (state.isIsolated(row)) return isolatedEquity(state, row) < 0;
  if (n[row + ACCOUNT] === INSURANCE_ACCOUNT && fundSurplus(state, row) < 0) return true;
  const owed = state.funding.owingCount === 0 ? 0 : Math.min(0, owedFunding(state, row));
  return state.marginTable.equityAfterFence(n[row + ACCOUNT]) + owed < 0;
}

/**
 * The equity of the row's account beyond its maintenance margin, in quanta; 0 without a position. It is as far as this thread
 * can see. The row must be at the mark.
 */
export function maintenanceSurplus(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  if (n[row + SIZE] === 0) return 0;
  if (state.isIsolated(row)) return isolatedEquity(state, row) - positionMaintenance(state, row);
  const account = n[row + ACCOUNT];
  return state.marginTable.equityAfterFence(account) - state.marginTable.maintenance(account);
}

/**
 * Closes the position of a bankrupt account, so that nothing below zero is left: in the book no worse than the bankruptcy
 * price, and the rest by transferPosition(). The whole deficit falls on this symbol, whose step of the mark has caused it.
 *
 * `worstTicks` is the mark before that step: the other side pays no more than the step has given it. If a quantum is left below
 * zero by rounding, the next scan covers it (liquidation.ts).
 */
export function settleBankrupt(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
  worstTicks: PriceTicks,
  traced: TracedCounterparties | undefined,
): SettlementOutcome {
  const { positions } = state;
  const n = positions.numbers;
  const sizeLots = n[row + SIZE];
  if (sizeLots === 0) return SETTLED;
  const isIsolated = state.isIsolated(row);
  if (!isIsolated && !state.marginTable.claim(n[row + ACCOUNT])) return BUSY;
  payFunding(state, transaction, row);
  const gainQuanta = stepGain(state, sizeLots, worstTicks);
  const equity = isIsolated ? isolatedEquity(state, row) : spendable(state, row, gainQuanta);
  // Without a loss here, another symbol's step or funding is the cause: that is settled there, or by the next scan.
  if (equity >= 0 || gainQuanta === 0) return SETTLED;
  closeAllOrders(state, transaction, row, REASON_LIQUIDATION);
  const lots = Math.abs(sizeLots);
  const equityShare = Math.max(equity, -gainQuanta);
  const restLots = lots - closeAtBankruptcy(state, transaction, row, lots, equityShare);
  // Better prices of the book have paid a part of the deficit, or all of it. The next transaction claims the account again,
  // and the other side pays only what is left. An isolated position returns what better prices bring.
  if (!isIsolated && restLots > 0 && restLots < lots) return STEPPED;
  // First the lots that count against others. The rest of the position waits until that is done for all accounts.
  const nextLots = Math.min(restLots, traced?.countedLots || restLots);
  const nextShare = proportion(equityShare, nextLots, lots);
  const isTransferable =
    restLots === 0 || transferPosition(state, transaction, queue, row, nextLots, nextShare, traced);
  const leftLots = Math.abs(positions.numbers[row + SIZE]);
  if (!isTransferable && leftLots === lots) return BUSY;
  // Nothing was closed, and nothing is left to try: there is no other side. Only a fault brings that about, and it must not
  // block the symbol.
  return leftLots === 0 || (leftLots === lots && restLots !== 0) ? SETTLED : STEPPED;
}

/**
 * The most that the cross account may still lose, in quanta, with all that this transaction has done. It is the equity. The
 * insurance fund may lose the gain of its position, no more than its allowance, and nothing more in this step if its position
 * stood at a loss before: `lossQuanta` is its loss of the step. To be called right after claim().
 */
function spendable(state: SymbolState, row: number, lossQuanta: Quanta): Quanta {
  const account = state.positions.numbers[row + ACCOUNT];
  state.contributions.refresh(row);
  state.marginTable.useDeferred();
  // A step back towards the mark before it is a gain, and its own account is not closed for it.
  const equity = state.marginTable.consistent(account).equity + state.contributions.heldGain(row);
  if (account !== INSURANCE_ACCOUNT) return equity;
  const gain = fundGain(state, row);
  const lossBefore = Math.min(0, gain + lossQuanta);
  return Math.min(equity, fundAllowance(state), gain - lossBefore);
}

/**
 * The unrealised gain of the fund's position with the funding that it has paid, in quanta; negative = a loss. The takeovers
 * bring it. If the fund could lose more, a coalition would let accounts fail that are about to lose, and take the other side.
 */
function fundGain({ positions, markTicks, instrument }: SymbolState, row: number): Quanta {
  const n = positions.numbers;
  const unrealized = n[row + SIZE] * markTicks * instrument.quantaPerTickLot - n[row + COST];
  return unrealized + Math.min(0, n[row + FUNDING]);
}

/** Negative when the fund's position may have lost more than it may. */
const fundSurplus = (state: SymbolState, row: number): Quanta => Math.min(fundAllowance(state), fundGain(state, row));

/** The gain of the position's other side since the mark was `fromTicks`, in quanta; 0 if it has lost. */
function stepGain({ markTicks, instrument }: SymbolState, sizeLots: QuantityLots, fromTicks: PriceTicks): Quanta {
  return Math.max(0, sizeLots * (fromTicks - markTicks) * instrument.quantaPerTickLot);
}

/** Closes what the book takes at the bankruptcy price or better. Returns the lots, as closeInBook(). */
function closeAtBankruptcy(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  lots: QuantityLots,
  equityShare: Quanta,
): QuantityLots {
  const sizeLots = state.positions.numbers[row + SIZE];
  const side = sizeLots > 0 ? SELL : BUY;
  const limitTicks = bankruptcyTicks(state, sizeLots, equityShare);
  // An order that cannot trade would only fill the log.
  if (limitTicks === NONE || state.haltMode >= MODE_CANCEL_ONLY) return 0;
  if (!crosses(side, limitTicks, state.book.opposite(side).best())) return 0;
  return closeInBook(state, transaction, row, lots, limitTicks, {
    execType: EXEC_LIQUIDATION,
    bankruptcyTicks: limitTicks,
  });
}
