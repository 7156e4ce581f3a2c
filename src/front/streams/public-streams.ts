import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { must } from "../../assert.ts";
import { EXEC_LIQUIDATION } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { type PublicTrade, toPublicTrade, toPublicTransfer } from "../../core/market-data/public-trades.ts";
import type { PositionTransferred, Traded } from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { CandleHistory } from "../../store/history/history.ts";
import type { MarketData } from "../exchange/market.ts";
import { RECENT_LIQUIDATIONS, RECENT_TRADES, type SymbolMarket } from "../exchange/symbol-market.ts";
import { publicTradeJson } from "../json/market-json.ts";
import { Pace } from "./base/pace.ts";
import { headOf, type OnFailure, type OpenStream, type Publish, type Stream } from "./base/stream.ts";
import type { ChannelRequest } from "./channel-requests.ts";
import { BookStream } from "./market/book-stream.ts";
import { KlineStream, klineHead } from "./market/kline-stream.ts";
import { type KlineSource, RelayedKlineStream } from "./market/relayed-kline-stream.ts";
import { RowStream } from "./market/row-stream.ts";
import { SymbolsStream } from "./market/symbols-stream.ts";
import { newestOf, type TradeSource, TradeStream } from "./market/trade-stream.ts";

/** The stream of all symbols, among those of each instrument id. */
const ALL_SYMBOLS = -1;
/** Of each pace, by instrument id or ALL_SYMBOLS. */
type TradeStreams = Map<number, readonly TradeStream[]>;
/** Prices come about once a second. */
const MARK_PRICE_PACE_MS = 250;

export interface PublicStreamsOptions {
  readonly engine: Engine;
  /** Must be created first: it applies each transaction before the streams do. */
  readonly market: MarketData;
  readonly history: CandleHistory;
  /** Of a process without a history. Default: the candles of `history`. */
  readonly klines?: KlineSource;
  readonly publish: Publish;
  readonly now: () => TimeMs;
  /** Milliseconds of a monotonic clock, for durations. */
  readonly monotonic: () => number;
}

/** The open streams of market data. */
export class PublicStreams {
  private readonly options: PublicStreamsOptions;
  private readonly onFailure: OnFailure;
  private readonly all = new Set<Stream>();
  private readonly books = new Set<BookStream>();
  private readonly trades: TradeStreams = new Map();
  private readonly liquidations: TradeStreams = new Map();

  constructor(options: PublicStreamsOptions, onFailure: OnFailure) {
    this.options = options;
    this.onFailure = onFailure;
  }

  /** Opens the stream of a public channel. */
  open(topic: string, request: ChannelRequest): OpenStream {
    switch (request.channel) {
      case "orderbook":
        return this.openBook(topic, request);
      case "trades":
        return this.openTrades(topic, request);
      case "liquidations":
        return this.openLiquidations(topic, request);
      case "ticker":
      case "tickers":
        return this.openTickers(topic, request);
      case "mark-price":
        return this.openMarkPrices(topic, request);
      case "symbols":
        return this.openSymbols(topic, request);
      case "klines":
        return this.openKlines(topic, request);
      default:
        throw new Error(`${request.channel} is not a public channel`);
    }
  }

  applyTrade(event: MessageOf<typeof Traded>, { actorId, time, sequence }: ReleasedTransaction): void {
    const isLiquidation = event.execType === EXEC_LIQUIDATION && follows(this.liquidations, actorId);
    if (!isLiquidation && !follows(this.trades, actorId)) return;
    const trade = toPublicTrade(event, time, sequence);
    this.add(this.trades, actorId, trade);
    if (isLiquidation) this.add(this.liquidations, actorId, trade);
  }

  applyTransfer(event: MessageOf<typeof PositionTransferred>, { actorId, time, sequence }: ReleasedTransaction): void {
    if (follows(this.liquidations, actorId))
      this.add(this.liquidations, actorId, toPublicTransfer(event, time, sequence));
  }

  private add(streams: TradeStreams, instrumentId: number, trade: PublicTrade): void {
    const text = publicTradeJson(this.options.market.symbol(instrumentId).instrument, trade);
    for (const id of [instrumentId, ALL_SYMBOLS])
      for (const stream of streams.get(id) ?? []) stream.add(trade.sequence, text);
  }

  /** Publishes what the last transactions have changed. Tickers and candles follow with flushAll(). */
  flush(): void {
    for (const stream of this.books) stream.flush();
    for (const streams of [this.trades, this.liquidations])
      for (const ofSymbol of streams.values()) for (const stream of ofSymbol) stream.flush();
  }

  flushAll(): void {
    for (const stream of this.all) stream.flush();
  }

  private openBook(topic: string, request: ChannelRequest): OpenStream {
    const [market] = this.marketsOf(request);
    const depth = must(request.depth, "depth");
    const stream = new BookStream(topic, market, depth, this.paceOf(request), this.options.publish);
    this.books.add(stream);
    return this.opened(stream, () => this.books.delete(stream));
  }

  private openTrades(topic: string, request: ChannelRequest): OpenStream {
    const recent = (market: SymbolMarket, limit: number) => market.recentTrades(limit);
    return this.openTradesOf("trades", topic, request, this.trades, RECENT_TRADES, recent);
  }

  private openLiquidations(topic: string, request: ChannelRequest): OpenStream {
    const recent = (market: SymbolMarket, limit: number) => market.recentLiquidations(limit);
    return this.openTradesOf("liquidations", topic, request, this.liquidations, RECENT_LIQUIDATIONS, recent);
  }

  /** `kept`: how many trades of each symbol are in memory. Of all symbols together the stream shows no more. */
  private openTradesOf(
    channel: TradeSource["channel"],
    topic: string,
    request: ChannelRequest,
    streams: TradeStreams,
    kept: number,
    recent: (market: SymbolMarket, limit: number) => PublicTrade[],
  ): OpenStream {
    const { instrument } = request;
    const markets = this.marketsOf(request);
    const newest = (limit: number) => newestOf(markets, Math.min(limit, kept), recent);
    const source: TradeSource = { channel, instrument, recent: newest };
    const id = instrument?.id ?? ALL_SYMBOLS;
    const stream = new TradeStream(topic, source, this.paceOf(request), this.options.publish);
    streams.set(id, [...(streams.get(id) ?? []), stream]);
    return this.opened(stream, () => {
      const others = (streams.get(id) ?? []).filter((each) => each !== stream);
      if (others.length > 0) streams.set(id, others);
      else streams.delete(id);
    });
  }

  private openTickers(topic: string, request: ChannelRequest): OpenStream {
    const { now, publish, monotonic } = this.options;
    const { channel, instrument } = request;
    const updateMs = must(request.updateMs, "updateMs");
    const head = `${headOf(channel, instrument)},"updateMs":${updateMs}`;
    const all = this.marketsOf(request);
    const markets = instrument === null ? all : all[0];
    const rowOf = (market: SymbolMarket) => market.tickerJson(now());
    return this.opened(new RowStream(topic, { head, markets, updateMs, rowOf, publish, monotonic }));
  }

  private openMarkPrices(topic: string, request: ChannelRequest): OpenStream {
    const { now, publish, monotonic } = this.options;
    const head = headOf(request.channel, request.instrument);
    const markets = this.marketsOf(request);
    const rowOf = (market: SymbolMarket) => market.markPriceJson(now());
    return this.opened(
      new RowStream(topic, { head, markets, updateMs: MARK_PRICE_PACE_MS, rowOf, publish, monotonic }),
    );
  }

  private openSymbols(topic: string, request: ChannelRequest): OpenStream {
    const { publish, now, monotonic } = this.options;
    const markets = this.marketsOf(request);
    return this.opened(new SymbolsStream(topic, request.instrument, markets, publish, now, monotonic));
  }

  private openKlines(topic: string, request: ChannelRequest): OpenStream {
    const { history, klines, engine, publish, monotonic } = this.options;
    const [market] = this.marketsOf(request);
    const { instrument } = market;
    const interval = must(request.interval, "interval");
    const priceType = must(request.priceType, "priceType");
    if (klines !== undefined) {
      const relayed = new RelayedKlineStream(topic, klineHead(instrument, interval, priceType), publish);
      const close = klines.open({ instrument, interval, priceType }, (message) => relayed.receive(message));
      return this.opened(relayed, close);
    }
    const { onFailure } = this;
    return this.opened(
      new KlineStream(topic, market, priceType, interval, history, engine, publish, monotonic, onFailure),
    );
  }

  private paceOf({ updateMs }: ChannelRequest): Pace {
    return new Pace(updateMs ?? 0, this.options.monotonic);
  }

  /** All symbols if the request names none. */
  private marketsOf({ instrument }: ChannelRequest): readonly SymbolMarket[] {
    const { market } = this.options;
    return instrument === null ? market.symbols : [market.symbol(instrument.id)];
  }

  private opened(stream: Stream, onClose?: () => void): OpenStream {
    this.all.add(stream);
    const close = (): void => {
      this.all.delete(stream);
      onClose?.();
    };
    return { stream, close };
  }
}

const follows = (streams: TradeStreams, instrumentId: number): boolean =>
  streams.has(instrumentId) || streams.has(ALL_SYMBOLS);
