import type {
  Balances,
  Dict,
  Int,
  Liquidation,
  OHLCV,
  Order,
  OrderBook,
  Position,
  Str,
  Strings,
  Ticker,
  Tickers,
  Trade,
} from "ccxt";
import { LocalOrderBook } from "../client/order-book.ts";
import type * as api from "../client/types.ts";
import type { ChannelMessage, ChannelRequest, KlinesQuery, OrderBookMessage } from "../client/types.ts";
import { type SocketClient, streamOf } from "./connection.ts";
import { PerpdSocketTrading } from "./socket-trading.ts";
import { Updates } from "./updates.ts";

/** Those that the exchange keeps a stream for. */
const BOOK_DEPTHS = [1, 5, 10, 20, 25, 50, 100, 200, 500, 1000];
const DEFAULT_BOOK_DEPTH = 100;
const MAX_BOOK_DEPTH = 1000;
const TICKER_UPDATE_MS = 1000;
const MAX_ROWS = 1000;

interface Book {
  local: LocalOrderBook;
  time: number;
}

/**
 * watch*: each call resolves with what is new since the call before, or, with `newUpdates: false`, with everything. What
 * came between two calls is not lost, and neither is what happened to orders while a connection was lost, nor the last
 * hundred fills. Orders and fills of before the first call are no news; use fetch* for them.
 */
export class PerpdStreams extends PerpdSocketTrading {
  private readonly localBooks = new Map<string, Book>();
  /** Those that nobody was handed since, the longest changed first. */
  private readonly changedBooks = new Set<string>();
  private readonly updates = new Map<string, Updates<unknown>>();

  override async watchOrderBook(symbol: string, limit?: Int, params: Dict = {}): Promise<OrderBook> {
    await this.loadMarkets();
    const request = this.bookChannel(symbol, limit, params);
    const hash = streamOf(request);
    if (!this.hasNewBook(hash)) await this.follow(request, "public");
    return this.takeBook(hash, symbol, limit);
  }

  /** The one that changed the longest time ago of those that nobody was handed since. */
  override async watchOrderBookForSymbols(symbols: string[], limit?: Int, params: Dict = {}): Promise<OrderBook> {
    await this.loadMarkets();
    const requests = symbols.map((symbol) => this.bookChannel(symbol, limit, params));
    const hashes = requests.map(streamOf);
    for (;;) {
      const changed = [...this.changedBooks].find((hash) => hashes.includes(hash) && this.hasNewBook(hash));
      if (changed !== undefined) return this.takeBook(changed, symbols[hashes.indexOf(changed)] as string, limit);
      await this.followAny(requests);
    }
  }

  override async watchTicker(symbol: string, params: Dict = {}): Promise<Ticker> {
    await this.loadMarkets();
    return this.latestOf<Ticker>(this.tickerChannel(symbol, params), "public");
  }

  /** Of all symbols where none are named; those that changed, or with `newUpdates: false` all. */
  override async watchTickers(symbols?: Strings, params: Dict = {}): Promise<Tickers> {
    await this.loadMarkets();
    const requests = (symbols ?? (this.symbols as string[])).map((symbol) => this.tickerChannel(symbol, params));
    return this.filterByArray(await this.newsOfAny<Ticker>(requests), "symbol");
  }

  /** Tickers, each with its best bid and ask. */
  override async watchBidsAsks(symbols?: Strings, params: Dict = {}): Promise<Tickers> {
    return this.watchTickers(symbols, params);
  }

  override async watchTrades(symbol: string, since?: Int, limit?: Int, params: Dict = {}): Promise<Trade[]> {
    const id = await this.marketIdOf(symbol);
    const rows = await this.newsOf<Trade>({ channel: "trades", symbol: id, ...params }, "public");
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true);
  }

  override async watchTradesForSymbols(
    symbols: string[],
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<Trade[]> {
    return this.rowsForSymbols<Trade>("trades", symbols, since, limit, params);
  }

  override async watchLiquidations(
    symbol: string,
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<Liquidation[]> {
    return this.rowsForSymbols<Liquidation>("liquidations", [symbol], since, limit, params);
  }

  /** Of all symbols where none are named. */
  override async watchLiquidationsForSymbols(
    symbols?: Strings,
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<Liquidation[]> {
    return this.rowsForSymbols<Liquidation>("liquidations", symbols, since, limit, params);
  }

  override async watchOHLCV(
    symbol: string,
    timeframe = "1m",
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<OHLCV[]> {
    const id = await this.marketIdOf(symbol);
    const interval = this.safeString(this.timeframes, timeframe, timeframe) as KlinesQuery["interval"];
    const rows = await this.newsOf<OHLCV>({ channel: "klines", symbol: id, interval, ...params }, "public");
    return this.filterBySinceLimit(rows, since, limit, 0, true);
  }

  override async watchOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}): Promise<Order[]> {
    const rows = await this.newsOf<Order>(await this.accountChannel("orders", symbol, params), "private");
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true);
  }

  override async watchMyTrades(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}): Promise<Trade[]> {
    const rows = await this.newsOf<Trade>(await this.accountChannel("fills", symbol, params), "private");
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true);
  }

  /** A position that was closed comes with no contracts. */
  override async watchPositions(symbols?: Strings, since?: Int, limit?: Int, params: Dict = {}): Promise<Position[]> {
    const request = await this.accountChannel("positions", undefined, params);
    const wanted = this.marketSymbols(symbols);
    for (;;) {
      const rows = await this.newsOf<Position>(request, "private");
      const found = rows.filter(({ symbol }) => wanted === undefined || wanted.includes(symbol as string));
      if (found.length > 0) return this.filterBySinceLimit(found, since, limit, "timestamp", true);
    }
  }

  override async watchBalance(params: Dict = {}): Promise<Balances> {
    return this.latestOf<Balances>(await this.accountChannel("balance", undefined, params), "private");
  }

  protected override receive(client: SocketClient, hash: string, message: ChannelMessage): boolean {
    switch (message.channel) {
      case "orderbook":
        return this.receiveBook(client, hash, message);
      case "ticker":
        return this.receiveState(client, hash, message, this.parseTicker(message.data));
      case "balance":
        return this.receiveState(client, hash, message, this.parseBalance(message.data));
      default:
        this.receiveRows(client, hash, message);
        if (this.updatesOf(hash).hasNews) client.resolve(true, hash);
        return true;
    }
  }

  protected override forget(hash: string): void {
    this.localBooks.delete(hash);
    this.changedBooks.delete(hash);
    this.updates.delete(hash);
  }

  /** What takes the place of all that the stream has said before. */
  private receiveState(client: SocketClient, hash: string, { sequence }: ChannelMessage, state: unknown): true {
    this.updatesOf(hash).put("", String(sequence), state);
    client.resolve(true, hash);
    return true;
  }

  private receiveBook(client: SocketClient, hash: string, message: OrderBookMessage): boolean {
    const book = this.localBooks.get(hash) ?? { local: new LocalOrderBook(), time: 0 };
    this.localBooks.set(hash, book);
    if (!book.local.apply(message)) return false;
    book.time = message.time;
    this.changedBooks.add(hash);
    client.resolve(true, hash);
    return true;
  }

  private receiveRows(
    client: SocketClient,
    hash: string,
    message: Exclude<ChannelMessage, { channel: "orderbook" | "ticker" | "balance" }>,
  ): void {
    const updates = this.updatesOf(hash);
    switch (message.channel) {
      case "trades":
        for (const row of message.data) updates.put(row.tradeId, "", this.parseTrade(row));
        break;
      case "liquidations":
        for (const row of message.data) updates.put(row.tradeId, "", this.parseLiquidation(row));
        break;
      case "klines":
        for (const row of message.data) updates.put(String(row.openTime), JSON.stringify(row), this.parseOHLCV(row));
        break;
      case "positions":
        if (message.type === "SNAPSHOT") this.closeAbsent(updates, message.data);
        for (const row of message.data) updates.put(row.symbol, JSON.stringify(row), this.parsePosition(row));
        break;
      case "fills":
        for (const row of message.data) {
          // Who trades with himself has two fills of one trade.
          const key = `${row.tradeId} ${row.side}`;
          if (updates.isLive || row.time >= updates.since) updates.put(key, "", this.parseTrade(row));
          else updates.remember(key, "", this.parseTrade(row));
        }
        updates.isLive = true;
        break;
      case "orders":
        if (message.type === "SNAPSHOT" && updates.isLive) this.findEnded(client, hash, message.data);
        for (const row of message.data) {
          if (updates.isLive || row.updatedAt >= updates.since)
            updates.put(row.orderId, orderVersion(row), this.parseOrder(row));
          else updates.remember(row.orderId, orderVersion(row), this.parseOrder(row));
        }
        updates.isLive = true;
        break;
    }
  }

  /** Orders that ended while nobody listened are in no snapshot: they are looked up. */
  private async findEnded(client: SocketClient, hash: string, open: readonly api.Order[]): Promise<void> {
    const updates = this.updatesOf(hash);
    const ids = new Set(open.map(({ orderId }) => orderId));
    const ended = (updates.known as Order[]).filter(({ id, status }) => status === "open" && !ids.has(id as string));
    try {
      for (const { id } of ended) {
        const order = await this.fetchOrder(id as string);
        updates.put(id as string, orderVersion(order.info), order);
      }
      if (updates.hasNews) client.resolve(true, hash);
    } catch (error) {
      client.reject(error as Error, hash);
    }
  }

  /** Positions that were closed while nobody listened are in no snapshot. */
  private closeAbsent(updates: Updates<unknown>, open: readonly api.Position[]): void {
    const symbols = new Set(open.map(({ symbol }) => symbol));
    for (const { info: row, contracts } of updates.known as Position[]) {
      if (contracts === 0 || symbols.has(row.symbol)) continue;
      updates.put(row.symbol, "closed", this.parsePosition(closedPosition(row, this.milliseconds())));
    }
  }

  /** The stream's state, once there is one that nobody was handed. What is left of a lost connection is none of now. */
  private async latestOf<State>(request: ChannelRequest, access: "public" | "private"): Promise<State> {
    const hash = streamOf(request);
    const updates = this.updatesOf(hash);
    if (!updates.hasNews || !this.isCurrent(hash)) await this.follow(request, access);
    const [state] = updates.take(false);
    return state as State;
  }

  private async newsOf<Row>(request: ChannelRequest, access: "public" | "private"): Promise<Row[]> {
    const updates = this.updatesOf(streamOf(request));
    if (!updates.hasNews) await this.follow(request, access);
    return updates.take(this.newUpdates) as Row[];
  }

  /** The news of several public streams, once one of them has some. */
  private async newsOfAny<Row>(requests: readonly ChannelRequest[]): Promise<Row[]> {
    const updates = requests.map((request) => this.updatesOf(streamOf(request)));
    while (!updates.some(({ hasNews }) => hasNews)) await this.followAny(requests);
    return updates.flatMap((update) => update.take(this.newUpdates)) as Row[];
  }

  private async rowsForSymbols<Row>(
    channel: "trades" | "liquidations",
    symbols: Strings,
    since: Int,
    limit: Int,
    params: Dict,
  ): Promise<Row[]> {
    await this.loadMarkets();
    const asked = symbols ?? (this.symbols as string[]);
    const requests = asked.map((symbol) => ({ channel, symbol: this.marketId(symbol) as string, ...params }));
    const rows = this.sortBy(await this.newsOfAny<Row>(requests), "timestamp");
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true);
  }

  private followAny(requests: readonly ChannelRequest[]): Promise<unknown> {
    return Promise.race(requests.map((request) => this.follow(request, "public")));
  }

  private bookChannel(symbol: string, limit: Int, params: Dict): ChannelRequest {
    const depth = limit === undefined ? DEFAULT_BOOK_DEPTH : BOOK_DEPTHS.find((offered) => offered >= limit);
    return { channel: "orderbook", symbol: this.marketId(symbol) as string, depth: depth ?? MAX_BOOK_DEPTH, ...params };
  }

  private tickerChannel(symbol: string, params: Dict): ChannelRequest {
    return { channel: "ticker", symbol: this.marketId(symbol) as string, updateMs: TICKER_UPDATE_MS, ...params };
  }

  private hasNewBook(hash: string): boolean {
    return this.changedBooks.has(hash) && this.isCurrent(hash);
  }

  private takeBook(hash: string, symbol: string, limit: Int): OrderBook {
    this.changedBooks.delete(hash);
    const { local, time } = this.localBooks.get(hash) as Book;
    const [bids, asks] = [local.bids.slice(0, limit), local.asks.slice(0, limit)];
    return { ...this.parseOrderBook({ bids, asks }, symbol, time), nonce: local.sequence } as OrderBook;
  }

  private updatesOf(hash: string): Updates<unknown> {
    const known = this.updates.get(hash);
    if (known !== undefined) return known;
    const updates = new Updates<unknown>(this.milliseconds(), MAX_ROWS);
    this.updates.set(hash, updates);
    return updates;
  }

  private async marketIdOf(symbol: string): Promise<string> {
    await this.loadMarkets();
    return this.marketId(symbol) as string;
  }

  private async accountChannel(channel: ChannelRequest["channel"], symbol: Str, params: Dict): Promise<ChannelRequest> {
    await this.loadMarkets();
    return { channel, ...this.given({ symbol: this.marketOrNone(symbol)?.id }), ...params };
  }
}

/** What of an order makes it another one to whoever watches it. */
const orderVersion = ({ status, filledQuantity, quantity, price, updatedAt }: api.Order): string =>
  [status, filledQuantity, quantity, price, updatedAt].join(" ");

/** What it won or lost by closing is not known here, nor when that was: `now` at the latest. */
const closedPosition = (row: api.Position, now: number): api.Position => ({
  ...row,
  side: null,
  size: "0",
  entryPrice: null,
  notional: "0",
  isolatedMargin: row.isolatedMargin === null ? null : "0",
  initialMargin: "0",
  maintenanceMargin: "0",
  liquidationPrice: null,
  bankruptcyPrice: null,
  breakEvenPrice: null,
  unrealizedPnl: "0",
  adlRank: null,
  openedAt: null,
  updatedAt: now,
});
