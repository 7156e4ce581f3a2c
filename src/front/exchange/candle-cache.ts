import type { TimeMs } from "../../core/base/units.ts";
import { type Candle, type CandleSeries, closeTimeOf, openTimeOf } from "../../core/market-data/candles.ts";
import { PRUNED_INTERVALS } from "../../store/history/candle-fold.ts";
import type { CandleHistory, CandleQuery } from "../../store/history/history.ts";

/** Least recently read ones are forgotten. A full cache takes some 20 MB. */
const MAX_SERIES = 32;
/** Of a series: twice the longest page. Older ones are forgotten. */
const MAX_CANDLES = 2000;

/** All candles of a series that open from `from` to `through`, oldest first. Their intervals have ended: they never change. */
interface Held {
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
  private readonly held = new Map<string, Held>();

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
          ? this.latest(series, query)
          : this.from(series, Math.max(query.startTime, this.since(series)), query, time),
    };
  }

  private latest(series: CandleSeries, query: CandleQuery): Candle[] {
    const { limit, endTime = Number.MAX_SAFE_INTEGER } = query;
    const held = this.heldOf(series);
    if (held === undefined || endTime < held.from || endTime > closeTimeOf(series.interval, held.through))
      return this.history.candles(series, query);
    const end = indexAfter(held.candles, endTime);
    return end < limit ? this.history.candles(series, query) : held.candles.slice(end - limit, end);
  }

  private from(series: CandleSeries, startTime: TimeMs, query: CandleQuery, time: TimeMs): Candle[] {
    const { limit, endTime = Number.MAX_SAFE_INTEGER } = query;
    const held = this.heldOf(series);
    if (held === undefined || startTime < held.from || startTime > closeTimeOf(series.interval, held.through) + 1)
      return this.read(series, { ...query, startTime }, time);
    const begin = indexAfter(held.candles, startTime - 1);
    const known = held.candles.slice(begin, Math.min(begin + limit, indexAfter(held.candles, endTime)));
    const next = closeTimeOf(series.interval, held.through) + 1;
    if (known.length === limit || endTime < next) return known;
    return known.concat(this.read(series, { startTime: next, endTime, limit: limit - known.length }, time));
  }

  private read(series: CandleSeries, query: CandleQuery & { startTime: TimeMs }, time: TimeMs): Candle[] {
    const candles = this.history.candles(series, query);
    const { limit, startTime: from, endTime = Number.MAX_SAFE_INTEGER } = query;
    const { interval } = series;
    const lastRead = candles.length < limit ? endTime : (candles.at(-1)?.openTime ?? 0);
    const lastClosed = openTimeOf(interval, openTimeOf(interval, time) - 1);
    const through = Math.min(lastClosed, openTimeOf(interval, Math.min(lastRead, time)));
    if (from <= through) this.hold(series, { from, through, candles: candles.slice(0, indexAfter(candles, through)) });
    return candles;
  }

  private hold(series: CandleSeries, read: Held): void {
    const held = this.heldOf(series);
    const { interval } = series;
    if (held === undefined || read.from > closeTimeOf(interval, held.through) + 1) this.put(series, read);
    else if (closeTimeOf(interval, read.through) + 1 >= held.from) {
      const older = read.candles.slice(0, indexAfter(read.candles, held.from - 1));
      const newer = read.candles.slice(indexAfter(read.candles, held.through));
      this.put(series, {
        from: Math.min(read.from, held.from),
        through: Math.max(read.through, held.through),
        candles: [...older, ...held.candles, ...newer],
      });
    }
  }

  private put(series: CandleSeries, held: Held): void {
    forgetBefore(held, held.candles.at(-MAX_CANDLES)?.openTime ?? 0);
    this.held.set(keyOf(series), held);
    for (const oldest of this.held.keys()) {
      if (this.held.size <= MAX_SERIES) break;
      this.held.delete(oldest);
    }
  }

  private heldOf(series: CandleSeries): Held | undefined {
    const key = keyOf(series);
    const held = this.held.get(key);
    if (held === undefined) return undefined;
    this.held.delete(key);
    forgetBefore(held, this.since(series));
    if (held.from > held.through) return undefined;
    this.held.set(key, held);
    return held;
  }

  private since({ interval }: CandleSeries): TimeMs {
    return PRUNED_INTERVALS.includes(interval) ? this.keptSince() : 0;
  }
}

const keyOf = ({ instrumentId, priceType, interval }: CandleSeries): string =>
  `${instrumentId} ${priceType} ${interval}`;

function forgetBefore(held: Held, time: TimeMs): void {
  if (time <= held.from) return;
  held.from = time;
  held.candles.splice(0, indexAfter(held.candles, time - 1));
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
