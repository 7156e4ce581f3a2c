import type { CancellationRequest, Dict, Order, OrderRequest, Str } from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdTrading } from "./trading.ts";

const MAX_ITEMS = 20;

interface Item {
  symbol: string;
  item: Dict;
}

/**
 * Many orders at once. Orders of one symbol run in order, up to 20 in one transaction; symbols run one after the other.
 * An invalid request rejects. An order that the exchange refuses is returned in its place, with the error as `info`.
 */
export class PerpdBatches extends PerpdTrading {
  /** A refused order has the status `rejected`. */
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

  /** Also takes `params.clientOrderIds`. Without a symbol it cancels one by one and stops at the first failure. */
  override async cancelOrders(ids: string[], symbol?: Str, params: Dict = {}) {
    const { clientOrderIds = [], ...more } = params;
    const named: Dict[] = [
      ...ids.map((id) => ({ id })),
      ...clientOrderIds.map((name: string) => ({ clientOrderId: name })),
    ];
    if (symbol !== undefined)
      return this.cancelOrdersForSymbols(named.map((name) => ({ ...name, symbol })) as CancellationRequest[], more);
    const canceled: Order[] = [];
    for (const { id = "", ...name } of named) canceled.push(await this.cancelOrder(id, symbol, { ...more, ...name }));
    return canceled;
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
  private async runItems(items: readonly Item[]): Promise<api.BatchResult[]> {
    const results: api.BatchResult[] = [];
    for (const symbol of new Set(items.map((asked) => asked.symbol))) {
      const places = [...items.keys()].filter((i) => items[i]?.symbol === symbol);
      for (let from = 0; from < places.length; from += MAX_ITEMS) {
        const part = places.slice(from, from + MAX_ITEMS);
        const request = { symbol: this.marketId(symbol), items: part.map((i) => items[i]?.item) };
        const { data }: api.BatchResults = await this.request("orders/batch", "private", "POST", request);
        for (const [n, place] of part.entries()) results[place] = data[n] as api.BatchResult;
      }
    }
    return results;
  }

  private orderOf({ order, error }: api.BatchResult, symbol: string, asked: Dict): Order {
    const market = this.market(symbol);
    if (order !== undefined) return this.parseOrder(order, market);
    return this.safeOrder({ ...asked, symbol: market.symbol, info: error } as Dict, market);
  }
}
