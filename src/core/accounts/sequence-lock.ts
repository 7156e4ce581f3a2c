import * as fields from "./contribution.ts";
import { MarginMemory } from "./margin-memory.ts";

const { VALUE_COLUMNS } = fields;

/**
 * The column of a stripe behind its values. Its upper bits count the transactions that have changed the stripe, and its two
 * lowest ones are flags of the transaction in progress. It only rises: so it is never the same again after a change.
 */
const VERSION = 7;
/** Flag: a transaction is changing the stripe. */
const OPEN = 2;
/** Flag: that transaction may turn what the account's orders have reserved into a position. */
const FILLING = 1;
const FLAGS = OPEN | FILLING;

/** A read fails when a transaction begins or ends in the middle of it, at worst about one in some hundred. */
const MAX_READ_ATTEMPTS = 1000;

const isOpen = (version: number): boolean => (version & OPEN) !== 0;

/**
 * The sequence lock of the margin table: readers see the stripes of other threads as of one moment between transactions.
 *
 * The writer, at the first change of a transaction to an account: copies its stripe to the before image, then raises
 * VERSION. At the end it raises it again. While its flag OPEN is set, the before image is what counts.
 * The reader sums the other stripes, or their before images, and reads the versions before and after it. If these are the
 * same, no transaction has begun or ended in between, and the sums belong together. Nobody waits for anybody.
 */
export class SequenceLockedMemory extends MarginMemory {
  /** Where the stripes begin that the transaction in progress has changed. */
  private readonly openStripes: number[] = [];
  private openCount = 0;
  /** The sums of the other stripes at the last readConsistent(), by column. */
  protected readonly otherTotals = new Float64Array(VALUE_COLUMNS);
  protected readonly maxReadAttempts: number = MAX_READ_ATTEMPTS;

  /**
   * Reads what the other stripes come to, as of one moment and without transactions in progress: consistent() adds this
   * thread's stripe. Returns whether no transaction of another thread was changing the account. If one was, it may be
   * spending the account's money, or adding to it.
   */
  readConsistent(accountId: number): boolean {
    for (let attempt = 0; attempt < this.maxReadAttempts; attempt++) {
      const version = this.versionOfOthers(accountId);
      for (let column = 0; column < VALUE_COLUMNS; column++)
        this.otherTotals[column] = this.totalOfOthers(accountId, column);
      if (this.versionOfOthers(accountId) === version) return version >= 0;
    }
    return false;
  }

  /** Writer: the transaction is about to change the stripe that `index` lies in. */
  protected openStripe(index: number): void {
    const start = this.stripeStart(index);
    const { openStripes, openCount } = this;
    if (openCount > 0 && (openStripes[openCount - 1] === start || isOpen(this.load(start + VERSION)))) return;
    if (this.stripeCount === 1) this.addTo(start + VERSION, OPEN);
    else this.publishBegin(start);
    this.openStripes[this.openCount++] = start;
  }

  /**
   * Three fences, so that readers see these in order: the end of the last transaction, the before image, the new
   * VERSION, the changes.
   */
  private publishBegin(start: number): void {
    const accountId = this.accountOf(start);
    this.fence(accountId);
    this.saveBeforeImage(start);
    this.fence(accountId);
    this.addTo(start + VERSION, OPEN);
    this.fence(accountId);
  }

  /** Writer: the transaction that has opened the stripe may fill orders of the account. */
  protected markFilling(start: number): void {
    if (!this.isFilling(start)) this.addTo(start + VERSION, FILLING);
  }

  /** Whether a transaction in progress may fill orders of the account. */
  protected isFilling(start: number): boolean {
    return (this.load(start + VERSION) & FILLING) !== 0;
  }

  protected saveBeforeImage(start: number): void {
    const { beforeImages, values } = this;
    for (let index = start; index < start + VALUE_COLUMNS; index++) beforeImages[index] = values[index];
  }

  /** Writer: the transaction is over. The fence comes first, so that readers who see the end see all changes. */
  protected closeStripes(): void {
    this.fenceOpenAccounts();
    while (this.openCount > 0) {
      const start = this.openStripes[--this.openCount];
      this.addTo(start + VERSION, FLAGS + 1 - (this.load(start + VERSION) & FLAGS));
    }
  }

  /** Passes the fences of all accounts that the transaction changes. */
  protected fenceOpenAccounts(): void {
    if (this.stripeCount === 1) return;
    for (let i = 0; i < this.openCount; i++) this.fence(this.accountOf(this.openStripes[i]));
  }

  /** Reader: the sum of the other threads' stripes, of their before images where a transaction is in progress. */
  protected totalOfOthers(accountId: number, column: number): number {
    const { stripeCount, beforeImages } = this;
    let sum = 0;
    for (let stripe = 0; stripe < stripeCount; stripe++) {
      if (stripe === this.stripe) continue;
      const start = this.offsetOfStripe(accountId, stripe);
      const isChanging = stripeCount > 1 && isOpen(this.load(start + VERSION));
      sum += isChanging ? beforeImages[start + column] : this.load(start + column);
    }
    return sum;
  }

  /**
   * Reader: how many transactions of other threads have begun and ended to change the account; negative while one is in
   * progress. The fences keep the reads before and after it on their side.
   */
  protected versionOfOthers(accountId: number): number {
    const { stripeCount } = this;
    this.fence(accountId);
    let version = 0;
    let isAnyOpen = false;
    for (let stripe = 0; stripe < stripeCount; stripe++) {
      if (stripe === this.stripe) continue;
      const start = this.offsetOfStripe(accountId, stripe);
      const of = this.load(start + VERSION);
      if (isOpen(of)) isAnyOpen = true;
      version += of;
    }
    this.fence(accountId);
    return isAnyOpen ? -version : version;
  }
}
