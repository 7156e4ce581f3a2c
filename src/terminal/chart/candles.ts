import type { ChannelMessage, Kline, KlinesQuery } from "../../client/types.ts";
import { Feed, publicClient } from "../state/connection.ts";
import { DAY_MS, type Traded } from "./formulas.ts";

/** Candles of one market and interval: the latest ones, older ones on demand, and the current one as it grows. */

export type Interval = KlinesQuery["interval"];
export type PriceType = NonNullable<KlinesQuery["priceType"]>;
export const INTERVALS: readonly Interval[] = [
  ...(["1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h"] as const),
  ...(["6h", "8h", "12h", "1d", "3d", "1w", "1M"] as const),
];

const PAGE = 500;
const RETRY_MS = 2_000;
/** A page that stays open forgets as many old candles as it has gained. Scrolling back reads them again. */
const MOST_ADDED = 2000;
/** A chart of fewer candles of a minute shows seconds at first: a young market would have a handful of bars. */
const FEW_MINUTES = 30;

/** The interval of a chart whose interval nobody has chosen. */
export async function firstInterval(symbol: string): Promise<Interval> {
  try {
    const { data } = await publicClient.klines({ symbol, interval: "1m", limit: FEW_MINUTES });
    return data.length < FEW_MINUTES ? "1s" : "1m";
  } catch {
    return "1m";
  }
}

/** Candles of a day or more begin at midnight UTC in every time zone. */
export const isDaily = (interval: Interval): boolean => /[dwM]$/.test(interval);

/** Mark and index prices have candles from a minute on. */
export const hasOverlays = (interval: Interval): boolean => interval !== "1s";

const STEPS = [
  ["1h", 3_600_000],
  ["1m", 60_000],
  ["1s", 1_000],
] as const;

/** Sums up trades from midnight UTC until `timeMs`, a whole second: by hours, then by minutes, then by seconds. */
export async function tradedOfDay(symbol: string, timeMs: number): Promise<Traded> {
  const sum = { turnover: 0, volume: 0 };
  let startTime = timeMs - (timeMs % DAY_MS);
  for (const [interval, stepMs] of STEPS) {
    const end = timeMs - (timeMs % stepMs);
    if (end === startTime) continue;
    const { data } = await publicClient.klines({ symbol, interval, startTime, endTime: end - 1, limit: 60 });
    for (const { turnover, volume } of data) {
      sum.turnover += Number(turnover);
      sum.volume += Number(volume);
    }
    startTime = end;
  }
  return sum;
}

/** The index of the candle that a time belongs to; -1 when it is before the first one. `all`: oldest first. */
export function indexAt(all: readonly Kline[], timeMs: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((all[middle]?.openTime ?? 0) <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export interface CandleHandlers {
  /** All candles so far, oldest first. */
  onLoad(candles: readonly Kline[]): void;
  /** A candle at the end has changed or begun. */
  onUpdate(candle: Kline): void;
  onFault(message: string): void;
}

export class Candles {
  readonly all: Kline[] = [];
  private readonly symbol: string;
  private readonly interval: Interval;
  private readonly priceType: PriceType;
  private readonly handlers: CandleHandlers;
  private feed: Feed | null = null;
  private timer = 0;
  private isClosed = false;
  private isLoading = false;
  /** The last page was not full: its first candle is the first one of the series. */
  private hasAll = false;
  /** Candles that have begun since the page last forgot some. */
  private addedCount = 0;

  constructor(symbol: string, interval: Interval, priceType: PriceType, handlers: CandleHandlers) {
    this.symbol = symbol;
    this.interval = interval;
    this.priceType = priceType;
    this.handlers = handlers;
    void this.open();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.feed?.close();
  }

  /** Loads a page of candles before the first one. */
  async loadOlder(): Promise<void> {
    const first = this.all[0];
    if (first === undefined || this.isLoading || this.hasAll) return;
    this.isLoading = true;
    try {
      const { data } = await publicClient.klines({ ...this.query(), endTime: first.openTime - 1 });
      const older = data.filter((each) => each.openTime < first.openTime);
      this.hasAll = older.length < PAGE;
      if (this.isClosed || older.length === 0) return;
      this.all.unshift(...older);
      this.handlers.onLoad(this.all);
    } catch {
      // The next scroll asks again.
    } finally {
      this.isLoading = false;
    }
  }

  private query(): KlinesQuery {
    const { symbol, interval, priceType } = this;
    return { symbol, interval, priceType, limit: PAGE };
  }

  private async open(): Promise<void> {
    const { symbol, interval, priceType } = this;
    await this.load();
    if (this.isClosed) return;
    const channels = [{ channel: "klines", symbol, interval, priceType } as const];
    this.feed = new Feed(publicClient, channels, (message) => this.receive(message), { isAuxiliary: true });
  }

  private receive(message: ChannelMessage): void {
    if (message.channel !== "klines") return;
    // After the candles were read, or while there was no connection, the last one may have changed and others have begun.
    const last = this.all.at(-1);
    const first = message.data[0];
    const isLater = last !== undefined && first !== undefined && first.openTime > last.openTime;
    if (message.type === "SNAPSHOT" && isLater) void this.load();
    else for (const candle of message.data) this.take(candle);
  }

  /** Tries again until it has read them. */
  private async load(): Promise<void> {
    clearTimeout(this.timer);
    try {
      const { data } = await publicClient.klines(this.query());
      if (this.isClosed) return;
      this.all.length = 0;
      this.all.push(...data);
      this.hasAll = data.length < PAGE;
      this.handlers.onLoad(this.all);
    } catch (error) {
      if (this.isClosed) return;
      this.handlers.onFault((error as Error).message);
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.load(), RETRY_MS);
    }
  }

  private take(candle: Kline): void {
    const last = this.all.at(-1);
    if (last !== undefined && candle.openTime < last.openTime) return;
    if (last !== undefined && candle.openTime === last.openTime) this.all[this.all.length - 1] = candle;
    else this.add(candle);
    this.handlers.onUpdate(candle);
  }

  private add(candle: Kline): void {
    this.all.push(candle);
    if (++this.addedCount < MOST_ADDED) return;
    this.all.splice(0, this.addedCount);
    this.addedCount = 0;
    this.hasAll = false;
    this.handlers.onLoad(this.all);
  }
}
