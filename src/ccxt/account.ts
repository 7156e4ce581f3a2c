import type {
  Balances,
  Dict,
  FundingHistory,
  Int,
  MarginModification,
  Position,
  Str,
  Strings,
  Trade,
  Transaction,
} from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdMarketData } from "./market-data.ts";
import { SETTLE } from "./parsers.ts";

/** What an account has and what happened to it. */
export class PerpdAccount extends PerpdMarketData {
  override async fetchBalance(params: Dict = {}): Promise<Balances> {
    await this.loadMarkets();
    return this.parseBalance(await this.request("account/balance", "private", "GET", params));
  }

  override async fetchPositions(symbols?: Strings, params: Dict = {}): Promise<Position[]> {
    await this.loadMarkets();
    const { data }: api.PositionList = await this.request("positions", "private", "GET", params);
    return this.parsePositions(data, this.marketSymbols(symbols));
  }

  /** A position of no contracts where there is none. */
  override async fetchPosition(symbol: string, params: Dict = {}): Promise<Position> {
    await this.loadMarkets();
    const market = this.market(symbol);
    const { data }: api.PositionList = await this.request("positions", "private", "GET", {
      symbol: market.id,
      ...params,
    });
    const [row] = data;
    if (row !== undefined) return this.parsePosition(row, market);
    return this.safePosition({ symbol: market.symbol, contracts: 0, info: {} });
  }

  override async setLeverage(leverage: number, symbol?: Str, params: Dict = {}): Promise<Dict> {
    await this.loadMarkets();
    const market = this.market(this.needed(symbol, "setLeverage"));
    return this.request("positions/{symbol}/leverage", "private", "POST", { symbol: market.id, leverage, ...params });
  }

  /** `cross` or `isolated`, of a symbol without open orders. */
  override async setMarginMode(marginMode: string, symbol?: Str, params: Dict = {}): Promise<Dict> {
    await this.loadMarkets();
    const market = this.market(this.needed(symbol, "setMarginMode"));
    const request = { symbol: market.id, mode: marginMode.toUpperCase(), ...params };
    return this.request("positions/{symbol}/margin-mode", "private", "POST", request);
  }

  /** To what is set aside for an isolated position. */
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

  override async fetchMyTrades(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}): Promise<Trade[]> {
    await this.loadMarkets();
    const market = symbol === undefined ? undefined : this.market(symbol);
    const query = { ...this.given({ symbol: market?.id }), ...this.times(since, params) };
    return this.parseTrades(
      await this.pages<api.Fill>("private", "account/trades", query, limit),
      market,
      since,
      limit,
    );
  }

  override async fetchFundingHistory(
    symbol?: Str,
    since?: Int,
    limit?: Int,
    params: Dict = {},
  ): Promise<FundingHistory[]> {
    await this.loadMarkets();
    const market = symbol === undefined ? undefined : this.market(symbol);
    const query = { ...this.given({ symbol: market?.id }), ...this.times(since, params) };
    const rows = await this.pages<api.FundingPaymentList["data"][number]>("private", "account/funding", query, limit);
    return this.parseIncomes(rows, market, since, limit) as FundingHistory[];
  }

  override async fetchDeposits(code?: Str, since?: Int, limit?: Int, params: Dict = {}): Promise<Transaction[]> {
    return this.transfers("account/deposits", code, since, limit, params);
  }

  override async fetchWithdrawals(code?: Str, since?: Int, limit?: Int, params: Dict = {}): Promise<Transaction[]> {
    return this.transfers("account/withdrawals", code, since, limit, params);
  }

  /** `params.reference`: a name of your own, under which it is done once however often it is sent. */
  override async withdraw(
    code: string,
    amount: number,
    address: string,
    _tag?: Str,
    params: Dict = {},
  ): Promise<Transaction> {
    await this.loadMarkets();
    const currency = this.currency(code);
    const request = { asset: currency.id, amount: this.numberToString(amount), address, ...params };
    return this.parseTransaction(await this.request("account/withdraw", "private", "POST", request), currency);
  }

  private async transfers(path: string, code: Str, since: Int, limit: Int, params: Dict): Promise<Transaction[]> {
    await this.loadMarkets();
    const currency = code === undefined ? undefined : this.currency(code);
    const rows = await this.pages<api.Transfer>("private", path, this.times(since, params), limit);
    return this.parseTransactions(rows, currency, since, limit);
  }
}
