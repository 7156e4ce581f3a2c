import { printBigQuanta, type TimeMs } from "../../core/base/units.ts";
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

export interface KlineQuery {
  limit: number;
  /** Candles that open here or later; the latest ones when left out. */
  startTime: TimeMs | undefined;
  endTime: TimeMs | undefined;
}

export interface Klines {
  candles: Candle[];
  /** Where the candle after the last one opens, if that is still within the query. */
  nextOpenTime: TimeMs | null;
}

/** Throws BAD_COMBINATION where there are no such candles. */
export function requireCandles(priceType: PriceType, interval: Interval): void {
  if (hasCandles(priceType, interval)) return;
  const shortest = shortestInterval(priceType);
  throw badCombination("interval", `Candles of ${priceType} prices begin with an interval of ${shortest}.`);
}

/**
 * Candles in order of time, without gaps since the first of all, at most `limit`. `time`: the time up to which the history
 * holds all that the symbol has done (Road.releasedTime), not the clock's: no candle opens later, and those that ended
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
  // Before the first one of all there is nothing to show, so the row begins with it.
  const [first] = before ? [] : history.candles(series, { startTime: asked, endTime: through, limit: 1 });
  if (asked > through || (before ?? first) === undefined) return { candles: [], nextOpenTime: null };
  const from = first?.openTime ?? asked;
  const last = Math.min(through, stepForward(interval, from, limit - 1));
  const traded = history.candles(series, { startTime: from, endTime: last, limit });
  const candles = fillGaps(traded, interval, from, last, before?.closeTicks ?? 0);
  return { candles, nextOpenTime: last < through ? stepForward(interval, last, 1) : null };
}

export function klineJson(instrument: Instrument, interval: Interval, candle: Candle, time: TimeMs): string {
  const closeTime = closeTimeOf(interval, candle.openTime);
  return (
    `{"openTime":${candle.openTime},"closeTime":${closeTime},"open":"${printPrice(instrument, candle.openTicks)}",` +
    `"high":"${printPrice(instrument, candle.highTicks)}","low":"${printPrice(instrument, candle.lowTicks)}",` +
    `"close":"${printPrice(instrument, candle.closeTicks)}","volume":"${printQuantity(instrument, candle.volumeLots)}",` +
    `"turnover":"${printBigQuanta(candle.turnoverQuanta)}","trades":${candle.trades},"closed":${closeTime < time}}`
  );
}

/** The first interval that opens at `time` or later. */
function firstFrom(interval: Interval, time: TimeMs): TimeMs {
  const openTime = openTimeOf(interval, time);
  return openTime === time ? time : closeTimeOf(interval, openTime) + 1;
}

function stepForward(interval: Interval, openTime: TimeMs, steps: number): TimeMs {
  let at = openTime;
  for (let i = 0; i < steps; i++) at = closeTimeOf(interval, at) + 1;
  return at;
}

/** Not beyond the epoch. */
function stepBack(interval: Interval, openTime: TimeMs, steps: number): TimeMs {
  let at = openTime;
  for (let i = 0; i < steps && at > 0; i++) at = openTimeOf(interval, at - 1);
  return Math.max(0, at);
}
