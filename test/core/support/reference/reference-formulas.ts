import { BUY, SELL } from "../../../../src/core/base/enums.ts";
import type { Instrument } from "../../../../src/core/protocol/instrument.ts";

/** The documented formulas (core/formulas/margin.ts and mark.ts) in fractions of BigInt. */

/** ceil(a × b ÷ c) */
export function dividedUp(a: number, b: number, c: number): number {
  const product = BigInt(a) * BigInt(b);
  const divisor = BigInt(c);
  return Number((product + divisor - 1n) / divisor);
}

/** The tier whose notional range, up to and including its edge, holds this one; the last tier past all edges. */
function tierAt(instrument: Instrument, notionalQuanta: number) {
  const { riskTiers } = instrument;
  return riskTiers.find((tier) => notionalQuanta <= tier.maxNotionalQuanta) ?? riskTiers[riskTiers.length - 1];
}

/** notional ÷ leverage, and at least the tier's own rate. */
export function initialMarginOf(instrument: Instrument, notionalQuanta: number, leverage: number): number {
  const tier = tierAt(instrument, notionalQuanta);
  if (tier.maxLeverage < leverage) return dividedUp(notionalQuanta, tier.initialMarginPpm, 1_000_000);
  return dividedUp(notionalQuanta, 1, leverage);
}

/**
 * Each part of the notional at the rate of its own tier, rounded up once. Equals rate × notional − deduction.
 */
export function maintenanceMarginOf(instrument: Instrument, notionalQuanta: number): number {
  let millionths = 0n;
  let floor = 0;
  for (const [i, tier] of instrument.riskTiers.entries()) {
    const isLast = i === instrument.riskTiers.length - 1;
    const top = isLast ? notionalQuanta : Math.min(notionalQuanta, tier.maxNotionalQuanta);
    if (top <= floor) break;
    millionths += BigInt(top - floor) * BigInt(tier.maintenanceMarginPpm);
    floor = top;
  }
  return Number((millionths + 999_999n) / 1_000_000n);
}

const middleOf = (...three: [number, number, number]): number => three.sort((a, b) => a - b)[1];

/**
 * How far the mark may be from the index, in whole ticks: at most three eighths of the initial margin at the highest
 * leverage, and half of the maintenance margin there.
 */
export function markLimitOf(instrument: Instrument, indexTicks: number): number {
  const ofInitial = (BigInt(dividedUp(1_000_000, 1, instrument.maxLeverage)) * 3n) / 8n;
  const ofMaintenance = BigInt(instrument.riskTiers[0].maintenanceMarginPpm) / 2n;
  const limitPpm = ofInitial < ofMaintenance ? ofInitial : ofMaintenance;
  return Number((BigInt(indexTicks) * limitPpm) / 1_000_000n);
}

/**
 * The basis moves a thirtieth of its distance towards mid − index, in 1/1024 ticks, cut towards zero. Without a two-sided
 * book mid − index is 0. The mark is the median of index, index + basis and the last price. Bid, ask, basis and mark are
 * clamped to the limit around the index.
 */
export function markOf(
  indexTicks: number,
  basis1024: number,
  bidTicks: number | undefined,
  askTicks: number | undefined,
  lastTicks: number,
  limitTicks: number,
): { markTicks: number; basis1024: number } {
  const near = (ticks: number): number => middleOf(indexTicks - limitTicks, ticks, indexTicks + limitTicks);
  const held1024 = middleOf(-limitTicks * 1024, basis1024, limitTicks * 1024);
  const mid1024 =
    bidTicks === undefined || askTicks === undefined ? indexTicks * 1024 : (near(bidTicks) + near(askTicks)) * 512;
  const distance = BigInt(mid1024 - indexTicks * 1024 - held1024);
  const nextBasis1024 = held1024 + Number(distance / 30n);
  if (lastTicks === 0) return { markTicks: indexTicks, basis1024: nextBasis1024 };
  // Halves go up, as prices are rounded.
  const byBasis = indexTicks + Math.floor((nextBasis1024 + 512) / 1024);
  return { markTicks: near(middleOf(indexTicks, byBasis, lastTicks)), basis1024: nextBasis1024 };
}

/** Margin of the orders of an isolated position: the dearer side, without the part that reduces the position. */
export function isolatedOrderMarginOf(
  instrument: Instrument,
  sizeLots: number,
  valueQuanta: number,
  leverage: number,
  sides: readonly { lots: number; exposure: number }[],
): number {
  const [same, other] = sizeLots > 0 ? [sides[BUY], sides[SELL]] : [sides[SELL], sides[BUY]];
  const held = Math.abs(valueQuanta);
  const more =
    initialMarginOf(instrument, held + same.exposure, leverage) - initialMarginOf(instrument, held, leverage);
  const openingLots = Math.max(0, other.lots - Math.abs(sizeLots));
  if (openingLots === 0) return more;
  return Math.max(more, initialMarginOf(instrument, dividedUp(other.exposure, openingLots, other.lots), leverage));
}
