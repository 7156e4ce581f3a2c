/** The bucket of a request that is nearest to empty: what a client is told. */
export interface Quota {
  /** What the bucket holds at most. */
  readonly limit: number;
  readonly remaining: number;
  /** Until it is full again. */
  readonly resetMs: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** More push out the longest known: whoever has many addresses gets more tokens, but no more memory. */
const MAX_BUCKETS = 50_000;
/** Old buckets that are looked at for each new one. Two, so that those that are full again go faster than others come. */
const LOOKS_PER_NEW = 2;

/**
 * Token buckets of one kind, one for each name that was seen: each holds `capacity` tokens and is refilled at a steady
 * rate, by a clock that nobody sets. A full bucket is the same as none, so only those in use take memory.
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

  /** How many are remembered. */
  get size(): number {
    return this.buckets.size;
  }

  /**
   * Takes so many tokens, or all of a full bucket when it holds fewer than that. The answer is what is left; below zero
   * it is what was lacking, and nothing was taken.
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
    // A request whose body was long on its way came before others that have paid already.
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

  /** Looks at the oldest few: one that is full goes, another one moves to the end, to be looked at again later. */
  private forgetFull(now: number): void {
    const isCrowded = this.buckets.size >= this.maxBuckets;
    let looks = 0;
    for (const [name, bucket] of this.buckets) {
      if (looks++ === LOOKS_PER_NEW) return;
      this.refill(bucket, now);
      this.buckets.delete(name);
      if (bucket.tokens < this.capacity && !(isCrowded && looks === 1)) this.buckets.set(name, bucket);
    }
  }
}
