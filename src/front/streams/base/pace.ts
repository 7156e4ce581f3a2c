/** How often a stream publishes: at most once in `updateMs`; 0: whenever there is something. */
export class Pace {
  /** For the head of each message, as JSON. */
  readonly field: string;
  private readonly updateMs: number;
  private readonly monotonic: () => number;
  private publishedAt = Number.NEGATIVE_INFINITY;

  /** `monotonic`: milliseconds of a clock for durations. */
  constructor(updateMs: number, monotonic: () => number) {
    this.field = updateMs === 0 ? "" : `,"updateMs":${updateMs}`;
    this.updateMs = updateMs;
    this.monotonic = monotonic;
  }

  /** Whether a message may go now. The next one then waits for `updateMs`. `isUrgent`: it goes in any case. */
  take(isUrgent = false): boolean {
    if (this.updateMs === 0) return true;
    const now = this.monotonic();
    if (!isUrgent && now - this.publishedAt < this.updateMs) return false;
    this.publishedAt = now;
    return true;
  }
}
