/** Of the buckets that a request paid from, the one nearest to empty. Clients see it. */
export interface Quota {
  /** Capacity of the bucket in tokens. */
  readonly limit: number;
  readonly remaining: number;
  /** Until the bucket is full again. */
  readonly resetMs: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** A further one replaces the oldest. A client with many addresses gets more tokens but takes no more memory. */
const MAX_BUCKETS = 50_000;
/** Old buckets checked for each new one. More than one, so that full buckets go faster than new ones come. */
const CHECKED_PER_NEW = 2;

/**
 * Token buckets of one kind, one for each name. Each holds `capacity` tokens and is refilled at a steady rate, by
 * performance.now(), which nobody sets. A full bucket equals a missing one, so only buckets in use take memory.
 */
export class Buckets {
  readonly capacity: number;
  readonly perMs: number;
  private readonly buckets = new Map<number | string, Bucket>();
  private readonly maxBuckets: number;

  constructor(perSecond: number, capacity: number, maxBuckets = MAX_BUCKETS) {
    this.perMs = perSecond / 1000;
    this.capacity = capacity;
    this.maxBuckets = maxBuckets;
  }

  /** Number of buckets in memory. */
  get size(): number {
    return this.buckets.size;
  }

  /**
   * Takes `tokens`, or the whole of a full bucket if its capacity is smaller. Returns the tokens left. A negative result
   * says how many were missing; nothing was taken then.
   */
  take(name: number | string, tokens: number, now: number): number {
    const bucket = this.buckets.get(name) ?? this.add(name, now);
    this.refill(bucket, now);
    const left = bucket.tokens - Math.min(tokens, this.capacity);
    if (left >= 0) bucket.tokens = left;
    return left;
  }

  private refill(bucket: Bucket, now: number): void {
    const elapsedMs = now - bucket.filledAt;
    // Requests may pay out of order, because a body can take long to arrive.
    if (elapsedMs <= 0) return;
    bucket.tokens = Math.min(this.capacity, bucket.tokens + elapsedMs * this.perMs);
    bucket.filledAt = now;
  }

  private add(name: number | string, now: number): Bucket {
    this.forgetFull(now);
    const bucket = { tokens: this.capacity, filledAt: now };
    this.buckets.set(name, bucket);
    return bucket;
  }

  /** Checks the oldest few. A full one is removed; another one moves to the end and is checked again later. */
  private forgetFull(now: number): void {
    const isCrowded = this.buckets.size >= this.maxBuckets;
    let checked = 0;
    for (const [name, bucket] of this.buckets) {
      if (checked++ === CHECKED_PER_NEW) return;
      this.refill(bucket, now);
      this.buckets.delete(name);
      if (bucket.tokens < this.capacity && !(isCrowded && checked === 1)) this.buckets.set(name, bucket);
    }
  }
}
