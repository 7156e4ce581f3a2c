/** Of several observations no two may be further apart: a watcher that was stopped itself knows nothing. */
const MAX_GAP_MS = 500;

/**
 * Decides when a leader's lease has lapsed: its revision has stood still for `lapseMs`, by the watcher's own monotonic clock.
 * Clocks of other machines play no part.
 */
export class LeaseWatch {
  private readonly lapseMs: number;
  private revision = -1;
  private stillSinceMs = 0;
  private observedMs = Number.NEGATIVE_INFINITY;

  constructor(lapseMs: number) {
    this.lapseMs = lapseMs;
  }

  /** Returns whether the lease has lapsed. `nowMs`: monotonic. */
  observe(revision: number, nowMs: number): boolean {
    if (revision !== this.revision || nowMs - this.observedMs > MAX_GAP_MS) {
      this.revision = revision;
      this.stillSinceMs = nowMs;
    }
    this.observedMs = nowMs;
    return nowMs - this.stillSinceMs >= this.lapseMs;
  }

  /** For how long the revision has stood still, in ms. */
  get ageMs(): number {
    return Math.max(0, this.observedMs - this.stillSinceMs);
  }

  /** The store did not answer: the watch begins again. */
  reset(): void {
    this.observedMs = Number.NEGATIVE_INFINITY;
  }
}
