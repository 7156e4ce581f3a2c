import type { TimeMs } from "../base/units.ts";
import { MAX_SAMPLE_MS } from "../formulas/funding.ts";

/**
 * Samples of the funding premium between two index prices. They come at random times, since those of index prices can be
 * known: a quote that stands only around each index price would make the whole premium. It is memory of the thread alone:
 * PriceUpdated records what follows from it.
 */
export class PremiumSamples {
  private sumPpb = 0;
  private count = 0;
  private takenAt: TimeMs = Number.NEGATIVE_INFINITY;
  private lastPpb = 0;

  add(premiumPpb: number, time: TimeMs): void {
    this.sumPpb += premiumPpb;
    this.count++;
    this.takenAt = time;
  }

  /** Whether samples come. Otherwise the premium of the moment is the only one that there is. */
  isRunning(time: TimeMs): boolean {
    return time - this.takenAt <= MAX_SAMPLE_MS;
  }

  /** The average of the samples since the last call, in parts per billion. Without one, that of the call before. */
  take(): number {
    if (this.count > 0) this.lastPpb = Math.trunc(this.sumPpb / this.count);
    this.sumPpb = 0;
    this.count = 0;
    return this.lastPpb;
  }
}
