import { WebSocket } from "#websocket";
import { addressLines, keyLines, messageToSign, withdrawalLines } from "./approval.ts";
import { orderSegment, pathSegment } from "./paths.ts";
import { type ClientOptions, Requests } from "./requests.ts";
import type { Repetition } from "./retry.ts";
import { Stream, type StreamHandlers, type StreamOptions, type WebSocketConstructor } from "./stream.ts";
import type * as api from "./types.ts";

export interface PerpdClientOptions extends ClientOptions {
  /** WebSocket class for stream(). Default: that of the browser, or of the `ws` package. */
  WebSocket?: WebSocketConstructor;
}

/** The wallet's personal_sign (EIP-191). */
export type SignMessage = (message: string) => Promise<string>;

/** Of a request that the exchange recognises by `name`: its clientOrderId or reference. */
const byName = (name: string | undefined): Repetition => (name === undefined ? "NEVER" : "KNOWN");

/**
 * The exchange's HTTP API. Each method sends one request and resolves once the change is on disk.
 * Prices, quantities and amounts are decimal strings; amounts are in USDC. Times are milliseconds since the epoch.
 * Each method rejects with PerpdError when the exchange refuses the request: nothing was done then, except with the codes
 * that PerpdError lists. It rejects with the error of fetch() when there is no connection. A request that is safe to repeat
 * is sent again, up to `retries` times, when the exchange limits it, is overloaded or cannot be reached.
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

  // ---- sessions and keys --------------------------------------------------------------------------------------------

  /** A message for the wallet at `address` to sign: the first step of login(). */
  challenge(address: string, chainId?: number): Promise<api.Challenge> {
    const body = { address, ...(chainId !== undefined && { chainId }) };
    return this.requests.post("/auth/challenge", body, "READ");
  }

  /** Signs in with a wallet. Later requests use the session's token. */
  async login(address: string, signMessage: SignMessage, options: { chainId?: number } = {}): Promise<api.Session> {
    const { message } = await this.challenge(address, options.chainId);
    const signature = await signMessage(message);
    const session = await this.requests.post<api.Session>("/auth/login", { message, signature });
    this.requests.token = session.token;
    return session;
  }

  /** Ends this session and forgets its token. */
  async logout(): Promise<void> {
    await this.requests.post("/auth/logout");
    this.requests.token = undefined;
  }

  /** Ends all sessions of the account, on every device. */
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

  /**
   * Creates an API key. Its secret is in this reply only. Needs a session, as do keys() and revokeKey(). `signMessage` is
   * for exchanges that ask for a fresh signature of the wallet, as in withdraw() and addWithdrawalAddress().
   */
  createKey(key: api.NewApiKey, signMessage?: SignMessage): Promise<api.CreatedApiKey> {
    return this.postApproved("/auth/keys", key, keyLines(key), signMessage);
  }

  keys(): Promise<api.ApiKeyList> {
    return this.requests.get("/auth/keys");
  }

  async revokeKey(apiKey: string): Promise<void> {
    await this.requests.delete(`/auth/keys/${pathSegment(apiKey, "apiKey")}`);
  }

  /** Sends it again with the wallet's signature, if the exchange asks for one. `lines`: what the wallet must show. */
  private async postApproved<T>(
    path: string,
    body: object,
    lines: readonly string[],
    signMessage: SignMessage | undefined,
    repetition?: Repetition,
  ): Promise<T> {
    try {
      return await this.requests.post<T>(path, body, repetition);
    } catch (error) {
      const message = signMessage === undefined ? null : messageToSign(error, lines);
      if (signMessage === undefined || message === null) throw error;
      const approval = { message, signature: await signMessage(message) };
      return this.requests.post<T>(path, { ...body, approval }, repetition);
    }
  }

  // ---- trading ------------------------------------------------------------------------------------------------------

  /**
   * Places an order. With a clientOrderId it is retried when the exchange is busy or does not answer, and placed once.
   */
  placeOrder(order: api.NewOrder): Promise<api.PlacedOrder> {
    return this.requests.post("/orders", order, byName(order.clientOrderId));
  }

  /**
   * Simulates an order without placing it, and rejects as placeOrder() would. Leave the clientOrderId out: one that was
   * used before returns the first order.
   */
  tryOrder(order: Omit<api.NewOrder, "clientOrderId">): Promise<api.DryRunOrder> {
    return this.requests.post("/orders", { ...order, dryRun: true }, "READ");
  }

  /** The largest order of each side that would be accepted now, and what limits it. */
  maxOrderSize(query: api.MaxOrderSizeQuery): Promise<api.MaxOrderSize> {
    return this.requests.get("/orders/max-size", query);
  }

  /**
   * Amends an open order. `id`: an order id, or `client:` and the client order id. The quantity includes what was
   * filled. It is retried, except with `priceMatch`: the best price may be another one by then.
   */
  async amendOrder(id: string, changes: api.OrderChanges): Promise<api.PlacedOrder> {
    return this.requests.patch(
      `/orders/${orderSegment(id)}`,
      changes,
      changes.priceMatch === undefined ? "STATE" : "NEVER",
    );
  }

  /**
   * Places, amends and cancels up to 20 orders of one symbol, in order and in one transaction. Rejects when the whole
   * batch is refused; otherwise each result tells what happened to its item. Retried when each new order has a
   * clientOrderId and no order is amended.
   */
  batch(batch: api.Batch): Promise<api.BatchResults> {
    // A repeated amendment may be refused because of the first, and its result would say that the order is unchanged.
    const isRepeatable = batch.items.every((item) =>
      item.action === "PLACE" ? item.clientOrderId !== undefined : item.action === "CANCEL",
    );
    return this.requests.post("/orders/batch", batch, isRepeatable ? "STATE" : "NEVER");
  }

  /** Cancels an order. `id`: an order id, or `client:` and the client order id. */
  async cancelOrder(id: string): Promise<api.Order> {
    return this.requests.delete(`/orders/${orderSegment(id)}`);
  }

  /** Cancels all open orders, or those of one symbol or side. */
  cancelOrders(which: api.CancelAllQuery = {}): Promise<api.CanceledOrders> {
    return this.requests.delete("/orders", which);
  }

  /** Dead man's switch: cancels all open orders after `timeoutMs` unless it is called again before. 0 disarms it. */
  cancelAfter(timeoutMs: number): Promise<api.CancelSwitch> {
    return this.requests.post("/orders/cancel-after", { timeoutMs }, "STATE");
  }

  /** Reads an order, open or closed. `id`: an order id, or `client:` and the client order id. */
  async order(id: string): Promise<api.Order> {
    return this.requests.get(`/orders/${orderSegment(id)}`);
  }

  /** Open orders, newest first, one page per call. */
  openOrders(query: api.OpenOrdersQuery = {}): Promise<api.OrderList> {
    return this.requests.get("/orders", query);
  }

  /** Closed orders, newest first, one page per call. */
  orderHistory(query: api.OrderHistoryQuery = {}): Promise<api.OrderList> {
    return this.requests.get("/orders/history", query);
  }

  positions(query: api.PositionsQuery = {}): Promise<api.PositionList> {
    return this.requests.get("/positions", query);
  }

  /** Closed positions with their profit and loss, the last closed first, one page per call. */
  positionHistory(query: api.PositionHistoryQuery = {}): Promise<api.ClosedPositionList> {
    return this.requests.get("/positions/history", query);
  }

  /** The position in a symbol, open or not, with its leverage and margin mode. */
  async position(symbol: string): Promise<api.Position> {
    return this.requests.get(`/positions/${pathSegment(symbol, "symbol")}`);
  }

  /** Closes a position: all of it at market, unless `how` names a quantity or a price. */
  async closePosition(symbol: string, how: api.CloseRequest = {}): Promise<api.PlacedOrder> {
    return this.requests.post(`/positions/${pathSegment(symbol, "symbol")}/close`, how);
  }

  /** Sets the leverage of a symbol: a whole number from 1 to the symbol's `maxLeverage`. */
  async setLeverage(symbol: string, leverage: number): Promise<api.Leverage> {
    return this.requests.post(`/positions/${pathSegment(symbol, "symbol")}/leverage`, { leverage }, "STATE");
  }

  /** Sets CROSS or ISOLATED. Refused with OPEN_ORDERS_EXIST while the symbol has open orders. */
  async setMarginMode(symbol: string, mode: api.MarginMode["marginMode"]): Promise<api.MarginMode> {
    return this.requests.post(`/positions/${pathSegment(symbol, "symbol")}/margin-mode`, { mode }, "STATE");
  }

  /**
   * Adds `amount` USDC to an isolated position's margin; a negative amount removes it. With a reference it is retried
   * when the exchange is busy or does not answer, and applied once.
   */
  async moveMargin(symbol: string, amount: string, reference?: string): Promise<api.MovedMargin> {
    const body = { amount, ...(reference !== undefined && { reference }) };
    return this.requests.post(`/positions/${pathSegment(symbol, "symbol")}/margin`, body, byName(reference));
  }

  // ---- account ------------------------------------------------------------------------------------------------------

  /** Equity, margin and available balance, in USDC. */
  balance(): Promise<api.Balance> {
    return this.requests.get("/account/balance");
  }

  /** The margin ratio at which the account gets a margin call. */
  marginCall(): Promise<api.MarginCallSetting> {
    return this.requests.get("/account/margin-call");
  }

  /** Sets that ratio: at least "0.01", at most "0.99". The channel `margin-calls` sends the calls. */
  setMarginCall(ratio: string): Promise<api.MarginCallSetting> {
    return this.requests.post("/account/margin-call", { ratio }, "STATE");
  }

  /** The account's trades, newest first, one page per call. */
  fills(query: api.FillsQuery = {}): Promise<api.FillList> {
    return this.requests.get("/account/trades", query);
  }

  /**
   * Deposits from the sandbox's faucet. With a reference it is retried when the exchange is busy, and credited once.
   */
  deposit(request: api.DepositRequest): Promise<api.Transfer> {
    return this.requests.post("/account/deposit", request, byName(request.reference));
  }

  /**
   * Requests a withdrawal. With a reference it is retried when the exchange is busy, and debited once. The reference is
   * required where the exchange asks for a signature of the wallet.
   */
  withdraw(request: api.ApprovedWithdrawal, signMessage?: SignMessage): Promise<api.Transfer> {
    const repetition = byName(request.reference);
    return this.postApproved("/account/withdraw", request, withdrawalLines(request), signMessage, repetition);
  }

  /** The account's address book for withdrawals. */
  withdrawalAddresses(): Promise<api.WithdrawalAddressList> {
    return this.requests.get("/account/withdrawal-addresses");
  }

  /** Adds an address to the book. It may have to wait until its `usableAt`. Needs a session, as does removing. */
  addWithdrawalAddress(address: string, label: string, signMessage?: SignMessage): Promise<api.WithdrawalAddress> {
    const entry = { address, label };
    return this.postApproved("/account/withdrawal-addresses", entry, addressLines(entry), signMessage, "STATE");
  }

  async removeWithdrawalAddress(address: string): Promise<void> {
    await this.requests.delete(`/account/withdrawal-addresses/${pathSegment(address, "address")}`);
  }

  /** The equity of the account at the ends of intervals, newest first. */
  equityHistory(query: api.EquityHistoryQuery): Promise<api.Page<api.EquityPoint>> {
    return this.requests.get("/account/equity/history", query);
  }

  /** Funding that the account paid or received, newest first. */
  fundingPayments(query: api.FundingPaymentsQuery = {}): Promise<api.FundingPaymentList> {
    return this.requests.get("/account/funding", query);
  }

  /** Every change of the account's money, newest first. */
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

  /** All instruments with their limits and fees. */
  symbols(): Promise<api.InstrumentList> {
    return this.requests.get("/market/symbols");
  }

  ticker(symbol: string): Promise<api.Ticker> {
    return this.requests.get("/market/ticker", { symbol });
  }

  tickers(): Promise<api.TickerList> {
    return this.requests.get("/market/ticker");
  }

  /** The last day's prices of all symbols, in half hours. */
  sparklines(): Promise<api.SparklineList> {
    return this.requests.get("/market/sparklines");
  }

  /** The best `depth` levels of each side, best first. */
  orderBook(symbol: string, depth?: number): Promise<api.OrderBook> {
    return this.requests.get("/market/orderbook", { symbol, depth });
  }

  publicTrades(symbol: string, query: Omit<api.TradesQuery, "symbol"> = {}): Promise<api.PublicTradeList> {
    return this.requests.get("/market/trades", { symbol, ...query });
  }

  /** Public trades that closed positions by force, newest first. */
  liquidations(symbol: string, query: Omit<api.TradesQuery, "symbol"> = {}): Promise<api.PublicTradeList> {
    return this.requests.get("/market/liquidations", { symbol, ...query });
  }

  klines(query: api.KlinesQuery): Promise<api.KlineList> {
    return this.requests.get("/market/klines", query);
  }

  /** Past funding rates of a symbol, newest first. */
  funding(query: api.FundingQuery): Promise<api.FundingList> {
    return this.requests.get("/market/funding", query);
  }

  /** The insurance fund's balance and its history. */
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

  /** Resolves while the process serves. */
  live(): Promise<api.Alive> {
    return this.requests.get("/health/live");
  }

  /** Whether the process leads. Every process answers this. */
  replication(): Promise<api.Replication> {
    return this.requests.get("/replication");
  }

  /** Rejects with NOT_READY while the exchange cannot do a part of its work: `details.reasons` says why. */
  ready(): Promise<api.Ready> {
    return this.requests.get("/health/ready");
  }

  openApi(): Promise<object> {
    return this.requests.get("/openapi.json");
  }

  asyncApi(): Promise<object> {
    return this.requests.get("/asyncapi.json");
  }

  // ---- operator (the client's token is the operator's) --------------------------------------------------------------

  /** Sets the index price, in USDC. */
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

  /** Actions of operators: halts and resumes, or index prices. */
  operatorActs(query: api.OperatorActsQuery = {}): Promise<api.OperatorActList> {
    return this.requests.get("/operator/acts", query);
  }

  /** Hands over to a standby: the process that answers ends. `force`: although no standby is ready. */
  stepDown(force = false): Promise<api.StepDown> {
    return this.requests.post("/operator/step-down", { force });
  }

  /** Checks that money and positions add up, over the whole exchange. */
  audit(): Promise<api.Audit> {
    return this.requests.get("/operator/audit");
  }

  // ---- streams ------------------------------------------------------------------------------------------------------

  /**
   * Opens a WebSocket, authenticates it when the client has credentials, and subscribes to `channels`. The stream
   * reconnects and subscribes again until close(). `ready` resolves with the first subscription. With no channels the
   * stream is for trading only.
   */
  stream(channels: api.ChannelRequest[], handlers: StreamHandlers, options: StreamOptions = {}): Stream {
    return new Stream(
      this.WebSocket,
      this.requests.addresses,
      () => this.requests.socketCredentials(),
      channels,
      handlers,
      options,
    );
  }
}
