import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { Traded } from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../core/protocol/message-schema.ts";
import { DuplicateOrder, OrderView } from "../../core/protocol/replies.ts";
import type { OrderRecord } from "../../store/database/history-schema.ts";
import { MAX_DUPLICATE_FILLS } from "../../wire/schema/orders.ts";
import { MAX_LIMIT } from "../../wire/schema/scalars.ts";
import { ApiError, type ErrorParts } from "../common/errors.ts";
import { firstReply, historyCaughtUp, refusalIn } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { fillJson, orderJsonWith, takerFillJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";

/** Answers with the order that the transaction has placed or amended and with its fills, or with the refusal. */
export function replyPlaced(
  answer: Answer,
  instrument: Instrument,
  transaction: ReleasedTransaction,
  status = 201,
): void {
  const reply = firstReply(transaction);
  const refusal = refusalIn(reply, instrument);
  if (refusal !== null) return answer.refuse(refusal);
  const order = reply as MessageOf<typeof OrderView>;
  if (order.type !== OrderView.code) throw new Error(`an order was answered with message ${order.type}`);
  answer.reply(status, placedJson(instrument, order, transaction));
}

/** The order with its fills among the transaction's events [from, to). */
export function placedJson(
  instrument: Instrument,
  order: MessageOf<typeof OrderView>,
  transaction: ReleasedTransaction,
  from = 0,
  to = transaction.eventCount,
): string {
  let fills = "";
  for (let i = from; i < to; i++) {
    const trade = transaction.messages[i] as MessageOf<typeof Traded>;
    if (trade.type !== Traded.code || trade.takerOrderId !== order.orderId) continue;
    if (fills !== "") fills += ",";
    fills += takerFillJson(instrument, trade, order.clientOrderId, transaction.time, transaction.sequence);
  }
  return orderJsonWith(instrument, order, transaction.sequence, `,"fills":[${fills}]`);
}

/** Bounds the search for the fills of an old order. A page reads thousands of the account's fills. */
const MAX_PAGES = 40;

type Duplicate = MessageOf<typeof DuplicateOrder>;

/** The same order, with the same clientOrderId, was placed before. */
export const isDuplicate = (reply: Message): reply is Duplicate => reply.type === DuplicateOrder.code;

/** Answers with the order that has the clientOrderId. */
export function replyDuplicate(context: Context, answer: Answer, instrument: Instrument, { orderId }: Duplicate): void {
  duplicateJson(context, instrument, orderId)
    .then((json) => answer.reply(200, json))
    .catch((thrown: unknown) => answer.fail(thrown, context.log));
}

/** The first order may be gone if the exchange was down for longer than history is kept. */
function goneOrder(history: Pick<Context["history"], "keptSince">, orderId: number): ErrorParts {
  if (history.keptSince() === 0) throw new Error(`order ${orderId} is not in the history`);
  const message = "This clientOrderId was used by an order that the history no longer holds. Use another one.";
  return { field: "clientOrderId", message, details: { orderId: String(orderId) } };
}

/**
 * The order in its current state, with its fills. Rejects with CLIENT_ORDER_ID_REUSED if retention has removed it, and with
 * TIMEOUT when too many requests wait for the history.
 */
export async function duplicateJson(
  { engine, history }: Pick<Context, "engine" | "history">,
  instrument: Instrument,
  orderId: number,
): Promise<string> {
  await historyCaughtUp(engine);
  const order = history.orderById(orderId);
  if (order === undefined) throw new ApiError("CLIENT_ORDER_ID_REUSED", goneOrder(history, orderId));
  const fills = await fillTexts(history, instrument, order);
  return orderJsonWith(instrument, order, order.sequence, `,"fills":[${fills.join(",")}],"duplicate":true`);
}

/** The order's fills, oldest first; at most the latest MAX_DUPLICATE_FILLS. */
async function fillTexts(history: Context["history"], instrument: Instrument, order: OrderRecord): Promise<string[]> {
  const texts: string[] = [];
  let lots = 0;
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES && lots < order.filledLots && texts.length < MAX_DUPLICATE_FILLS; pages++) {
    // Other requests run between two pages.
    if (pages > 0) await new Promise((resolve) => setImmediate(resolve));
    const limit = Math.min(MAX_LIMIT, MAX_DUPLICATE_FILLS - texts.length);
    const page = history.fillsOfOrder(order, { limit, cursor });
    for (const fill of page.data) {
      texts.push(fillJson(instrument, fill));
      lots += fill.quantityLots;
    }
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  return texts.reverse();
}
