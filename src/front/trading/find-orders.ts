import { idToInstrumentId, isOpenStatus, ORDER_STATUSES } from "../../core/base/enums.ts";
import { ReadOrder, ReadOrders } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import { OrderView } from "../../core/protocol/replies.ts";
import type { OrderRecord } from "../../store/database/history-schema.ts";
import { CLIENT_ORDER_ID_PATTERN, ORDER_ID_PATTERN } from "../../wire/schema/scalars.ts";
import { ApiError, badCombination } from "../common/errors.ts";
import { historyCaughtUp, mapReplies, requestEach } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { orderJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { waitForReadSlot } from "../routing/paging.ts";

type View = MessageOf<typeof OrderView>;

/** An open order in a list. */
interface OpenOrderRow {
  readonly orderId: number;
  readonly createdAt: number;
  readonly json: string;
}

/** The position of an order in a list with the newest first. */
export type ListPosition = Pick<OpenOrderRow, "orderId" | "createdAt">;

/**
 * The account's open orders that pass the filter, newest first, at most `limit` of each symbol. An account may have
 * thousands of orders, and printing an order takes far longer than skipping it.
 */
export async function listOpenOrders(
  { engine }: Pick<Context, "engine">,
  answer: Pick<Answer, "done">,
  accountId: number,
  instruments: readonly Instrument[],
  limit: number,
  isWanted: (order: ListPosition) => boolean,
): Promise<OpenOrderRow[]> {
  const rows = await requestEach(
    engine,
    answer,
    instruments,
    () => ({ ...blank(ReadOrders), accountId }),
    (transaction, instrument) => {
      const first: OpenOrderRow[] = [];
      for (let i = transaction.eventCount; i < transaction.messages.length && first.length < limit; i++) {
        const view = transaction.messages[i] as View;
        if (view.type === OrderView.code && isWanted(view)) first.push(readRow(instrument, view, transaction.sequence));
      }
      return first;
    },
  );
  return rows.flat().sort((a, b) => b.createdAt - a.createdAt || b.orderId - a.orderId);
}

const readRow = (instrument: Instrument, view: View, sequence: number): OpenOrderRow => ({
  orderId: view.orderId,
  createdAt: view.createdAt,
  json: orderJson(instrument, view, sequence),
});

const CLIENT_ID_PREFIX = "client:";
const CLIENT_ORDER_ID = new RegExp(CLIENT_ORDER_ID_PATTERN);
const ORDER_ID = new RegExp(ORDER_ID_PATTERN);

export const isClientId = (parameter: string): boolean => parameter.startsWith(CLIENT_ID_PREFIX);

export function readClientId(parameter: string): string {
  const clientOrderId = parameter.slice(CLIENT_ID_PREFIX.length);
  if (CLIENT_ORDER_ID.test(clientOrderId)) return clientOrderId;
  throw new ApiError("BAD_VALUE", { field: "id", message: "This is not a valid clientOrderId." });
}

/** Returns 0 when no order can have this id. Throws BAD_VALUE for a text that is no id. */
export function readOrderId({ symbols }: Pick<Context, "symbols">, parameter: string): number {
  if (!ORDER_ID.test(parameter))
    throw new ApiError("BAD_VALUE", { field: "id", message: "An order's id is a number, or client:CLIENT_ORDER_ID." });
  const orderId = Number(parameter);
  const isPossible = Number.isSafeInteger(orderId) && symbols.findById(idToInstrumentId(orderId)) !== undefined;
  return isPossible ? orderId : 0;
}

/**
 * The order, or null when it is not open. For a clientOrderId, asks the symbol that has used it within a day first, then
 * every other symbol.
 */
export async function findOpenOrder(
  context: Pick<Context, "engine" | "symbols" | "clientOrderIds">,
  answer: Pick<Answer, "done">,
  accountId: number,
  parameter: string,
): Promise<OpenOrderRow | null> {
  const { symbols, clientOrderIds } = context;
  if (!isClientId(parameter)) {
    const orderId = readOrderId(context, parameter);
    const named = { accountId, orderId, clientOrderId: "" };
    return orderId === 0 ? null : findOpenOrderOn(context, answer, [instrumentOf(context, orderId)], named);
  }
  const named = { accountId, orderId: 0, clientOrderId: readClientId(parameter) };
  const owner = symbols.findById(clientOrderIds.ownerOf(accountId, named.clientOrderId));
  const found = owner === undefined ? null : await findOpenOrderOn(context, answer, [owner], named);
  const others = symbols.all.filter((instrument) => instrument !== owner);
  return found ?? findOpenOrderOn(context, answer, others, named);
}

async function findOpenOrderOn(
  { engine }: Pick<Context, "engine">,
  answer: Pick<Answer, "done">,
  instruments: readonly Instrument[],
  named: Omit<MessageOf<typeof ReadOrder>, "type">,
): Promise<OpenOrderRow | null> {
  const found = await requestEach(
    engine,
    answer,
    instruments,
    () => ({ ...blank(ReadOrder), ...named }),
    (transaction, instrument) =>
      mapReplies(transaction, OrderView, (view) => readRow(instrument, view, transaction.sequence)),
  );
  return found.flat()[0] ?? null;
}

/** The order in the history; null when the account has no such order. */
export async function findInHistory(
  context: Context,
  accountId: number,
  parameter: string,
): Promise<OrderRecord | null> {
  await historyCaughtUp(context.engine);
  return recordOf(context, accountId, parameter);
}

/** The order in the history as far as it goes. */
async function recordOf(context: Context, accountId: number, parameter: string): Promise<OrderRecord | null> {
  const { history } = context;
  const order = isClientId(parameter)
    ? await findByClientId(context, accountId, readClientId(parameter))
    : history.orderById(readOrderId(context, parameter));
  return order?.accountId === accountId ? order : null;
}

/** In steps, between which other requests run. More than one is needed only in the ids that an older version wrote. */
async function findByClientId(
  { history }: Pick<Context, "history">,
  accountId: number,
  clientOrderId: string,
): Promise<OrderRecord | undefined> {
  let { order, olderThan } = history.orderByClientId(accountId, clientOrderId);
  while (order === undefined && olderThan !== null) {
    await waitForReadSlot();
    ({ order, olderThan } = history.orderByClientId(accountId, clientOrderId, olderThan));
  }
  return order;
}

/** How long a request waits for the history when the disk is full: long enough if the history is still written. */
const FULL_DISK_WAIT_MS = 250;
const HISTORY_STOPPED =
  "The order is not open. The disk is nearly full, so the history does not show yet whether it was filled or canceled.";

/**
 * As findInHistory(). On a full disk the history may end before the order was closed, and go on much later. The cancel of an
 * order that is not open need not wait for that. Throws STORAGE_FULL if the history does not know yet.
 */
async function findClosed(context: Context, accountId: number, reference: string): Promise<OrderRecord | null> {
  const { engine } = context;
  if (engine.hasDiskRoom) return findInHistory(context, accountId, reference);
  const late = new Promise<false>((resolve) => setTimeout(resolve, FULL_DISK_WAIT_MS, false));
  const isCurrent = await Promise.race([engine.historyCaughtUp(), late]);
  const order = await recordOf(context, accountId, reference);
  if (isCurrent || (order !== null && !isOpenStatus(order.status))) return order;
  throw new ApiError("STORAGE_FULL", { message: HISTORY_STOPPED });
}

/** The error for a change of an order that is not open: ORDER_NOT_OPEN, or ORDER_NOT_FOUND (with `of`: on that symbol). */
export async function notOpenError(
  context: Context,
  accountId: number,
  { reference, field }: OrderName,
  of?: Instrument,
): Promise<ApiError> {
  const closed = await findClosed(context, accountId, reference);
  const isElsewhere = closed !== null && of !== undefined && idToInstrumentId(closed.orderId) !== of.id;
  if (closed === null || isElsewhere) return new ApiError("ORDER_NOT_FOUND", { field });
  const details = { orderId: String(closed.orderId), status: ORDER_STATUSES[closed.status] ?? "" };
  return new ApiError("ORDER_NOT_OPEN", { field, details });
}

export function instrumentOf({ symbols }: Pick<Context, "symbols">, orderId: number): Instrument {
  const instrument = symbols.findById(idToInstrumentId(orderId));
  if (instrument === undefined) throw new ApiError("ORDER_NOT_FOUND", { field: "id" });
  return instrument;
}

/** An order that a request names: in the form of a path parameter, and the field for errors. */
export interface OrderName {
  readonly reference: string;
  readonly field: string;
}

type SentIds = Partial<Record<"orderId" | "clientOrderId", string | undefined>>;

export function readReference({ orderId, clientOrderId }: SentIds): OrderName {
  if (orderId !== undefined && clientOrderId !== undefined)
    throw badCombination("clientOrderId", "orderId and clientOrderId are both set. Send one of the two.");
  if (clientOrderId !== undefined) return { reference: `client:${clientOrderId}`, field: "clientOrderId" };
  if (orderId === undefined) throw new ApiError("MISSING_FIELD", { field: "orderId" });
  return { reference: orderId, field: "orderId" };
}
