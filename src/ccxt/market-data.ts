import type { Currencies, Dict, Int, MarketInterface, OHLCV, OrderBook, OrderBooks, Strings, TradingFees } from "ccxt";
import type * as api from "../client/types.ts";
import { MAX_LIMIT } from "./base.ts";
import { SETTLE } from "./market-parsers.ts";
import { PerpdParsers } from "./parsers.ts";

/** With these the exchange refuses orders, or cannot answer them. */
const NOT_SERVING: ReadonlySet<api.Health["status"]> = new Set([
  "STALLED",
  "REBUILDING",
  "UNRESPONSIVE",
  "STORAGE_FULL",
] as const);

/** Public market data. */
export class PerpdMarketData extends PerpdParsers {
  override async fetchTime(params: Dict = {}): Promise<Int> {
    const { serverTime }: api.ServerTime = await this.request("time", "public", "GET", params);
    return serverTime;
  }

  override async fetchStatus(params: Dict = {}) {
    const health: api.Health = await this.request("health", "public", "GET", params);
    return {
      status: NOT_SERVING.has(health.status) ? "error" : "ok",
      updated: health.serverTime,
      eta: undefined,
      url: undefined,
      info: health,
    };
  }

  override async fetchMarkets(params: Dict = {}) {
    if (this.options.adjustForTimeDifference === true) await this.loadTimeDifference();
    return (await this.instrumentRows(params)).map((row) => this.parseMarket(row));
  }

  /** The assets of the markets. Only the settlement asset can be deposited and withdrawn. Loads the markets. */
  override async fetchCurrencies(_params: Dict = {}): Promise<Currencies> {
    await this.loadMarkets();
    const rows = Object.values(this.currencies).map(({ id, code, precision }) => {
      const isSettle = code === SETTLE;
      const fields = { info: {}, id, code, name: code, type: "crypto", active: true, precision };
      return [
        code,
        this.safeCurrencyStructure({ ...fields, deposit: isSettle, withdraw: isSettle, fee: isSettle ? 0 : undefined }),
      ];
    });
    return Object.fromEntries(rows);
  }

  override async fetchLeverageTiers(symbols?: Strings, params: Dict = {}) {
    await this.loadMarkets();
    const data = await this.instrumentRows(params);
    return this.parseLeverageTiers(data, symbols, "symbol");
  }

  override async fetchTradingFees(params: Dict = {}): Promise<TradingFees> {
    await this.loadMarkets();
    const data = await this.instrumentRows(params);
    const fees = data.map((row) => {
      const [maker, taker] = [this.parseNumber(row.makerFeeRate), this.parseNumber(row.takerFeeRate)];
      const symbol = this.safeSymbol(row.symbol);
      return [symbol, { symbol, maker, taker, percentage: true, tierBased: false, info: row }];
    });
    return Object.fromEntries(fees);
  }

  override async fetchTicker(symbol: string, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.market(symbol);
    const row = await this.request("market/ticker", "public", "GET", { symbol: market.id, ...params });
    return this.parseTicker(row, market);
  }

  override async fetchTickers(symbols?: Strings, params: Dict = {}) {
    const data = await this.tickerRows(params);
    return this.parseTickers(data, this.marketSymbols(symbols));
  }

  /** Best bid and ask of each symbol, as tickers. */
  override async fetchBidsAsks(symbols?: Strings, params: Dict = {}) {
    return this.fetchTickers(symbols, params);
  }

  override async fetchMarkPrices(symbols?: Strings, params: Dict = {}) {
    return this.fetchTickers(symbols, params);
  }

  override async fetchLastPrices(symbols?: Strings, params: Dict = {}) {
    const data = await this.tickerRows(params);
    return this.parseLastPrices(data, this.marketSymbols(symbols));
  }

  /** ccxt's funding rate contains its interval. */
  override async fetchFundingIntervals(symbols?: Strings, params: Dict = {}) {
    return this.fetchFundingRates(symbols, params);
  }

  override async fetchFundingRates(symbols?: Strings, params: Dict = {}) {
    const data = await this.tickerRows(params);
    return this.parseFundingRates(data, this.marketSymbols(symbols));
  }

  override async fetchFundingRateHistory(symbol?: string, since?: Int, limit?: Int, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.market(this.requireSymbol(symbol, "fetchFundingRateHistory"));
    const query = { symbol: market.id, ...this.timeRange(since, params) };
    const rows = await this.pages<api.FundingList["data"][number]>("public", "market/funding", query, { since, limit });
    return this.parseFundingRateHistories(rows, market, since, limit);
  }

  override async fetchOpenInterest(symbol: string, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.market(symbol);
    const row = await this.request("market/open-interest", "public", "GET", { symbol: market.id, ...params });
    return this.parseOpenInterest(row, market);
  }

  override async fetchOpenInterests(symbols?: Strings, params: Dict = {}) {
    await this.loadMarkets();
    const { data } = await this.request("market/open-interest", "public", "GET", params);
    return this.parseOpenInterests(data, this.marketSymbols(symbols));
  }

  override async fetchOpenInterestHistory(
    symbol: string,
    timeframe = "1h",
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ) {
    await this.loadMarkets();
    const market = this.market(symbol);
    const query = { symbol: market.id, interval: timeframe, ...this.timeRange(since, params) };
    const rows = await this.pages<api.OpenInterest>("public", "market/open-interest/history", query, { since, limit });
    return this.parseOpenInterestsHistory(rows, market, since, limit);
  }

  override async fetchOrderBook(symbol: string, limit?: Int, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.market(symbol);
    const depth = limit === undefined ? undefined : Math.min(limit, MAX_LIMIT);
    const query = { ...this.definedFields({ symbol: market.id, depth }), ...params };
    const book: api.OrderBook = await this.request("market/orderbook", "public", "GET", query);
    return { ...this.parseOrderBook(book, market.symbol, book.time), nonce: book.sequence } as OrderBook;
  }

  /** Of all symbols when none are given, with a request for each. */
  override async fetchOrderBooks(symbols?: Strings, limit?: Int, params: Dict = {}): Promise<OrderBooks> {
    await this.loadMarkets();
    const wanted = (this.marketSymbols(symbols) ?? this.symbols) as string[];
    const books = await Promise.all(wanted.map((symbol) => this.fetchOrderBook(symbol, limit, params)));
    return Object.fromEntries(books.map((book) => [book.symbol, book]));
  }

  /** At most 1000 candles, or with `params.paginate` ten times as many. */
  override async fetchOHLCV(
    symbol: string,
    timeframe = "1m",
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<OHLCV[]> {
    await this.loadMarkets();
    const { paginate, ...single } = params;
    if (paginate === true)
      return this.fetchPaginatedCallDeterministic("fetchOHLCV", symbol, since, limit, timeframe, single, MAX_LIMIT);
    const market = this.market(symbol);
    const interval = this.safeString(this.timeframes, timeframe, timeframe);
    // fetchMarkOHLCV(), fetchIndexOHLCV() and fetchPremiumIndexOHLCV() pass their price type in `params.price`.
    const price = this.safeStringUpper(params, "price");
    const priceType = price === "PREMIUMINDEX" ? "PREMIUM" : price;
    const others = this.timeRange(since, this.omit(params, "price"));
    const atMost = limit === undefined ? undefined : Math.min(limit, MAX_LIMIT);
    const query = { ...this.definedFields({ symbol: market.id, interval, priceType, limit: atMost }), ...others };
    const { data }: api.KlineList = await this.request("market/klines", "public", "GET", query);
    return this.parseOHLCVs(data, market, timeframe, since, limit);
  }

  override async fetchTrades(symbol: string, since?: Int, limit?: Int, params: Dict = {}) {
    const { market, rows } = await this.publicTrades("market/trades", symbol, since, limit, params);
    return this.parseTrades(rows, market, since, limit);
  }

  override async fetchLiquidations(symbol: string, since?: Int, limit?: Int, params: Dict = {}) {
    const { market, rows } = await this.publicTrades("market/liquidations", symbol, since, limit, params);
    return rows.map((row) => this.parseLiquidation(row, market));
  }

  private async tickerRows(params: Dict): Promise<api.Ticker[]> {
    await this.loadMarkets();
    const { data }: api.TickerList = await this.request("market/ticker", "public", "GET", params);
    return data;
  }

  /** Does not load the markets first: loading them calls it. */
  private async instrumentRows(params: Dict): Promise<api.InstrumentList["data"]> {
    const { data }: api.InstrumentList = await this.request("market/symbols", "public", "GET", params);
    return data;
  }

  private async publicTrades(
    path: string,
    symbol: string,
    since: Int,
    limit: Int,
    params: Dict,
  ): Promise<{ market: MarketInterface; rows: api.PublicTrade[] }> {
    await this.loadMarkets();
    const market = this.market(symbol);
    const query = { symbol: market.id, ...this.timeRange(since, params) };
    return { market, rows: await this.pages<api.PublicTrade>("public", path, query, { since, limit }) };
  }

  protected requireSymbol(symbol: string | undefined, method: string): string {
    this.checkRequiredArgument(method, symbol, "symbol");
    return symbol as string;
  }
}
