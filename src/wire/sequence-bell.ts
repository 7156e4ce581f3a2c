import { Doorbell } from "./ring.ts";

/**
 * Wakes a thread that sleeps in Atomics.wait(), once records through a sequence have come. Unlike a Doorbell alone, it does not
 * ring for each record before that.
 */
export class SequenceBell {
  static readonly BYTES = 16;
  private readonly doorbell: Doorbell;
  /** Written before the doorbell's word, and read after it. */
  private readonly awaited: Float64Array;

  /** `offset`: of BYTES bytes in shared memory, a multiple of 8. */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(SequenceBell.BYTES), offset = 0) {
    this.doorbell = new Doorbell(buffer, null, offset);
    this.awaited = new Float64Array(buffer, offset + 8, 1);
  }

  /** Announces a wait. The owner must look once more before wait(), or it misses records that were committed before. */
  prepareWait(sequence: number): void {
    this.awaited[0] = sequence;
    this.doorbell.prepareSleep();
  }

  /** Blocks until reached(), at most `timeoutMs`. Not on the main thread. */
  wait(timeoutMs: number): void {
    this.doorbell.wait(timeoutMs);
  }

  cancelWait(): void {
    this.doorbell.cancelSleep();
  }

  /** The record with this sequence was committed. Records before it may come later, from other threads. */
  reached(sequence: number): void {
    if (this.doorbell.isSleeping && sequence >= this.awaited[0]) this.doorbell.wake();
  }
}
