import type { TimeMs } from "../../core/base/units.ts";
import { type Candle, type CandleSeries, closeTimeOf, openTimeOf } from "../../core/market-data/candles.ts";
import { candlesKeptSince } from "../../store/history/candle-fold.ts";
import type { CandleHistory, CandleQuery } from "../../store/history/history.ts";

/** Least recently read ones are forgotten. A full cache takes some 20 MB. */
const MAX_SERIES = 32;
/** Of a series: twice the longest page. Older ones are forgotten. */
const MAX_CANDLES = 2000;

/** All candles of a series that open from `from` to `through`, oldest first. Their intervals have ended: they never change. */
interface CandleRange {
  from: TimeMs;
  through: TimeMs;
  candles: Candle[];
}

/**
 * Keeps closed candles in memory, so that the next reader of a chart only reads the newest from the history: 500 candles take
 * some 2 ms. Of each series it keeps one range without holes, the newest that was read.
 */
export class CandleCache {
  private readonly history: CandleHistory;
  private readonly keptSince: () => TimeMs;
  /** By series, in the order of the last use. */
  private readonly ranges = new Map<string, CandleRange>();

  /** `keptSince`: since when short candles are kept; 0 = from the beginning. */
  constructor(history: CandleHistory, keptSince: () => TimeMs) {
    this.history = history;
    this.keptSince = keptSince;
  }

  /** History.candles() with the cache. `time`: the time up to which the history is complete for the symbol. */
  at(time: TimeMs): CandleHistory {
    return {
      candles: (series, query) =>
        query.startTime === undefined
          ? this.readLatest(series, query, time)
          : this.readFrom(series, Math.max(query.startTime, this.since(series)), query, time),
    };
  }

  private readLatest(series: CandleSeries, query: CandleQuery, time: TimeMs): Candle[] {
    const { limit, endTime = Number.MAX_SAFE_INTEGER } = query;
    const range = this.rangeOf(series);
    if (range !== undefined && endTime >= range.from && endTime <= closeTimeOf(series.interval, range.through)) {
      const end = indexAfter(range.candles, endTime);
      if (end >= limit || range.from <= this.since(series)) return range.candles.slice(Math.max(0, end - limit), end);
    }
    const candles = this.history.candles(series, query);
    // Nothing is kept before them. A young market is asked for it by each reader.
    if (candles.length < limit) this.learn(series, candles, 0, endTime, time);
    return candles;
  }

  private readFrom(series: CandleSeries, startTime: TimeMs, query: CandleQuery, time: TimeMs): Candle[] {
    const { limit, endTime = Number.MAX_SAFE_INTEGER } = query;
    const range = this.rangeOf(series);
    if (range === undefined || startTime < range.from || startTime > closeTimeOf(series.interval, range.through) + 1)
      return this.readHistory(series, { ...query, startTime }, time);
    const begin = indexAfter(range.candles, startTime - 1);
    const known = range.candles.slice(begin, Math.min(begin + limit, indexAfter(range.candles, endTime)));
    const next = closeTimeOf(series.interval, range.through) + 1;
    if (known.length === limit || endTime < next) return known;
    return known.concat(this.readHistory(series, { startTime: next, endTime, limit: limit - known.length }, time));
  }

  private readHistory(series: CandleSeries, query: CandleQuery & { startTime: TimeMs }, time: TimeMs): Candle[] {
    const candles = this.history.candles(series, query);
    const { limit, startTime, endTime = Number.MAX_SAFE_INTEGER } = query;
    const lastRead = candles.length < limit ? endTime : (candles.at(-1)?.openTime ?? 0);
    this.learn(series, candles, startTime, lastRead, time);
    return candles;
  }

  /** `candles`: all that open from `from` to `lastRead`. Keeps those that are closed. */
  private learn(series: CandleSeries, candles: Candle[], from: TimeMs, lastRead: TimeMs, time: TimeMs): void {
    const { interval } = series;
    const lastClosed = openTimeOf(interval, openTimeOf(interval, time) - 1);
    const through = Math.min(lastClosed, openTimeOf(interval, Math.min(lastRead, time)));
    if (from <= through) this.merge(series, { from, through, candles: candles.slice(0, indexAfter(candles, through)) });
  }

  private merge(series: CandleSeries, read: CandleRange): void {
    const range = this.rangeOf(series);
    const { interval } = series;
    if (range === undefined || read.from > closeTimeOf(interval, range.through) + 1) this.put(series, read);
    else if (closeTimeOf(interval, read.through) + 1 >= range.from) {
      const older = read.candles.slice(0, indexAfter(read.candles, range.from - 1));
      const newer = read.candles.slice(indexAfter(read.candles, range.through));
      this.put(series, {
        from: Math.min(read.from, range.from),
        through: Math.max(read.through, range.through),
        candles: [...older, ...range.candles, ...newer],
      });
    }
  }

  private put(series: CandleSeries, range: CandleRange): void {
    forgetBefore(range, range.candles.at(-MAX_CANDLES)?.openTime ?? 0);
    this.ranges.set(keyOf(series), range);
    for (const oldest of this.ranges.keys()) {
      if (this.ranges.size <= MAX_SERIES) break;
      this.ranges.delete(oldest);
    }
  }

  private rangeOf(series: CandleSeries): CandleRange | undefined {
    const key = keyOf(series);
    const range = this.ranges.get(key);
    if (range === undefined) return undefined;
    this.ranges.delete(key);
    forgetBefore(range, this.since(series));
    if (range.from > range.through) return undefined;
    this.ranges.set(key, range);
    return range;
  }

  private since({ interval }: CandleSeries): TimeMs {
    return candlesKeptSince(interval, this.keptSince);
  }
}

const keyOf = ({ instrumentId, priceType, interval }: CandleSeries): string =>
  `${instrumentId} ${priceType} ${interval}`;

function forgetBefore(range: CandleRange, time: TimeMs): void {
  if (time <= range.from) return;
  range.from = time;
  range.candles.splice(0, indexAfter(range.candles, time - 1));
}

/** The index of the first candle that opens after `time`. */
function indexAfter(candles: readonly Candle[], time: TimeMs): number {
  let [low, high] = [0, candles.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (candles[middle].openTime <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
