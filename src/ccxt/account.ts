import type { Dict, FundingHistory, Int, Liquidation, Str, Strings, Transaction } from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdMarketData } from "./market-data.ts";

/** Balance, positions and history of an account. */
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

  /** All trades of the order, unless a limit is given. */
  override async fetchOrderTrades(id: string, symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.fetchMyTrades(symbol, since, limit ?? Number.MAX_SAFE_INTEGER, { orderId: id, ...params });
  }

  override async fetchMyTrades(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.marketOrNone(symbol);
    const query = { ...this.definedFields({ symbol: market?.id }), ...this.timeRange(since, params) };
    return this.parseTrades(
      await this.pages<api.Fill>("private", "account/trades", query, { since, limit }),
      market,
      since,
      limit,
    );
  }

  override async fetchFundingHistory(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.marketOrNone(symbol);
    const query = { ...this.definedFields({ symbol: market?.id }), ...this.timeRange(since, params) };
    const rows = await this.pages<api.FundingPaymentList["data"][number]>("private", "account/funding", query, {
      since,
      limit,
    });
    return this.parseIncomes(rows, market, since, limit) as FundingHistory[];
  }

  /** Every change of the account's money. `params.type` and `params.symbol` filter by the exchange's own names. */
  override async fetchLedger(code?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    await this.loadMarkets();
    const currency = code === undefined ? undefined : this.currency(code);
    const rows = await this.pages<api.LedgerEntry>("private", "account/ledger", this.timeRange(since, params), {
      since,
      limit,
    });
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
    await this.loadMarkets();
    const query = {
      ...this.definedFields({ symbol: this.marketOrNone(symbol)?.id }),
      ...this.timeRange(since, params),
    };
    const isForced = ({ execType, liquidity }: api.Fill) => execType === "LIQUIDATION" && liquidity === "TAKER";
    const rows = await this.pages<api.Fill>("private", "account/trades", query, { since, limit, isWanted: isForced });
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

  private async transfers(path: string, code: Str, since: Int, limit: Int, params: Dict): Promise<Transaction[]> {
    await this.loadMarkets();
    const currency = code === undefined ? undefined : this.currency(code);
    const rows = await this.pages<api.Transfer>("private", path, this.timeRange(since, params), { since, limit });
    return this.parseTransactions(rows, currency, since, limit);
  }

  protected marketOrNone(symbol: Str) {
    return symbol === undefined ? undefined : this.market(symbol);
  }
}
