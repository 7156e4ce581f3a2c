import { PPM, type PriceTicks, type RatePpm, type TimeMs } from "../base/units.ts";

/** So many prices in a row must agree before a price that jumped is used. */
export const CONFIRMATIONS = 3;
const MOST_APART_PPM: RatePpm = PPM / 10;

/** Whether `ticks` lies within `limitPpm` of `fromTicks`. */
const isNear = (fromTicks: PriceTicks, ticks: PriceTicks, limitPpm: RatePpm): boolean =>
  Math.abs(ticks - fromTicks) * PPM <= fromTicks * limitPpm;

/** Whether an index price may only be used once others confirm it. `lastTicks`: the price in use, 0 = none. `limitPpm` 0 = never. */
export const isJump = (lastTicks: PriceTicks, ticks: PriceTicks, limitPpm: RatePpm): boolean =>
  lastTicks !== 0 && limitPpm !== 0 && !isNear(lastTicks, ticks, limitPpm);

/**
 * How many prices in a row agree on a jump with `ticks` as the last of them. Prices agree if they lie on the same side of
 * the index and differ by no more than the limit, or than the first one jumped, up to a tenth. So a market that goes on
 * falling confirms its own fall.
 */
export function countAgreeing(
  lastTicks: PriceTicks,
  pending: { readonly pendingIndexTicks: PriceTicks; readonly pendingIndexCount: number },
  ticks: PriceTicks,
  limitPpm: RatePpm,
): number {
  const { pendingIndexTicks, pendingIndexCount } = pending;
  const isSameSide = ticks > lastTicks === pendingIndexTicks > lastTicks;
  if (pendingIndexCount === 0 || !isSameSide) return 1;
  const apartTicks = Math.abs(ticks - pendingIndexTicks);
  const agrees =
    isNear(pendingIndexTicks, ticks, limitPpm) ||
    (apartTicks <= Math.abs(pendingIndexTicks - lastTicks) && isNear(pendingIndexTicks, ticks, MOST_APART_PPM));
  return agrees ? pendingIndexCount + 1 : 1;
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
