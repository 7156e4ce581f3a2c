import { MAINTENANCE } from "../accounts/contribution.ts";
import { WeakAccountReader, type WeakAccounts } from "../accounts/weak-accounts.ts";
import { ACCOUNT, CONTRIBUTED, NONE, SIZE } from "../base/columns.ts";
import { INSURANCE_ACCOUNT } from "../base/enums.ts";
import { PPM, type PriceTicks, type TimeMs } from "../base/units.ts";
import { DeleveragingQueue } from "../liquidation/deleveraging.ts";
import type { LossSettlement } from "../liquidation/liquidation.ts";
import type { TracedCounterparties } from "../liquidation/position-transfer.ts";
import type { Transaction } from "../protocol/actor.ts";
import { TRACED_MS } from "../state/recent-fills.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { BUSY, maintenanceSurplus, mayBeBankrupt, SETTLED, settleBankrupt } from "./bankrupt-account.ts";
import { traceCounterparties } from "./counterparty-trace.ts";

/** Rows that one transaction of the background sweep brings to the mark: orders wait a fraction of a millisecond for it. */
const SWEPT_PER_TRANSACTION = 1000;
/** Rows that one transaction of a check looks at, while orders wait for the end of the check. */
const CHECKED_PER_TRANSACTION = 5000;
/** Weak rows that the transaction of a price looks at. */
const WEAK_AT_ONCE = 500;

/**
 * Settles a mark before any other command of the symbol is decided. An account that the new mark makes bankrupt is closed
 * against the other side, at a price between the mark before and the new one. docs/trading/settlement.md proves the result:
 * nobody takes out what nobody paid in.
 *
 * Most prices need no look at every position. An account that had its maintenance margin at its last look cannot be bankrupt
 * while the mark has moved by less than the lowest maintenance rate. So a mark within that band is settled by the sweep, which
 * brings all rows to it in the background. Accounts that were below their maintenance margin are looked at first. A mark
 * beyond the band is checked at once: all positions of the losing side, while orders wait. Gains come into the margin table
 * only after that.
 *
 * A loss in another symbol may take the money that a position here relies on. The other symbol then finds the account below its
 * maintenance margin and notes it in WeakAccounts. This one looks at the account before its next command.
 */
export class MarkSettlement implements LossSettlement {
  /** The sweep: the next row, how many rows from there on may be at an older mark, and how many there were. New rows are appended. */
  private cursor = 0;
  private left = 0;
  private rows = 0;
  /** Of the marks since all longs were looked at the highest, and since all shorts were the lowest. */
  private highTicks: PriceTicks = 0;
  private lowTicks: PriceTicks = 0;
  /** When the mark that the rows stood at was set, before the steps since then. */
  private fromTime: TimeMs = 0;
  /** The check: the next open position; NONE = no check. And which sides it looks at. */
  private nextOpen = NONE;
  private checksLongs = false;
  private checksShorts = false;
  /** Rows whose account was below its maintenance margin when it was last looked at: a small step can make it bankrupt. */
  private readonly weak = new Set<number>();
  /** Rows that may be bankrupt, each with the worst price for the other side at which it may be closed. */
  private readonly suspects = new Map<number, PriceTicks>();
  /** Of this settlement, for bankrupt longs and shorts: see traceCounterparties(). */
  private readonly tracedBySide: (ReadonlyMap<number, TracedCounterparties> | null)[] = [null, null];
  private readonly queue = new DeleveragingQueue();
  private readonly weakAccounts: WeakAccounts;
  private readonly weakElsewhere: WeakAccountReader;

  constructor(weakAccounts: WeakAccounts) {
    this.weakAccounts = weakAccounts;
    this.weakElsewhere = new WeakAccountReader(weakAccounts);
  }

  /** The mark has moved away from `fromTicks`, which it had since `fromTime`. */
  begin(state: SymbolState, fromTicks: PriceTicks, fromTime: TimeMs): void {
    const { markTicks, instrument } = state;
    const hasPositions = state.positions.open.length > 0;
    if (this.left === 0 || !hasPositions) {
      this.highTicks = hasPositions ? fromTicks : markTicks;
      this.lowTicks = this.highTicks;
      this.fromTime = fromTime;
    }
    this.highTicks = Math.max(this.highTicks, markTicks);
    this.lowTicks = Math.min(this.lowTicks, markTicks);
    this.rows = state.positions.count;
    this.left = this.rows;
    this.queue.reset();
    const { settlementBandPpm } = instrument;
    const mustCheckLongs = (this.highTicks - markTicks) * PPM > this.highTicks * settlementBandPpm;
    const mustCheckShorts = (markTicks - this.lowTicks) * PPM > this.lowTicks * settlementBandPpm;
    if (mustCheckLongs || mustCheckShorts) this.check(mustCheckLongs, mustCheckShorts);
    this.lookAtWeak(state);
    this.lookAtFund(state);
    // A check of few positions ends here. So other threads see the account at this mark from the price's sequence on.
    if (this.nextOpen !== NONE) this.checkSome(state);
  }

  /**
   * After recovery, which may have ended in the middle of a settlement: all accounts are looked at. Positions that the fund has
   * taken over since the price have not lost by its step.
   */
  beginAfterRecovery(state: SymbolState): void {
    this.weakElsewhere.skipAll();
    this.fromTime = state.markTime;
    const from = state.markBeforeTicks === 0 ? state.markTicks : state.markBeforeTicks;
    this.highTicks = Math.max(from, state.markTicks);
    this.lowTicks = Math.min(from, state.markTicks);
    if (state.positions.open.length > 0) this.check(true, true);
    if (state.fundTakeovers === 0) this.lookAtFund(state);
  }

  /** While true, the symbol decides no command: call settle() first. */
  get isPending(): boolean {
    return this.nextOpen !== NONE || this.suspects.size > 0;
  }

  /** Other symbols have noted weak accounts since the last lookAtWeakElsewhere(). */
  get hasWeakElsewhere(): boolean {
    return this.weakElsewhere.hasUnread;
  }

  /** The next settle() may close positions. Before, it only looks for those. */
  get isClosing(): boolean {
    return this.nextOpen === NONE && this.suspects.size > 0;
  }

  /**
   * The account of this row may be bankrupt: settle() decides. Returns false, and does nothing, if no mark since all rows were
   * looked at was better for the position: then no step of this symbol is the cause.
   */
  suspect(state: SymbolState, row: number): boolean {
    const sizeLots = state.positions.numbers[row + SIZE];
    if (sizeLots === 0) return false;
    const isLong = sizeLots > 0;
    const { markTicks } = state;
    const worstTicks = isLong ? Math.max(this.highTicks, markTicks) : Math.min(this.lowTicks, markTicks);
    if (worstTicks !== markTicks) this.suspects.set(row, worstTicks);
    return worstTicks !== markTicks;
  }

  /**
   * A bounded part of the settlement, as a transaction of its own. Returns false if it got nowhere, since other threads are
   * changing the accounts that are left.
   */
  settle(state: SymbolState, transaction: Transaction): boolean {
    if (this.nextOpen !== NONE) {
      this.checkSome(state);
      return true;
    }
    if (this.tracedBySide.every((traced) => traced === null)) this.putTakersFirst(state, transaction);
    let hasMoved = false;
    for (const [row, worstTicks] of this.suspects) {
      const traced = this.traced(state, row, transaction);
      const isCounted = traced !== undefined && traced.countedLots > 0;
      const outcome = settleBankrupt(state, transaction, this.queue, row, worstTicks, traced);
      if (outcome !== BUSY) hasMoved = true;
      if (outcome === SETTLED) this.suspects.delete(row);
      else if (isCounted && traced.countedLots === 0) this.putLast(row, worstTicks);
      if (state.progress.isHalfLong) break;
    }
    if (this.suspects.size === 0) this.tracedBySide.fill(null);
    return hasMoved;
  }

  /** Brings some rows to the mark. Returns whether more are left. */
  runBackground(state: SymbolState): boolean {
    if (this.left === 0) return false;
    const { positions } = state;
    // New rows may lie between the cursor and the end. To check too many costs only time.
    this.left += positions.count - this.rows;
    this.rows = positions.count;
    const share = Math.min(this.left, SWEPT_PER_TRANSACTION);
    for (let i = 0; i < share; i++) {
      this.look(state, positions.offset(this.cursor));
      this.cursor = this.cursor + 1 < this.rows ? this.cursor + 1 : 0;
    }
    this.left -= share;
    if (this.left > 0) return true;
    // All rows have been looked at: what an account loses from now on is of other symbols, or of the next step.
    this.highTicks = state.markTicks;
    this.lowTicks = state.markTicks;
    return false;
  }

  /** The scan for liquidations has found the account of this row below its maintenance margin. */
  noteWeak(state: SymbolState, row: number): void {
    if (!this.weak.has(row)) this.tellOthers(state, row);
    this.weak.add(row);
  }

  /** Looks at the accounts that other symbols have noted; at all positions if there were too many to keep. */
  lookAtWeakElsewhere(state: SymbolState): void {
    const isComplete = this.weakElsewhere.read((accountId) => this.lookAtNoted(state, accountId));
    if (!isComplete && state.positions.open.length > 0) this.check(true, true);
  }

  /**
   * A row that was weak before stands at the mark already. A row at the mark has no loss here that the other symbol does not
   * see. So it is that one's business to settle the account, and this symbol's winners must not pay for it.
   */
  private lookAtNoted(state: SymbolState, accountId: number): void {
    const row = state.positions.find(accountId);
    if (row === NONE || this.weak.has(row) || state.isIsolated(row)) return;
    if (state.contributions.isStale(row)) this.look(state, row);
    else if (maintenanceSurplus(state, row) < 0) this.weak.add(row);
  }

  /** The row's account is weak. If it has cross positions in other symbols, these look at it, too. */
  private tellOthers(state: SymbolState, row: number): void {
    if (state.isIsolated(row)) return;
    const n = state.positions.numbers;
    const account = n[row + ACCOUNT];
    if (state.marginTable.maintenance(account) > n[row + CONTRIBUTED + MAINTENANCE]) this.weakAccounts.note(account);
  }

  /** These rows come first, in the transaction of the price itself. If there are many, they are checked like all others. */
  private lookAtWeak(state: SymbolState): void {
    if (this.weak.size > WEAK_AT_ONCE) return this.check(true, true);
    for (const row of this.weak) this.look(state, row);
  }

  private check(longs: boolean, shorts: boolean): void {
    this.checksLongs ||= longs;
    this.checksShorts ||= shorts;
    this.nextOpen = 0;
  }

  private checkSome(state: SymbolState): void {
    const { open, numbers } = state.positions;
    const end = Math.min(open.length, this.nextOpen + CHECKED_PER_TRANSACTION);
    for (; this.nextOpen < end; this.nextOpen++) {
      const row = open[this.nextOpen];
      if (numbers[row + SIZE] > 0 ? this.checksLongs : this.checksShorts) this.look(state, row);
    }
    if (this.nextOpen < open.length) return;
    this.nextOpen = NONE;
    if (this.checksLongs) this.highTicks = state.markTicks;
    if (this.checksShorts) this.lowTicks = state.markTicks;
    this.checksLongs = false;
    this.checksShorts = false;
  }

  /** With each price, and at no other time: what the fund takes over after that has not lost by the step. */
  private lookAtFund(state: SymbolState): void {
    const row = state.positions.find(INSURANCE_ACCOUNT);
    if (row === NONE) return;
    state.contributions.refreshMark(row);
    if (mayBeBankrupt(state, row)) this.suspect(state, row);
  }

  private look(state: SymbolState, row: number): void {
    const wasStale = state.contributions.isStale(row);
    state.contributions.refreshMark(row);
    if (state.positions.numbers[row + ACCOUNT] === INSURANCE_ACCOUNT) return;
    const surplus = maintenanceSurplus(state, row);
    if (surplus >= 0) {
      if (this.weak.size > 0) this.weak.delete(row);
      return;
    }
    // Others know of a weak row that has not lost since.
    if (wasStale || !this.weak.has(row)) this.tellOthers(state, row);
    this.weak.add(row);
    if (mayBeBankrupt(state, row)) this.suspect(state, row);
  }

  private tracedSince(time: TimeMs): TimeMs {
    return Math.min(this.fromTime, time) - TRACED_MS;
  }

  /**
   * The lots that accounts took lately are settled before all others: older positions would use up the lots of the traced
   * counterparties, whose deficits would then fall on accounts that traded with nobody.
   */
  private putTakersFirst(state: SymbolState, transaction: Transaction): void {
    for (const [row, worstTicks] of [...this.suspects])
      if (this.traced(state, row, transaction) === undefined) this.putLast(row, worstTicks);
  }

  private putLast(row: number, worstTicks: PriceTicks): void {
    this.suspects.delete(row);
    this.suspects.set(row, worstTicks);
  }

  /** The row's counterparties in trades; undefined = it took nothing lately. */
  private traced(state: SymbolState, row: number, { time }: Transaction): TracedCounterparties | undefined {
    const isLong = state.positions.numbers[row + SIZE] > 0;
    const side = isLong ? 0 : 1;
    const known = this.tracedBySide[side] ?? traceCounterparties(state, this.suspects, isLong, this.tracedSince(time));
    this.tracedBySide[side] = known;
    return known.get(row);
  }
}
