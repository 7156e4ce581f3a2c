/**
 * Notices work that waits and makes no progress, such as a disk that does not answer. It counts checks instead of time,
 * because nothing is checked while the whole process is suspended.
 */
export class StallWatch {
  private readonly maxStillChecks: number;
  private done = 0;
  private stillChecks = 0;

  /** `maxStillChecks`: checks without progress until the work counts as stalled. */
  constructor(maxStillChecks: number) {
    this.maxStillChecks = maxStillChecks;
  }

  /** Call it at even intervals. `done` and `due`: sequences. Returns whether the work is stalled. */
  check(done: number, due: number): boolean {
    this.stillChecks = due > done && done === this.done ? this.stillChecks + 1 : 0;
    this.done = done;
    return this.stillChecks >= this.maxStillChecks;
  }
}
