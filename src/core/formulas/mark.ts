import type { PriceTicks } from "../base/units.ts";

/** The basis is averaged over 30 updates, which take about 30 s (Binance: 30 points, 1 s apart). */
const BASIS_UPDATES = 30;
/** The basis is kept in 1/1024 ticks, so that its average is integer arithmetic and a replay gives the same. */
export const BASIS_UNIT = 1024;

/**
 * The next moving average of (mid − index), in 1/1024 ticks. Without a two-sided book it fades to 0. A bid or ask further than
 * `limitTicks` from the index counts as one at the limit, so a few quotes far away cannot move the basis much. The old
 * average is bounded, too, since the limit may have been larger.
 */
export function nextBasis1024(
  basis1024: number,
  indexTicks: PriceTicks,
  bidTicks: PriceTicks,
  askTicks: PriceTicks,
  limitTicks: PriceTicks,
): number {
  const most = limitTicks * BASIS_UNIT;
  const from = median(-most, basis1024, most);
  const twoSided = bidTicks > 0 && askTicks > 0;
  const bid = median(indexTicks - limitTicks, bidTicks, indexTicks + limitTicks);
  const ask = median(indexTicks - limitTicks, askTicks, indexTicks + limitTicks);
  const sample = twoSided ? ((bid + ask) * BASIS_UNIT) / 2 - indexTicks * BASIS_UNIT : 0;
  return from + Math.trunc((sample - from) / BASIS_UPDATES);
}

/**
 * Mark price in ticks = median(P1, P2, last), with (Binance USD-M):
 *
 *     P1 = index + fundingTicks;   // fundingTicks = index × last funding rate × time left ÷ interval
 *     P2 = index + moving average of (mid − index);
 *
 * It is never further than `limitTicks` from the index, whatever is quoted, traded or paid (Deribit, DerivaDEX). Before the
 * first trade it is the index.
 */
export function markPrice(
  indexTicks: PriceTicks,
  fundingTicks: PriceTicks,
  basis1024: number,
  lastTicks: PriceTicks,
  limitTicks: PriceTicks,
): PriceTicks {
  if (lastTicks === 0) return indexTicks;
  const middle = median(indexTicks + fundingTicks, indexTicks + Math.round(basis1024 / BASIS_UNIT), lastTicks);
  return median(indexTicks - limitTicks, middle, indexTicks + limitTicks);
}

function median(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
