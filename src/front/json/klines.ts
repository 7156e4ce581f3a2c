import { PPB_DECIMALS, type PriceTicks, printBigQuanta, printFixed, type TimeMs } from "../../core/base/units.ts";
import {
  type Candle,
  type CandleSeries,
  closeTimeOf,
  fillGaps,
  hasCandles,
  type Interval,
  openTimeOf,
  type PriceType,
  shortestInterval,
} from "../../core/market-data/candles.ts";
import { type Instrument, printPrice, printQuantity } from "../../core/protocol/instrument.ts";
import type { CandleHistory } from "../../store/history/history.ts";
import { badCombination } from "../common/errors.ts";

interface KlineQuery {
  limit: number;
  /** Candles that open at this time or later. Undefined: the latest ones. */
  startTime: TimeMs | undefined;
  endTime: TimeMs | undefined;
}

/** The candles that answer a query, one for each interval. */
interface KlineRange {
  from: TimeMs;
  last: TimeMs;
  /** Of the candle before; null = there is none. */
  previousCloseTicks: PriceTicks | null;
  /** Opening time of the candle after the last one, if it is within the query. */
  nextOpenTime: TimeMs | null;
}

/** Reading and printing this many takes about a millisecond. */
const CANDLES_PER_PART = 100;

/** Throws BAD_COMBINATION if candles of this price have no such interval. */
export function requireCandles(priceType: PriceType, interval: Interval): void {
  if (hasCandles(priceType, interval)) return;
  const shortest = shortestInterval(priceType);
  throw badCombination(
    "interval",
    `Candles of ${priceType} prices have no interval below ${shortest}. Ask for ${shortest} or longer.`,
  );
}

/**
 * The range of at most `limit` candles, oldest first, without gaps after the first candle of the series; null when there is none.
 * `time`: the time up to which the history is complete for this symbol (Engine.releasedTime), not the clock's. No candle opens
 * later, and candles that ended before it are closed.
 */
export function findKlines(
  history: CandleHistory,
  series: CandleSeries,
  query: KlineQuery,
  time: TimeMs,
): KlineRange | null {
  const { interval } = series;
  const { limit } = query;
  const through = openTimeOf(interval, Math.min(query.endTime ?? time, time));
  const asked =
    query.startTime === undefined ? stepBack(interval, through, limit - 1) : firstFrom(interval, query.startTime);
  const [before] = history.candles(series, { endTime: asked - 1, limit: 1 });
  // Without an earlier candle, the list begins with the first one of the series.
  const [first] = before ? [] : history.candles(series, { startTime: asked, endTime: through, limit: 1 });
  if (asked > through || (before ?? first) === undefined) return null;
  const from = first?.openTime ?? asked;
  const last = Math.min(through, stepForward(interval, from, limit - 1));
  const nextOpenTime = last < through ? stepForward(interval, last, 1) : null;
  return { from, last, previousCloseTicks: before?.closeTicks ?? null, nextOpenTime };
}

/** Reads the range in parts, each when the caller asks for it. Other requests may run in between. */
export function* klineParts(history: CandleHistory, series: CandleSeries, range: KlineRange): Generator<Candle[]> {
  const { interval } = series;
  let closeTicks = range.previousCloseTicks;
  for (let from = range.from; from <= range.last; from = stepForward(interval, from, CANDLES_PER_PART)) {
    const to = Math.min(range.last, stepForward(interval, from, CANDLES_PER_PART - 1));
    const traded = history.candles(series, { startTime: from, endTime: to, limit: CANDLES_PER_PART });
    const part = fillGaps(traded, interval, from, to, closeTicks);
    closeTicks = part.at(-1)?.closeTicks ?? closeTicks;
    yield part;
  }
}

/** The candles of findKlines(), all at once. */
export function readKlines(history: CandleHistory, series: CandleSeries, query: KlineQuery, time: TimeMs): Candle[] {
  const range = findKlines(history, series, query, time);
  return range === null ? [] : [...klineParts(history, series, range)].flat();
}

export function klineJson(
  instrument: Instrument,
  { priceType, interval }: Omit<CandleSeries, "instrumentId">,
  candle: Candle,
  time: TimeMs,
): string {
  const closeTime = closeTimeOf(interval, candle.openTime);
  const price = (value: number): string =>
    priceType === "PREMIUM" ? printFixed(value, PPB_DECIMALS) : printPrice(instrument, value);
  return (
    `{"openTime":${candle.openTime},"closeTime":${closeTime},"open":"${price(candle.openTicks)}",` +
    `"high":"${price(candle.highTicks)}","low":"${price(candle.lowTicks)}","close":"${price(candle.closeTicks)}",` +
    `"volume":"${printQuantity(instrument, candle.volumeLots)}","turnover":"${printBigQuanta(candle.turnoverQuanta)}",` +
    `"trades":${candle.trades},"takerBuyVolume":"${printQuantity(instrument, candle.takerBuyLots)}",` +
    `"takerBuyTurnover":"${printBigQuanta(candle.takerBuyQuanta)}","closed":${closeTime < time}}`
  );
}

/** Opening time of the first interval at `time` or later. */
function firstFrom(interval: Interval, time: TimeMs): TimeMs {
  const openTime = openTimeOf(interval, time);
  return openTime === time ? time : closeTimeOf(interval, openTime) + 1;
}

function stepForward(interval: Interval, openTime: TimeMs, steps: number): TimeMs {
  let at = openTime;
  for (let i = 0; i < steps; i++) at = closeTimeOf(interval, at) + 1;
  return at;
}

/** At least 0. */
function stepBack(interval: Interval, openTime: TimeMs, steps: number): TimeMs {
  let at = openTime;
  for (let i = 0; i < steps && at > 0; i++) at = openTimeOf(interval, at - 1);
  return Math.max(0, at);
}
