import type { Instrument } from "../../core/instrument.ts";
import {
  CancelAll,
  CancelOrder,
  idToInstrumentId,
  ORDER_STATUSES,
  OrderView,
  ReadOrder,
  ReadOrders,
  SIDES,
} from "../../core/messages.ts";
import { blank, type MessageOf } from "../../core/shape.ts";
import type { OrderRecord } from "../../store/rows.ts";
import {
  CancelAllQuery,
  CanceledOrders,
  OpenOrdersQuery,
  Order,
  OrderHistoryQuery,
  OrderList,
  PlacedOrder,
  PlaceOrderBody,
} from "../../wire/schema/orders.ts";
import { CLIENT_ORDER_ID_PATTERN, DEFAULT_LIMIT, OrderReference } from "../../wire/schema/scalars.ts";
import { ask, askEach, mapReplies, replyOf } from "../ask.ts";
import type { Call } from "../call.ts";
import type { Context } from "../context.ts";
import { ApiError } from "../errors.ts";
import { badCursor, readPage } from "../paging.ts";
import { type Route, route } from "../router.ts";
import { listJson, orderJson, orderRecordJson } from "../views.ts";
import { placeOrder } from "./place-order.ts";

type View = MessageOf<typeof OrderView>;

export function orderRoutes(context: Context): Route[] {
  const { road, history, symbols } = context;
  return [
    route({
      method: "POST",
      path: "/orders",
      access: "TRADE",
      summary: "Place an order",
      body: PlaceOrderBody,
      replies: { 201: PlacedOrder, 200: PlacedOrder },
      errors: [
        "UNKNOWN_SYMBOL",
        "BAD_COMBINATION",
        "PRICE_NOT_ON_TICK",
        "QUANTITY_NOT_ON_STEP",
        "PRICE_TOO_HIGH",
        "QUANTITY_TOO_SMALL",
        "QUANTITY_TOO_LARGE",
        "NOTIONAL_TOO_SMALL",
        "CLIENT_ORDER_ID_REUSED",
        "INSUFFICIENT_MARGIN",
        "PRICE_OUT_OF_BAND",
        "POSITION_LIMIT",
        "TOO_MANY_OPEN_ORDERS",
        "POST_ONLY_WOULD_TRADE",
        "REDUCE_ONLY_NO_POSITION",
        "NO_MARK_PRICE",
        "SYMBOL_HALTED",
        "REQUEST_EXPIRED",
      ],
      handle: ({ call, principal, body }) => placeOrder(context, call, principal.accountId, body),
    }),
    route({
      method: "GET",
      path: "/orders",
      access: "READ",
      summary: "Open orders, newest first",
      query: OpenOrdersQuery,
      replies: { 200: OrderList },
      errors: ["UNKNOWN_SYMBOL"],
      async handle({ call, principal, query }) {
        const rows = await openOrders(context, call, principal.accountId, symbols.selected(query.symbol));
        call.reply(200, pageOfOpen(rows, query.limit ?? DEFAULT_LIMIT, query.cursor));
      },
    }),
    route({
      method: "DELETE",
      path: "/orders",
      access: "TRADE",
      summary: "Cancel all open orders, or those of a symbol or side",
      query: CancelAllQuery,
      replies: { 200: CanceledOrders },
      errors: ["UNKNOWN_SYMBOL"],
      async handle({ call, principal, query }) {
        const side = query.side === undefined ? -1 : SIDES.indexOf(query.side);
        const canceled = await askEach(
          road,
          call,
          symbols.selected(query.symbol),
          () => ({ ...blank(CancelAll), accountId: principal.accountId, side }),
          (turn, instrument) =>
            mapReplies<View, string>(turn, OrderView.code, (view) => orderJson(instrument, view, turn.sequence)),
        );
        const rows = canceled.flat();
        call.reply(200, `{"canceled":${rows.length},"data":[${rows.join(",")}]}`);
      },
    }),
    route({
      method: "GET",
      path: "/orders/history",
      access: "READ",
      summary: "Orders that are no longer open, the last closed first",
      query: OrderHistoryQuery,
      replies: { 200: OrderList },
      errors: ["UNKNOWN_SYMBOL"],
      async handle({ call, principal, query }) {
        const page = await readPage(context, query, (instrumentId) =>
          history.ordersOf(principal.accountId, { ...query, instrumentId, limit: query.limit ?? DEFAULT_LIMIT }),
        );
        const rows = page.data.map((order) => orderRecordJson(instrumentOf(context, order.orderId), order));
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
      errors: ["ORDER_NOT_FOUND"],
      async handle({ call, principal, parameter }) {
        const open = await findOpen(context, call, principal.accountId, parameter);
        if (open !== null) return call.reply(200, open.json);
        const order = await findInHistory(context, principal.accountId, parameter);
        if (order === null) throw new ApiError("ORDER_NOT_FOUND", { field: "id" });
        call.reply(200, orderRecordJson(instrumentOf(context, order.orderId), order));
      },
    }),
    route({
      method: "DELETE",
      path: "/orders/:id",
      access: "TRADE",
      summary: "Cancel an order",
      parameter: OrderReference,
      replies: { 200: Order },
      errors: ["ORDER_NOT_FOUND", "ORDER_NOT_OPEN"],
      async handle({ call, principal, parameter }) {
        const { accountId } = principal;
        const orderId = isClientId(parameter)
          ? ((await findOpen(context, call, accountId, parameter))?.orderId ?? 0)
          : readOrderId(context, parameter);
        const canceled = orderId === 0 ? null : await cancel(context, accountId, orderId);
        if (canceled !== null) return call.reply(200, canceled);
        const closed = await findInHistory(context, accountId, parameter);
        if (closed === null) throw new ApiError("ORDER_NOT_FOUND", { field: "id" });
        const details = { orderId: String(closed.orderId), status: ORDER_STATUSES[closed.status] ?? "" };
        throw new ApiError("ORDER_NOT_OPEN", { field: "id", details });
      },
    }),
  ];
}

/** An open order as it is listed. */
interface OpenRow {
  readonly orderId: number;
  readonly createdAt: number;
  readonly json: string;
}

async function openOrders(
  { road }: Context,
  call: Call,
  accountId: number,
  instruments: readonly Instrument[],
): Promise<OpenRow[]> {
  const rows = await askEach(
    road,
    call,
    instruments,
    () => ({ ...blank(ReadOrders), accountId }),
    (turn, instrument) =>
      mapReplies<View, OpenRow>(turn, OrderView.code, (view) => readRow(instrument, view, turn.sequence)),
  );
  return rows.flat().sort((a, b) => b.createdAt - a.createdAt || b.orderId - a.orderId);
}

const readRow = (instrument: Instrument, view: View, sequence: number): OpenRow => ({
  orderId: view.orderId,
  createdAt: view.createdAt,
  json: orderJson(instrument, view, sequence),
});

/** The cursor is the place of the page's last order: what was placed or closed since moves nothing. */
function pageOfOpen(rows: readonly OpenRow[], limit: number, cursor: string | undefined): string {
  const rest = cursor === undefined ? rows : rowsBehind(rows, cursor);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = last === undefined || rest.length <= limit ? null : `${last.createdAt}.${last.orderId}`;
  return listJson(
    page.map((row) => row.json),
    nextCursor,
  );
}

function rowsBehind(rows: readonly OpenRow[], cursor: string): OpenRow[] {
  const [, time, id] = /^([0-9]{1,16})\.([0-9]{1,16})$/.exec(cursor) ?? [];
  if (time === undefined || id === undefined) throw badCursor();
  const [createdAt, orderId] = [Number(time), Number(id)];
  return rows.filter((row) => row.createdAt < createdAt || (row.createdAt === createdAt && row.orderId < orderId));
}

const CLIENT_ID_PREFIX = "client:";
const CLIENT_ORDER_ID = new RegExp(CLIENT_ORDER_ID_PATTERN);

const isClientId = (parameter: string): boolean => parameter.startsWith(CLIENT_ID_PREFIX);

function readClientId(parameter: string): string {
  const clientOrderId = parameter.slice(CLIENT_ID_PREFIX.length);
  if (CLIENT_ORDER_ID.test(clientOrderId)) return clientOrderId;
  throw new ApiError("BAD_VALUE", { field: "id", message: "No clientOrderId has this form." });
}

/** 0 when no order can have this id. */
function readOrderId({ symbols }: Context, parameter: string): number {
  if (!/^[0-9]+$/.test(parameter))
    throw new ApiError("BAD_VALUE", { field: "id", message: "An order's id is a number, or client:CLIENT_ORDER_ID." });
  const orderId = Number(parameter);
  const isPossible = Number.isSafeInteger(orderId) && symbols.withId(idToInstrumentId(orderId)) !== undefined;
  return isPossible ? orderId : 0;
}

/** The order if it is open. By client order id, every symbol is asked: the id does not say which it belongs to. */
async function findOpen(context: Context, call: Call, accountId: number, parameter: string): Promise<OpenRow | null> {
  const { road, symbols } = context;
  const byClientId = isClientId(parameter);
  const clientOrderId = byClientId ? readClientId(parameter) : "";
  const orderId = byClientId ? 0 : readOrderId(context, parameter);
  if (!byClientId && orderId === 0) return null;
  const instruments = byClientId ? symbols.all : [instrumentOf(context, orderId)];
  const found = await askEach(
    road,
    call,
    instruments,
    () => ({ ...blank(ReadOrder), accountId, orderId, clientOrderId }),
    (turn, instrument) =>
      mapReplies<View, OpenRow>(turn, OrderView.code, (view) => readRow(instrument, view, turn.sequence)),
  );
  return found.flat()[0] ?? null;
}

/** The account's order as the history has it; null when there is none, or when it is another account's. */
async function findInHistory(context: Context, accountId: number, parameter: string): Promise<OrderRecord | null> {
  const { road, history } = context;
  await road.historyCaughtUp();
  const order = isClientId(parameter)
    ? history.orderByClientId(accountId, readClientId(parameter))
    : history.orderById(readOrderId(context, parameter));
  return order?.accountId === accountId ? order : null;
}

/** The canceled order as JSON, or null when the account has no such order open. */
async function cancel(context: Context, accountId: number, orderId: number): Promise<string | null> {
  const instrument = instrumentOf(context, orderId);
  const command = { ...blank(CancelOrder), accountId, orderId };
  try {
    return await ask(context.road, instrument.id, command, (turn) =>
      orderJson(instrument, replyOf<View>(turn, OrderView.code, instrument), turn.sequence),
    );
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === "ORDER_NOT_FOUND") return null;
    throw thrown;
  }
}

function instrumentOf({ symbols }: Context, orderId: number): Instrument {
  const instrument = symbols.withId(idToInstrumentId(orderId));
  if (instrument === undefined) throw new ApiError("ORDER_NOT_FOUND", { field: "id" });
  return instrument;
}
