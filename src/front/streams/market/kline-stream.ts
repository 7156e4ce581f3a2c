import type { Engine } from "../../../actor/engine/engine.ts";
import type { TimeMs } from "../../../core/base/units.ts";
import {
  type Candle,
  type CandleSeries,
  closeTimeOf,
  type Interval,
  openTimeOf,
  type PriceType,
} from "../../../core/market-data/candles.ts";
import type { History } from "../../../store/history/history.ts";
import type { SymbolMarket } from "../../exchange/symbol-market.ts";
import { klineJson, readKlines } from "../../json/klines.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

const UPDATE_MS = 250;
/** Candles in one update, when very many have ended since the last one: the others come with the next. */
const MAX_CANDLES_PER_UPDATE = 1000;
/** Behind so many, as when the machine's clock was set ahead by days, the stream goes on with the current one. */
const MAX_CATCH_UP_CANDLES = 10_000;

/**
 * A symbol's current candle: in a snapshot, and again at most every 250 ms after trades, or prices. When its interval is
 * over, the candle as it closed comes with those that follow. Candles are read where REST reads them.
 */
export class KlineStream extends Stream {
  private readonly market: SymbolMarket;
  private readonly series: CandleSeries;
  private readonly history: Pick<History, "candles">;
  private readonly engine: Engine;
  private readonly monotonic: () => number;
  private readonly onFailure: (thrown: unknown) => void;
  /** The current candle as last shown; before the first one of all, the interval in which the stream began. */
  private openTime: TimeMs;
  private text = "";
  private isShown = false;
  private readAt = 0;
  /** One at a time: while a disk does not answer, the history may be long in coming. */
  private isReading = false;
  /** What was newest in the symbol when the history was last asked: see newest(). */
  private lastChange = 0;

  constructor(
    topic: string,
    market: SymbolMarket,
    priceType: PriceType,
    interval: Interval,
    history: Pick<History, "candles">,
    engine: Engine,
    publish: Publish,
    monotonic: () => number,
    onFailure: (thrown: unknown) => void,
  ) {
    const { symbol, id: instrumentId } = market.instrument;
    const head = `"channel":"klines","symbol":"${symbol}","interval":"${interval}","priceType":"${priceType}"`;
    super(topic, head, engine.releasedSequence(), publish);
    this.market = market;
    this.series = { instrumentId, priceType, interval };
    this.history = history;
    this.engine = engine;
    this.monotonic = monotonic;
    this.onFailure = onFailure;
    this.openTime = openTimeOf(interval, this.time());
  }

  /** At the stream's pace: whoever joins sees what the others were last shown, and only the first ones wait for a read. */
  override subscribe(member: Subscriber): void {
    this.awaitSnapshot(member);
    if (this.isShown) this.sendShown();
    else if (!this.isReading) this.read();
  }

  override flush(): void {
    if (this.isReading || this.monotonic() - this.readAt < UPDATE_MS) return;
    const isOver = openTimeOf(this.series.interval, this.time()) > this.openTime;
    if (isOver || this.latestChange() !== this.lastChange) this.read();
  }

  private time(): TimeMs {
    return this.engine.releasedTime(this.market.instrument.id);
  }

  /** The last trade's id, or the sequence of the last price. */
  private latestChange(): number {
    const { market, series } = this;
    return series.priceType === "LAST" ? (market.recentTrades(1)[0]?.tradeId ?? 0) : market.priceSequence;
  }

  private read(): void {
    this.isReading = true;
    this.readAt = this.monotonic();
    this.lastChange = this.latestChange();
    const sequence = this.engine.releasedSequence();
    const time = this.time();
    const ready = (isThere: boolean): void => {
      if (this.isEmpty) return;
      if (!isThere) return void setTimeout(() => this.read(), UPDATE_MS);
      this.isReading = false;
      this.publishChanges(sequence, time);
      this.sendShown();
    };
    this.engine.historyCaughtUp().then(ready).catch(this.onFailure);
  }

  /** The history holds at least all that was released through this sequence, and before this time. */
  private publishChanges(sequence: number, time: TimeMs): void {
    const { series, market } = this;
    this.isShown = true;
    const changed: string[] = [];
    for (const candle of this.candlesUpTo(time)) {
      const text = klineJson(market.instrument, series.interval, candle, time);
      if (candle.openTime === this.openTime && text === this.text) continue;
      this.openTime = candle.openTime;
      this.text = text;
      changed.push(text);
    }
    if (changed.length > 0)
      this.publishUpdate("UPDATE", Math.max(sequence, this.sequence), `"data":[${changed.join(",")}]`);
  }

  private sendShown(): void {
    this.sendAwaitedSnapshots(`"data":[${this.text}]`);
  }

  /** The one that was shown last, as it is by now, and those behind it. */
  private candlesUpTo(time: TimeMs): Candle[] {
    const read = (startTime: TimeMs | undefined, limit: number): Candle[] => {
      return readKlines(this.history, this.series, { limit, startTime, endTime: undefined }, time).candles;
    };
    const lengthMs = closeTimeOf(this.series.interval, this.openTime) + 1 - this.openTime;
    if (time - this.openTime <= MAX_CATCH_UP_CANDLES * lengthMs) return read(this.openTime, MAX_CANDLES_PER_UPDATE);
    return [...read(this.openTime, 1), ...read(undefined, 1)];
  }
}
