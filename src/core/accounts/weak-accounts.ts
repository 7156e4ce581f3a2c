/** Notes that a worker keeps. A reader that has missed more looks at all of its accounts: see WeakAccountReader. */
const KEPT_NOTES = 16_384;

/** The first word counts the notes of all workers. */
const TOTAL = 0;
/** The workers' parts begin on a cache line of their own, since every command of every symbol reads the total. */
const FIRST_PART = 16;
// The words of a worker's part.
const COUNT = 0;
const NOTES = 1;
const PART_WORDS = NOTES + KEPT_NOTES;

/**
 * Where a symbol tells all others that a cross account is below its maintenance margin. Its loss in the one symbol has taken
 * the money that a position in another one relies on: see MarkSettlement.
 *
 * One SharedArrayBuffer. Each worker writes the ids of accounts in a ring of its own. So a thread that dies while it writes
 * leaves no gap that readers would wait for. It is derived and need not survive: a start looks at all accounts.
 */
export class WeakAccounts {
  private readonly words: Int32Array<SharedArrayBuffer>;
  private readonly ownPart: number;
  readonly workers: number;

  constructor(buffer: SharedArrayBuffer, workers: number, worker: number) {
    this.words = new Int32Array(buffer);
    this.workers = workers;
    this.ownPart = partOf(worker);
  }

  static allocate(workers: number): SharedArrayBuffer {
    return new SharedArrayBuffer(partOf(workers) * Int32Array.BYTES_PER_ELEMENT);
  }

  /** The caller has written the account's loss to the margin table: who reads the note sees that, too. */
  note(accountId: number): void {
    const { words, ownPart } = this;
    const count = Atomics.load(words, ownPart + COUNT);
    Atomics.store(words, placeOf(ownPart, count), accountId);
    Atomics.store(words, ownPart + COUNT, (count + 1) | 0);
    Atomics.add(words, TOTAL, 1);
  }

  /** How many notes there were, modulo 2 ** 32. */
  get total(): number {
    return Atomics.load(this.words, TOTAL);
  }

  countOf(worker: number): number {
    return Atomics.load(this.words, partOf(worker) + COUNT);
  }

  /** The account of the worker's n-th note; undefined if a newer note has its place. */
  read(worker: number, n: number): number | undefined {
    const accountId = Atomics.load(this.words, placeOf(partOf(worker), n));
    // The place may be written before the count says so.
    return distance(n, this.countOf(worker)) < KEPT_NOTES ? accountId : undefined;
  }
}

/** What one symbol has read. */
export class WeakAccountReader {
  private readonly accounts: WeakAccounts;
  private total = 0;
  private readonly next: number[] = [];

  /** From now on: earlier notes are no news. */
  constructor(accounts: WeakAccounts) {
    this.accounts = accounts;
    this.skipAll();
  }

  /** One comparison: every command of the symbol asks. */
  get hasUnread(): boolean {
    return this.accounts.total !== this.total;
  }

  skipAll(): void {
    const { accounts } = this;
    this.total = accounts.total;
    for (let worker = 0; worker < accounts.workers; worker++) this.next[worker] = accounts.countOf(worker);
  }

  /** Calls `visit` for each new note. Returns false, and calls it for none or some, if notes were overwritten before. */
  read(visit: (accountId: number) => void): boolean {
    const { accounts, next } = this;
    // First: what comes meanwhile is read now or next time.
    this.total = accounts.total;
    for (let worker = 0; worker < accounts.workers; worker++) {
      const end = accounts.countOf(worker);
      for (; next[worker] !== end; next[worker] = (next[worker] + 1) | 0) {
        const accountId = accounts.read(worker, next[worker]);
        if (accountId === undefined) {
          this.skipAll();
          return false;
        }
        visit(accountId);
      }
    }
    return true;
  }
}

const partOf = (worker: number): number => FIRST_PART + worker * PART_WORDS;
const placeOf = (part: number, n: number): number => part + NOTES + (n & (KEPT_NOTES - 1));
const distance = (from: number, to: number): number => (to - from) >>> 0;
