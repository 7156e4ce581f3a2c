import type { CancellationRequest, Dict, Order, OrderRequest, Str } from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdTrading } from "./trading.ts";

const MAX_ITEMS = 20;

interface Item {
  symbol: string;
  item: Dict;
}

/**
 * Many orders at once. Those of a symbol are done in their order and in one turn of the exchange, twenty at a time; those
 * of several symbols one symbol after the other. A request with a mistake in it rejects; what the exchange refuses is in
 * its place among the orders, with the error as its `info`.
 */
export class PerpdBatches extends PerpdTrading {
  /** One that is refused is `rejected`. */
  override async createOrders(orders: OrderRequest[], params: Dict = {}): Promise<Order[]> {
    await this.loadMarkets();
    const items = orders.map(({ symbol, type, side, amount, price, params: own }) => {
      const { symbol: _, ...request } = this.orderRequest(symbol, type, side, amount as number, price, {
        ...params,
        ...own,
      });
      return { symbol, item: { action: "PLACE", ...request } };
    });
    const results = await this.runItems(items);
    return results.map((result, i) => {
      const { symbol, type, side, amount, price, params: own } = orders[i] as OrderRequest;
      const request = { type, side, amount, price, clientOrderId: own?.clientOrderId, status: "rejected" };
      return this.orderOf(result, symbol, request);
    });
  }

  /** Each with an `id`, or a clientOrderId among its params. One that is refused has no status: it is what it was. */
  override async editOrders(orders: OrderRequest[], params: Dict = {}): Promise<Order[]> {
    await this.loadMarkets();
    const items = orders.map(({ symbol, amount, price, params: own, ...more }) => {
      const { changes, rest } = this.changesRequest(symbol, amount, price, { ...params, ...own });
      return { symbol, item: { action: "AMEND", ...changes, ...this.orderNamed((more as Dict).id, rest) } };
    });
    return this.changed(items);
  }

  /** Also by `params.clientOrderIds`. Without a symbol one after the other, up to the first that cannot be canceled. */
  override async cancelOrders(ids: string[], symbol?: Str, params: Dict = {}): Promise<Order[]> {
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

  /** One that is refused has no status: it is what it was. */
  override async cancelOrdersForSymbols(orders: CancellationRequest[], params: Dict = {}): Promise<Order[]> {
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

  /** A result for each, in their order. */
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
