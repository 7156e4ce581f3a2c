import { PPB_DECIMALS, printBigQuanta, printFixed, type TimeMs } from "../../core/base/units.ts";
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
import type { History } from "../../store/history/history.ts";
import { badCombination } from "../common/errors.ts";

interface KlineQuery {
  limit: number;
  /** Candles that open at this time or later. Undefined: the latest ones. */
  startTime: TimeMs | undefined;
  endTime: TimeMs | undefined;
}

interface Klines {
  candles: Candle[];
  /** Opening time of the candle after the last one, if it is within the query. */
  nextOpenTime: TimeMs | null;
}

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
 * At most `limit` candles, oldest first, without gaps after the first candle of the series. `time`: the time up to which the
 * history is complete for this symbol (Engine.releasedTime), not the clock's. No candle opens later, and candles that ended
 * before it are closed.
 */
export function readKlines(
  history: Pick<History, "candles">,
  series: CandleSeries,
  query: KlineQuery,
  time: TimeMs,
): Klines {
  const { interval } = series;
  const { limit } = query;
  const through = openTimeOf(interval, Math.min(query.endTime ?? time, time));
  const asked =
    query.startTime === undefined ? stepBack(interval, through, limit - 1) : firstFrom(interval, query.startTime);
  const [before] = history.candles(series, { endTime: asked - 1, limit: 1 });
  // Without an earlier candle, the list begins with the first one of the series.
  const [first] = before ? [] : history.candles(series, { startTime: asked, endTime: through, limit: 1 });
  if (asked > through || (before ?? first) === undefined) return { candles: [], nextOpenTime: null };
  const from = first?.openTime ?? asked;
  const last = Math.min(through, stepForward(interval, from, limit - 1));
  const traded = history.candles(series, { startTime: from, endTime: last, limit });
  const candles = fillGaps(traded, interval, from, last, before?.closeTicks ?? null);
  return { candles, nextOpenTime: last < through ? stepForward(interval, last, 1) : null };
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
