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
 * Mark price = median(index, index + basis, last). Binance USD-M: median(P1, P2, last) with P1 = index × (1 + funding ×
 * time left ÷ interval), P2 = index + moving average of (mid − index). Funding is 0 until it is paid here, so P1 = index.
 */
export function markPrice(indexTicks: PriceTicks, basis1024: number, lastTicks: PriceTicks): PriceTicks {
  const byBasis = Math.max(1, indexTicks + Math.round(basis1024 / BASIS_UNIT));
  if (lastTicks === 0) return indexTicks;
  return median(indexTicks, byBasis, lastTicks);
}

function median(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
