const WORDS = 0;
const AWAITED = 8;

/**
 * Wakes a thread that sleeps in Atomics.wait(), once records through a sequence have come. Unlike a Doorbell, it does not ring for
 * each record before that.
 */
export class SequenceBell {
  static readonly BYTES = 16;
  /** 1 = the owner waits, or is about to. */
  private readonly words: Int32Array;
  /** Written before `words`, and read after it. */
  private readonly awaited: Float64Array;

  /** `offset`: of BYTES bytes in shared memory, a multiple of 8. */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(SequenceBell.BYTES), offset = 0) {
    this.words = new Int32Array(buffer, offset + WORDS, 1);
    this.awaited = new Float64Array(buffer, offset + AWAITED, 1);
  }

  /** Announces a wait. The owner must look once more before wait(), or it misses records that were committed before. */
  prepareWait(sequence: number): void {
    this.awaited[0] = sequence;
    Atomics.store(this.words, 0, 1);
  }

  /** Blocks until reached(), at most `timeoutMs`. Not on the main thread. */
  wait(timeoutMs: number): void {
    Atomics.wait(this.words, 0, 1, timeoutMs);
  }

  cancelWait(): void {
    Atomics.store(this.words, 0, 0);
  }

  /** The record with this sequence was committed. Records before it may come later, from other threads. */
  reached(sequence: number): void {
    if (Atomics.load(this.words, 0) === 0 || sequence < this.awaited[0]) return;
    if (Atomics.exchange(this.words, 0, 0) === 1) Atomics.notify(this.words, 0);
  }
}
