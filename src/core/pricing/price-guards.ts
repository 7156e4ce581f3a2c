import { PPM, type PriceTicks, type RatePpm, type TimeMs } from "../base/units.ts";

/** So many prices in a row must agree before a price that jumped is used. */
const CONFIRMATIONS = 3;

/** Whether `ticks` lies within `limitPpm` of `fromTicks`. */
const isNear = (fromTicks: PriceTicks, ticks: PriceTicks, limitPpm: RatePpm): boolean =>
  Math.abs(ticks - fromTicks) * PPM <= fromTicks * limitPpm;

/** Holds back an index price that jumped until more prices confirm it. A restart may forget the prices seen. */
export class JumpGuard {
  private candidateTicks: PriceTicks = 0;
  private seen = 0;

  /** Whether the price may be used. `lastTicks`: the price in use, 0 = none. `limitPpm`: the allowed jump, 0 = any. */
  admits(lastTicks: PriceTicks, ticks: PriceTicks, limitPpm: RatePpm): boolean {
    if (lastTicks === 0 || limitPpm === 0 || isNear(lastTicks, ticks, limitPpm)) {
      this.seen = 0;
      return true;
    }
    this.seen = this.seen > 0 && isNear(this.candidateTicks, ticks, limitPpm) ? this.seen + 1 : 1;
    this.candidateTicks = ticks;
    if (this.seen < CONFIRMATIONS) return false;
    this.seen = 0;
    return true;
  }

  /** How many more prices must agree with the last one. */
  get missing(): number {
    return CONFIRMATIONS - this.seen;
  }
}

/** The mark may move by the limit within so many ms. */
const WINDOW_MS = 60_000;

/** Trips when the mark moves by more than a limit within a minute, in one step or in many. */
export class CircuitBreaker {
  private referenceTicks: PriceTicks = 0;
  private referenceTime: TimeMs = 0;

  /** The mark is `ticks` now. Returns whether it moved too far. `limitPpm`: the allowed move, 0 = any. */
  trips(ticks: PriceTicks, time: TimeMs, limitPpm: RatePpm): boolean {
    const tripped =
      this.referenceTicks !== 0 &&
      limitPpm !== 0 &&
      time - this.referenceTime <= WINDOW_MS &&
      !isNear(this.referenceTicks, ticks, limitPpm);
    if (tripped || this.referenceTicks === 0 || time - this.referenceTime > WINDOW_MS) {
      this.referenceTicks = ticks;
      this.referenceTime = time;
    }
    return tripped;
  }
}
