import type { Dict, Int, Num, Order, OrderSide, OrderType, Position, Str } from "ccxt";
import { BadRequest, InvalidOrder } from "ccxt";
import { isOrderReference } from "../client/paths.ts";
import type * as api from "../client/types.ts";
import { PerpdAccount } from "./account.ts";
import { DEFAULT_LIMIT } from "./base.ts";
import { type Condition, callbackRateOf, readCondition } from "./condition.ts";

/** Orders: placed, canceled and looked up. */
export class PerpdTrading extends PerpdAccount {
  /**
   * Places a limit or market order. Supported params of ccxt: timeInForce (GTC, IOC, FOK, PO; GTD with goodTillDate),
   * postOnly, reduceOnly, clientOrderId, takeProfit, stopLoss, test (dry run: nothing is placed) and the conditions of
   * readCondition(). Other params go to the exchange unchanged.
   */
  override async createOrder(
    symbol: string,
    type: OrderType,
    side: OrderSide,
    amount: number,
    price?: Num,
    params: Dict = {},
  ) {
    await this.loadMarkets();
    const market = this.market(symbol);
    const request = this.orderRequest(market.symbol, type, side, amount, price, params);
    return this.parseOrder(await this.request("orders", "private", "POST", request), market);
  }

  /**
   * Changes price and amount of a limit order. The order keeps its id; it keeps its place in the queue when only the
   * amount gets smaller. The amount includes what was filled. Params: triggerPrice (stopLossPrice, takeProfitPrice) for
   * conditional orders, trailingPercent and trailingTriggerPrice for trailing ones, goodTillDate for GTD orders.
   */
  override async editOrder(
    id: string,
    symbol: string,
    _type: OrderType,
    _side: OrderSide,
    amount?: Num,
    price?: Num,
    params: Dict = {},
  ) {
    await this.loadMarkets();
    const market = this.market(symbol);
    const { changes, rest } = this.changesRequest(symbol, amount, price, params);
    const request = { ...changes, ...this.orderReference(id, rest) };
    return this.parseOrder(await this.request("orders/{id}", "private", "PATCH", request), market);
  }

  /** Closes the position at market. `params`: `quantity` (only a part), `maxSlippage` (from the mark), `price` (a limit). */
  override async closePosition(symbol: string, _side?: OrderSide, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.market(symbol);
    const request = { symbol: market.id, ...params };
    return this.parseOrder(await this.request("positions/{symbol}/close", "private", "POST", request), market);
  }

  /** Closes the positions at market, one after the other. */
  override async closeAllPositions(params: Dict = {}) {
    const closed: Position[] = [];
    for (const { symbol } of await this.fetchPositions()) {
      await this.closePosition(symbol as string, undefined, params);
      closed.push(await this.fetchPosition(symbol as string));
    }
    return closed;
  }

  /** By `params.clientOrderId`, if that is given, else by id. */
  override async cancelOrder(id: string, symbol?: Str, params: Dict = {}) {
    await this.loadMarkets();
    const order = await this.request("orders/{id}", "private", "DELETE", this.orderReference(id, params));
    return this.parseOrder(order, this.marketOrNone(symbol));
  }

  override async cancelAllOrders(symbol?: Str, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.marketOrNone(symbol);
    const { data }: api.CanceledOrders = await this.request("orders", "private", "DELETE", {
      ...this.definedFields({ symbol: market?.id }),
      ...params,
    });
    return this.parseOrders(data, market);
  }

  /** Dead man's switch: cancels all open orders after `timeout` ms unless it is called again before; 0 disarms it. */
  override async cancelAllOrdersAfter(timeout: Int, params: Dict = {}): Promise<Dict> {
    return this.request("orders/cancel-after", "private", "POST", { timeoutMs: timeout, ...params });
  }

  /** By `params.clientOrderId`, if that is given, else by id. */
  override async fetchOrder(id: string, symbol?: Str, params: Dict = {}) {
    await this.loadMarkets();
    const order = await this.request("orders/{id}", "private", "GET", this.orderReference(id, params));
    return this.parseOrder(order, this.marketOrNone(symbol));
  }

  override async fetchOpenOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.marketOrNone(symbol);
    const { isOfKind, rest } = readKind(params);
    const query = { ...this.definedFields({ symbol: market?.id }), ...rest };
    const isWanted = (order: api.Order) => (since === undefined || order.createdAt >= since) && isOfKind(order);
    const rows = await this.pages<api.Order>("private", "orders", query, { since, limit, isWanted });
    return this.parseOrders(rows, market, since, limit);
  }

  override async fetchCanceledAndClosedOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.history(symbol, since, limit, params, () => true);
  }

  /** Orders that were filled completely. */
  override async fetchClosedOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.history(symbol, since, limit, params, ({ status }) => status === "FILLED");
  }

  /** Orders that ended before they were filled completely. */
  override async fetchCanceledOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.history(symbol, since, limit, params, ({ status }) => status !== "FILLED");
  }

  private async history(
    symbol: Str,
    since: Int,
    limit: Int,
    params: Dict,
    isSelected: (order: api.Order) => boolean,
  ): Promise<Order[]> {
    await this.loadMarkets();
    const market = this.marketOrNone(symbol);
    const { isOfKind, rest } = readKind(params);
    const query = { ...this.definedFields({ symbol: market?.id }), ...this.timeRange(since, rest) };
    const isAskedFor = (order: api.Order) => isSelected(order) && isOfKind(order);
    if (since === undefined) {
      const part = { since, limit, isWanted: isAskedFor };
      return this.parseOrders(await this.pages<api.Order>("private", "orders/history", query, part), market);
    }
    // The exchange filters by the end of an order, ccxt by its creation: the first matches may be on any page.
    const isWanted = (order: api.Order) => order.createdAt >= since && isAskedFor(order);
    const all = { since, limit: Number.POSITIVE_INFINITY, isWanted };
    const rows = await this.pages<api.Order>("private", "orders/history", query, all);
    return this.parseOrders(rows, market, since, limit ?? DEFAULT_LIMIT);
  }

  /** The fields to change, and the remaining params. */
  protected changesRequest(symbol: string, amount: Num, price: Num, params: Dict): { changes: Dict; rest: Dict } {
    const { trailingPercent, trailingTriggerPrice, ...others } = params;
    const { triggerPrice, stopPrice, stopLossPrice, takeProfitPrice, ...rest } = others;
    const asPrice = (given: unknown) => (given === undefined ? undefined : this.priceToPrecision(symbol, given));
    const changes = this.definedFields({
      quantity: amount === undefined ? undefined : this.amountToPrecision(symbol, amount),
      price: asPrice(price),
      triggerPrice: asPrice(triggerPrice ?? stopPrice ?? stopLossPrice ?? takeProfitPrice),
      callbackRate: trailingPercent === undefined ? undefined : callbackRateOf(trailingPercent),
      activationPrice: asPrice(trailingTriggerPrice),
    });
    return { changes, rest };
  }

  protected orderRequest(
    symbol: string,
    type: OrderType,
    side: OrderSide,
    amount: number,
    price: Num,
    params: Dict,
  ): Dict {
    const isMarket = type === "market";
    const [postOnly, others] = this.handlePostOnly(isMarket, false, params) as [boolean, Dict];
    const { condition, rest } = readCondition(String(side), others);
    const { timeInForce, takeProfit, stopLoss, test, ...more } = rest;
    return {
      symbol: this.marketId(symbol),
      side: String(side).toUpperCase(),
      type: condition === null ? String(type).toUpperCase() : conditionalType(condition, isMarket),
      // An order that closes a whole position has no amount.
      ...(more.closePosition !== true && { quantity: this.amountToPrecision(symbol, amount) }),
      ...(!isMarket && more.priceMatch === undefined && { price: this.priceToPrecision(symbol, price) }),
      ...(timeInForce !== undefined && { timeInForce: String(timeInForce).toUpperCase() }),
      ...(postOnly && { postOnly }),
      ...(test === true && { dryRun: true }),
      ...(takeProfit !== undefined && { takeProfit: this.legRequest(symbol, takeProfit) }),
      ...(stopLoss !== undefined && { stopLoss: this.legRequest(symbol, stopLoss) }),
      ...(condition !== null && this.conditionRequest(symbol, condition, more.closePosition === true)),
      ...more,
    };
  }

  /** An attached take-profit or stop-loss. It cannot have an amount of its own. */
  private legRequest(symbol: string, leg: Dict): Dict {
    const { triggerPrice, price, maxSlippage, triggerPriceType, priceType = triggerPriceType } = leg;
    return this.definedFields({
      triggerPrice: this.priceToPrecision(symbol, triggerPrice),
      price: price === undefined ? undefined : this.priceToPrecision(symbol, price),
      triggerBy: priceType === undefined ? undefined : String(priceType).toUpperCase(),
      maxSlippage: maxSlippage === undefined ? undefined : String(maxSlippage),
    });
  }

  private conditionRequest(symbol: string, condition: Condition, isWhole: boolean): Dict {
    const { triggerPrice, triggerBy, callbackRate, activationPrice, closes } = condition;
    const price = (given: unknown) => (given === undefined ? undefined : this.priceToPrecision(symbol, given));
    return this.definedFields({
      triggerPrice: price(triggerPrice),
      triggerBy,
      callbackRate,
      activationPrice: price(activationPrice),
      reduceOnly: closes && !isWhole ? true : undefined,
    });
  }

  /** Params with `id` as the last segment of an order's path. Throws BadRequest for an invalid id. */
  private orderReference(id: string, params: Dict): Dict {
    const { clientOrderId, ...rest } = readKind(params).rest;
    const reference = clientOrderId === undefined ? id : `client:${clientOrderId}`;
    if (isOrderReference(reference)) return { ...rest, id: reference };
    throw new BadRequest(`${this.id} ${reference} is not an order id: nothing was sent`);
  }

  /** Params with the fields that identify an order in a message. */
  protected orderNamed(id: string | undefined, params: Dict): Dict {
    const { rest } = readKind(params);
    return rest.clientOrderId === undefined ? { orderId: id, ...rest } : rest;
  }
}

/**
 * Reads ccxt's `trigger` and `trailing`. Other exchanges keep conditional orders in separate lists, which these select.
 * Here all orders are in one list, so they filter it: conditional orders, triggered or not, or trailing ones.
 */
function readKind({ trigger, trailing, ...rest }: Dict): { isOfKind: (order: api.Order) => boolean; rest: Dict } {
  const isOfKind = ({ triggerBy, callbackRate }: api.Order) =>
    (trigger !== true || triggerBy !== null) && (trailing !== true || callbackRate !== null);
  return { isOfKind, rest };
}

function conditionalType({ kind }: Condition, isMarket: boolean): string {
  if (kind === "TRAILING_STOP" && !isMarket)
    throw new InvalidOrder("perpd createOrder(): a trailing order must be a market order");
  return kind + (isMarket ? "_MARKET" : "");
}
