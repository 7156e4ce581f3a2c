import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { type BatchItem, CancelOrder, OrderBatch } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../core/protocol/message-schema.ts";
import { BatchItemEnd, OrderView } from "../../core/protocol/replies.ts";
import type { Static } from "../../packages/typebox.ts";
import type { AmendItem, BatchBody, CancelItem, PlaceItem } from "../../wire/schema/batch.ts";
import { tradableInstrument } from "../auth/key-limits.ts";
import { ApiError, badCombination } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import { refusalIn, requestFor } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import type { Context } from "../routing/context.ts";
import { checkAmendment, readAmendment, withField } from "./change-orders.ts";
import { instrumentOf, notOpenError, type OrderName, readOrderId, readReference } from "./find-orders.ts";
import { duplicateJson, isDuplicate, placedJson } from "./order-replies.ts";
import { readNewOrder, reserveClientOrderId } from "./place-order.ts";

/** An item that is sent, or was refused before. */
interface PendingItem {
  readonly command: BatchItem;
  /** The order that an AMEND or CANCEL names, and the field that names it. */
  readonly target: OrderName | null;
  /** Set when the item was refused before it was sent. */
  refusal: ApiError | null;
  /** The item's clientOrderId is reserved until the symbol has answered. */
  isIdReserved: boolean;
}

interface Result {
  readonly isRefused: boolean;
  readonly json: string;
}

/** The symbol's reply to an item, and the range of its events in the transaction. */
interface ItemReply {
  readonly reply: Message;
  readonly from: number;
  readonly to: number;
}

/** Places, amends and cancels orders of one symbol, in the order of the items and in one transaction. */
export function runBatch(context: Context, answer: Answer, principal: Principal, { symbol, items }: BatchBody): void {
  const instrument = tradableInstrument(context, principal, symbol);
  const batch = items.map((item, index) => readItem(context, principal, instrument, item, `items.${index}`));
  reserveIds(context, principal.accountId, instrument, batch);
  const sent = batch.filter(({ refusal }) => refusal === null);
  if (sent.length === 0) return replyResults(context, answer, batch.map(refusalOf));
  const command = { ...blank(OrderBatch), items: sent.map(({ command }) => command) };
  const read = (transaction: ReleasedTransaction): void => {
    const replies = splitReplies(transaction);
    let next = 0;
    const results = batch.map((item) =>
      item.refusal === null ? resultOf(context, instrument, item, replies[next++], transaction) : refusalOf(item),
    );
    replyResults(context, answer, results);
  };
  const release = (): void => releaseIds(context, principal.accountId, sent);
  try {
    requestFor(context, answer, instrument.id, command, read, release);
  } catch (thrown) {
    release();
    throw thrown;
  }
}

function readItem(
  context: Context,
  principal: Principal,
  instrument: Instrument,
  item: BatchBody["items"][number],
  at: string,
): PendingItem {
  try {
    const more = { refusal: null, isIdReserved: false };
    switch (item.action) {
      case "PLACE":
        return { command: readPlace(principal, instrument, item), target: null, ...more };
      case "AMEND": {
        checkAmendment(item);
        const { target, ids } = readIds(context, instrument, item);
        return { command: { ...readAmendment(principal, instrument, item), ...ids }, target, ...more };
      }
      case "CANCEL": {
        const { target, ids } = readIds(context, instrument, item);
        return { command: { ...blank(CancelOrder), accountId: principal.accountId, ...ids }, target, ...more };
      }
    }
  } catch (thrown) {
    throw thrown instanceof ApiError ? thrown.within(at) : thrown;
  }
}

function readPlace(principal: Principal, instrument: Instrument, item: Static<typeof PlaceItem>): BatchItem {
  const { action, ...order } = item;
  return { ...readNewOrder(principal, instrument, { symbol: instrument.symbol, ...order }) };
}

/** The order may be placed by this batch, so the engine looks up a clientOrderId when it executes the item. */
function readIds(
  context: Context,
  instrument: Instrument,
  { orderId, clientOrderId }: Pick<Static<typeof AmendItem> | Static<typeof CancelItem>, "orderId" | "clientOrderId">,
): { target: OrderName; ids: { orderId: number; clientOrderId: string } } {
  const target = readReference({ orderId, clientOrderId });
  const id = orderId === undefined ? 0 : readOrderId(context, orderId);
  const owner = id === 0 ? instrument : instrumentOf(context, id);
  if (owner.id !== instrument.id)
    throw badCombination(
      "orderId",
      `This orderId is of ${owner.symbol}, but the batch is for ${instrument.symbol}. Send one batch for each symbol.`,
    );
  return { target, ids: { orderId: id, clientOrderId: clientOrderId ?? "" } };
}

/** Refuses items whose clientOrderId is used on another symbol, and reserves the ids of the others. */
function reserveIds(context: Context, accountId: number, instrument: Instrument, batch: readonly PendingItem[]): void {
  for (const item of batch) {
    const { clientOrderId } = item.command;
    if (item.target !== null || clientOrderId === "") continue;
    try {
      item.isIdReserved = reserveClientOrderId(context, accountId, clientOrderId, instrument);
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      item.refusal = thrown;
    }
  }
}

function releaseIds({ clientOrderIds }: Context, accountId: number, sent: readonly PendingItem[]): void {
  for (const { command, isIdReserved } of sent)
    if (isIdReserved) clientOrderIds.release(accountId, command.clientOrderId);
}

function splitReplies({ messages, eventCount }: ReleasedTransaction): ItemReply[] {
  const replies: ItemReply[] = [];
  let from = 0;
  for (let i = eventCount; i + 1 < messages.length; i += 2) {
    const [reply, end] = [messages[i], messages[i + 1]] as [Message, MessageOf<typeof BatchItemEnd>];
    if (end.type !== BatchItemEnd.code) throw new Error(`an item of a batch ended with message ${end.type}`);
    replies.push({ reply, from, to: end.eventCount });
    from = end.eventCount;
  }
  return replies;
}

/** A promise when the history must be read first. The transaction may be used during the call only. */
function resultOf(
  context: Context,
  instrument: Instrument,
  { command, target }: PendingItem,
  itemReply: ItemReply | undefined,
  transaction: ReleasedTransaction,
): Result | Promise<Result> {
  if (itemReply === undefined) throw new Error("an item of a batch was not answered");
  const { reply, from, to } = itemReply;
  const refusal = refusalIn(reply, instrument);
  if (refusal !== null && target !== null) {
    if (refusal.code === "ORDER_NOT_FOUND")
      return notOpenError(context, command.accountId, target, instrument).then(refused);
    return refused(withField(target.field, refusal));
  }
  if (refusal !== null) return refused(refusal);
  if (isDuplicate(reply)) return duplicateJson(context, instrument, reply.orderId).then((order) => done(200, order));
  if (reply.type !== OrderView.code) throw new Error(`an item of a batch was answered with message ${reply.type}`);
  const order = placedJson(instrument, reply as MessageOf<typeof OrderView>, transaction, from, to);
  return done(target === null ? 201 : 200, order);
}

const done = (status: number, order: string): Result => ({
  isRefused: false,
  json: `{"status":${status},"order":${order}}`,
});

const refused = (error: ApiError): Result => ({
  isRefused: true,
  json: `{"status":${error.status},"error":${error.toItemJson()}}`,
});

const refusalOf = ({ refusal }: PendingItem): Result => refused(refusal ?? new ApiError("INTERNAL"));

function replyResults({ log }: Context, answer: Answer, results: readonly (Result | Promise<Result>)[]): void {
  Promise.all(results)
    .then((rows) => {
      const failed = rows.filter(({ isRefused }) => isRefused).length;
      answer.reply(200, `{"failed":${failed},"data":[${rows.map(({ json }) => json).join(",")}]}`);
    })
    .catch((thrown: unknown) => answer.fail(thrown, log));
}
