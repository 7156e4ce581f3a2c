import { ACCOUNT, CASH, COST, ISOLATED_QUANTA, LEVERAGE, MARGIN_MODE, SIZE } from "../base/columns.ts";
import { ISOLATED } from "../base/enums.ts";
import { proportion, type Quanta, type QuantityLots } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import { IsolatedMarginSet } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { coverFromFund } from "./deficit.ts";
import { owedFunding } from "./funding-payment.ts";
import { initialOf, positionInitial } from "./position-margin.ts";

/**
 * Isolated margin. What is set aside for an open position is one number of its row, I:
 *
 *     bucket    = I + cash + size × mark     its own equity: alone against its maintenance margin
 *     wallet    = I + cash + cost            the same without the unrealised profit
 *     cross     = −I                         what the row adds to the account's cross equity, instead of cash + value
 *
 * so moving I moves nothing between accounts, and what the position wins or loses stays in the bucket. Opening sets
 * aside the initial margin of what is opened, at mark and the row's leverage, and what the fills were worse than the
 * mark; the fee of opening is the cross margin's. Closing a part gives its share of the wallet back together with what it
 * realised, less the fee, so the bankruptcy price of the rest stays (Binance: isolated wallet × remaining ÷ size; VEGA
 * 0019-MCAL); closing all gives everything back. Funding is paid by the bucket, since it moves the cash.
 */
const marginSet = blank(IsolatedMarginSet);

/** The bucket's equity, with the funding that it owes taken off. */
export function isolatedEquity(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  const value = n[row + SIZE] * state.markTicks * state.instrument.quantaPerTickLot;
  return n[row + ISOLATED_QUANTA] + n[row + CASH] + value + owedFunding(state, row);
}

/** What may be taken out: down to the initial margin, unrealised losses counted and gains not. May be negative. */
export function removableMargin(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  const wallet = n[row + ISOLATED_QUANTA] + n[row + CASH] + n[row + COST] + owedFunding(state, row);
  return Math.min(wallet, isolatedEquity(state, row)) - positionInitial(state, row);
}

/** What a cross position must hold back to become isolated: initial margin, and what it has lost and owes. */
export function marginToIsolate(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  const owed = owedFunding(state, row);
  return positionInitial(state, row) + openLoss(state, row) - owed - n[row + CASH] - n[row + COST];
}

/** Lots (signed) that a row has just traded: for so much notional, fee, and profit taken. */
export interface Fill {
  lots: QuantityLots;
  quanta: Quanta;
  feeQuanta: Quanta;
  realizedQuanta: Quanta;
}

/** Moves margin into or out of the bucket of a row in isolated mode, behind a fill of the account's own orders. */
export function settleFill(state: SymbolState, transaction: Transaction, row: number, fill: Fill): void {
  setIsolatedMargin(state, transaction, row, isolatedMarginAfter(state, row, fill));
  // What comes back from a bucket is there for the next fill of the walk: both stand in one record of the log.
  state.marginTable.useDeferred();
}

/** I of a row in isolated mode that has just traded. */
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
 * Behind a fill that the account did not choose. The rest of a position keeps all that is left, which takes it away from
 * the next liquidation; a position that is gone gives it back, or owes nothing: the insurance fund pays.
 */
export function settleForcedFill(state: SymbolState, transaction: Transaction, row: number): void {
  const n = state.positions.numbers;
  if (n[row + MARGIN_MODE] !== ISOLATED || n[row + SIZE] !== 0) return;
  const left = n[row + ISOLATED_QUANTA] + n[row + CASH];
  setIsolatedMargin(state, transaction, row, 0);
  if (left < 0) coverFromFund(state, transaction, n[row + ACCOUNT], -left);
}

/** Sets I, and takes at once from the cells what the cross margin loses by it. */
export function setIsolatedMargin(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  isolatedQuanta: Quanta,
): void {
  if (state.positions.numbers[row + ISOLATED_QUANTA] === isolatedQuanta) return;
  marginSet.accountId = state.positions.numbers[row + ACCOUNT];
  marginSet.isolatedQuanta = isolatedQuanta;
  state.isolatedMarginSet(marginSet);
  transaction.emit(marginSet);
  state.refresh(row);
}

/** I of a position that has just been opened; `spent`: what the same fills have cost the cross margin already. */
function opened(state: SymbolState, row: number, spent: Quanta): Quanta {
  const n = state.positions.numbers;
  const margin = positionInitial(state, row) + openLoss(state, row);
  return Math.min(margin, spendable(state, row, spent)) - n[row + CASH] - n[row + COST];
}

/**
 * What the cross margin has beyond its maintenance margin, less what the fill has cost it already. An order reserves what
 * its fills will move, so this binds only where the account has lost elsewhere since: then the bucket gets less, or pays
 * the fee, and no cross position is liquidated for it.
 */
function spendable(state: SymbolState, row: number, spent: Quanta): Quanta {
  const { marginTable, positions } = state;
  const accountId = positions.numbers[row + ACCOUNT];
  const areQuiet = marginTable.readConsistent(accountId);
  const { equity, initial, maintenance } = marginTable.consistent(accountId);
  // What all orders have reserved is there if the account had it before the turns of others that are under way, but for what
  // one of these has spent.
  if (areQuiet || equity >= initial) return Math.max(0, marginTable.remainingEquity(accountId) - maintenance) - spent;
  return Math.max(0, marginTable.usableEquity(accountId) - marginTable.usableMaintenance(accountId)) - spent;
}

function openLoss(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  return Math.max(0, n[row + COST] - n[row + SIZE] * state.markTicks * state.instrument.quantaPerTickLot);
}
