import type { Dict, Num, OrderSide, OrderType, Str } from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdConnection } from "./connection.ts";
import { ownParams } from "./params.ts";
import { readKind } from "./trading.ts";

/** Orders over the WebSocket: the methods of trading.ts with the suffix Ws, same parameters and results. */
export abstract class PerpdSocketTrading extends PerpdConnection {
  override async createOrderWs(
    symbol: string,
    type: OrderType,
    side: OrderSide,
    amount: number,
    price?: Num,
    params: Dict = {},
  ) {
    await this.loadMarkets();
    const request = this.orderRequest(symbol, type, side, amount, price, params);
    await this.requireMarginMode(symbol, params);
    return this.parseOrder(await this.call<api.PlacedOrder>("order.place", request), this.market(symbol));
  }

  override async editOrderWs(
    id: string,
    symbol: string,
    _type: OrderType,
    _side: OrderSide,
    amount?: Num,
    price?: Num,
    params: Dict = {},
  ) {
    await this.loadMarkets();
    const { changes, rest } = this.changesRequest(symbol, amount, price, params);
    const request = { ...changes, ...this.orderNamed(id, rest) };
    return this.parseOrder(await this.call<api.PlacedOrder>("order.amend", request), this.market(symbol));
  }

  /** By `params.clientOrderId`, if that is given, else by id. */
  override async cancelOrderWs(id: string, symbol?: Str, params: Dict = {}) {
    await this.loadMarkets();
    const order = await this.call<api.Order>("order.cancel", this.orderNamed(id, params));
    return this.parseOrder(order, this.marketOrNone(symbol));
  }

  override async cancelAllOrdersWs(symbol?: Str, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.marketOrNone(symbol);
    const { isPart, rest } = readKind(params);
    if (isPart) return this.cancelKind(symbol, params);
    const request = { ...this.definedFields({ symbol: market?.id }), ...ownParams(rest) };
    const { data } = await this.call<api.CanceledOrders>("order.cancelAll", request);
    return this.parseOrders(data, market);
  }
}
