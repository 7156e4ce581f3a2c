import { idToInstrumentId } from "../../../core/base/enums.ts";
import { errorsIn } from "../../../wire/error-codes.ts";
import { OpenOrdersQuery, Order, OrderHistoryQuery, OrderList } from "../../../wire/schema/orders.ts";
import { DEFAULT_LIMIT, OrderReference } from "../../../wire/schema/scalars.ts";
import { ApiError } from "../../common/errors.ts";
import { orderRecordJson } from "../../json/json-writers.ts";
import type { Context } from "../../routing/context.ts";
import { badCursor, listRoute, replyPage } from "../../routing/paging.ts";
import { type Route, route } from "../../routing/route.ts";
import { findInHistory, findOpenOrder, type ListPosition, listOpenOrders } from "../../trading/find-orders.ts";

export const openOrdersRoute = (context: Context): Route =>
  route({
    method: "GET",
    path: "/orders",
    access: "READ",
    summary: "Open orders, newest first",
    query: OpenOrdersQuery,
    replies: { 200: OrderList },
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
      replyPage(call, { data, nextCursor }, ({ json }) => json);
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
  listRoute(context, {
    path: "/orders/history",
    access: "READ",
    summary: "Closed orders, the last closed first",
    query: OrderHistoryQuery,
    reply: OrderList,
    read: (query, { accountId }) => context.history.ordersOf(accountId, query),
    print: (order) => orderRecordJson(context.symbols.byId(idToInstrumentId(order.orderId)), order),
  });

export const readOrderRoute = (context: Context): Route =>
  route({
    method: "GET",
    path: "/orders/:id",
    access: "READ",
    summary: "An order, open or closed",
    parameter: OrderReference,
    replies: { 200: Order },
    errors: errorsIn("FIND_ORDER"),
    async handle({ call, principal, parameter }) {
      const open = await findOpenOrder(context, call, principal.accountId, parameter);
      if (open !== null) return call.reply(200, open.json);
      const order = await findInHistory(context, principal.accountId, parameter);
      if (order === null) throw new ApiError("ORDER_NOT_FOUND", { field: "id" });
      call.reply(200, orderRecordJson(context.symbols.byId(idToInstrumentId(order.orderId)), order));
    },
  });
