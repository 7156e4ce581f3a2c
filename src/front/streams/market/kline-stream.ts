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
import type { Instrument } from "../../../core/protocol/instrument.ts";
import type { CandleHistory } from "../../../store/history/history.ts";
import type { SymbolMarket } from "../../exchange/symbol-market.ts";
import { klineJson, readKlines } from "../../json/klines.ts";
import { type OnFailure, type Publish, Stream, type Subscriber } from "../base/stream.ts";

const UPDATE_MS = 250;
/** Limit of candles in one update. When more have ended since the last one, the others come with the next update. */
const MAX_CANDLES_PER_UPDATE = 1000;
/** When the stream is behind by more candles (a clock set ahead by days), it skips to the current one. */
const MAX_CATCH_UP_CANDLES = 10_000;

/** The first fields of the messages. */
export const klineHead = ({ symbol }: Instrument, interval: Interval, priceType: PriceType): string =>
  `"channel":"klines","symbol":"${symbol}","interval":"${interval}","priceType":"${priceType}"`;

/**
 * A symbol's current candle. It is published again at most every 250 ms, after trades or prices. At the end of its
 * interval the closed candle comes together with the next ones. Candles come from the history, as in REST.
 */
export class KlineStream extends Stream {
  private readonly market: SymbolMarket;
  private readonly series: CandleSeries;
  private readonly history: CandleHistory;
  private readonly engine: Engine;
  private readonly monotonic: () => number;
  private readonly onFailure: OnFailure;
  /** The candle published last. Before the first one: the interval in which the stream was opened. */
  private openTime: TimeMs;
  private text = "";
  private isShown = false;
  private readAt = 0;
  /** The time of the symbol up to which the candles were read last. */
  private shownTime: TimeMs = 0;
  /** One read at a time: the history may be late while a disk does not answer. */
  private isReading = false;
  /** latestChange() at the last read. */
  private lastChange = 0;

  constructor(
    topic: string,
    market: SymbolMarket,
    priceType: PriceType,
    interval: Interval,
    history: CandleHistory,
    engine: Engine,
    publish: Publish,
    monotonic: () => number,
    onFailure: OnFailure,
  ) {
    const { id: instrumentId } = market.instrument;
    super(topic, klineHead(market.instrument, interval, priceType), engine.releasedSequence(), publish);
    this.market = market;
    this.series = { instrumentId, priceType, interval };
    this.history = history;
    this.engine = engine;
    this.monotonic = monotonic;
    this.onFailure = onFailure;
    this.openTime = openTimeOf(interval, this.time());
  }

  /** A new subscriber gets the candle published last. Only the first subscribers wait for a read. */
  override subscribe(subscriber: Subscriber): void {
    this.awaitSnapshot(subscriber);
    if (this.isShown) this.sendShown();
    else if (!this.isReading) this.read();
  }

  override flush(): void {
    if (this.isReading || this.monotonic() - this.readAt < UPDATE_MS) return;
    const hasEnded = openTimeOf(this.series.interval, this.time()) > this.openTime;
    if (hasEnded || this.latestChange() !== this.lastChange) this.read();
  }

  private time(): TimeMs {
    return this.engine.releasedTime(this.market.instrument.id);
  }

  /** The id of the last trade, or the sequence of the last price. */
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
    this.engine
      .historyCaughtUp()
      .then(ready)
      .catch((thrown) => this.onFailure(this, thrown));
  }

  /** The history holds at least the transactions up to `sequence` and before `time`. */
  private publishChanges(sequence: number, time: TimeMs): void {
    const { series, market } = this;
    this.isShown = true;
    this.shownTime = time;
    const changed: string[] = [];
    for (const candle of this.candlesUpTo(time)) {
      const text = klineJson(market.instrument, series, candle, time);
      if (candle.openTime === this.openTime && text === this.text) continue;
      this.openTime = candle.openTime;
      this.text = text;
      changed.push(text);
    }
    if (changed.length > 0)
      this.publishUpdate("UPDATE", Math.max(sequence, this.sequence), this.body(changed.join(",")));
  }

  private sendShown(): void {
    this.sendAwaitedSnapshots(this.body(this.text));
  }

  private body(candles: string): string {
    return `"time":${this.shownTime},"data":[${candles}]`;
  }

  /** The current state of the candle published last, and the candles after it. */
  private candlesUpTo(time: TimeMs): Candle[] {
    const read = (startTime: TimeMs | undefined, limit: number): Candle[] => {
      return readKlines(this.history, this.series, { limit, startTime, endTime: undefined }, time);
    };
    const lengthMs = closeTimeOf(this.series.interval, this.openTime) + 1 - this.openTime;
    if (time - this.openTime <= MAX_CATCH_UP_CANDLES * lengthMs) return read(this.openTime, MAX_CANDLES_PER_UPDATE);
    return [...read(this.openTime, 1), ...read(undefined, 1)];
  }
}
