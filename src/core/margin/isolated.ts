import { applyIsolatedMarginSet } from "../apply/position-events.ts";
import {
  ACCOUNT,
  CASH,
  CONTRIBUTED,
  CONTRIBUTED_INITIAL,
  COST,
  ISOLATED_QUANTA,
  LEVERAGE,
  MARGIN_MODE,
  SIZE,
} from "../base/columns.ts";
import { ISOLATED } from "../base/enums.ts";
import { mulDivCeil, PPM, proportion, type Quanta, type QuantityLots } from "../base/units.ts";
import { openingRatePpm } from "../formulas/opening-rate.ts";
import { transferMargin } from "../formulas/transfer-margin.ts";
import type { Transaction } from "../protocol/actor.ts";
import { IsolatedMarginSet } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { coverFromFund } from "./deficit.ts";
import { owedFunding } from "./funding-payment.ts";
import { initialOf, positionInitial } from "./position-margin.ts";

/**
 * Isolated margin. The margin set aside for an open position is one number of its row, I (ISOLATED_QUANTA):
 *
 *     equity           = I + cash + size × mark;   // compared with the position's own maintenance margin
 *     wallet           = I + cash + cost;          // the equity without unrealised profit
 *     part of cross    = −I;                       // instead of cash + size × mark
 *
 * So a change of I moves no money between accounts, and profit and loss stay with the position.
 * Opening sets aside the initial margin, at mark and the row's leverage, and the loss of the fills against the mark. The cross
 * account pays the opening fee. Closing a part gives back its share of the wallet, the realised profit, less the fee. So the
 * bankruptcy price of the rest stays (Binance: isolated wallet × remaining ÷ size; VEGA 0019-MCAL). Closing all gives
 * everything back. Funding moves the cash, so the isolated position pays it.
 */
const marginSet = blank(IsolatedMarginSet);

/** The equity of an isolated position in quanta, less the funding that it owes. */
export function isolatedEquity(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  const value = n[row + SIZE] * state.markTicks * state.instrument.quantaPerTickLot;
  return n[row + ISOLATED_QUANTA] + n[row + CASH] + value + owedFunding(state, row);
}

/**
 * The margin that may be taken out, in quanta: down to what must stay, with unrealised losses and without gains. May be negative.
 */
export function removableMargin(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  const wallet = n[row + ISOLATED_QUANTA] + n[row + CASH] + n[row + COST] + owedFunding(state, row);
  return Math.min(wallet, isolatedEquity(state, row)) - keptMargin(state, row);
}

/** The equity of an isolated position beyond its initial margin. Without a position 0: its margin will be by its leverage. */
export function isolatedSurplus(state: SymbolState, row: number): Quanta {
  return state.isIsolated(row) ? Math.max(0, isolatedEquity(state, row) - positionInitial(state, row)) : 0;
}

/** The I with which a cross position becomes isolated: it covers what must stay with it, unrealised loss and owed funding. */
export function marginToIsolate(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  const owed = owedFunding(state, row);
  return keptMargin(state, row) + openLoss(state, row) - owed - n[row + CASH] - n[row + COST];
}

/** The margin that must stay with the row's position, in quanta: what opening would need now, or the margin of transfers. */
function keptMargin(state: SymbolState, row: number): Quanta {
  const { instrument, markTicks, positions } = state;
  const notionalQuanta = Math.abs(positions.numbers[row + SIZE]) * markTicks * instrument.quantaPerTickLot;
  const atRate = mulDivCeil(notionalQuanta, openingRatePpm(state, state.time, 0), PPM);
  return Math.max(atRate, transferMargin(instrument, notionalQuanta), positionInitial(state, row));
}

/** A fill of a row, just applied: signed lots, notional, fee, realised profit. */
export interface Fill {
  lots: QuantityLots;
  quanta: Quanta;
  feeQuanta: Quanta;
  realizedQuanta: Quanta;
}

/** Moves margin to or from a row in isolated mode, after a fill of the account's own orders. */
export function settleFill(state: SymbolState, transaction: Transaction, row: number, fill: Fill): void {
  const n = state.positions.numbers;
  const contributed = n[row + CONTRIBUTED];
  const isolatedQuanta = isolatedMarginAfter(state, row, fill);
  setIsolatedMargin(state, transaction, row, isolatedQuanta);
  // The order no longer reserves what it has filled. The next fill of the walk may use margin that came back, too: all of it
  // stands in one record of the log.
  state.marginTable.useDeferred();
  // Of a position that is closed nothing is taken: then spendable() was not called.
  const taken = n[row + SIZE] === 0 ? 0 : contributed - n[row + CONTRIBUTED] - fill.feeQuanta;
  const missing = taken > 0 ? Math.min(taken, missingEquity(state, row)) : 0;
  if (missing <= 0) return;
  setIsolatedMargin(state, transaction, row, isolatedQuanta - missing);
  state.marginTable.useDeferred();
}

/** The I of a row in isolated mode after a fill that is applied already. */
export function isolatedMarginAfter(state: SymbolState, row: number, fill: Fill): Quanta {
  const n = state.positions.numbers;
  const size = n[row + SIZE];
  const before = size - fill.lots;
  if (before === 0) return opened(state, row, fill.feeQuanta);
  if (size === 0) return 0;
  const walletNow = n[row + ISOLATED_QUANTA] + n[row + CASH] + n[row + COST];
  if (before > 0 !== size > 0) return opened(state, row, -walletNow);
  const walletBefore = walletNow - fill.realizedQuanta + fill.feeQuanta;
  if (Math.abs(size) < Math.abs(before)) {
    const part = Math.abs(before) - Math.abs(size);
    const release = proportion(walletBefore, part, Math.abs(before)) + fill.realizedQuanta - fill.feeQuanta;
    return n[row + ISOLATED_QUANTA] - Math.max(0, release);
  }
  const leverage = n[row + LEVERAGE];
  const value = fill.lots * state.markTicks * state.instrument.quantaPerTickLot;
  const loss = Math.max(0, (fill.lots > 0 ? fill.quanta : -fill.quanta) - value);
  const wanted = initialOf(state, size, leverage) - initialOf(state, before, leverage) + loss;
  const added = Math.min(wanted, spendable(state, row, fill.feeQuanta));
  return n[row + ISOLATED_QUANTA] + added + fill.feeQuanta;
}

/**
 * After a fill that the account did not choose. The rest of a position keeps all margin, which moves it away from the next
 * liquidation. A closed position gives it back. If a loss is left, the insurance fund pays it.
 */
export function settleForcedFill(state: SymbolState, transaction: Transaction, row: number): void {
  const n = state.positions.numbers;
  if (n[row + MARGIN_MODE] !== ISOLATED || n[row + SIZE] !== 0) return;
  const left = n[row + ISOLATED_QUANTA] + n[row + CASH];
  setIsolatedMargin(state, transaction, row, 0);
  if (left < 0) coverFromFund(state, transaction, n[row + ACCOUNT], -left);
}

/** Sets I. The margin table shows the cost to the cross account at once. */
export function setIsolatedMargin(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  isolatedQuanta: Quanta,
): void {
  if (state.positions.numbers[row + ISOLATED_QUANTA] === isolatedQuanta) return;
  marginSet.accountId = state.positions.numbers[row + ACCOUNT];
  marginSet.isolatedQuanta = isolatedQuanta;
  applyIsolatedMarginSet(state, marginSet);
  transaction.emit(marginSet);
  state.contributions.refresh(row);
}

/** The I of a position that was just opened. `spent`: what the same fills have cost the cross account already. */
function opened(state: SymbolState, row: number, spent: Quanta): Quanta {
  const n = state.positions.numbers;
  const margin = positionInitial(state, row) + openLoss(state, row);
  return Math.min(margin, spendable(state, row, spent)) - n[row + CASH] - n[row + COST];
}

/**
 * The equity that the cross account keeps when a fill of the row moves margin out of it: maintenance margin, unrealised gains,
 * and, if something must stay behind its positions (transfer-margin.ts), that beside all other initial margin. To be called
 * after readConsistent().
 */
export function keptEquity({ marginTable, positions }: SymbolState, row: number): Quanta {
  const n = positions.numbers;
  const { maintenance, gains, initial, additional } = marginTable.consistent(n[row + ACCOUNT]);
  const bound = additional > 0 ? initial - n[row + CONTRIBUTED_INITIAL] + additional : 0;
  return Math.max(maintenance, gains, bound);
}

/**
 * The most that the cross account can set aside: equity beyond what it keeps, less what the fill
 * has cost already. An order reserves what its fills set aside, so this bound matters only when the account has lost elsewhere
 * since. Then the isolated position gets less margin, or pays the fee. No cross position is liquidated for it, and no gain that
 * may be lost again comes into it.
 */
function spendable(state: SymbolState, row: number, spent: Quanta): Quanta {
  const { marginTable, positions } = state;
  const accountId = positions.numbers[row + ACCOUNT];
  const isAtRest = marginTable.readConsistent(accountId);
  const { equity, initial } = marginTable.consistent(accountId);
  // If the account covered its initial margin before the transactions in progress, the reserved money is there, less what
  // these have spent. Otherwise only the totals as they stand are safe.
  if (isAtRest || equity >= initial)
    return Math.max(0, marginTable.remainingEquity(accountId) - keptEquity(state, row)) - spent;
  const kept = Math.max(marginTable.usableMaintenance(accountId), marginTable.usableGains(accountId));
  return Math.max(0, marginTable.usableEquity(accountId) - kept) - spent;
}

/**
 * The quanta that the cross account lacks since the row has taken the margin of a fill. Another thread took the same money after
 * spendable() had looked at it. Of two threads that take first and look afterwards, the later one sees what both have
 * taken. Both may give it back, and then the isolated positions have less than they could. To be called right after spendable(),
 * whose look says what is kept.
 */
function missingEquity(state: SymbolState, row: number): Quanta {
  return keptEquity(state, row) - state.marginTable.usableEquityAfterFence(state.positions.numbers[row + ACCOUNT]);
}

function openLoss(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  return Math.max(0, n[row + COST] - n[row + SIZE] * state.markTicks * state.instrument.quantaPerTickLot);
}
