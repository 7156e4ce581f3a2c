import type { CancellationRequest, Dict, Order, OrderRequest, Str } from "ccxt";
import { UNKNOWN_OUTCOMES } from "../client/error.ts";
import type * as api from "../client/types.ts";
import { PerpdTrading } from "./trading.ts";

const MAX_ITEMS = 20;

interface Item {
  symbol: string;
  item: Dict;
}

/** The result of an item: an order, or an error. `isUnknown`: it may have been done in spite of the error. */
interface Outcome {
  order?: api.BatchResult["order"];
  error?: unknown;
  isUnknown?: boolean;
}

/** The refusal of the exchange for all items of a part; for any other exception nobody knows what was done. */
function outcomeOf(error: unknown): Outcome {
  const { body } = error as { body?: api.ErrorBody };
  return body === undefined || UNKNOWN_OUTCOMES.has(body.code) ? { error, isUnknown: true } : { error: body };
}

/**
 * Many orders at once. Orders of one symbol run in order, up to 20 in one transaction; symbols run one after the other.
 * An invalid request rejects. An order that the exchange refuses is returned in its place, with the error as `info`.
 * A whole transaction may fail after another one has succeeded. Its orders are returned like that, too: an exception would hide
 * what was done. Without a known outcome they have no status, and `info` is the exception.
 */
export class PerpdBatches extends PerpdTrading {
  /** A refused order has the status `rejected`; one that nobody knows of has none. */
  override async createOrders(orders: OrderRequest[], params: Dict = {}) {
    await this.loadMarkets();
    const items = orders.map(({ symbol, type, side, amount, price, params: own }) => {
      const { symbol: _, ...request } = this.orderRequest(symbol, type, side, amount as number, price, {
        ...params,
        ...own,
      });
      return { symbol, item: { action: "PLACE", ...request } };
    });
    for (const { symbol, params: own } of orders) await this.requireMarginMode(symbol, { ...params, ...own });
    const results = await this.runItems(items);
    return results.map((result, i) => {
      const { symbol, type, side, amount, price, params: own } = orders[i] as OrderRequest;
      const request = { type, side, amount, price, clientOrderId: own?.clientOrderId, status: "rejected" };
      return this.orderOf(result, symbol, request);
    });
  }

  /** Each order needs an `id`, or a clientOrderId in its params. A refused one has no status: it is unchanged. */
  override async editOrders(orders: OrderRequest[], params: Dict = {}) {
    await this.loadMarkets();
    const items = orders.map(({ symbol, amount, price, params: own, ...more }) => {
      const { changes, rest } = this.changesRequest(symbol, amount, price, { ...params, ...own });
      return { symbol, item: { action: "AMEND", ...changes, ...this.orderNamed((more as Dict).id, rest) } };
    });
    return this.changed(items);
  }

  /**
   * Also takes `params.clientOrderIds`. Without a symbol it cancels one by one. One that cannot be canceled keeps none of the
   * others open. It stands in its place without a status. If none was canceled, the first error rejects.
   */
  override async cancelOrders(ids: string[], symbol?: Str, params: Dict = {}) {
    const { clientOrderIds = [], ...more } = params;
    const named: Dict[] = [
      ...ids.map((id) => ({ id })),
      ...clientOrderIds.map((name: string) => ({ clientOrderId: name })),
    ];
    if (symbol !== undefined)
      return this.cancelOrdersForSymbols(named.map((name) => ({ ...name, symbol })) as CancellationRequest[], more);
    const orders: Order[] = [];
    const errors: unknown[] = [];
    for (const { id, ...name } of named)
      try {
        orders.push(await this.cancelOrder(id ?? "", symbol, { ...more, ...name }));
      } catch (error) {
        errors.push(error);
        orders.push(this.safeOrder({ id, ...name, info: outcomeOf(error).error } as Dict) as Order);
      }
    if (errors.length > 0 && errors.length === named.length) throw errors[0];
    return orders;
  }

  /** A refused one has no status: it is unchanged. */
  override async cancelOrdersForSymbols(orders: CancellationRequest[], params: Dict = {}) {
    await this.loadMarkets();
    const items = orders.map(({ id, clientOrderId, symbol }) => {
      const named = this.orderNamed(id, this.definedFields({ clientOrderId, ...params }));
      return { symbol, item: { action: "CANCEL", ...named } };
    });
    return this.changed(items);
  }

  private async changed(items: readonly Item[]): Promise<Order[]> {
    const results = await this.runItems(items);
    return results.map((result, i) => {
      const { symbol, item } = items[i] as Item;
      return this.orderOf(result, symbol, { id: item.orderId, clientOrderId: item.clientOrderId });
    });
  }

  /** One result per item, in the order of the items. */
  private async runItems(items: readonly Item[]): Promise<Outcome[]> {
    const results: Outcome[] = [];
    for (const [n, { places, request }] of this.partsOf(items).entries()) {
      const outcomes = await this.runPart(request, n === 0);
      for (const [i, place] of places.entries()) results[place] = outcomes[i] as Outcome;
    }
    return results;
  }

  /** The requests, and which items are in each. All are made before the first is sent: an unknown symbol rejects. */
  private partsOf(items: readonly Item[]): { places: number[]; request: { symbol: Str; items: Dict[] } }[] {
    return [...new Set(items.map(({ symbol }) => symbol))].flatMap((symbol) => {
      const id = this.marketId(symbol);
      const all = [...items.keys()].filter((i) => items[i]?.symbol === symbol);
      return Array.from({ length: Math.ceil(all.length / MAX_ITEMS) }, (_, n) => {
        const places = all.slice(n * MAX_ITEMS, (n + 1) * MAX_ITEMS);
        return { places, request: { symbol: id, items: places.map((i) => (items[i] as Item).item) } };
      });
    });
  }

  private async runPart(request: { items: Dict[] }, isFirst: boolean): Promise<Outcome[]> {
    try {
      const { data }: api.BatchResults = await this.request("orders/batch", "private", "POST", request);
      return data;
    } catch (error) {
      // Nothing was done before it, so the exception says all.
      if (isFirst) throw error;
      return request.items.map(() => outcomeOf(error));
    }
  }

  private orderOf({ order, error, isUnknown }: Outcome, symbol: string, asked: Dict): Order {
    const market = this.market(symbol);
    if (order !== undefined) return this.parseOrder(order, market);
    const status = isUnknown ? undefined : asked.status;
    return this.safeOrder({ ...asked, status, symbol: market.symbol, info: error } as Dict, market);
  }
}
