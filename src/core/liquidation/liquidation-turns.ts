import type { LiquidationBid } from "../accounts/liquidation-bids.ts";
import { ACCOUNT, NONE } from "../base/columns.ts";
import type { TimeMs } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** A bid counts for so many scans of the symbol that reads it. */
const BID_SCANS = 3;
/** After so many scans a symbol no longer waits until all bids are there: the worker of another symbol may be dead. */
const PATIENCE_SCANS = 5;

/**
 * Which rows of a symbol are below their margin, for how long, and when it is their turn: the symbols of an account close its
 * positions one after the other (see liquidation-bids.ts).
 */
export class LiquidationTurns {
  /** Bids were posted that other symbols may wait for. Cleared by the reader. */
  hasPosted = false;
  /** Rows that this scan, and the last one, found below their margin: in how many scans without a decision. */
  private scans = new Map<number, number>();
  private scansBefore = new Map<number, number>();
  /** When the last scans began, the latest first. */
  private readonly scanTimes: TimeMs[] = [];
  /** Of the symbol, in the table of bids. */
  private column = NONE;

  beginScan(time: TimeMs): void {
    this.scansBefore = this.scans;
    this.scans = new Map();
    this.scanTimes.unshift(time);
    if (this.scanTimes.length > BID_SCANS) this.scanTimes.pop();
  }

  /** The symbol may not liquidate now: each row needs two scans again. */
  forget(): void {
    this.scans.clear();
  }

  /** The scan finds the row below its margin. Returns whether an earlier one did. */
  confirm(row: number): boolean {
    const before = this.scansBefore.get(row) ?? 0;
    this.scans.set(row, before + 1);
    return before > 0;
  }

  post(state: SymbolState, transaction: Transaction, row: number, bid: LiquidationBid): void {
    const { bids } = state.marginTable;
    if (this.column === NONE) this.column = bids.columnOf(state.instrument.symbol);
    bids.post(state.positions.numbers[row + ACCOUNT], this.column, bid, transaction.time);
    this.hasPosted = true;
  }

  /** Whether the row's bid was made before the account changed. */
  isOutdated(state: SymbolState, row: number): boolean {
    const { marginTable, positions } = state;
    const account = positions.numbers[row + ACCOUNT];
    return !marginTable.bids.hasBid(account, this.column, marginTable.consistent(account).equity);
  }

  /**
   * Whether it is the turn of the row, whose bid is posted: after the caller's readConsistent() of the account. A symbol that
   * has waited for too long compares all bids that are not old.
   */
  isTurn(state: SymbolState, row: number): boolean {
    const { marginTable, positions } = state;
    const { bids } = marginTable;
    const account = positions.numbers[row + ACCOUNT];
    const { maintenance } = marginTable.consistent(account);
    const since = this.scanTimes[this.scanTimes.length - 1];
    bids.compare(account, this.column, maintenance, since, false);
    if (bids.isComplete && bids.isFirst) return true;
    // Another symbol acts, or has just acted: how long that takes counts from now on.
    if (bids.isComplete || bids.hadOthersTurn) this.scans.set(row, 1);
    if ((this.scans.get(row) ?? 0) <= PATIENCE_SCANS) return false;
    bids.compare(account, this.column, maintenance, since, true);
    return bids.isFirst;
  }

  /** The row has had its turn. Two scans must find it below its margin before the next one. */
  end(state: SymbolState, transaction: Transaction, row: number): void {
    if (this.column !== NONE)
      state.marginTable.bids.endTurn(state.positions.numbers[row + ACCOUNT], this.column, transaction.time);
    this.scans.delete(row);
  }
}
