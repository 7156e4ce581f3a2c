import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { must } from "../../assert.ts";
import { EXEC_LIQUIDATION } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { toPublicTrade, toPublicTransfer } from "../../core/market-data/public-trades.ts";
import type { PositionTransferred, Traded } from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { History } from "../../store/history/history.ts";
import type { MarketData } from "../exchange/market.ts";
import type { SymbolMarket } from "../exchange/symbol-market.ts";
import type { OpenStream, Publish, Stream } from "./base/stream.ts";
import type { ChannelRequest } from "./channel-requests.ts";
import { BookStream } from "./market/book-stream.ts";
import { KlineStream } from "./market/kline-stream.ts";
import { SymbolsStream } from "./market/symbols-stream.ts";
import { TickerStream } from "./market/ticker-stream.ts";
import { type TradeSource, TradeStream } from "./market/trade-stream.ts";

export interface PublicStreamsOptions {
  readonly engine: Engine;
  /** Must be created first: it applies each transaction before the streams do. */
  readonly market: MarketData;
  readonly history: Pick<History, "candles">;
  readonly publish: Publish;
  readonly now: () => TimeMs;
  /** Milliseconds of a monotonic clock, for durations. */
  readonly monotonic: () => number;
}

/** The open streams of market data. */
export class PublicStreams {
  private readonly options: PublicStreamsOptions;
  /** Called when a stream cannot read the history. */
  private readonly onFailure: (stream: Stream, thrown: unknown) => void;
  private readonly all = new Set<Stream>();
  private readonly books = new Set<BookStream>();
  /** By instrument id, like liquidations. */
  private readonly trades = new Map<number, TradeStream>();
  private readonly liquidations = new Map<number, TradeStream>();

  constructor(options: PublicStreamsOptions, onFailure: (stream: Stream, thrown: unknown) => void) {
    this.options = options;
    this.onFailure = onFailure;
  }

  /** Opens the stream of a public channel. */
  open(topic: string, request: ChannelRequest): OpenStream {
    if (request.channel === "symbols") return this.openSymbols(topic, request);
    const market = this.options.market.symbol(must(request.instrument, "symbol").id);
    switch (request.channel) {
      case "orderbook":
        return this.openBook(topic, market, request);
      case "trades":
        return this.openTrades(topic, market);
      case "liquidations":
        return this.openLiquidations(topic, market);
      case "ticker":
        return this.openTicker(topic, market, request);
      case "klines":
        return this.openKlines(topic, market, request);
      default:
        throw new Error(`${request.channel} is not a public channel`);
    }
  }

  applyTrade(event: MessageOf<typeof Traded>, { actorId, time, sequence }: ReleasedTransaction): void {
    this.trades.get(actorId)?.add(toPublicTrade(event, time, sequence));
    if (event.execType === EXEC_LIQUIDATION) this.liquidations.get(actorId)?.add(toPublicTrade(event, time, sequence));
  }

  applyTransfer(event: MessageOf<typeof PositionTransferred>, { actorId, time, sequence }: ReleasedTransaction): void {
    this.liquidations.get(actorId)?.add(toPublicTransfer(event, time, sequence));
  }

  /** Publishes what the last transactions have changed. Tickers and candles follow with flushAll(). */
  flush(): void {
    for (const stream of this.books) stream.flush();
    for (const stream of this.trades.values()) stream.flush();
    for (const stream of this.liquidations.values()) stream.flush();
  }

  flushAll(): void {
    for (const stream of this.all) stream.flush();
  }

  private openBook(topic: string, market: SymbolMarket, request: ChannelRequest): OpenStream {
    const { publish, monotonic } = this.options;
    const depth = must(request.depth, "depth");
    const updateMs = must(request.updateMs, "updateMs");
    const stream = new BookStream(topic, market, depth, updateMs, publish, monotonic);
    this.books.add(stream);
    return this.opened(stream, () => this.books.delete(stream));
  }

  private openTrades(topic: string, market: SymbolMarket): OpenStream {
    const recent = (limit: number) => market.recentTrades(limit);
    return this.openTradesOf({ channel: "trades", instrument: market.instrument, recent }, topic, this.trades);
  }

  private openLiquidations(topic: string, market: SymbolMarket): OpenStream {
    const recent = (limit: number) => market.recentLiquidations(limit);
    const source: TradeSource = { channel: "liquidations", instrument: market.instrument, recent };
    return this.openTradesOf(source, topic, this.liquidations);
  }

  private openTradesOf(source: TradeSource, topic: string, streams: Map<number, TradeStream>): OpenStream {
    const { id } = source.instrument;
    const stream = new TradeStream(topic, source, this.options.publish);
    streams.set(id, stream);
    return this.opened(stream, () => streams.delete(id));
  }

  private openTicker(topic: string, market: SymbolMarket, request: ChannelRequest): OpenStream {
    const { publish, now, monotonic } = this.options;
    const updateMs = must(request.updateMs, "updateMs");
    return this.opened(new TickerStream(topic, market, updateMs, publish, now, monotonic));
  }

  private openSymbols(topic: string, { instrument }: ChannelRequest): OpenStream {
    const { engine, market, publish, now, monotonic } = this.options;
    const instruments = instrument === null ? engine.instruments : [instrument];
    const symbols = instruments.map(({ id }) => market.symbol(id));
    return this.opened(new SymbolsStream(topic, instrument, symbols, publish, now, monotonic));
  }

  private openKlines(topic: string, market: SymbolMarket, request: ChannelRequest): OpenStream {
    const { history, engine, publish, monotonic } = this.options;
    const interval = must(request.interval, "interval");
    const priceType = must(request.priceType, "priceType");
    const onFailure = (thrown: unknown): void => this.onFailure(stream, thrown);
    const stream = new KlineStream(topic, market, priceType, interval, history, engine, publish, monotonic, onFailure);
    return this.opened(stream);
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
