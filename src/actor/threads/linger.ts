import type { SequenceBell } from "../../wire/sequence-bell.ts";

/** Of the larger one of the last two batches. The rest may come late, and then all others would wait for it. */
const SHARE = 0.75;

export interface LingerOptions {
  /** The most that a batch waits. */
  readonly maxMs: number;
  /** The actors ring it when the awaited transaction has come. */
  readonly bell: SequenceBell;
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
   * `first`: the sequence with which the batch begins. `collect`: adds what has come to the batch, and returns how many
   * transactions it has. They count, not their bytes: a client that places and cancels in turn must not wait after each longer record.
   */
  gather(first: number, collect: () => number): void {
    const { maxMs, bell } = this.options;
    const enough = Math.ceil(SHARE * Math.max(this.last, this.before));
    let count = collect();
    if (count < enough && maxMs > 0) {
      bell.prepareWait(first + enough - 1);
      count = collect();
      // Once only: a thread that stands still between its sequence and its record must not hold up what all others have written.
      if (count < enough) {
        bell.wait(maxMs);
        count = collect();
      }
      bell.cancelWait();
    }
    this.before = this.last;
    this.last = count;
  }
}
