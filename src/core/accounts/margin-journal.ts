import { SequenceLockedMemory } from "./sequence-lock.ts";

/**
 * A transaction's changes to the margin table.
 *
 * A change against an account applies at once, and is journaled so that rollback() can take it back. A change in its favour
 * is deferred until commit(), which runs when the transaction has its sequence in the log. Another thread that uses the
 * freed money then comes later in the log, so a crash cannot keep the use and lose the gain.
 * The transaction itself may use its deferred credits earlier, by useDeferred(): both stand in one record of the log.
 */
export class MarginJournal extends SequenceLockedMemory {
  protected isTransactionOpen = false;
  private readonly appliedIndexes: number[] = [];
  private readonly appliedDeltas: number[] = [];
  private appliedCount = 0;
  private readonly deferredIndexes: number[] = [];
  private readonly deferredDeltas: number[] = [];
  private deferredCount = 0;
  /** The first so many deferred changes may be used by this transaction already; their sums by index of the table. */
  private usableCount = 0;
  private readonly usableSums = new Map<number, number>();
  /** The first so many deferred changes are in the table. Kept here so that rollback() can finish a commit. */
  private committedCount = 0;

  begin(): void {
    this.isTransactionOpen = true;
    this.appliedCount = 0;
  }

  /** The transaction is over. If it has changed anything, it has its sequence in the log. */
  commit(): void {
    this.isTransactionOpen = false;
    this.appliedCount = 0;
    // A reader that sees a credit must see the transaction's debits, too.
    if (this.committedCount < this.deferredCount) this.fenceOpenAccounts();
    for (; this.committedCount < this.deferredCount; this.committedCount++)
      this.addTo(this.deferredIndexes[this.committedCount], this.deferredDeltas[this.committedCount]);
    this.clearDeferred();
    this.committedCount = 0;
    this.closeStripes();
  }

  /**
   * The actor has thrown, and the thread ends. A transaction without a sequence never happened: its debits are taken back
   * and its credits dropped. One that has its sequence is in the log: its commit is finished.
   */
  rollback(): void {
    if (!this.isTransactionOpen) return this.commit();
    this.isTransactionOpen = false;
    while (this.appliedCount > 0) {
      const last = --this.appliedCount;
      this.addTo(this.appliedIndexes[last], -this.appliedDeltas[last]);
    }
    this.clearDeferred();
    this.closeStripes();
  }

  /** Lets the rest of the transaction use the credits that it has deferred until now. Other threads see them at commit(). */
  useDeferred(): void {
    for (; this.usableCount < this.deferredCount; this.usableCount++) {
      const index = this.deferredIndexes[this.usableCount];
      this.usableSums.set(index, this.usableDeferredAt(index) + this.deferredDeltas[this.usableCount]);
    }
  }

  protected usableDeferredAt(index: number): number {
    return this.usableCount === 0 ? 0 : (this.usableSums.get(index) ?? 0);
  }

  protected applyNow(index: number, delta: number): void {
    if (delta === 0) return;
    if (this.isTransactionOpen) this.openStripe(index);
    this.addTo(index, delta);
    if (!this.isTransactionOpen) return;
    this.appliedIndexes[this.appliedCount] = index;
    this.appliedDeltas[this.appliedCount++] = delta;
  }

  /** Defers the change to commit(), or applies it now when it need not wait. */
  protected deferCredit(index: number, delta: number, mustWait: boolean): void {
    if (!mustWait) return this.applyNow(index, delta);
    if (this.isTransactionOpen) this.openStripe(index);
    this.deferredIndexes[this.deferredCount] = index;
    this.deferredDeltas[this.deferredCount++] = delta;
  }

  private clearDeferred(): void {
    this.deferredCount = 0;
    if (this.usableCount === 0) return;
    this.usableCount = 0;
    this.usableSums.clear();
  }
}
