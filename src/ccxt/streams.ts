import {
  type Balances,
  type Dict,
  type Dictionary,
  type Int,
  type Liquidation,
  type OHLCV,
  type Order,
  type OrderBook,
  type Position,
  type Str,
  type Strings,
  type Ticker,
  type Tickers,
  type Trade,
  UnsubscribeError,
} from "ccxt";
import { LocalOrderBook } from "../client/order-book.ts";
import type * as api from "../client/types.ts";
import type { ChannelMessage, ChannelRequest, KlinesQuery, OrderBookMessage, OrdersMessage } from "../client/types.ts";
import { type SocketClient, streamOf } from "./connection.ts";
import { ownParams } from "./params.ts";
import { Reader, type ReadPosition, type WatchCall } from "./reader.ts";
import { PerpdSocketTrading } from "./socket-trading.ts";
import { orderVersion, Updates } from "./updates.ts";

/** Depths for which the exchange keeps a stream. */
const BOOK_DEPTHS = [1, 5, 10, 20, 25, 50, 100, 200, 500, 1000] as const;
const DEFAULT_BOOK_DEPTH = 100;
const MAX_BOOK_DEPTH = 1000;
const TICKER_UPDATE_MS = 1000;
const MAX_ROWS = 1000;

/**
 * Channels of state; the others carry events. Reporting a state twice is harmless. After a lost connection an old state
 * is not reported any more.
 */
const STATE_CHANNELS: ReadonlySet<ChannelRequest["channel"]> = new Set([
  "orderbook",
  "ticker",
  "klines",
  "orders",
  "positions",
  "balance",
]);

interface Book {
  local: LocalOrderBook;
  time: number;
  /** Number of changes so far. */
  changes: number;
}

/**
 * watch*: each call resolves with what changed since the call before or, with `newUpdates: false`, with everything.
 * Nothing that happens between two calls is lost. Order changes during a lost connection are looked up, and the last
 * 100 fills are repeated. Orders and fills from before the first call are not reported: use fetch* for them. Each
 * method reads independently of others on the same stream: see Reader, also for two loops of one method.
 */
export class PerpdStreams extends PerpdSocketTrading {
  private readonly localBooks = new Map<string, Book>();
  private readonly updates = new Map<string, Updates<unknown>>();
  private readonly readers = new Map<string, Reader<unknown>>();

  override async watchOrderBook(symbol: string, limit?: Int, params: Dict = {}) {
    return this.books("watchOrderBook", [symbol], limit, params);
  }

  /** Resolves with the changed book that was returned longest ago. */
  override async watchOrderBookForSymbols(symbols: string[], limit?: Int, params: Dict = {}) {
    return this.books("watchOrderBookForSymbols", symbols, limit, params);
  }

  override async watchTicker(symbol: string, params: Dict = {}) {
    const [ticker] = await this.latestTickers("watchTicker", [symbol], params);
    return ticker as Ticker;
  }

  /**
   * All symbols when none are given. Resolves with the tickers that changed, or with all of them (`newUpdates: false`).
   */
  override async watchTickers(symbols?: Strings, params: Dict = {}): Promise<Tickers> {
    return this.filterByArray(await this.latestTickers("watchTickers", symbols, params), "symbol");
  }

  /** Tickers with their best bid and ask. */
  override async watchBidsAsks(symbols?: Strings, params: Dict = {}): Promise<Tickers> {
    return this.filterByArray(await this.latestTickers("watchBidsAsks", symbols, params), "symbol");
  }

  /** The ticker, which has the mark price. */
  override async watchMarkPrice(symbol: string, params: Dict = {}) {
    const [ticker] = await this.latestTickers("watchMarkPrice", [symbol], params);
    return ticker as Ticker;
  }

  override async watchMarkPrices(symbols?: Strings, params: Dict = {}): Promise<Tickers> {
    return this.filterByArray(await this.latestTickers("watchMarkPrices", symbols, params), "symbol");
  }

  override async watchTrades(symbol: string, since?: Int, limit?: Int, params: Dict = {}) {
    return this.rowsForSymbols<Trade>("watchTrades", "trades", [symbol], since, limit, params);
  }

  override async watchTradesForSymbols(symbols: string[], since?: Int, limit?: Int, params: Dict = {}) {
    return this.rowsForSymbols<Trade>("watchTradesForSymbols", "trades", symbols, since, limit, params);
  }

  override async watchLiquidations(symbol: string, since?: Int, limit?: Int, params: Dict = {}) {
    return this.rowsForSymbols<Liquidation>("watchLiquidations", "liquidations", [symbol], since, limit, params);
  }

  /** All symbols when none are given. */
  override async watchLiquidationsForSymbols(symbols?: Strings, since?: Int, limit?: Int, params: Dict = {}) {
    const method = "watchLiquidationsForSymbols";
    return this.rowsForSymbols<Liquidation>(method, "liquidations", symbols, since, limit, params);
  }

  override async watchOHLCV(
    symbol: string,
    timeframe = "1m",
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<OHLCV[]> {
    await this.loadMarkets();
    const requests = [this.klineChannel(symbol, timeframe, params)];
    const rows = await this.rowsOf<OHLCV>({ method: "watchOHLCV", requests }, "public");
    return this.filterBySinceLimit(rows, since, limit, 0, true);
  }

  /** Takes pairs of a symbol and a timeframe. Resolves with those whose candles changed. */
  override async watchOHLCVForSymbols(
    symbolsAndTimeframes: string[][],
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<Dictionary<Dictionary<OHLCV[]>>> {
    await this.loadMarkets();
    const pairs = symbolsAndTimeframes as [symbol: string, timeframe: string][];
    const requests = pairs.map(([symbol, timeframe]) => this.klineChannel(symbol, timeframe, params));
    return this.read({ method: "watchOHLCVForSymbols", requests }, "public", (position) => {
      const candles: Dictionary<Dictionary<OHLCV[]>> = {};
      for (const [i, [symbol, timeframe]] of pairs.entries()) {
        const rows = this.takeChanges(streamOf(requests[i] as ChannelRequest), position) as OHLCV[];
        if (rows.length === 0) continue;
        candles[symbol] = { ...candles[symbol], [timeframe]: this.filterBySinceLimit(rows, since, limit, 0, true) };
      }
      return Object.keys(candles).length === 0 ? undefined : candles;
    });
  }

  /** The rows of a stream that a reader gets next, if its copy is up to date. */
  private takeChanges(hash: string, position: ReadPosition): unknown[] {
    const updates = this.updatesOf(hash);
    const changed = this.isCurrent(hash) ? updates.after(position.get(hash) ?? 0) : [];
    if (changed.length === 0) return changed;
    position.set(hash, updates.changes);
    return this.newUpdates ? changed : updates.known;
  }

  override async watchOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}): Promise<Order[]> {
    const request = await this.accountChannel("orders", symbol, params);
    const rows = await this.rowsOf<Order>({ method: "watchOrders", requests: [request] }, "private");
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true);
  }

  override async watchOrdersForSymbols(symbols: string[], since?: Int, limit?: Int, params: Dict = {}) {
    const rows = await this.accountRows<Order>("watchOrdersForSymbols", "orders", symbols, params);
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true) as Order[];
  }

  override async watchMyTradesForSymbols(symbols: string[], since?: Int, limit?: Int, params: Dict = {}) {
    const rows = await this.accountRows<Trade>("watchMyTradesForSymbols", "fills", symbols, params);
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true) as Trade[];
  }

  override async watchMyTrades(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}): Promise<Trade[]> {
    const request = await this.accountChannel("fills", symbol, params);
    const rows = await this.rowsOf<Trade>({ method: "watchMyTrades", requests: [request] }, "private");
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true);
  }

  /** A closed position has 0 contracts. */
  override async watchPositions(symbols?: Strings, since?: Int, limit?: Int, params: Dict = {}): Promise<Position[]> {
    const rows = await this.accountRows<Position>("watchPositions", "positions", symbols, params);
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true);
  }

  /** As watchPositions(), of one symbol. */
  override async watchPosition(symbol?: Str, params: Dict = {}): Promise<Position> {
    const symbols = symbol === undefined ? undefined : [symbol];
    const rows = await this.accountRows<Position>("watchPosition", "positions", symbols, params);
    return rows.at(-1) as Position;
  }

  override async watchBalance(params: Dict = {}) {
    const request = await this.accountChannel("balance", undefined, params);
    const [balance] = await this.rowsOf<Balances>({ method: "watchBalance", requests: [request] }, "private");
    return balance as Balances;
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
        client.resolve(true, hash);
        return true;
    }
  }

  protected override forget(hash: string): void {
    this.localBooks.delete(hash);
    this.updates.delete(hash);
  }

  /** Handles a message that replaces everything before it. */
  private receiveState(client: SocketClient, hash: string, { sequence }: ChannelMessage, state: unknown): true {
    this.updatesOf(hash).put("", String(sequence), state);
    client.resolve(true, hash);
    return true;
  }

  private receiveBook(client: SocketClient, hash: string, message: OrderBookMessage): boolean {
    const book = this.localBooks.get(hash) ?? { local: new LocalOrderBook(), time: 0, changes: 0 };
    this.localBooks.set(hash, book);
    if (!book.local.apply(message)) return false;
    book.time = message.time;
    book.changes++;
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
          // A self-trade has two fills with one trade id.
          updates.putIfNew(row.time, `${row.tradeId} ${row.side}`, "", this.parseTrade(row));
        }
        updates.isLive = true;
        break;
      case "orders":
        if (message.type === "SNAPSHOT") this.findEnded(client, hash, message);
        for (const row of message.type === "SNAPSHOT" ? message.data.toReversed() : message.data)
          updates.putIfNew(row.updatedAt, row.orderId, orderVersion(row), this.parseOrder(row));
        updates.isLive = true;
        break;
    }
  }

  /**
   * Looks up orders that ended during a lost connection: a snapshot holds open orders only. Some of them may never have
   * been seen before.
   */
  private async findEnded(client: SocketClient, hash: string, { symbol, data }: OrdersMessage): Promise<void> {
    const updates = this.updatesOf(hash) as Updates<Order>;
    const { known } = updates;
    const ids = new Set(data.map(({ orderId }) => orderId));
    const ended = known.filter(({ id, status }) => status === "open" && !ids.has(id as string));
    const lookupFrom = updates.unresolvedSince ?? Math.max(updates.since, ...known.map(({ info }) => info.updatedAt));
    try {
      const found: Order[] = [];
      for (const { id } of ended) found.push(await this.fetchOrder(id as string));
      const unknown = await this.fetchCanceledAndClosedOrders(this.safeSymbol(symbol), lookupFrom, MAX_ROWS);
      for (const order of [...found, ...unknown]) updates.put(order.id as string, orderVersion(order.info), order);
      updates.unresolvedSince = null;
      client.resolve(true, hash);
    } catch (error) {
      // The next call subscribes again and repeats the look-up from the same time: the snapshot's own rows are stored
      // by now.
      updates.unresolvedSince = lookupFrom;
      delete client.subscriptions[hash];
      if (hash in client.futures) client.reject(error as Error, hash);
    }
  }

  /** Reports positions that were closed during a lost connection: a snapshot holds open ones only. */
  private closeAbsent(updates: Updates<unknown>, open: readonly api.Position[]): void {
    const symbols = new Set(open.map(({ symbol }) => symbol));
    for (const { info: row, contracts } of updates.known as Position[]) {
      if (contracts === 0 || symbols.has(row.symbol)) continue;
      updates.put(row.symbol, "closed", this.parsePosition(closedPosition(row, this.milliseconds())));
    }
  }

  private async latestTickers(method: string, symbols: Strings, params: Dict): Promise<Ticker[]> {
    await this.loadMarkets();
    const requests = (symbols ?? (this.symbols as string[])).map((symbol) =>
      this.symbolChannel({ channel: "ticker", updateMs: TICKER_UPDATE_MS }, symbol, params),
    );
    return this.rowsOf<Ticker>({ method, requests }, "public");
  }

  private async rowsForSymbols<Row>(
    method: string,
    channel: "trades" | "liquidations",
    symbols: Strings,
    since: Int,
    limit: Int,
    params: Dict,
  ): Promise<Row[]> {
    await this.loadMarkets();
    const asked = symbols ?? (this.symbols as string[]);
    const requests = asked.map((symbol) => this.symbolChannel({ channel }, symbol, params));
    const rows = this.sortBy(await this.rowsOf<Row>({ method, requests }, "public"), "timestamp");
    return this.filterBySinceLimit(rows, since, limit, "timestamp", true);
  }

  /** The changes of an account's stream that belong to the symbols. */
  private async accountRows<Row>(
    method: string,
    channel: "orders" | "fills" | "positions",
    symbols: Strings,
    params: Dict,
  ): Promise<Row[]> {
    const request = await this.accountChannel(channel, undefined, params);
    return this.rowsOf<Row>({ method, requests: [request], wanted: this.marketSymbols(symbols) }, "private");
  }

  /** The changes of several streams of a channel, once one of them has some. */
  private rowsOf<Row>(watchCall: WatchCall, access: "public" | "private"): Promise<Row[]> {
    const { requests, wanted } = watchCall;
    const ofWantedSymbols = (rows: unknown[]): unknown[] =>
      wanted === undefined ? rows : rows.filter((row) => wanted.includes((row as Position).symbol as string));
    return this.read<Row[]>(watchCall, access, (position) => {
      const streams = requests.map((request) => {
        const hash = streamOf(request);
        return { hash, updates: this.updatesOf(hash), isReady: !isStateChannel(request) || this.isCurrent(hash) };
      });
      const current = streams.filter(({ isReady }) => isReady);
      const changed = ofWantedSymbols(current.flatMap(({ hash, updates }) => updates.after(position.get(hash) ?? 0)));
      if (changed.length === 0) return undefined;
      for (const { hash, updates } of current) position.set(hash, updates.changes);
      return (this.newUpdates ? changed : ofWantedSymbols(current.flatMap(({ updates }) => updates.known))) as Row[];
    });
  }

  private async books(method: string, symbols: readonly string[], limit: Int, params: Dict): Promise<OrderBook> {
    await this.loadMarkets();
    const requests = symbols.map((symbol) => this.bookChannel(symbol, limit, params));
    return this.read({ method, requests, limit }, "public", (position) => {
      const readOrder = [...position.keys()];
      const [next] = requests
        .map((request, i) => ({ hash: streamOf(request), symbol: symbols[i] as string }))
        .filter(({ hash }) => this.isCurrent(hash) && this.changesOf(hash) > (position.get(hash) ?? 0))
        .toSorted((a, b) => readOrder.indexOf(a.hash) - readOrder.indexOf(b.hash));
      if (next === undefined) return undefined;
      // Moves this book to the end of the queue.
      position.delete(next.hash);
      position.set(next.hash, this.changesOf(next.hash));
      return this.orderBookOf(next.hash, next.symbol, limit);
    });
  }

  /** Reads with the reader that all calls with the same parameters share. */
  private read<Result>(
    watchCall: WatchCall,
    access: "public" | "private",
    find: (position: ReadPosition) => Result | undefined,
  ): Promise<Result> {
    const { method, requests, wanted, limit } = watchCall;
    const name = [method, requests.map(streamOf), wanted, limit].join(" ");
    const reader = this.readers.get(name) ?? new Reader(watchCall, requests.some(isStateChannel));
    this.readers.set(name, reader);
    const follow = () => Promise.race(requests.map((request) => this.follow(request, access)));
    return (reader as Reader<Result>).read(find, follow);
  }

  /** Ends the selected readers, and streams of the channel that nobody reads any more. */
  protected async endReading(
    channel: ChannelRequest["channel"],
    isSelected: (watchCall: WatchCall) => boolean,
  ): Promise<void> {
    for (const [name, reader] of this.readers) {
      if (!isSelected(reader.call)) continue;
      this.readers.delete(name);
      reader.end(new UnsubscribeError(`${this.id} ${name}`));
    }
    await this.unfollow((request) => request.channel === channel && !this.isRead(streamOf(request)));
  }

  private isRead(hash: string): boolean {
    return [...this.readers.values()].some(({ call }) => call.requests.some((request) => streamOf(request) === hash));
  }

  private bookChannel(symbol: string, limit: Int, params: Dict): ChannelRequest {
    const depth = limit === undefined ? DEFAULT_BOOK_DEPTH : BOOK_DEPTHS.find((offered) => offered >= limit);
    return this.symbolChannel({ channel: "orderbook", depth: depth ?? MAX_BOOK_DEPTH }, symbol, params);
  }

  private klineChannel(symbol: string, timeframe: string, params: Dict): ChannelRequest {
    const interval = this.safeString(this.timeframes, timeframe, timeframe) as KlinesQuery["interval"];
    return this.symbolChannel({ channel: "klines", interval }, symbol, params);
  }

  private symbolChannel(request: ChannelRequest, symbol: string, params: Dict): ChannelRequest {
    return { ...request, symbol: this.marketId(symbol) as string, ...ownParams(params) };
  }

  private changesOf(hash: string): number {
    return this.localBooks.get(hash)?.changes ?? 0;
  }

  private orderBookOf(hash: string, symbol: string, limit: Int): OrderBook {
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

  private async accountChannel(channel: ChannelRequest["channel"], symbol: Str, params: Dict): Promise<ChannelRequest> {
    await this.loadMarkets();
    return { channel, ...this.definedFields({ symbol: this.marketOrNone(symbol)?.id }), ...ownParams(params) };
  }
}

const isStateChannel = ({ channel }: ChannelRequest): boolean => STATE_CHANNELS.has(channel);

/**
 * The closed form of a position. Its realized profit and the time of closing are unknown; `now` is the latest possible
 * time.
 */
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
