import { type Dict, type MarginModification, NotSupported, type Str } from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdAccount } from "./account.ts";
import { SETTLE } from "./market-parsers.ts";

/** Leverage, margin mode and isolated margin of a symbol. */
export class PerpdSettings extends PerpdAccount {
  override async fetchLeverage(symbol: string, params: Dict = {}) {
    return this.parseLeverage(await this.positionRow(symbol, params), this.market(symbol));
  }

  override async setLeverage(leverage: number, symbol?: Str, params: Dict = {}): Promise<Dict> {
    await this.loadMarkets();
    const market = this.market(this.requireSymbol(symbol, "setLeverage"));
    return this.request("positions/{symbol}/leverage", "private", "POST", { symbol: market.id, leverage, ...params });
  }

  override async fetchMarginMode(symbol: string, params: Dict = {}) {
    return this.parseMarginMode(await this.positionRow(symbol, params), this.market(symbol));
  }

  /** Sets `cross` or `isolated`; the symbol must not have open orders. */
  override async setMarginMode(marginMode: string, symbol?: Str, params: Dict = {}): Promise<Dict> {
    await this.loadMarkets();
    const market = this.market(this.requireSymbol(symbol, "setMarginMode"));
    const request = { symbol: market.id, mode: marginMode.toUpperCase(), ...params };
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
}
