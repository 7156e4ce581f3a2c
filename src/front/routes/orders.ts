import { idToInstrumentId } from "../../core/base/enums.ts";
import { BATCH_ITEM_ERRORS, errorsIn } from "../../wire/error-codes.ts";
import { BatchBody, BatchResults } from "../../wire/schema/batch.ts";
import {
  AmendOrderBody,
  CancelAfterBody,
  CancelAllQuery,
  CanceledOrders,
  CancelSwitch,
  OpenOrdersQuery,
  Order,
  OrderHistoryQuery,
  OrderList,
  PlacedOrder,
  PlaceOrderBody,
  TriedOrder,
} from "../../wire/schema/orders.ts";
import { DEFAULT_LIMIT, OrderReference } from "../../wire/schema/scalars.ts";
import { batchCost, CANCEL_COST } from "../auth/limits.ts";
import { ApiError } from "../common/errors.ts";
import { listJson, orderRecordJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { badCursor, readPage } from "../routing/paging.ts";
import { type Route, route } from "../routing/router.ts";
import { amendOrder } from "../trading/amend-order.ts";
import { runBatch } from "../trading/batch-orders.ts";
import { setCancelAfter } from "../trading/cancel-after.ts";
import { cancelOrder, cancelOrders } from "../trading/cancel-orders.ts";
import { FastPathReader } from "../trading/fast-path/fast-path-reader.ts";
import {
  findInHistory,
  findOpenOrder,
  type ListPosition,
  listOpenOrders,
  type OpenOrderRow,
} from "../trading/find-orders.ts";
import type { OrderName } from "../trading/open-order.ts";
import { placeOrder } from "../trading/place-order.ts";
import { sendFastPath } from "../trading/send-fast-path.ts";

export function orderRoutes(context: Context): Route[] {
  const { history, symbols } = context;
  const reader = new FastPathReader(symbols);
  return [
    route({
      method: "POST",
      path: "/orders",
      access: "TRADE",
      summary: "Place an order",
      description:
        "With `dryRun` the order goes through every check and is answered as it would stand once placed (200), or with the " +
        "error that it would be refused with, and nothing is done: no order, no margin taken, the clientOrderId not used up.",
      body: PlaceOrderBody,
      examples: {
        limit: {
          symbol: "BTC-PERP",
          side: "BUY",
          type: "LIMIT",
          price: "65000.5",
          quantity: "0.01",
          clientOrderId: "my-order-1",
        },
        "post-only": {
          symbol: "BTC-PERP",
          side: "BUY",
          type: "LIMIT",
          price: "64000",
          quantity: "0.01",
          postOnly: true,
        },
        "best bid": {
          symbol: "BTC-PERP",
          side: "BUY",
          type: "LIMIT",
          priceMatch: "QUEUE",
          quantity: "0.01",
          postOnly: true,
        },
        iceberg: {
          symbol: "BTC-PERP",
          side: "SELL",
          type: "LIMIT",
          price: "66000",
          quantity: "0.5",
          displayQuantity: "0.01",
        },
        market: { symbol: "BTC-PERP", side: "SELL", type: "MARKET", quantity: "0.01" },
        "dry run": { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "0.5", dryRun: true },
        "out of a position": { symbol: "BTC-PERP", side: "SELL", type: "MARKET", quantity: "0.01", reduceOnly: true },
      },
      replies: { 201: PlacedOrder, 200: [PlacedOrder, TriedOrder] },
      errors: errorsIn("PLACE"),
      handleBytes(call, principal, body) {
        const order = reader.readOrder(body);
        if (order === null) return false;
        sendFastPath(context, call, principal, order);
        return true;
      },
      handle: ({ call, principal, body }) => placeOrder(context, call, principal, body),
    }),
    route({
      method: "GET",
      path: "/orders",
      access: "READ",
      summary: "Open orders, newest first",
      query: OpenOrdersQuery,
      replies: { 200: OrderList },
      async handle({ call, principal, query }) {
        const { symbol, cursor, limit = DEFAULT_LIMIT } = query;
        const selected = symbols.selected(symbol);
        const isWanted = cursor === undefined ? () => true : isBehind(cursor);
        // One more tells whether there is a next page.
        const rows = await listOpenOrders(context, call, principal.accountId, selected, limit + 1, isWanted);
        call.reply(200, pageOfOpen(rows, limit));
      },
    }),
    route({
      method: "DELETE",
      path: "/orders",
      access: "TRADE",
      summary: "Cancel all open orders, or those of a symbol or side",
      description:
        "Where trading is HALTED nothing can be canceled: with that symbol named the answer is SYMBOL_HALTED. Without a " +
        "symbol the orders there stay open and are not among those in the answer; all others are canceled.",
      query: CancelAllQuery,
      replies: { 200: CanceledOrders },
      errors: errorsIn("CANCEL_ALL"),
      handle: ({ call, principal, query }) => cancelOrders(context, call, principal, query),
    }),
    route({
      method: "POST",
      path: "/orders/batch",
      access: "TRADE",
      costOfBody: batchCost,
      summary: "Place, amend and cancel up to 20 orders of a symbol at once",
      description:
        "Done in their order and in one turn of the exchange: nobody's order comes between two of them, and after a crash " +
        "all of it is there or none. Each item gets what it would get as a request of its own, with the same codes: one " +
        "that is refused changes nothing and does not stop the others, so look at each result; the answer is 200 all the " +
        "same. An item sees what those before it have done and may use the margin that they have freed: a cancel before " +
        "the order that takes its place. Orders that they fire come behind the batch.\n\n" +
        "What the request alone shows to be wrong (a field, a price off the tick, an orderId of another symbol) is a 400 " +
        "that names the item, and nothing was done. Behind items that have met some 2500 orders, further orders and amendments " +
        "are answered BATCH_TOO_LONG; cancels are not.\n\n" +
        "Costs a token for each item: of ORDER, or of CANCEL when all of them cancel.",
      body: BatchBody,
      replies: { 200: BatchResults },
      errors: errorsIn("BATCH"),
      itemErrors: BATCH_ITEM_ERRORS,
      handle: ({ call, principal, body }) => runBatch(context, call, principal, body),
    }),
    route({
      method: "POST",
      path: "/orders/cancel-after",
      access: "TRADE",
      cost: CANCEL_COST,
      summary: "Cancel all open orders at a time, unless asked again before",
      description:
        "A dead man's switch: each request sets the time anew, and 0 disarms. When it comes, every open order of the " +
        "account on every symbol is canceled, those that wait for a price and reduce-only ones included, before anything " +
        "could still trade with it; the reason is CANCEL_AFTER, and the switch is disarmed. It survives a restart. " +
        "An API key that may trade some symbols only sets it for those.",
      body: CancelAfterBody,
      replies: { 200: CancelSwitch },
      handle: ({ call, principal, body }) => setCancelAfter(context, call, principal, body),
    }),
    route({
      method: "GET",
      path: "/orders/history",
      access: "READ",
      summary: "Orders that are no longer open, the last closed first",
      query: OrderHistoryQuery,
      replies: { 200: OrderList },
      async handle({ call, principal, query }) {
        const page = await readPage(context, call, query, (asked) => history.ordersOf(principal.accountId, asked));
        const rows = page.data.map((order) => orderRecordJson(symbols.byId(idToInstrumentId(order.orderId)), order));
        call.reply(200, listJson(rows, page.nextCursor));
      },
    }),
    route({
      method: "GET",
      path: "/orders/:id",
      access: "READ",
      summary: "An order, open or not",
      parameter: OrderReference,
      replies: { 200: Order },
      errors: errorsIn("FIND_ORDER"),
      async handle({ call, principal, parameter }) {
        const open = await findOpenOrder(context, call, principal.accountId, parameter);
        if (open !== null) return call.reply(200, open.json);
        const order = await findInHistory(context, principal.accountId, parameter);
        if (order === null) throw new ApiError("ORDER_NOT_FOUND", { field: "id" });
        call.reply(200, orderRecordJson(symbols.byId(idToInstrumentId(order.orderId)), order));
      },
    }),
    route({
      method: "PATCH",
      path: "/orders/:id",
      access: "TRADE",
      summary: "Amend an order: the id stays, and less at the same price keeps its place in the queue",
      parameter: OrderReference,
      body: AmendOrderBody,
      examples: {
        price: { price: "64999.5" },
        "best of its side": { priceMatch: "QUEUE" },
        quantity: { quantity: "0.008" },
        "of a stop": { triggerPrice: "64100" },
        "of one that trails": { callbackRate: "0.02" },
        "longer, at its place": { goodTillDate: 1790000000000 },
      },
      replies: { 200: PlacedOrder },
      errors: errorsIn("AMEND"),
      handle: ({ call, principal, parameter, body }) => amendOrder(context, call, principal, inPath(parameter), body),
    }),
    route({
      method: "DELETE",
      path: "/orders/:id",
      access: "TRADE",
      summary: "Cancel an order",
      parameter: OrderReference,
      replies: { 200: Order },
      errors: errorsIn("CANCEL"),
      handle: ({ call, principal, parameter }) => cancelOrder(context, call, principal, inPath(parameter)),
    }),
  ];
}

const inPath = (reference: string): OrderName => ({ reference, field: "id" });

/** The cursor is the place of the page's last order: what was placed or closed since moves nothing. */
function pageOfOpen(rows: readonly OpenOrderRow[], limit: number): string {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = last === undefined || rows.length <= limit ? null : `${last.createdAt}.${last.orderId}`;
  return listJson(
    page.map((row) => row.json),
    nextCursor,
  );
}

function isBehind(cursor: string): (order: ListPosition) => boolean {
  const [, time, id] = /^([0-9]{1,16})\.([0-9]{1,16})$/.exec(cursor) ?? [];
  if (time === undefined || id === undefined) throw badCursor();
  const [createdAt, orderId] = [Number(time), Number(id)];
  return (order) => order.createdAt < createdAt || (order.createdAt === createdAt && order.orderId < orderId);
}
