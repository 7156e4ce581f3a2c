import { ACCOUNT, CONTRIBUTED, NONE, OPEN_ORDERS, SIZE } from "../base/columns.ts";
import { INSURANCE_ACCOUNT, isCustomer, REASON_LIQUIDATION } from "../base/enums.ts";
import { coverFromFund } from "../margin/deficit.ts";
import { isolatedEquity } from "../margin/isolated.ts";
import { positionMaintenance } from "../margin/position-margin.ts";
import { closeAllOrders } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { liquidateCross, liquidateIsolated } from "./close-step.ts";
import { DeleveragingQueue } from "./deleveraging.ts";
import { unwindFund } from "./insurance-fund.ts";

/** Per transaction: rows that a scan checks, and liquidation steps that it makes. It delays orders by less than a millisecond. */
const ROWS_PER_TRANSACTION = 5000;
const STEPS_PER_TRANSACTION = 10;

/**
 * Liquidation, as far as it happens in one symbol. It decides which accounts are liquidated, and when.
 *
 *     1. cancel the account's orders in the symbol (close-step.ts);
 *     2. close the position in the book, a part at a time, no worse than the bankruptcy price (close-step.ts);
 *     3. the insurance fund takes over what the book did not take, at the bankruptcy price (position-transfer.ts);
 *     4. auto-deleveraging closes what the fund cannot bear against the other side, at the same price (deleveraging.ts);
 *     5. the fund sells what it took over (insurance-fund.ts).
 *
 * A cross account is liquidated while equity < maintenance margin, an isolated position while its own equity is below its own
 * maintenance margin. Symbols do not coordinate. Each scans its rows again and again and does its part, and an account that
 * has recovered is left alone. The bankruptcy price keeps equity per maintenance margin the same (dYdX v4; Lighter's "zero
 * price"), so symbols that close at the same time do not disturb each other.
 */
export class Liquidations {
  /** Rows that the last scan, and this one, found below their margin. */
  private suspectsBefore = new Set<number>();
  private suspects = new Set<number>();
  /** The next row of the scan in progress; NONE between two scans. */
  private nextRow = NONE;
  private readonly queue = new DeleveragingQueue();

  /** Begins another scan of all rows, unless one is in progress. */
  begin(): void {
    if (this.nextRow !== NONE) return;
    this.nextRow = 0;
    this.queue.reset();
    this.suspectsBefore = this.suspects;
    this.suspects = new Set();
  }

  /** The symbol may not liquidate now (see mayLiquidate): the scan ends, and its suspects are forgotten. */
  cancelScan(): void {
    this.nextRow = NONE;
    this.suspects.clear();
  }

  /** Continues the scan in progress. Returns whether a part of it is left. */
  runBackground(state: SymbolState, transaction: Transaction): boolean {
    if (this.nextRow === NONE) return false;
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
      if (this.check(state, transaction, row)) steps++;
    }
    if (this.nextRow < positions.count) return true;
    unwindFund(state, transaction, this.queue);
    this.nextRow = NONE;
    return false;
  }

  /** Decides whether to act on one row, and makes at most one liquidation step. Returns whether it made one. */
  private check(state: SymbolState, transaction: Transaction, row: number): boolean {
    const { positions, marginTable } = state;
    const n = positions.numbers;
    const account = n[row + ACCOUNT];
    if (!isCustomer(account)) return false;
    const isIsolated = state.isIsolated(row);
    // Only this thread changes an isolated position, so one scan is enough.
    if (isIsolated && isolatedEquity(state, row) < positionMaintenance(state, row)) {
      liquidateIsolated(state, transaction, this.queue, row);
      return true;
    }
    // The totals as they stand are never better than the account: if they suffice, nothing is to do. This is the fast path.
    if (marginTable.equity(account) >= marginTable.maintenance(account)) return false;
    marginTable.readConsistent(account);
    const { equity, maintenance } = marginTable.consistent(account);
    if (equity >= maintenance) return false;
    // Other symbols have the positions behind the maintenance margin: this one has nothing to close or cancel.
    const hasCrossRisk = n[row + OPEN_ORDERS] !== 0 || (n[row + SIZE] !== 0 && !isIsolated);
    if (maintenance > 0 && !hasCrossRisk) return false;
    // A second scan must confirm: at the first, another actor may have been in the middle of a change to the account.
    if (!this.suspectsBefore.has(row)) {
      this.suspects.add(row);
      return false;
    }
    if (maintenance === 0) coverDeficit(state, transaction, row);
    else liquidateCross(state, transaction, this.queue, row);
    return true;
  }
}

/** The insurance fund pays for an account without positions below zero: rounding, or a step of another symbol, left that. */
function coverDeficit(state: SymbolState, transaction: Transaction, row: number): void {
  closeAllOrders(state, transaction, row, REASON_LIQUIDATION);
  const n = state.positions.numbers;
  const account = n[row + ACCOUNT];
  const amountQuanta = state.marginTable.coverDeficit(account, n, row + CONTRIBUTED);
  if (amountQuanta !== 0) coverFromFund(state, transaction, account, amountQuanta);
}
