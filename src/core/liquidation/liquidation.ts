import { NOT_IN_BOOK, NOT_NOW } from "../accounts/liquidation-bids.ts";
import { ACCOUNT, NONE, OPEN_ORDERS, SIZE } from "../base/columns.ts";
import { INSURANCE_ACCOUNT, isCustomer, REASON_LIQUIDATION } from "../base/enums.ts";
import type { TimeMs } from "../base/units.ts";
import { coverFromFund } from "../margin/deficit.ts";
import { isolatedEquity } from "../margin/isolated.ts";
import { positionMaintenance } from "../margin/position-margin.ts";
import { closeAllOrders } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { type ClosePlan, planClose } from "./close-plan.ts";
import { liquidateBankrupt, liquidateCross, liquidateIsolated, prepare } from "./close-step.ts";
import { DeleveragingQueue } from "./deleveraging.ts";
import { unwindFund } from "./insurance-fund.ts";
import { LiquidationTurns } from "./liquidation-turns.ts";

/** Per transaction: rows that a scan checks, and liquidation steps that it makes. It delays orders by less than a millisecond. */
const ROWS_PER_TRANSACTION = 5000;
const STEPS_PER_TRANSACTION = 10;
/** Per transaction: waiting rows that are looked at again between two scans. */
const LOOKS_PER_TRANSACTION = 100;

/** Settles accounts that a step of the mark has brought below zero, before a scan would meet them (settlement/). */
export interface LossSettlement {
  /** The account of this row is below its maintenance margin. */
  noteWeak(state: SymbolState, row: number): void;
  /** The account of this row is below zero. Returns whether the settlement takes it over. */
  suspect(state: SymbolState, row: number): boolean;
}

/**
 * Liquidation, as far as it happens in one symbol. It decides which accounts are liquidated, and when.
 *
 *     1. cancel the account's orders in the symbol (close-step.ts);
 *     2. close as much of the position as is needed in the book, no worse than the bankruptcy price (close-plan.ts);
 *     3. the insurance fund takes over what the book did not take, at the bankruptcy price (position-transfer.ts);
 *     4. auto-deleveraging closes what the fund cannot bear against the other side, at the same price (deleveraging.ts);
 *     5. the fund sells what it took over (insurance-fund.ts).
 *
 * A cross account is liquidated while equity < maintenance margin, an isolated position while its own equity is below its own
 * maintenance margin. Each symbol scans its rows again and again. An account that has recovered is left alone. The symbols of
 * a cross account take turns, in an order that follows from the account, the books and the marks (liquidation-turns.ts). The
 * bankruptcy price keeps equity per maintenance margin the same (dYdX v4; Lighter's "zero price"), so two steps at the same
 * moment would not disturb each other.
 */
export class Liquidations {
  private readonly turns = new LiquidationTurns();
  /** Rows of the last scan whose turn has not come. */
  private readonly waiting: number[] = [];
  private nextWaiting = 0;
  /** The next row of the scan in progress; NONE between two scans. */
  private nextRow = NONE;
  private readonly queue = new DeleveragingQueue();
  private readonly settlement: LossSettlement;

  constructor(settlement: LossSettlement) {
    this.settlement = settlement;
  }

  /** Begins another scan of all rows, unless one is in progress. */
  begin(time: TimeMs): void {
    if (this.nextRow !== NONE) return;
    this.nextRow = 0;
    this.waiting.length = 0;
    this.nextWaiting = 0;
    this.queue.reset();
    this.turns.beginScan(time);
  }

  /**
   * Continues the scan in progress, or looks again at the rows that wait. Returns whether there is more to do now. While the
   * symbol may not liquidate (see mayLiquidate), the scan only tells other symbols not to wait for it.
   */
  runBackground(state: SymbolState, transaction: Transaction, mayAct: boolean): boolean {
    if (!mayAct) this.turns.forget();
    if (this.nextRow === NONE) return mayAct && this.lookAgain(state, transaction);
    const { positions } = state;
    const fund = positions.find(INSURANCE_ACCOUNT);
    if (fund !== NONE) state.contributions.refreshMark(fund);
    const end = Math.min(positions.count, this.nextRow + ROWS_PER_TRANSACTION);
    let steps = 0;
    for (; this.nextRow < end && steps < STEPS_PER_TRANSACTION && !state.progress.isLong; this.nextRow++) {
      const row = positions.offset(this.nextRow);
      // A step of this transaction traded with the row, and its credits wait for the commit. The next transaction checks it.
      if (state.dirty.has(row)) return true;
      state.contributions.refreshMark(row);
      if (this.check(state, transaction, row, mayAct)) steps++;
    }
    if (this.nextRow < positions.count) return true;
    if (mayAct) unwindFund(state, transaction, this.queue);
    this.nextRow = NONE;
    return this.turns.hasPosted;
  }

  /** Decides whether to act on one row, and makes at most one liquidation step. Returns whether it did anything. */
  private check(state: SymbolState, transaction: Transaction, row: number, mayAct: boolean): boolean {
    const n = state.positions.numbers;
    const account = n[row + ACCOUNT];
    if (!isCustomer(account)) return false;
    // Only this thread changes an isolated position, so one scan is enough.
    if (mayAct && state.isIsolated(row) && isolatedEquity(state, row) < positionMaintenance(state, row)) {
      this.settlement.noteWeak(state, row);
      if (isolatedEquity(state, row) < 0 && this.settlement.suspect(state, row)) return false;
      liquidateIsolated(state, transaction, this.queue, row);
      return true;
    }
    if (!isBelowMaintenance(state, account)) return false;
    const hasPosition = isCross(state, row);
    if (hasPosition) this.settlement.noteWeak(state, row);
    if (mayAct && state.marginTable.consistent(account).equity < 0 && this.settlement.suspect(state, row)) return false;
    if (!mayAct) {
      if (hasPosition) this.turns.post(state, transaction, row, { ...planOf(state, row), cost: NOT_NOW });
      return false;
    }
    // Other symbols have the positions behind the maintenance margin: this one has nothing to close or cancel.
    if (!hasPosition && n[row + OPEN_ORDERS] === 0 && state.marginTable.consistent(account).maintenance > 0)
      return false;
    if (this.turns.confirm(row)) return this.act(state, transaction, row, hasPosition);
    // A second scan must confirm: at the first, another actor may have been in the middle of a change to the account.
    if (hasPosition) this.turns.post(state, transaction, row, planOf(state, row));
    return false;
  }

  /**
   * Two scans have found the account below its maintenance margin. Its orders in the symbol end, and its position is closed if
   * it is its turn. Returns whether anything was done.
   */
  private act(state: SymbolState, transaction: Transaction, row: number, hasPosition: boolean): boolean {
    const { marginTable, positions } = state;
    const account = positions.numbers[row + ACCOUNT];
    if (marginTable.consistent(account).maintenance === 0) {
      coverDeficit(state, transaction, row);
      return true;
    }
    const hasPrepared = prepare(state, transaction, row);
    // An isolated position does not pay for losses elsewhere: only its orders, which use cross margin, are cancelled.
    if (!hasPosition) return hasPrepared;
    if (marginTable.consistent(account).equity < 0) {
      liquidateBankrupt(state, transaction, this.queue, row);
      this.turns.end(state, transaction, row);
      return true;
    }
    const plan = planOf(state, row);
    this.turns.post(state, transaction, row, plan);
    if (this.turns.isTurn(state, row)) {
      this.close(state, transaction, row, plan);
      return true;
    }
    this.waiting.push(row);
    return hasPrepared;
  }

  private close(state: SymbolState, transaction: Transaction, row: number, plan: ClosePlan): void {
    liquidateCross(state, transaction, this.queue, row, plan, state.marginTable.bids.canOthersClose);
    this.turns.end(state, transaction, row);
  }

  /** Between two scans: looks at the rows that wait. Returns whether something has changed, or more are left. */
  private lookAgain(state: SymbolState, transaction: Transaction): boolean {
    const { waiting } = this;
    const end = Math.min(waiting.length, this.nextWaiting + LOOKS_PER_TRANSACTION);
    let steps = 0;
    for (; this.nextWaiting < end && steps < STEPS_PER_TRANSACTION && !state.progress.isLong; this.nextWaiting++) {
      const row = waiting[this.nextWaiting];
      if (row === NONE) continue;
      if (state.dirty.has(row)) return true;
      if (this.stillWaits(state, transaction, row)) continue;
      waiting[this.nextWaiting] = NONE;
      steps++;
    }
    if (this.nextWaiting < waiting.length) return true;
    this.nextWaiting = 0;
    const { hasPosted } = this.turns;
    this.turns.hasPosted = false;
    return hasPosted || steps > 0;
  }

  /** Makes a step against the row if its turn has come. Bids again if the account has changed. */
  private stillWaits(state: SymbolState, transaction: Transaction, row: number): boolean {
    state.contributions.refreshMark(row);
    const account = state.positions.numbers[row + ACCOUNT];
    if (!isCross(state, row) || !isBelowMaintenance(state, account)) return false;
    // The next scan acts.
    if (state.marginTable.consistent(account).equity < 0) return false;
    if (this.turns.isOutdated(state, row)) this.turns.post(state, transaction, row, planOf(state, row));
    if (!this.turns.isTurn(state, row)) return true;
    prepare(state, transaction, row);
    const plan = planOf(state, row);
    // The book has changed since the bid, and another symbol comes first now.
    if (plan.cost === NOT_IN_BOOK && state.marginTable.bids.canOthersClose) {
      this.turns.post(state, transaction, row, plan);
      return true;
    }
    this.close(state, transaction, row, plan);
    return false;
  }
}

/** Whether the row holds an open position that the account's cross margin backs. */
const isCross = (state: SymbolState, row: number): boolean =>
  state.positions.numbers[row + SIZE] !== 0 && !state.isIsolated(row);

/** Whether the account's equity is below its maintenance margin. If so, the margin table's consistent() shows it. */
function isBelowMaintenance({ marginTable }: SymbolState, account: number): boolean {
  // The totals as they stand are never better than the account: if they suffice, nothing is to do. This is the fast path.
  if (marginTable.equity(account) >= marginTable.maintenance(account)) return false;
  marginTable.readConsistent(account);
  const { equity, maintenance } = marginTable.consistent(account);
  return equity < maintenance;
}

/** After isBelowMaintenance(). */
function planOf(state: SymbolState, row: number): ClosePlan {
  const { equity, maintenance } = state.marginTable.consistent(state.positions.numbers[row + ACCOUNT]);
  return planClose(state, row, equity, maintenance);
}

/** The insurance fund pays for an account without positions below zero: rounding, or a step of another symbol, left that. */
function coverDeficit(state: SymbolState, transaction: Transaction, row: number): void {
  const { marginTable, positions } = state;
  const account = positions.numbers[row + ACCOUNT];
  if (!marginTable.claim(account)) return;
  closeAllOrders(state, transaction, row, REASON_LIQUIDATION);
  const { equity } = marginTable.consistent(account);
  if (equity < 0) coverFromFund(state, transaction, account, -equity);
}
