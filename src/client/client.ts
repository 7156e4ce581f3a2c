import WebSocket from "ws";
import { orderSegment, pathSegment } from "./paths.ts";
import { type ClientOptions, type Repeatable, Requests } from "./requests.ts";
import { Stream, type StreamHandlers, type StreamOptions, type WebSocketConstructor } from "./stream.ts";
import type * as api from "./types.ts";

export interface PerpdClientOptions extends ClientOptions {
  /** For stream(), in the place of that of the `ws` package. */
  WebSocket?: WebSocketConstructor;
}

const REPEATABLE: Repeatable = { isRepeatable: true };

/**
 * The exchange's API. Each method is one request, and rejects with PerpdError when the exchange refuses it: then nothing
 * was done. An answer means that what it says is on disk. What may safely be sent twice is sent again, up to `retries`
 * times, when the exchange limits it, is overloaded or cannot be reached.
 */
export class PerpdClient {
  private readonly requests: Requests;
  private readonly WebSocket: WebSocketConstructor;

  constructor(options: PerpdClientOptions) {
    this.requests = new Requests(options);
    this.WebSocket = options.WebSocket ?? WebSocket;
  }

  get token(): string | undefined {
    return this.requests.token;
  }

  // ---- who ----------------------------------------------------------------------------------------------------------

  challenge(address: string, chainId?: number): Promise<api.Challenge> {
    const body = { address, ...(chainId !== undefined && { chainId }) };
    return this.requests.post("/auth/challenge", body, REPEATABLE);
  }

  /** Signs in with a wallet: `signMessage` is its personal_sign. The session's token is used from then on. */
  async login(
    address: string,
    signMessage: (message: string) => Promise<string>,
    options: { chainId?: number } = {},
  ): Promise<api.Session> {
    const { message } = await this.challenge(address, options.chainId);
    const signature = await signMessage(message);
    const session = await this.requests.post<api.Session>("/auth/login", { message, signature });
    this.requests.token = session.token;
    return session;
  }

  async logout(): Promise<void> {
    await this.requests.post("/auth/logout");
    this.requests.token = undefined;
  }

  /** Ends all sessions of the account, wherever they were opened. */
  async logoutEverywhere(): Promise<void> {
    await this.requests.delete("/auth/sessions");
    this.requests.token = undefined;
  }

  sessions(): Promise<api.OpenSessionList> {
    return this.requests.get("/auth/sessions");
  }

  async endSession(sessionId: string): Promise<void> {
    await this.requests.delete(`/auth/sessions/${pathSegment(sessionId, "sessionId")}`);
  }

  createKey(key: api.NewApiKey): Promise<api.CreatedApiKey> {
    return this.requests.post("/auth/keys", key);
  }

  keys(): Promise<api.ApiKeyList> {
    return this.requests.get("/auth/keys");
  }

  async revokeKey(apiKey: string): Promise<void> {
    await this.requests.delete(`/auth/keys/${pathSegment(apiKey, "apiKey")}`);
  }

  // ---- trading ------------------------------------------------------------------------------------------------------

  /** With a clientOrderId it is sent again when the exchange is busy or does not answer: it is placed once. */
  placeOrder(order: api.NewOrder): Promise<api.PlacedOrder> {
    return this.requests.post("/orders", order, { isRepeatable: order.clientOrderId !== undefined });
  }

  /**
   * What would come of an order now, without placing it: rejects as placeOrder() would. Its clientOrderId is best left
   * out: of one that was used it shows the first order.
   */
  tryOrder(order: Omit<api.NewOrder, "clientOrderId">): Promise<api.TriedOrder> {
    return this.requests.post("/orders", { ...order, dryRun: true }, REPEATABLE);
  }

  /** By order id, or `client:` and the client order id. The quantity includes what has been filled. */
  async amendOrder(id: string, changes: api.OrderChanges): Promise<api.PlacedOrder> {
    return this.requests.patch(`/orders/${orderSegment(id)}`, changes);
  }

  /**
   * Up to 20 orders of a symbol to place, amend and cancel, in their order and at once. It rejects when the batch was not
   * taken; look at each result for what came of its item. Sent again like placeOrder() when each new order has a
   * clientOrderId.
   */
  batch(batch: api.Batch): Promise<api.BatchResults> {
    const isRepeatable = batch.items.every((item) => item.action !== "PLACE" || item.clientOrderId !== undefined);
    return this.requests.post("/orders/batch", batch, { isRepeatable });
  }

  /** By order id, or `client:` and the client order id. */
  async cancelOrder(id: string): Promise<api.Order> {
    return this.requests.delete(`/orders/${orderSegment(id)}`);
  }

  cancelOrders(which: api.CancelAllQuery = {}): Promise<api.CanceledOrders> {
    return this.requests.delete("/orders", which);
  }

  /** Cancels all open orders so many milliseconds from now, unless it is called again before; 0 disarms. */
  cancelAfter(timeoutMs: number): Promise<api.CancelSwitch> {
    return this.requests.post("/orders/cancel-after", { timeoutMs }, REPEATABLE);
  }

  /** By order id, or `client:` and the client order id. */
  async order(id: string): Promise<api.Order> {
    return this.requests.get(`/orders/${orderSegment(id)}`);
  }

  openOrders(query: api.OpenOrdersQuery = {}): Promise<api.OrderList> {
    return this.requests.get("/orders", query);
  }

  orderHistory(query: api.OrderHistoryQuery = {}): Promise<api.OrderList> {
    return this.requests.get("/orders/history", query);
  }

  positions(query: api.PositionsQuery = {}): Promise<api.PositionList> {
    return this.requests.get("/positions", query);
  }

  /** Open or not, with the leverage and margin mode that are set. */
  async position(symbol: string): Promise<api.Position> {
    return this.requests.get(`/positions/${pathSegment(symbol, "symbol")}`);
  }

  /** All of it and at market, unless said otherwise. */
  async closePosition(symbol: string, how: api.CloseRequest = {}): Promise<api.PlacedOrder> {
    return this.requests.post(`/positions/${pathSegment(symbol, "symbol")}/close`, how);
  }

  async setLeverage(symbol: string, leverage: number): Promise<api.Leverage> {
    return this.requests.post(`/positions/${pathSegment(symbol, "symbol")}/leverage`, { leverage }, REPEATABLE);
  }

  async setMarginMode(symbol: string, mode: api.MarginMode["marginMode"]): Promise<api.MarginMode> {
    return this.requests.post(`/positions/${pathSegment(symbol, "symbol")}/margin-mode`, { mode }, REPEATABLE);
  }

  /**
   * Adds to an isolated position's margin; a negative amount takes out. With a reference it is sent again when the exchange
   * is busy or does not answer: it is moved once.
   */
  async moveMargin(symbol: string, amount: string, reference?: string): Promise<api.MovedMargin> {
    const body = { amount, ...(reference !== undefined && { reference }) };
    const isRepeatable = reference !== undefined;
    return this.requests.post(`/positions/${pathSegment(symbol, "symbol")}/margin`, body, { isRepeatable });
  }

  // ---- account ------------------------------------------------------------------------------------------------------

  balance(): Promise<api.Balance> {
    return this.requests.get("/account/balance");
  }

  fills(query: api.FillsQuery = {}): Promise<api.FillList> {
    return this.requests.get("/account/trades", query);
  }

  /** With a reference it is sent again when the exchange is busy or does not answer: it is credited once. */
  deposit(request: api.DepositRequest): Promise<api.Transfer> {
    return this.requests.post("/account/deposit", request, { isRepeatable: request.reference !== undefined });
  }

  /** With a reference it is sent again when the exchange is busy or does not answer: it is debited once. */
  withdraw(request: api.WithdrawRequest): Promise<api.Transfer> {
    return this.requests.post("/account/withdraw", request, { isRepeatable: request.reference !== undefined });
  }

  fundingPayments(query: api.FundingPaymentsQuery = {}): Promise<api.FundingPaymentList> {
    return this.requests.get("/account/funding", query);
  }

  /** Everything that changed the account's money, newest first. */
  ledger(query: api.LedgerQuery = {}): Promise<api.LedgerList> {
    return this.requests.get("/account/ledger", query);
  }

  deposits(query: api.TransfersQuery = {}): Promise<api.TransferList> {
    return this.requests.get("/account/deposits", query);
  }

  withdrawals(query: api.TransfersQuery = {}): Promise<api.TransferList> {
    return this.requests.get("/account/withdrawals", query);
  }

  // ---- market -------------------------------------------------------------------------------------------------------

  symbols(): Promise<api.InstrumentList> {
    return this.requests.get("/market/symbols");
  }

  ticker(symbol: string): Promise<api.Ticker> {
    return this.requests.get("/market/ticker", { symbol });
  }

  tickers(): Promise<api.TickerList> {
    return this.requests.get("/market/ticker");
  }

  orderBook(symbol: string, depth?: number): Promise<api.OrderBook> {
    return this.requests.get("/market/orderbook", { symbol, depth });
  }

  publicTrades(symbol: string, query: Omit<api.TradesQuery, "symbol"> = {}): Promise<api.PublicTradeList> {
    return this.requests.get("/market/trades", { symbol, ...query });
  }

  liquidations(symbol: string, query: Omit<api.TradesQuery, "symbol"> = {}): Promise<api.PublicTradeList> {
    return this.requests.get("/market/liquidations", { symbol, ...query });
  }

  klines(query: api.KlinesQuery): Promise<api.KlineList> {
    return this.requests.get("/market/klines", query);
  }

  funding(query: api.FundingQuery): Promise<api.FundingList> {
    return this.requests.get("/market/funding", query);
  }

  insurance(query: api.InsuranceQuery = {}): Promise<api.Insurance> {
    return this.requests.get("/market/insurance", query);
  }

  openInterest(symbol: string): Promise<api.OpenInterest> {
    return this.requests.get("/market/open-interest", { symbol });
  }

  openInterestHistory(query: api.OpenInterestHistoryQuery): Promise<api.OpenInterestHistory> {
    return this.requests.get("/market/open-interest/history", query);
  }

  // ---- the exchange -------------------------------------------------------------------------------------------------

  time(): Promise<api.ServerTime> {
    return this.requests.get("/time");
  }

  health(): Promise<api.Health> {
    return this.requests.get("/health");
  }

  openApi(): Promise<object> {
    return this.requests.get("/openapi.json");
  }

  asyncApi(): Promise<object> {
    return this.requests.get("/asyncapi.json");
  }

  // ---- operator (the client's token is the operator's) --------------------------------------------------------------

  async setIndexPrice(symbol: string, price: string): Promise<api.IndexPrice> {
    return this.requests.put(`/operator/index/${pathSegment(symbol, "symbol")}`, { price });
  }

  /** Halts trading in a symbol until resume(). */
  async halt(symbol: string, mode: api.HaltMode = "CANCEL_ONLY"): Promise<api.TradingStatus> {
    return this.requests.post(`/operator/symbols/${pathSegment(symbol, "symbol")}/halt`, { mode });
  }

  async resume(symbol: string): Promise<api.TradingStatus> {
    return this.requests.post(`/operator/symbols/${pathSegment(symbol, "symbol")}/resume`);
  }

  audit(): Promise<api.Audit> {
    return this.requests.get("/operator/audit");
  }

  // ---- streams ------------------------------------------------------------------------------------------------------

  /**
   * Opens a WebSocket, authenticates it if the client can, and subscribes. It reconnects and subscribes anew by itself
   * until close(). `ready` settles with the first subscription. Without channels it is there to trade.
   */
  stream(channels: api.ChannelRequest[], handlers: StreamHandlers, options: StreamOptions = {}): Stream {
    const url = `${this.requests.baseUrl.replace(/^http/, "ws")}/ws`;
    return new Stream(this.WebSocket, url, () => this.requests.socketCredentials(), channels, handlers, options);
  }
}
