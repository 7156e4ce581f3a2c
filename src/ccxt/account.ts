import type { Dict, FundingHistory, Int, Liquidation, MarginModification, Str, Strings, Transaction } from "ccxt";
import { NotSupported } from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdMarketData } from "./market-data.ts";
import { SETTLE } from "./market-parsers.ts";

/** Balance, positions, history, leverage and margin of an account. */
export class PerpdAccount extends PerpdMarketData {
  override async fetchBalance(params: Dict = {}) {
    await this.loadMarkets();
    return this.parseBalance(await this.request("account/balance", "private", "GET", params));
  }

  override async fetchPositions(symbols?: Strings, params: Dict = {}) {
    await this.loadMarkets();
    const { data }: api.PositionList = await this.request("positions", "private", "GET", params);
    return this.parsePositions(data, this.marketSymbols(symbols));
  }

  override async fetchPositionsForSymbol(symbol: string, params: Dict = {}) {
    return this.fetchPositions([symbol], params);
  }

  /** Resolves with a position of 0 contracts when none is open. */
  override async fetchPosition(symbol: string, params: Dict = {}) {
    return this.parsePosition(await this.positionRow(symbol, params), this.market(symbol));
  }

  /** Closed positions, by the time of their closing. `realizedPnl` is net of fees and funding. All symbols when none are given. */
  override async fetchPositionsHistory(symbols?: Strings, since?: Int, limit?: Int, params: Dict = {}) {
    await this.loadMarkets();
    const wanted = this.marketSymbols(symbols) as string[] | undefined;
    const [first, ...others] = wanted ?? [];
    const ids = new Set(wanted?.map((symbol) => this.marketId(symbol)));
    const isWanted = others.length === 0 ? undefined : ({ symbol }: api.ClosedPosition) => ids.has(symbol);
    const only = others.length === 0 ? first : undefined;
    const { rows } = await this.symbolRows("positions/history", only, since, limit, params, isWanted);
    return this.parsePositions(rows, wanted);
  }

  override async fetchPositionHistory(symbol: string, since?: Int, limit?: Int, params: Dict = {}) {
    return this.fetchPositionsHistory([symbol], since, limit, params);
  }

  /** How early each open position would be auto-deleveraged. */
  override async fetchPositionsADLRank(symbols?: Strings, params: Dict = {}) {
    await this.loadMarkets();
    const { data }: api.PositionList = await this.request("positions", "private", "GET", params);
    return this.parseADLRanks(data, symbols);
  }

  protected async positionRow(symbol: string, params: Dict): Promise<api.Position> {
    await this.loadMarkets();
    return this.request("positions/{symbol}", "private", "GET", { symbol: this.marketId(symbol), ...params });
  }

  private async positionRows(symbols: Strings, params: Dict): Promise<api.Position[]> {
    await this.loadMarkets();
    const wanted = (this.marketSymbols(symbols) ?? this.symbols) as string[];
    return Promise.all(wanted.map((symbol) => this.positionRow(symbol, params)));
  }

  /** All trades of the order, unless a limit is given. */
  override async fetchOrderTrades(id: string, symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.fetchMyTrades(symbol, since, limit ?? Number.MAX_SAFE_INTEGER, { orderId: id, ...params });
  }

  override async fetchMyTrades(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    const { market, rows } = await this.symbolRows<api.Fill>("account/trades", symbol, since, limit, params);
    return this.parseTrades(rows, market, since, limit);
  }

  override async fetchFundingHistory(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    const path = "account/funding";
    const { market, rows } = await this.symbolRows<api.FundingPayment>(path, symbol, since, limit, params);
    return this.parseIncomes(rows, market, since, limit) as FundingHistory[];
  }

  /** Every change of the account's money. `params.type` and `params.symbol` filter by the exchange's own names. */
  override async fetchLedger(code?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    const { currency, rows } = await this.currencyRows<api.LedgerEntry>("account/ledger", code, since, limit, params);
    return this.parseLedger(rows, currency, since, limit);
  }

  override async fetchDeposits(code?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.transfers("account/deposits", code, since, limit, params);
  }

  override async fetchWithdrawals(code?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.transfers("account/withdrawals", code, since, limit, params);
  }

  override async fetchDepositsWithdrawals(
    code?: Str,
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<Transaction[]> {
    const both = await Promise.all([
      this.fetchDeposits(code, since, limit, params),
      this.fetchWithdrawals(code, since, limit, params),
    ]);
    return this.filterBySinceLimit(this.sortBy(both.flat(), "timestamp"), since, limit);
  }

  /** The account's liquidation fills. */
  override async fetchMyLiquidations(
    symbol?: Str,
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<Liquidation[]> {
    const isForced = ({ liquidity }: api.Fill) => liquidity === "TAKER";
    const query = { execType: "LIQUIDATION", ...params };
    const { rows } = await this.symbolRows("account/trades", symbol, since, limit, query, isForced);
    return this.sortBy(
      rows.map((row) => this.parseLiquidation(row)),
      "timestamp",
    );
  }

  /** `params.reference`: an idempotency key. A repeated request with the same key withdraws once. */
  override async withdraw(code: string, amount: number, address: string, _tag?: Str, params: Dict = {}) {
    await this.loadMarkets();
    const currency = this.currency(code);
    const request = { asset: currency.id, amount: this.numberToString(amount), address, ...params };
    return this.parseTransaction(await this.request("account/withdraw", "private", "POST", request), currency);
  }

  override async fetchLeverage(symbol: string, params: Dict = {}) {
    return this.parseLeverage(await this.positionRow(symbol, params), this.market(symbol));
  }

  /** Of all symbols when none are given, with a request for each. */
  override async fetchLeverages(symbols?: Strings, params: Dict = {}) {
    return this.parseLeverages(await this.positionRows(symbols, params), undefined, "symbol");
  }

  override async setLeverage(leverage: number, symbol?: Str, params: Dict = {}): Promise<Dict> {
    await this.loadMarkets();
    const market = this.market(this.requireSymbol(symbol, "setLeverage"));
    return this.request("positions/{symbol}/leverage", "private", "POST", { symbol: market.id, leverage, ...params });
  }

  override async fetchMarginMode(symbol: string, params: Dict = {}) {
    return this.parseMarginMode(await this.positionRow(symbol, params), this.market(symbol));
  }

  /** As fetchLeverages(). */
  override async fetchMarginModes(symbols?: Strings, params: Dict = {}) {
    return this.parseMarginModes(await this.positionRows(symbols, params), undefined, "symbol");
  }

  /** Sets `cross` or `isolated`; the symbol must not have open orders. `params.leverage` is set, too. */
  override async setMarginMode(marginMode: string, symbol?: Str, params: Dict = {}): Promise<Dict> {
    await this.loadMarkets();
    const market = this.market(this.requireSymbol(symbol, "setMarginMode"));
    const { leverage, ...more } = params;
    if (leverage !== undefined) await this.setLeverage(leverage, symbol);
    const request = { symbol: market.id, mode: marginMode.toUpperCase(), ...more };
    return this.request("positions/{symbol}/margin-mode", "private", "POST", request);
  }

  /**
   * Adds USDC to an isolated position. `params.reference`: an idempotency key, under which the amount is moved once.
   */
  override async addMargin(symbol: string, amount: number, params: Dict = {}): Promise<MarginModification> {
    return this.moveMargin("add", symbol, amount, params);
  }

  override async reduceMargin(symbol: string, amount: number, params: Dict = {}): Promise<MarginModification> {
    return this.moveMargin("reduce", symbol, amount, params);
  }

  private async moveMargin(type: "add" | "reduce", symbol: string, amount: number, params: Dict) {
    await this.loadMarkets();
    const market = this.market(symbol);
    const printed = this.numberToString(amount);
    const request = { symbol: market.id, amount: type === "add" ? printed : `-${printed}`, ...params };
    const position: api.Position = await this.request("positions/{symbol}/margin", "private", "POST", request);
    const timestamp = position.updatedAt ?? undefined;
    return {
      symbol: market.symbol as string,
      type,
      marginMode: "isolated" as const,
      amount,
      total: this.parseNumber(position.isolatedMargin ?? undefined),
      code: SETTLE,
      status: "ok",
      timestamp,
      datetime: this.iso8601(timestamp),
      info: position,
    };
  }

  /** Only one-way mode exists: a symbol has one position. */
  override async fetchPositionMode(_symbol?: Str, _params: Dict = {}) {
    return { info: {}, hedged: false };
  }

  override async setPositionMode(hedged: boolean, _symbol?: Str, _params: Dict = {}) {
    if (hedged) throw new NotSupported(`${this.id} setPositionMode(): only one-way mode is supported`);
    return { info: {}, hedged: false };
  }

  private async transfers(path: string, code: Str, since: Int, limit: Int, params: Dict): Promise<Transaction[]> {
    const { currency, rows } = await this.currencyRows<api.Transfer>(path, code, since, limit, params);
    return this.parseTransactions(rows, currency, since, limit);
  }

  private async currencyRows<Row>(path: string, code: Str, since: Int, limit: Int, params: Dict) {
    await this.loadMarkets();
    const currency = code === undefined ? undefined : this.currency(code);
    return { currency, rows: await this.pages<Row>("private", path, this.timeRange(since, params), { since, limit }) };
  }

  private async symbolRows<Row>(
    path: string,
    symbol: Str,
    since: Int,
    limit: Int,
    params: Dict,
    isWanted?: (row: Row) => boolean,
  ) {
    await this.loadMarkets();
    const market = this.marketOrNone(symbol);
    const query = { ...this.definedFields({ symbol: market?.id }), ...this.timeRange(since, params) };
    return {
      market,
      rows: await this.pages<Row>("private", path, query, { since, limit, ...(isWanted && { isWanted }) }),
    };
  }

  protected marketOrNone(symbol: Str) {
    return symbol === undefined ? undefined : this.market(symbol);
  }
}
