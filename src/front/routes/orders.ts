import { idToInstrumentId, ORDER_STATUSES } from "../../core/base/enums.ts";
import { BATCH_ITEM_ERRORS, errorsIn } from "../../wire/error-codes.ts";
import { BatchBody, BatchResults } from "../../wire/schema/batch.ts";
import { MaxOrderSize, MaxOrderSizeQuery } from "../../wire/schema/order-size.ts";
import * as schema from "../../wire/schema/orders.ts";
import { DEFAULT_LIMIT, OrderReference } from "../../wire/schema/scalars.ts";
import { batchCost, CANCEL_COST, CPU_COST } from "../auth/limits.ts";
import { ApiError } from "../common/errors.ts";
import { orderRecordJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { badCursor, listRoute, replyPage } from "../routing/paging.ts";
import { del, get, patch, post, type Route } from "../routing/route.ts";
import { runBatch } from "../trading/batch-orders.ts";
import { amendOrder, cancelOrder, cancelOrders, setCancelAfter } from "../trading/change-orders.ts";
import { FastPathReader } from "../trading/fast-path/fast-path-reader.ts";
import { findInHistory, findOpenOrder, type ListPosition, listOpenOrders } from "../trading/find-orders.ts";
import { sendFastPath } from "../trading/operations.ts";
import { placeOrder, readMaxOrderSize } from "../trading/place-order.ts";

const BUY_LIMIT = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", quantity: "0.01" } as const;
const SELL_MARKET = { symbol: "BTC-PERP", side: "SELL", type: "MARKET", quantity: "0.01" } as const;

export function placeOrderRoute(context: Context): Route {
  const reader = new FastPathReader(context.symbols);
  return post("/orders", {
    access: "TRADE",
    summary: "Place an order",
    description:
      "With `dryRun` the order goes through every check, but nothing is done: no order is placed, no margin is reserved " +
      "and the clientOrderId stays free. The answer is the order as it would be after placing (200), or the error that " +
      "the order would get.",
    body: schema.PlaceOrderBody,
    examples: {
      limit: { ...BUY_LIMIT, price: "65000.5", clientOrderId: "my-order-1" },
      "post-only": { ...BUY_LIMIT, price: "64000", postOnly: true },
      "at the best bid": { ...BUY_LIMIT, priceMatch: "QUEUE", postOnly: true },
      iceberg: {
        symbol: "BTC-PERP",
        side: "SELL",
        type: "LIMIT",
        price: "66000",
        quantity: "0.5",
        displayQuantity: "0.01",
      },
      market: SELL_MARKET,
      "dry run": { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "0.5", dryRun: true },
      "reduce-only": { ...SELL_MARKET, reduceOnly: true },
    },
    replies: { 201: schema.PlacedOrder, 200: [schema.PlacedOrder, schema.DryRunOrder] },
    errors: errorsIn("PLACE"),
    handleBytes(call, principal, body) {
      const order = reader.readOrder(body);
      if (order === null) return false;
      sendFastPath(context, call, principal, order);
      return true;
    },
    handle: ({ call, principal, body }) => placeOrder(context, call, principal, body),
  });
}

export const openOrdersRoute = (context: Context): Route =>
  get("/orders", {
    access: "READ",
    summary: "Open orders, newest first",
    query: schema.OpenOrdersQuery,
    replies: { 200: schema.OrderList },
    async handle({ call, principal, query }) {
      const { symbol, cursor, limit = DEFAULT_LIMIT } = query;
      const selected = context.symbols.selected(symbol);
      const isWanted = cursor === undefined ? () => true : isAfter(cursor);
      // One row more than asked for shows whether there is a next page.
      const rows = await listOpenOrders(context, call, principal.accountId, selected, limit + 1, isWanted);
      const data = rows.slice(0, limit);
      const last = data.at(-1);
      // The cursor is the position of the last order, so orders placed or closed meanwhile shift nothing.
      const nextCursor = last === undefined || rows.length <= limit ? null : `${last.createdAt}.${last.orderId}`;
      replyPage(call, { data: data.map(({ json }) => json), nextCursor });
    },
  });

/** Selects the orders after the cursor in a list with the newest first. */
function isAfter(cursor: string): (order: ListPosition) => boolean {
  const [, time, id] = /^([0-9]{1,16})\.([0-9]{1,16})$/.exec(cursor) ?? [];
  if (time === undefined || id === undefined) throw badCursor();
  const [createdAt, orderId] = [Number(time), Number(id)];
  return (order) => order.createdAt < createdAt || (order.createdAt === createdAt && order.orderId < orderId);
}

export const orderHistoryRoute = (context: Context): Route =>
  listRoute(context, "/orders/history", {
    access: "READ",
    summary: "Closed orders, the last closed first",
    query: schema.OrderHistoryQuery,
    reply: schema.OrderList,
    read({ status, ...query }, { accountId }) {
      const statuses = status?.map((name) => ORDER_STATUSES.indexOf(name));
      return context.history.ordersOf(accountId, { ...query, statuses });
    },
    print: (order) => orderRecordJson(context.symbols.byId(idToInstrumentId(order.orderId)), order),
  });

export const maxOrderSizeRoute = (context: Context): Route =>
  get("/orders/max-size", {
    access: "READ",
    cost: CPU_COST,
    summary: "The largest order that the account may place now",
    description:
      "A dry run of the quantity is accepted, and one of a stepSize more gets the error in `limitedBy`. The book, the " +
      "account's margin and the limits of the API key count. Another order or price may change the result at any time.",
    query: MaxOrderSizeQuery,
    replies: { 200: MaxOrderSize },
    errors: errorsIn("MAX_ORDER_SIZE"),
    itemErrors: errorsIn("PLACE").filter((code) => BATCH_ITEM_ERRORS.includes(code)),
    handle: ({ call, principal, query }) => readMaxOrderSize(context, call, principal, query),
  });

export const readOrderRoute = (context: Context): Route =>
  get("/orders/:id", {
    access: "READ",
    summary: "An order, open or closed",
    parameter: OrderReference,
    replies: { 200: schema.Order },
    errors: errorsIn("FIND_ORDER"),
    async handle({ call, principal, parameter }) {
      const open = await findOpenOrder(context, call, principal.accountId, parameter);
      if (open !== null) return call.reply(200, open.json);
      const order = await findInHistory(context, principal.accountId, parameter);
      if (order === null) throw new ApiError("ORDER_NOT_FOUND", { field: "id" });
      call.reply(200, orderRecordJson(context.symbols.byId(idToInstrumentId(order.orderId)), order));
    },
  });

export const amendOrderRoute = (context: Context): Route =>
  patch("/orders/:id", {
    access: "TRADE",
    summary: "Amend an order. Its id stays; a smaller quantity at the same price keeps the place in the queue",
    parameter: OrderReference,
    body: schema.AmendOrderBody,
    examples: {
      price: { price: "64999.5" },
      "best price of its side": { priceMatch: "QUEUE" },
      quantity: { quantity: "0.008" },
      "trigger price of a stop": { triggerPrice: "64100" },
      "callback rate of a trailing stop": { callbackRate: "0.02" },
      "later expiry, same place in the queue": { goodTillDate: 1790000000000 },
    },
    replies: { 200: schema.PlacedOrder },
    errors: errorsIn("AMEND"),
    handle: ({ call, principal, parameter, body }) =>
      amendOrder(context, call, principal, { reference: parameter, field: "id" }, body),
  });

export const cancelOrderRoute = (context: Context): Route =>
  del("/orders/:id", {
    access: "TRADE",
    summary: "Cancel an order",
    parameter: OrderReference,
    replies: { 200: schema.Order },
    errors: errorsIn("CANCEL"),
    handle: ({ call, principal, parameter }) =>
      cancelOrder(context, call, principal, { reference: parameter, field: "id" }),
  });

export const cancelAllRoute = (context: Context): Route =>
  del("/orders", {
    access: "TRADE",
    summary: "Cancel all open orders, or those of a symbol or side",
    description:
      "Nothing can be canceled in a symbol whose trading is HALTED. A request that names such a symbol gets SYMBOL_HALTED. " +
      "A request without a symbol cancels all other orders; the answer lists only the canceled ones.",
    query: schema.CancelAllQuery,
    replies: { 200: schema.CanceledOrders },
    errors: errorsIn("CANCEL_ALL"),
    handle: ({ call, principal, query }) => cancelOrders(context, call, principal, query),
  });

export const cancelAfterRoute = (context: Context): Route =>
  post("/orders/cancel-after", {
    access: "TRADE",
    cost: CANCEL_COST,
    summary: "Cancel all open orders after a timeout, unless the request is repeated before (dead man's switch)",
    description:
      "Each request sets the timeout anew; 0 disarms the switch. When the timeout ends, every open order of the account " +
      "on every symbol is canceled, before any of them can trade again. This includes conditional and reduce-only " +
      "orders. The reason is CANCEL_AFTER, and the switch is disarmed. The switch survives a restart. With an API key " +
      "that is limited to some symbols it is set for these symbols only.",
    body: schema.CancelAfterBody,
    replies: { 200: schema.CancelSwitch },
    handle: ({ call, principal, body }) => setCancelAfter(context, call, principal, body),
  });

export const batchOrdersRoute = (context: Context): Route =>
  post("/orders/batch", {
    access: "TRADE",
    costOfBody: batchCost,
    summary: "Place, amend and cancel up to 20 orders of a symbol in one transaction",
    description:
      "The items run in their order and in one transaction: no other order runs between them, and after a crash either " +
      "all of them are there or none. Each item gets the result and the codes of a single request. A refused item changes " +
      "nothing and does not stop the others. The answer is 200 in any case, so check each result. An item sees the effects " +
      "of the items before it and may use the margin that they have released: cancel an order first, then place its " +
      "replacement. Conditional orders that the batch triggers run after it.\n\n" +
      "An item may be wrong by itself: a bad field, a price off the tick, an orderId of another symbol. Then the whole " +
      "request fails with a 400 that names the item, and nothing is done. After the items have met about 2500 orders, further " +
      "placements and amendments get BATCH_TOO_LONG; cancels still run.\n\n" +
      "Each item costs one token, from the ORDER budget, or from CANCEL when all items are cancels.",
    body: BatchBody,
    replies: { 200: BatchResults },
    errors: errorsIn("BATCH"),
    itemErrors: BATCH_ITEM_ERRORS,
    handle: ({ call, principal, body }) => runBatch(context, call, principal, body),
  });
