import { proportion } from "../base/units.ts";
import * as fields from "./contribution.ts";
import { LiquidationBids } from "./liquidation-bids.ts";
import { MarginJournal } from "./margin-journal.ts";
import * as memory from "./margin-memory.ts";
import { WeakAccounts } from "./weak-accounts.ts";

const { EQUITY, GAINS, gainOf, INITIAL, LOSSES, MAINTENANCE, POSITION_INITIAL, RESERVED, UNREALIZED } = fields;
const { withdrawableOf } = fields;
const { bytesPerAccount, NO_STRIPE } = memory;

type Contribution = fields.Contribution;

/**
 * The shared margin table: what all engine threads know of each account's margin, in one SharedArrayBuffer. With it a symbol
 * checks cross margin within its own transaction and asks no other thread. It is derived: a start rebuilds it from the
 * states of the actors.
 *
 * STRIPES. Each engine thread has a stripe of every account: the sums of what its actors contribute (contribution.ts). Only
 * that thread writes to its stripe. So it adds in plain numbers, which costs a tenth of an atomic operation. The total of an
 * account is the sum of its stripes. The values are aligned doubles, which 64-bit machines read and write whole.
 *
 * TAKE FIRST, CHECK AFTER. A rule that takes money first writes the change to its own stripe. Then it passes the account's
 * fence, then it reads all stripes. If they do not cover the change, it takes the change back. Threads pass a fence one after
 * the other, so of two that race, the later one sees what the earlier one took. Both may be refused, but they never spend
 * the same money. Without a fence between the write and the read, a processor may delay the write until after the read. Then
 * neither thread sees the other.
 *
 * ORDER. Some changes must be seen in their order, for example a loss before the margin that it frees. Then the writer passes
 * the fence between the two writes, and the reader between the two reads, in the opposite order. Otherwise a processor with
 * weak ordering (ARM64) may show the second change first.
 *
 * IN THE MIDDLE OF A TRANSACTION other threads see less than the account has: debits apply at once, credits at commit
 * (margin-journal.ts). That is enough to refuse an order. It is no reason to liquidate an account: that needs
 * readConsistent(), which shows the account as it is between transactions (sequence-lock.ts).
 *
 * The classes build on each other: MarginMemory (layout, fences), SequenceLockedMemory, MarginJournal, and here the rules.
 * All amounts are quanta. `contributed` and `offset` are where an actor remembers its contribution: five numbers. `isIsolated`
 * says that it is of a row in isolated mode: what its orders reserve counts in RESERVED, too. That needs no sixth number,
 * because a row changes its mode only while it has no orders.
 */
export class MarginTable extends MarginJournal {
  private sharedBids: LiquidationBids | null = null;
  private sharedWeakAccounts: WeakAccounts | null = null;
  private readonly consistentTotals = fields.noMargin();

  static allocate(maxAccounts: number, stripeCount = 1, stripe = 0): MarginTable {
    return new MarginTable(new SharedArrayBuffer(maxAccounts * bytesPerAccount(stripeCount)), stripeCount, stripe);
  }

  /** Where symbols agree which position of an account is closed first. Threads that share a table share these, too. */
  get bids(): LiquidationBids {
    this.sharedBids ??= LiquidationBids.local(this.maxAccounts);
    return this.sharedBids;
  }

  set bids(bids: LiquidationBids) {
    this.sharedBids = bids;
  }

  /** Where symbols tell each other of accounts below their maintenance margin. Shared like the bids. */
  get weakAccounts(): WeakAccounts {
    this.sharedWeakAccounts ??= new WeakAccounts(WeakAccounts.allocate(1), 1, 0);
    return this.sharedWeakAccounts;
  }

  set weakAccounts(accounts: WeakAccounts) {
    this.sharedWeakAccounts = accounts;
  }

  // The totals as they stand, also in the middle of transactions.
  equity(accountId: number): number {
    return this.total(accountId, EQUITY);
  }
  unrealized(accountId: number): number {
    return this.total(accountId, GAINS) - this.total(accountId, LOSSES);
  }
  initial(accountId: number): number {
    return this.total(accountId, INITIAL);
  }
  positionInitial(accountId: number): number {
    return this.total(accountId, POSITION_INITIAL);
  }
  maintenance(accountId: number): number {
    return this.total(accountId, MAINTENANCE);
  }

  // The totals as this transaction may use them: as they stand, with its own deferred credits after useDeferred().
  usableEquity(accountId: number): number {
    return this.usableTotal(accountId, EQUITY);
  }
  usableGains(accountId: number): number {
    return this.usableTotal(accountId, GAINS);
  }
  usableReserved(accountId: number): number {
    return this.usableTotal(accountId, RESERVED);
  }
  usableInitial(accountId: number): number {
    return this.usableTotal(accountId, INITIAL);
  }
  usableMaintenance(accountId: number): number {
    return this.usableTotal(accountId, MAINTENANCE);
  }

  /** Equity − initial margin: what new risk may use. */
  available(accountId: number): number {
    return this.usableTotal(accountId, EQUITY) - this.usableTotal(accountId, INITIAL);
  }

  /**
   * Whether equity without unrealised gains is below initial margin, if only because another thread's transaction is spending it
   * right now.
   */
  isShort(accountId: number): boolean {
    return this.available(accountId) < this.usableTotal(accountId, GAINS);
  }

  /** Whether the account has less than what must stay in it when money is taken out. */
  lacksAdditional(accountId: number): boolean {
    const additional = this.additional(accountId);
    return additional > 0 && this.available(accountId) < additional;
  }

  /** See withdrawableOf(). */
  withdrawable(accountId: number): number {
    return withdrawableOf({
      equity: this.usableTotal(accountId, EQUITY),
      gains: this.usableTotal(accountId, GAINS),
      reserved: this.usableTotal(accountId, RESERVED),
      initial: this.usableTotal(accountId, INITIAL),
      additional: this.additional(accountId),
    });
  }

  /** The most that isolated orders may still reserve: equity that is no unrealised gain, less what they have reserved. May be negative. */
  unreserved(accountId: number): number {
    const kept = this.usableTotal(accountId, GAINS) + this.usableTotal(accountId, RESERVED);
    return this.usableTotal(accountId, EQUITY) - kept;
  }

  /**
   * The totals with the other stripes as of the last readConsistent(), and this thread's stripe as this transaction may use
   * it. The next call overwrites the object.
   */
  consistent(accountId: number): Readonly<fields.AccountMargin> {
    const { consistentTotals } = this;
    consistentTotals.equity = this.consistentTotal(accountId, EQUITY);
    consistentTotals.gains = this.consistentTotal(accountId, GAINS);
    consistentTotals.unrealized = consistentTotals.gains - this.consistentTotal(accountId, LOSSES);
    consistentTotals.reserved = this.consistentTotal(accountId, RESERVED);
    consistentTotals.initial = this.consistentTotal(accountId, INITIAL);
    consistentTotals.positionInitial = this.consistentTotal(accountId, POSITION_INITIAL);
    consistentTotals.maintenance = this.consistentTotal(accountId, MAINTENANCE);
    consistentTotals.additional = this.additional(accountId);
    return consistentTotals;
  }

  /** The consistent equity, less what transactions in progress on other threads have spent of it since. */
  remainingEquity(accountId: number): number {
    return Math.min(this.consistentTotal(accountId, EQUITY), this.usableEquity(accountId));
  }

  /**
   * Takes `amount` of initial margin for an order if equity covers it; returns false, and changes nothing, if not. The amount
   * taken is added to `contributed`. A negative amount is margin that the order will free: the check counts it, and
   * setContribution() frees it. Equity must cover `additional` as well: the order's additional margin, which the caller has
   * added before (addAdditional). Isolated orders reserve no unrealised gains.
   */
  reserve(
    accountId: number,
    amount: number,
    contributed: Float64Array,
    offset: number,
    additional = 0,
    isIsolated = false,
  ): boolean {
    const base = this.stripeOffset(accountId);
    const taken = Math.max(0, amount);
    // Also when nothing more is taken: what the order has reserved before is about to become a position.
    this.beginFilling(accountId);
    this.applyNow(base + INITIAL, taken);
    const needed = this.totalAfterFence(accountId, INITIAL) + Math.min(0, amount) + additional;
    const equity = this.totalAfterFence(accountId, EQUITY);
    if (
      (equity < needed &&
        equity + (this.usableDeferredAt(base + EQUITY) - this.usableDeferredAt(base + INITIAL)) < needed) ||
      (isIsolated && !this.reserveSettled(accountId, amount))
    ) {
      this.applyNow(base + INITIAL, -taken);
      return false;
    }
    contributed[offset + INITIAL] = contributed[offset + INITIAL] + taken;
    return true;
  }

  /**
   * Takes `amount`, as reserve() does, from the equity that is no unrealised gain, if that covers all that isolated orders
   * reserve. The reads have the order of debit().
   */
  private reserveSettled(accountId: number, amount: number): boolean {
    const index = this.stripeOffset(accountId) + RESERVED;
    const taken = Math.max(0, amount);
    this.applyNow(index, taken);
    const gainsBefore = this.usableTotalAfterFence(accountId, GAINS);
    const reserved = this.usableTotalAfterFence(accountId, RESERVED) + Math.min(0, amount);
    const equity = this.usableTotalAfterFence(accountId, EQUITY);
    const gains = Math.max(gainsBefore, this.usableTotalAfterFence(accountId, GAINS));
    if (equity >= gains + reserved) return true;
    this.applyNow(index, -taken);
    return false;
  }

  /**
   * Takes `amount` of equity for the loss of a fill, and leaves what other threads need (requiredByOthers). Returns false,
   * and changes nothing, if that is not covered. The amount taken is subtracted from `contributed`.
   */
  spend(accountId: number, amount: number, contributed: Float64Array, offset: number): boolean {
    return this.takeEquity(accountId, amount, contributed, offset, this.stripeCount > 1);
  }

  /** As spend(), down to zero: for the insurance fund, which needs no margin. */
  pay(accountId: number, amount: number, contributed: Float64Array, offset: number): boolean {
    return this.takeEquity(accountId, amount, contributed, offset, false);
  }

  private takeEquity(
    accountId: number,
    amount: number,
    contributed: Float64Array,
    offset: number,
    leavesRequired: boolean,
  ): boolean {
    const index = this.stripeOffset(accountId) + EQUITY;
    this.applyNow(index, -amount);
    const equity = this.usableTotalAfterFence(accountId, EQUITY);
    if (equity < 0 || (leavesRequired && equity < this.requiredByOthers(accountId, equity + amount))) {
      this.applyNow(index, amount);
      return false;
    }
    contributed[offset + EQUITY] = contributed[offset + EQUITY] - amount;
    return true;
  }

  /**
   * The transaction may fill orders of the account. Until it ends, spend() on other threads leaves what the orders of this
   * thread have reserved: the fills turn it into positions, and the table knows these only later.
   */
  beginFilling(accountId: number): void {
    if (this.stripeCount === 1 || !this.isTransactionOpen) return;
    const base = this.stripeOffset(accountId);
    this.openStripe(base);
    this.markFilling(base);
    // The reads that follow see every spend() that came before.
    this.fence(accountId);
  }

  /**
   * The part of `equity` that positions and orders of the other threads need.
   *
   * Positions: their share of the equity by maintenance margin, at most that margin. Orders: what they have reserved, only
   * while a transaction may fill them. A transaction that only moves positions to a new mark does not block a close.
   */
  private requiredByOthers(accountId: number, equity: number): number {
    let reserved = 0;
    let maintenance = 0;
    for (let stripe = 0; stripe < this.stripeCount; stripe++) {
      if (stripe === this.stripe) continue;
      const base = this.offsetOfStripe(accountId, stripe);
      if (this.isFilling(base)) reserved += Math.max(0, this.load(base + INITIAL) - this.load(base + POSITION_INITIAL));
      // Margin that is no longer reserved is maintenance margin by now: see the last fence of setContribution().
      this.fence(accountId);
      maintenance += this.load(base + MAINTENANCE);
    }
    const total = this.usableMaintenance(accountId);
    return reserved + (equity >= total ? maintenance : equity - proportion(equity, total - maintenance, total));
  }

  /**
   * Debits a withdrawal if `amount` is withdrawable; returns false, and changes nothing, if not. The check comes after the
   * debit, so a symbol that reserves at the same moment sees the debit, or this check sees the reservation.
   *
   * The order of the reads: gains, margin, equity, gains again. A loss applies before the margin that it frees, and a gain
   * counts as unrealised before it is equity. It stops counting only after the equity has gone.
   */
  debit(accountId: number, amount: number): boolean {
    const index = this.stripeOffset(accountId) + EQUITY;
    this.applyNow(index, -amount);
    const gainsBefore = this.totalAfterFence(accountId, GAINS);
    const initial = this.totalAfterFence(accountId, INITIAL);
    const reserved = this.total(accountId, RESERVED);
    const equity = this.totalAfterFence(accountId, EQUITY);
    const gains = Math.max(gainsBefore, this.totalAfterFence(accountId, GAINS));
    if (equity >= initial + this.additional(accountId) && equity >= gains + reserved) return true;
    this.applyNow(index, amount);
    return false;
  }

  /**
   * Whether the account can bear that this actor's contribution becomes `to`: equity still covers initial margin. Equity that
   * leaves, or that isolated orders reserve, is no unrealised gain, and leaves the additional margin but for `endedAdditional`,
   * which ends with the change. If so, the changes against the account are applied and added to `contributed`, and
   * setContribution() does the rest. If not, nothing changes. The reads have the order of debit().
   */
  reserveChange(
    accountId: number,
    to: Contribution,
    contributed: Float64Array,
    offset: number,
    endedAdditional = 0,
    isIsolated = false,
  ): boolean {
    const base = this.stripeOffset(accountId);
    const equityChange = to.equity - contributed[offset + EQUITY];
    const initialChange = to.initial - contributed[offset + INITIAL];
    const gainsChange = gainOf(to.unrealized) - gainOf(contributed[offset + UNREALIZED]);
    const equityTaken = Math.min(0, equityChange);
    const initialAdded = Math.max(0, initialChange);
    const reservedAdded = isIsolated ? initialAdded : 0;
    const gainsAdded = Math.max(0, gainsChange);
    // A gain ends the loss that was there.
    const unrealizedAdded = gainsAdded > 0 ? to.unrealized - contributed[offset + UNREALIZED] : 0;
    const lossesEnded = unrealizedAdded - gainsAdded;
    this.applyNow(base + EQUITY, equityTaken);
    this.applyNow(base + INITIAL, initialAdded);
    this.applyNow(base + RESERVED, reservedAdded);
    this.applyNow(base + GAINS, gainsAdded);
    this.applyNow(base + LOSSES, -lossesEnded);
    const gainsBefore = this.usableTotalAfterFence(accountId, GAINS);
    const initial = this.usableTotalAfterFence(accountId, INITIAL) + Math.min(0, initialChange);
    const reserved = this.usableTotal(accountId, RESERVED);
    const equity = this.usableTotalAfterFence(accountId, EQUITY) + Math.max(0, equityChange);
    const gains = Math.max(gainsBefore, this.usableTotalAfterFence(accountId, GAINS)) + Math.min(0, gainsChange);
    const additional = this.additional(accountId) - endedAdditional;
    const takesNothing = equityTaken === 0 && reservedAdded === 0;
    if (equity >= initial && (takesNothing || (equity >= gains + reserved && equity >= initial + additional))) {
      contributed[offset + EQUITY] = contributed[offset + EQUITY] + equityTaken;
      contributed[offset + INITIAL] = contributed[offset + INITIAL] + initialAdded;
      contributed[offset + UNREALIZED] = contributed[offset + UNREALIZED] + unrealizedAdded;
      return true;
    }
    this.applyNow(base + LOSSES, lossesEnded);
    this.applyNow(base + GAINS, -gainsAdded);
    this.applyNow(base + RESERVED, -reservedAdded);
    this.applyNow(base + INITIAL, -initialAdded);
    this.applyNow(base + EQUITY, -equityTaken);
    return false;
  }

  /**
   * Begins to change the account's margin, and reads the account as of this moment for consistent(). Returns false, and does
   * nothing, while a transaction of another thread is changing it. So of two threads that settle an account, one waits until
   * the other is done, and none settles it twice.
   */
  claim(accountId: number): boolean {
    if (!this.tryLock(accountId)) return false;
    const isAtRest = this.readConsistent(accountId);
    if (isAtRest && this.isTransactionOpen) this.openStripe(this.stripeOffset(accountId));
    this.unlock(accountId);
    return isAtRest;
  }

  /** The equity as it stands, after all that other threads have written before they passed the account's fence. */
  equityAfterFence(accountId: number): number {
    return this.totalAfterFence(accountId, EQUITY);
  }

  /** The same as this transaction may use it. */
  usableEquityAfterFence(accountId: number): number {
    return this.usableTotalAfterFence(accountId, EQUITY);
  }

  /**
   * Changes what an actor contributes from `contributed` to `to`. Debits apply at once. Credits wait for commit(), unless the
   * log already holds their cause (`isLogged`), for example a price.
   *
   * The order matters, since other threads read in the opposite one (debit):
   *   1. a rising gain counts as unrealised before it is equity, and a falling one until its equity has gone;
   *   2. a loss of equity comes before the initial margin that it frees;
   *   3. a new position's maintenance margin comes before its orders stop counting as reserved (requiredByOthers).
   */
  setContribution(
    accountId: number,
    contributed: Float64Array,
    offset: number,
    to: Contribution,
    isLogged = false,
    isIsolated = false,
  ): void {
    const base = this.stripeOffset(accountId);
    const mustWait = !isLogged;
    const equity = to.equity - contributed[offset + EQUITY];
    const gains = gainOf(to.unrealized) - gainOf(contributed[offset + UNREALIZED]);
    const losses = gainOf(-to.unrealized) - gainOf(-contributed[offset + UNREALIZED]);
    const initial = to.initial - contributed[offset + INITIAL];
    const positionInitial = to.positionInitial - contributed[offset + POSITION_INITIAL];
    const maintenance = to.maintenance - contributed[offset + MAINTENANCE];
    if (gains > 0) this.applyNow(base + GAINS, gains);
    if (isLogged && gains > 0) this.fence(accountId);
    if (equity !== 0) this.deferCredit(base + EQUITY, equity, mustWait && equity > 0);
    // Less unrealised gain is a credit: more can be withdrawn.
    if (gains < 0) this.deferCredit(base + GAINS, gains, mustWait);
    // Losses are only shown.
    if (losses !== 0) this.applyNow(base + LOSSES, losses);
    if (isLogged && initial < 0) this.fence(accountId);
    if (initial !== 0) this.deferCredit(base + INITIAL, initial, mustWait && initial < 0);
    if (isIsolated) this.changeReserved(base, initial - positionInitial, mustWait);
    // Equity and maintenance margin wait together: liquidations divide one by the other.
    if (maintenance !== 0) this.deferCredit(base + MAINTENANCE, maintenance, mustWait && maintenance < 0);
    if (positionInitial > 0) this.fence(accountId);
    this.applyNow(base + POSITION_INITIAL, positionInitial);
    contributed[offset + EQUITY] = to.equity;
    contributed[offset + UNREALIZED] = to.unrealized;
    contributed[offset + INITIAL] = to.initial;
    contributed[offset + POSITION_INITIAL] = to.positionInitial;
    contributed[offset + MAINTENANCE] = to.maintenance;
  }

  private changeReserved(base: number, by: number, mustWait: boolean): void {
    if (by !== 0) this.deferCredit(base + RESERVED, by, mustWait && by < 0);
  }

  protected consistentTotal(accountId: number, column: number): number {
    if (this.stripe === NO_STRIPE) return this.otherTotals[column];
    const index = this.stripeOffset(accountId) + column;
    return this.otherTotals[column] + this.load(index) + this.usableDeferredAt(index);
  }

  private usableTotal(accountId: number, column: number): number {
    return this.total(accountId, column) + this.usableDeferredAt(this.stripeOffset(accountId) + column);
  }

  private usableTotalAfterFence(accountId: number, column: number): number {
    return this.totalAfterFence(accountId, column) + this.usableDeferredAt(this.stripeOffset(accountId) + column);
  }
}
