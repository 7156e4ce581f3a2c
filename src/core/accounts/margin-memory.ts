import * as fields from "./contribution.ts";

const { EQUITY, GAINS, INITIAL, LOSSES, MAINTENANCE, POSITION_INITIAL, RESERVED, UNREALIZED } = fields;

/** A stripe is one cache line: seven columns of values, and one of the sequence lock. */
const STRIPE_COLUMNS = 8;

/** Fields of a contribution that are columns of the table. */
const SAME_COLUMNS = [EQUITY, INITIAL, POSITION_INITIAL, MAINTENANCE];

/** The stripe of a thread that only reads. */
export const NO_STRIPE = -1;

/**
 * The layout of the margin table in its SharedArrayBuffer:
 *
 *     values         per account, per stripe: 8 doubles
 *     before images  the same shape, only with several stripes: see sequence-lock.ts
 *     additional     per account, per stripe: a double, the additional margin. It has no place in the cache line
 *     fences         per account: an int32, which is 1 while a thread covers the account's deficit
 *
 * margin-table.ts explains stripes and fences.
 */
export class MarginMemory {
  /** With before images and additional margin. */
  protected values: Float64Array<SharedArrayBuffer>;
  protected beforeImages: Float64Array<SharedArrayBuffer>;
  private fences: Int32Array<SharedArrayBuffer>;
  /** This thread's stripe, or NO_STRIPE. */
  protected readonly stripe: number;
  protected readonly stripeCount: number;

  constructor(buffer: SharedArrayBuffer, stripeCount = 1, stripe = 0) {
    this.stripeCount = stripeCount;
    this.stripe = stripe;
    this.values = valuesIn(buffer, stripeCount);
    this.beforeImages = beforeImagesIn(buffer, stripeCount);
    this.fences = fencesIn(buffer, stripeCount);
  }

  get buffer(): SharedArrayBuffer {
    return this.values.buffer;
  }

  get maxAccounts(): number {
    return this.fences.length;
  }

  /** Works on another buffer from now on. A recovering thread has a table of its own until a recount includes it. */
  attach(buffer: SharedArrayBuffer): void {
    this.values = valuesIn(buffer, this.stripeCount);
    this.beforeImages = beforeImagesIn(buffer, this.stripeCount);
    this.fences = fencesIn(buffer, this.stripeCount);
  }

  /**
   * Adds a whole contribution, five numbers of `contributed` from `offset`: for a recount into an empty table. `isIsolated`: of
   * a row in isolated mode.
   */
  addAll(accountId: number, contributed: Float64Array, offset: number, isIsolated = false): void {
    const base = this.stripeOffset(accountId);
    for (const column of SAME_COLUMNS)
      if (contributed[offset + column] !== 0) this.addTo(base + column, contributed[offset + column]);
    const unrealized = contributed[offset + UNREALIZED];
    if (unrealized !== 0) this.addTo(base + (unrealized > 0 ? GAINS : LOSSES), Math.abs(unrealized));
    if (isIsolated) this.addTo(base + RESERVED, contributed[offset + INITIAL] - contributed[offset + POSITION_INITIAL]);
  }

  /** The additional margin of all rows of the account: see formulas/opening-rate.ts. */
  additional(accountId: number): number {
    const { stripeCount } = this;
    const first = this.additionalIndex(accountId, 0);
    let sum = this.load(first);
    for (let stripe = 1; stripe < stripeCount; stripe++) sum += this.load(first + stripe);
    return sum;
  }

  /**
   * Not part of a transaction's journal: it applies at once. A crash may take back what made it less, such as a close. The
   * initial margin is left in the account then, since that waits for the commit.
   */
  addAdditional(accountId: number, by: number): void {
    this.addTo(this.additionalIndex(accountId, this.stripe), by);
  }

  clear(): void {
    this.values.fill(0);
  }

  /** Becomes a copy of `other` while no thread works on either. Frees locks that a dead thread still held. */
  copyFrom(other: MarginMemory): void {
    this.values.set(other.values);
    this.fences.fill(0);
  }

  /** The index of this thread's first column of the account. */
  protected stripeOffset(accountId: number): number {
    return (accountId * this.stripeCount + this.stripe) * STRIPE_COLUMNS;
  }

  protected offsetOfStripe(accountId: number, stripe: number): number {
    return (accountId * this.stripeCount + stripe) * STRIPE_COLUMNS;
  }

  private additionalIndex(accountId: number, stripe: number): number {
    const { maxAccounts, stripeCount } = this;
    return (maxAccounts * STRIPE_COLUMNS * tablesOf(stripeCount) + accountId) * stripeCount + stripe;
  }

  /** The first index of the stripe that `index` lies in. */
  protected stripeStart(index: number): number {
    return index & -STRIPE_COLUMNS;
  }

  protected accountOf(index: number): number {
    return Math.floor(index / (this.stripeCount * STRIPE_COLUMNS));
  }

  /** The sum of all stripes as it stands, also in the middle of transactions. */
  protected total(accountId: number, column: number): number {
    const { stripeCount } = this;
    const first = accountId * stripeCount * STRIPE_COLUMNS + column;
    let sum = this.load(first);
    for (let stripe = 1; stripe < stripeCount; stripe++) sum += this.load(first + stripe * STRIPE_COLUMNS);
    return sum;
  }

  protected totalAfterFence(accountId: number, column: number): number {
    this.fence(accountId);
    return this.total(accountId, column);
  }

  /** Makes what this thread wrote before visible to threads that pass the fence later. A single thread needs none. */
  protected fence(accountId: number): void {
    if (this.stripeCount > 1) Atomics.add(this.fences, accountId, 0);
  }

  /** Returns false when another thread holds the account's lock. */
  protected tryLock(accountId: number): boolean {
    return Atomics.compareExchange(this.fences, accountId, 0, 1) === 0;
  }

  protected unlock(accountId: number): void {
    Atomics.store(this.fences, accountId, 0);
  }

  // Every read and write of a value goes through these two methods: tests let other threads run in between.
  protected load(index: number): number {
    return this.values[index];
  }

  protected addTo(index: number, delta: number): void {
    this.values[index] = this.values[index] + delta;
  }
}

/** How many tables of values the buffer holds: before images exist only with several stripes. */
const tablesOf = (stripeCount: number): number => (stripeCount > 1 ? 2 : 1);

const valuesPerAccount = (stripeCount: number): number => (tablesOf(stripeCount) * STRIPE_COLUMNS + 1) * stripeCount;

export const bytesPerAccount = (stripeCount: number): number =>
  valuesPerAccount(stripeCount) * Float64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT;

const accountsIn = (buffer: SharedArrayBuffer, stripeCount: number): number =>
  buffer.byteLength / bytesPerAccount(stripeCount);

const valuesIn = (buffer: SharedArrayBuffer, stripeCount: number): Float64Array<SharedArrayBuffer> =>
  new Float64Array(buffer, 0, accountsIn(buffer, stripeCount) * valuesPerAccount(stripeCount));

function beforeImagesIn(buffer: SharedArrayBuffer, stripeCount: number): Float64Array<SharedArrayBuffer> {
  const length = accountsIn(buffer, stripeCount) * stripeCount * STRIPE_COLUMNS;
  return new Float64Array(buffer, length * Float64Array.BYTES_PER_ELEMENT, stripeCount > 1 ? length : 0);
}

const fencesIn = (buffer: SharedArrayBuffer, stripeCount: number): Int32Array<SharedArrayBuffer> =>
  new Int32Array(buffer, valuesIn(buffer, stripeCount).byteLength);
