/** Of the larger one of the last two batches. The rest may come late, and then all others would wait for it. */
const SHARE = 0.75;

export interface LingerOptions {
  /** The most that a batch waits. */
  readonly maxMs: number;
  /** Milliseconds. */
  readonly clock: () => number;
  /** Blocks for a small part of a millisecond. */
  readonly nap: () => void;
}

/**
 * Lets a batch wait for more where each batch costs much: a message to the stream takes the processor time of ten orders or more.
 * Most clients send their next order when the last one is answered. So about as many orders come soon as came before, and a batch
 * waits for most of them. One order after the other never waits; after a burst, two batches may wait for nothing.
 * Kafka's producers call it linger.
 */
export class Linger {
  private readonly options: LingerOptions;
  /** Transactions of the last batch, and of the one before. */
  private last = 0;
  private before = 0;

  constructor(options: LingerOptions) {
    this.options = options;
  }

  /**
   * `collect`: adds what has come to the batch, and returns how many transactions it has. They count, not their bytes: a client
   * that places and cancels in turn must not wait after each longer record.
   */
  gather(collect: () => number): void {
    const { maxMs, clock, nap } = this.options;
    const enough = SHARE * Math.max(this.last, this.before);
    const untilMs = clock() + maxMs;
    let count = collect();
    while (count < enough && clock() < untilMs) {
      nap();
      count = collect();
    }
    this.before = this.last;
    this.last = count;
  }
}
