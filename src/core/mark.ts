import type { PriceTicks } from "./units.ts";

/** Updates over which the basis is averaged: about 30 at one index price a second (Binance: 30 points, 1 s apart). */
const BASIS_UPDATES = 30;
/** The basis is kept in 1/1024 ticks, so that its average is exact integer arithmetic and replays the same. */
export const BASIS_UNIT = 1024;

/** The next moving average of (mid − index), in 1/1024 ticks. Without a two-sided book the basis fades to 0. */
export function nextBasis1024(
  basis1024: number,
  indexTicks: PriceTicks,
  bidTicks: PriceTicks,
  askTicks: PriceTicks,
): number {
  const twoSided = bidTicks > 0 && askTicks > 0;
  const sample = twoSided ? Math.trunc(((bidTicks + askTicks) * BASIS_UNIT) / 2) - indexTicks * BASIS_UNIT : 0;
  return basis1024 + Math.trunc((sample - basis1024) / BASIS_UPDATES);
}

/**
 * Mark price = median(P1, P2, last), P1 = index × (1 + funding rate × time left ÷ interval), P2 = index + moving average
 * of (mid − index) (Binance USD-M). `fundingTicks` is index × last funding rate × time
 * left ÷ interval. Before the first trade there is nothing but the index.
 */
export function markPrice(
  indexTicks: PriceTicks,
  fundingTicks: PriceTicks,
  basis1024: number,
  lastTicks: PriceTicks,
): PriceTicks {
  const byFunding = Math.max(1, indexTicks + fundingTicks);
  const byBasis = Math.max(1, indexTicks + Math.round(basis1024 / BASIS_UNIT));
  return lastTicks === 0 ? indexTicks : median(byFunding, byBasis, lastTicks);
}

function median(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
