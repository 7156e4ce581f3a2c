import { BUY, SELL, type Side } from "../base/enums.ts";
import {
  divFloor,
  mulDivCeil,
  mulDivFloor,
  PPB,
  PPM,
  type PriceTicks,
  type Quanta,
  type QuantityLots,
  type TimeMs,
} from "../base/units.ts";
import type { Instrument } from "../protocol/instrument.ts";

/** Interest of 0.01 % per 8 hours, and its largest distance from the premium (Binance, Bybit: ±0.05 %). */
const INTEREST_PPB_PER_8H = 100_000;
const CLAMP_PPB = 500_000;
const EIGHT_HOURS_MS = 8 * 3_600_000;
/** Bounds a premium to 10 %: then its product with the ms of the longest interval, a day, is exact. */
const MOST_PREMIUM_PPB = PPB / 10;
/**
 * A sample of the premium counts for the time until the next one, but not longer. Otherwise an outage of the index would
 * give the last sample before it great weight. An older index is stale by default (maxIndexAgeMs).
 */
export const MAX_SAMPLE_MS = 10_000;

/** The visible part of an order book: price levels in ticks, best first, and the lots shown at each. */
interface VisibleBook {
  side(side: Side): { best(): PriceTicks; next(priceTicks: PriceTicks): PriceTicks };
  levelLots(priceTicks: PriceTicks): QuantityLots;
}

/** The end of the interval that contains `time`. Intervals count from the epoch, so a restart does not move them. */
export function nextFundingTime(time: TimeMs, intervalMs: number): TimeMs {
  return (Math.floor(time / intervalMs) + 1) * intervalMs;
}

/**
 * The notional for impact prices, in quanta. It grows with the open interest: those who hold it gain by a wrong premium, and
 * the quotes that make the premium are what they risk.
 */
function impactNotional(instrument: Instrument, indexTicks: PriceTicks, openInterestLots: QuantityLots): Quanta {
  const interestQuanta = openInterestLots * indexTicks * instrument.quantaPerTickLot;
  return Math.max(instrument.impactNotionalQuanta, Math.ceil((interestQuanta * instrument.impactNotionalPpm) / PPM));
}

/**
 * The impact bid or ask price (Binance, Bybit, dYdX): the average price of trading `notionalQuanta` against the visible side
 * of a book, in whole ticks, rounded towards the index. −1 when the side shows less than that, or when the price cannot
 * lie beyond the index: then the rest of the side need not be read.
 */
function impactPrice(
  book: VisibleBook,
  side: Side,
  notionalQuanta: Quanta,
  indexTicks: PriceTicks,
  perTickLot: Quanta,
): number {
  const prices = book.side(side);
  const sign = side === BUY ? 1 : -1;
  let leftQuanta = notionalQuanta;
  let lots = 0;
  let quanta = 0;
  for (let price = prices.best(); price >= 0 && leftQuanta > 0; price = prices.next(price)) {
    const isBeyond = sign * (price - indexTicks) > 0 || sign * (quanta - lots * indexTicks * perTickLot) > 0;
    if (!isBeyond) return -1;
    const wantedLots = Math.ceil(leftQuanta / (price * perTickLot));
    const taken = Math.min(wantedLots, book.levelLots(price));
    lots += taken;
    quanta += taken * price * perTickLot;
    leftQuanta -= taken * price * perTickLot;
  }
  if (leftQuanta > 0) return -1;
  const ticks = divFloor(quanta, lots * perTickLot);
  return side === SELL && ticks * lots * perTickLot < quanta ? ticks + 1 : ticks;
}

/**
 * Premium = [max(0, impact bid − index) − max(0, index − impact ask)] ÷ index, in parts per billion (dYdX v4, Bybit, Binance).
 * A side without enough orders counts as no premium. The premium is bounded like the mark (markLimitPpm), so that a single
 * quote far away has little effect.
 */
export function premiumPpb(
  instrument: Instrument,
  book: VisibleBook,
  indexTicks: PriceTicks,
  openInterestLots: QuantityLots,
): number {
  const { quantaPerTickLot } = instrument;
  const notionalQuanta = impactNotional(instrument, indexTicks, openInterestLots);
  const bid = impactPrice(book, BUY, notionalQuanta, indexTicks, quantaPerTickLot);
  const ask = impactPrice(book, SELL, notionalQuanta, indexTicks, quantaPerTickLot);
  const above = bid < 0 ? 0 : Math.max(0, bid - indexTicks);
  const below = ask < 0 ? 0 : Math.max(0, indexTicks - ask);
  const most = Math.min(MOST_PREMIUM_PPB, instrument.markLimitPpm * (PPB / PPM));
  return Math.max(-most, Math.min(most, Math.trunc(((above - below) * PPB) / indexTicks)));
}

/**
 * The rate of one interval in parts per billion: [average premium + clamp(interest − average premium, ±0.05 %)] ÷
 * (8 h ÷ interval), within ±cap (Binance USD-M). The average is weighted by time (Binance): see FundingState.
 */
export function fundingRatePpb(
  instrument: Instrument,
  average: number,
  intervalMs: number = instrument.fundingIntervalMs,
): number {
  const pull = Math.max(-CLAMP_PPB, Math.min(CLAMP_PPB, INTEREST_PPB_PER_8H - average));
  const rate = Math.trunc(((average + pull) * intervalMs) / EIGHT_HOURS_MS);
  return Math.max(-instrument.fundingCapPpb, Math.min(instrument.fundingCapPpb, rate));
}

/**
 * The length in ms of the interval that ends at `endTime`, at most the time since the last one ended. So a change to longer
 * intervals never charges a period twice.
 */
export function intervalBefore({ fundingIntervalMs }: Instrument, endTime: TimeMs, lastEndTime: TimeMs): number {
  return lastEndTime === 0 ? fundingIntervalMs : Math.min(fundingIntervalMs, endTime - lastEndTime);
}

/** The payment that a position receives for one interval, in quanta; negative = it pays. Rounded against the position. */
export function fundingPayment(
  instrument: Instrument,
  sizeLots: QuantityLots,
  markTicks: PriceTicks,
  ratePpb: number,
): Quanta {
  const notional = Math.abs(sizeLots) * markTicks * instrument.quantaPerTickLot;
  const pays = sizeLots > 0 === ratePpb > 0;
  const rate = Math.abs(ratePpb);
  if (rate === 0 || notional === 0) return 0;
  return pays ? -mulDivCeil(notional, rate, PPB) : mulDivFloor(notional, rate, PPB);
}
