import type { CancellationRequest, Dict, Int, Num, Order, OrderSide, OrderType, Str } from "ccxt";
import { BadRequest, InvalidOrder, NotSupported } from "ccxt";
import { isOrderReference } from "../client/paths.ts";
import type * as api from "../client/types.ts";
import { PerpdAccount } from "./account.ts";
import { DEFAULT_LIMIT, MAX_LIMIT } from "./base.ts";
import { type Condition, callbackRateOf, readCondition, readType } from "./condition.ts";
import { ownParams, rowsOfPagination } from "./params.ts";

/** Statuses of orders that ended before they were filled completely. */
const ENDED_EARLY = "CANCELED,EXPIRED,REJECTED";

/** Orders: placed, canceled and looked up. */
export class PerpdTrading extends PerpdAccount {
  /**
   * Places an order of the type `limit` or `market`, or of one of condition.ts such as `STOP_MARKET`. Supported params of
   * ccxt: timeInForce (GTC, IOC, FOK, PO; GTD with goodTillDate), postOnly, reduceOnly, clientOrderId, takeProfit,
   * stopLoss, test (dry run: nothing is placed), marginMode (must be the symbol's) and the conditions of readCondition().
   * Other params go to the exchange unchanged.
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
    await this.requireMarginMode(market.symbol, params);
    return this.parseOrder(await this.request("orders", "private", "POST", request), market);
  }

  /**
   * Changes price and amount of a limit order. The order keeps its id; it keeps its place in the queue when only the
   * amount gets smaller. The amount includes what was filled. Params: triggerPrice (stopLossPrice, takeProfitPrice) for
   * conditional orders, trailingPercent and trailingTriggerPrice for trailing ones, goodTillDate for GTD orders, and
   * before the first fill takeProfit and stopLoss as in createOrder(), or `remove: ["takeProfit"]`.
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

  /**
   * Closes the positions at market, one after the other. One that cannot be closed keeps none of the others open: the first
   * error rejects after all have been tried.
   */
  override async closeAllPositions(params: Dict = {}) {
    const symbols = (await this.fetchPositions()).map(({ symbol }) => symbol as string);
    const errors: unknown[] = [];
    for (const symbol of symbols)
      await this.closePosition(symbol, undefined, params).catch((error) => errors.push(error));
    if (errors.length > 0) throw errors[0];
    return Promise.all(symbols.map((symbol) => this.fetchPosition(symbol)));
  }

  /** By `params.clientOrderId`, if that is given, else by id. */
  override async cancelOrder(id: string, symbol?: Str, params: Dict = {}) {
    await this.loadMarkets();
    const order = await this.request("orders/{id}", "private", "DELETE", this.orderReference(id, params));
    return this.parseOrder(order, this.marketOrNone(symbol));
  }

  /** With `params.trigger` or `params.trailing` only orders of that kind. */
  override async cancelAllOrders(symbol?: Str, params: Dict = {}) {
    await this.loadMarkets();
    const market = this.marketOrNone(symbol);
    if (readKind(params).isPart) return this.cancelKind(symbol, params);
    const { data }: api.CanceledOrders = await this.request("orders", "private", "DELETE", {
      ...this.definedFields({ symbol: market?.id }),
      ...readKind(params).rest,
    });
    return this.parseOrders(data, market);
  }

  protected async cancelKind(symbol: Str, params: Dict): Promise<Order[]> {
    const orders = await this.fetchOpenOrders(symbol, undefined, undefined, params);
    return this.cancelOrdersForSymbols(orders.map(({ id, symbol }) => ({ id, symbol })) as CancellationRequest[]);
  }

  /** Dead man's switch: cancels all open orders after `timeout` ms unless it is called again before; 0 disarms it. */
  override async cancelAllOrdersAfter(timeout: Int, params: Dict = {}): Promise<Dict> {
    await this.loadMarkets();
    return this.request("orders/cancel-after", "private", "POST", { timeoutMs: timeout, ...params });
  }

  /** By `params.clientOrderId`, if that is given, else by id. */
  override async fetchOrder(id: string, symbol?: Str, params: Dict = {}) {
    await this.loadMarkets();
    const order = await this.request("orders/{id}", "private", "GET", this.orderReference(id, params));
    return this.parseOrder(order, this.marketOrNone(symbol));
  }

  /** All open orders, unless a limit is given. */
  override async fetchOpenOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    await this.loadMarkets();
    const { query, market, isWanted } = this.orderQuery(symbol, since, params);
    const all = { since: undefined, limit: Number.POSITIVE_INFINITY, isWanted };
    return this.parseOrders(await this.pages<api.Order>("private", "orders", query, all), market, since, limit);
  }

  /** Open and closed orders. */
  override async fetchOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    // In this order, so that an order that ends meanwhile is in one of the lists. If it is in both, the later one counts.
    const open = await this.fetchOpenOrders(symbol, since, undefined, params);
    const closed = await this.fetchCanceledAndClosedOrders(symbol, since, limit, params);
    const orders = new Map([...open, ...closed].map((order) => [order.id, order]));
    const sorted = this.sortBy([...orders.values()], "timestamp");
    return this.filterBySinceLimit(sorted, since, limit ?? DEFAULT_LIMIT) as Order[];
  }

  override async fetchCanceledAndClosedOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.closedOrders(symbol, since, limit, params);
  }

  /** Orders that were filled completely. */
  override async fetchClosedOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.closedOrders(symbol, since, limit, { status: "FILLED", ...params });
  }

  /** Orders that ended before they were filled completely. */
  override async fetchCanceledOrders(symbol?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.closedOrders(symbol, since, limit, { status: ENDED_EARLY, ...params });
  }

  /**
   * Without `since`: the orders that ended last. With it: the first that were placed since. The exchange lists by the end
   * of an order, so a page of a thousand is read: an order is missed only if a thousand others ended before it.
   */
  private async closedOrders(symbol: Str, since: Int, given: Int, params: Dict): Promise<Order[]> {
    await this.loadMarkets();
    const { query, market, isPart, until, isWanted } = this.orderQuery(symbol, since, params);
    const limit = given ?? rowsOfPagination(params, MAX_LIMIT) ?? DEFAULT_LIMIT;
    const path = "orders/history";
    if (since === undefined) {
      const options = { since, limit, ...(isPart && { isWanted }) };
      const times = this.definedFields({ endTime: until });
      return this.parseOrders(await this.pages<api.Order>("private", path, { ...query, ...times }, options), market);
    }
    // An order that was placed by `until` may have ended later, but hardly after a whole page of others.
    const isLast = (page: readonly api.Order[]) =>
      until !== undefined && page.length > 0 && page.every((order) => order.updatedAt > until && !isWanted(order));
    const options = { since, limit, isWanted, isLast };
    const rows = await this.readPages<api.Order>("private", path, { ...query, startTime: since }, options);
    return this.parseOrders(rows, market, since, limit);
  }

  private orderQuery(symbol: Str, since: Int, params: Dict) {
    const market = this.marketOrNone(symbol);
    const { isOfKind, isPart, rest } = readKind(params);
    const { until, ...filters } = rest;
    const query = { ...this.definedFields({ symbol: market?.id }), ...filters };
    const isWanted = (order: api.Order): boolean =>
      order.createdAt >= (since ?? 0) && order.createdAt <= (until ?? Number.POSITIVE_INFINITY) && isOfKind(order);
    return { query, market, isPart, until: until as number | undefined, isWanted };
  }

  /** A request cannot choose the margin mode. Throws InvalidOrder if `params.marginMode` is not that of the symbol. */
  protected async requireMarginMode(symbol: string, { marginMode }: Dict): Promise<void> {
    if (marginMode === undefined) return;
    const { marginMode: set } = await this.positionRow(symbol, {});
    if (set.toLowerCase() === String(marginMode).toLowerCase()) return;
    throw new InvalidOrder(`${this.id} ${symbol} has ${set} margin: call setMarginMode() before the order`);
  }

  /** The fields to change, and the remaining params. */
  protected changesRequest(symbol: string, amount: Num, price: Num, params: Dict): { changes: Dict; rest: Dict } {
    const { trailingPercent, trailingTriggerPrice, ...others } = params;
    const { triggerPrice, stopPrice, stopLossPrice, takeProfitPrice, takeProfit, stopLoss, ...rest } = others;
    const asPrice = (given: unknown) => (given === undefined ? undefined : this.priceToPrecision(symbol, given));
    const changes = this.definedFields({
      quantity: amount === undefined ? undefined : this.amountToPrecision(symbol, amount),
      price: asPrice(price),
      triggerPrice: asPrice(triggerPrice ?? stopPrice ?? stopLossPrice ?? takeProfitPrice),
      callbackRate: trailingPercent === undefined ? undefined : callbackRateOf(trailingPercent),
      activationPrice: asPrice(trailingTriggerPrice),
      takeProfit: this.legRequest(symbol, amount, takeProfit),
      stopLoss: this.legRequest(symbol, amount, stopLoss),
    });
    return { changes, rest: ownParams(rest) };
  }

  protected orderRequest(
    symbol: string,
    type: OrderType,
    side: OrderSide,
    amount: number,
    price: Num,
    params: Dict,
  ): Dict {
    const { kind, isMarket } = readType(String(type));
    const [postOnly, others] = this.handlePostOnly(isMarket, false, ownParams(params)) as [boolean, Dict];
    const { condition, rest } = readCondition(kind, String(side), others);
    const { timeInForce, takeProfit, stopLoss, test, ...more } = rest;
    if (!isMarket && price === undefined && more.priceMatch === undefined)
      throw new InvalidOrder(`${this.id} createOrder(): a ${String(type)} order needs a price`);
    return {
      symbol: this.marketId(symbol),
      side: String(side).toUpperCase(),
      type: orderType(condition, isMarket),
      // An order that closes a whole position has no amount.
      ...(more.closePosition !== true && { quantity: this.amountToPrecision(symbol, amount) }),
      ...(!isMarket && more.priceMatch === undefined && { price: this.priceToPrecision(symbol, price) }),
      ...(timeInForce !== undefined && { timeInForce: String(timeInForce).toUpperCase() }),
      ...(postOnly && { postOnly }),
      ...(test === true && { dryRun: true }),
      ...this.definedFields({
        takeProfit: this.legRequest(symbol, amount, takeProfit),
        stopLoss: this.legRequest(symbol, amount, stopLoss),
      }),
      ...(condition !== null && this.conditionRequest(symbol, condition, more.closePosition === true)),
      ...more,
    };
  }

  /** An attached take-profit or stop-loss, for the whole order. Its price makes it a limit order. */
  private legRequest(symbol: string, orderAmount: Num, leg: Dict | undefined): Dict | undefined {
    if (leg === undefined || leg === null) return undefined;
    const { triggerPrice, price, type, amount, maxSlippage, triggerPriceType, priceType = triggerPriceType } = leg;
    if (amount !== undefined && Number(amount) !== Number(orderAmount))
      throw new NotSupported(`${this.id}: takeProfit and stopLoss are for the amount of the order`);
    if (type !== undefined && readType(String(type)).isMarket !== (price === undefined))
      throw new InvalidOrder(`${this.id}: a limit takeProfit or stopLoss, and no other, has a price`);
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
    const rest = ownParams(readKind(params).rest);
    return rest.clientOrderId === undefined ? { orderId: id, ...rest } : rest;
  }
}

/**
 * Reads ccxt's `trigger` (once `stop`) and `trailing`. Other exchanges keep conditional orders in separate lists, which
 * these select. Here all orders are in one list, so they filter it: conditional orders, triggered or not, or trailing ones.
 */
export function readKind({ trigger, stop, trailing, ...rest }: Dict): {
  isOfKind: (order: api.Order) => boolean;
  /** Some orders are not of the kind. */
  isPart: boolean;
  rest: Dict;
} {
  const isConditional = trigger === true || stop === true;
  const isOfKind = ({ triggerBy, callbackRate }: api.Order) =>
    (!isConditional || triggerBy !== null) && (trailing !== true || callbackRate !== null);
  return { isOfKind, isPart: isConditional || trailing === true, rest };
}

function orderType(condition: Condition | null, isMarket: boolean): string {
  if (condition === null) return isMarket ? "MARKET" : "LIMIT";
  if (condition.kind === "TRAILING_STOP" && !isMarket)
    throw new InvalidOrder("perpd createOrder(): a trailing order must be a market order");
  return condition.kind + (isMarket ? "_MARKET" : "");
}
