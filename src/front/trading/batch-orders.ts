import type { Static } from "typebox";
import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { type BatchItem, CancelOrder, OrderBatch } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../core/protocol/message-schema.ts";
import { BatchItemEnd, OrderView } from "../../core/protocol/replies.ts";
import type { AmendItem, BatchBody, CancelItem, PlaceItem } from "../../wire/schema/batch.ts";
import { checkSymbol } from "../auth/key-limits.ts";
import { ApiError, badCombination } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import { refusalIn, requestFor } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import type { Context } from "../routing/context.ts";
import { checkAmendment, readAmendment } from "./amend-order.ts";
import { duplicateJson, isDuplicate } from "./duplicate-order.ts";
import { instrumentOf, notOpenError, readOrderId, readReference } from "./find-orders.ts";
import { withField } from "./open-order.ts";
import { readNewOrder } from "./place-order.ts";
import { placedJson } from "./placed-reply.ts";
import { reserveClientOrderId } from "./send-order.ts";

/** An item on its way. */
interface PendingItem {
  readonly command: BatchItem;
  /** Of an item about an order that should be there: how it is named, and by which field. */
  readonly named: { readonly reference: string; readonly field: string } | null;
  /** The item was refused here already. */
  refusal: ApiError | null;
  /** Its clientOrderId is held for it while it is on its way. */
  isIdReserved: boolean;
}

/** What came of an item, as JSON. */
interface Result {
  readonly isRefused: boolean;
  readonly json: string;
}

/** What the symbol said to an item. */
interface ItemReply {
  readonly reply: Message;
  /** Its events of the turn. */
  readonly from: number;
  readonly to: number;
}

/** Places, amends and cancels orders of one symbol, in their order and in one turn. */
export function runBatch(context: Context, answer: Answer, principal: Principal, { symbol, items }: BatchBody): void {
  const instrument = context.symbols.bySymbol(symbol);
  checkSymbol(principal, instrument);
  const batch = items.map((item, index) => readItem(context, principal, instrument, item, `items.${index}`));
  reserveIds(context, principal.accountId, instrument, batch);
  const sent = batch.filter(({ refusal }) => refusal === null);
  if (sent.length === 0) return replyResults(context, answer, batch.map(refusalOf));
  const command = {
    ...blank(OrderBatch),
    items: sent.map(({ command }) => command),
  };
  const read = (transaction: ReleasedTransaction): void => {
    const said = splitReplies(transaction);
    let next = 0;
    const results = batch.map((item) =>
      item.refusal === null ? resultOf(context, instrument, item, said[next++], transaction) : refusalOf(item),
    );
    replyResults(context, answer, results);
  };
  const note = (): void => releaseIds(context, principal.accountId, sent);
  try {
    requestFor(context, answer, instrument.id, command, read, note);
  } catch (thrown) {
    note();
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
        return { command: readPlace(principal, instrument, item), named: null, ...more };
      case "AMEND": {
        checkAmendment(item);
        const { named, ids } = readIds(context, instrument, item);
        return { command: { ...readAmendment(principal, instrument, item), ...ids }, named, ...more };
      }
      case "CANCEL": {
        const { named, ids } = readIds(context, instrument, item);
        return { command: { ...blank(CancelOrder), accountId: principal.accountId, ...ids }, named, ...more };
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

/** An order may be one of this batch: so a clientOrderId is looked up where the batch is decided. */
function readIds(
  context: Context,
  instrument: Instrument,
  { orderId, clientOrderId }: Pick<Static<typeof AmendItem> | Static<typeof CancelItem>, "orderId" | "clientOrderId">,
): { named: { reference: string; field: string }; ids: { orderId: number; clientOrderId: string } } {
  const named = readReference({ orderId, clientOrderId });
  const id = orderId === undefined ? 0 : readOrderId(context, orderId);
  const owner = id === 0 ? instrument : instrumentOf(context, id);
  if (owner.id !== instrument.id)
    throw badCombination(
      "orderId",
      `Only an order of ${owner.symbol} can have this id: a batch is for one symbol, and this is for ${instrument.symbol}.`,
    );
  return { named, ids: { orderId: id, clientOrderId: clientOrderId ?? "" } };
}

/** Refuses the items whose clientOrderId another symbol has; the others' are held from now on. */
function reserveIds(context: Context, accountId: number, instrument: Instrument, batch: readonly PendingItem[]): void {
  for (const item of batch) {
    const { clientOrderId } = item.command;
    if (item.named !== null || clientOrderId === "") continue;
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
  const said: ItemReply[] = [];
  let from = 0;
  for (let i = eventCount; i + 1 < messages.length; i += 2) {
    const [reply, end] = [messages[i], messages[i + 1]] as [Message, MessageOf<typeof BatchItemEnd>];
    if (end.type !== BatchItemEnd.code) throw new Error(`an item of a batch ended with message ${end.type}`);
    said.push({ reply, from, to: end.eventCount });
    from = end.eventCount;
  }
  return said;
}

/** At once, or once the history is read. The turn is there during the call only. */
function resultOf(
  context: Context,
  instrument: Instrument,
  { command, named }: PendingItem,
  said: ItemReply | undefined,
  transaction: ReleasedTransaction,
): Result | Promise<Result> {
  if (said === undefined) throw new Error("an item of a batch was not answered");
  const { reply, from, to } = said;
  const refusal = refusalIn(reply, instrument);
  if (refusal !== null && named !== null) {
    const { reference, field } = named;
    if (refusal.code === "ORDER_NOT_FOUND")
      return notOpenError(context, command.accountId, reference, field, instrument).then(refused);
    return refused(withField(field, refusal));
  }
  if (refusal !== null) return refused(refusal);
  if (isDuplicate(reply)) return duplicateJson(context, instrument, reply.orderId).then((order) => done(200, order));
  if (reply.type !== OrderView.code) throw new Error(`an item of a batch was answered with message ${reply.type}`);
  const order = placedJson(instrument, reply as MessageOf<typeof OrderView>, transaction, from, to);
  return done(named === null ? 201 : 200, order);
}

const done = (status: number, order: string): Result => ({
  isRefused: false,
  json: `{"status":${status},"order":${order}}`,
});

const refused = (error: ApiError): Result => ({
  isRefused: true,
  json: `{"status":${error.status},"error":${error.toItemJson()}}`,
});

/** Of an item that was refused here. */
const refusalOf = ({ refusal }: PendingItem): Result => refused(refusal ?? new ApiError("INTERNAL"));

function replyResults({ log }: Context, answer: Answer, results: readonly (Result | Promise<Result>)[]): void {
  Promise.all(results)
    .then((rows) => {
      const failed = rows.filter(({ isRefused }) => isRefused).length;
      answer.reply(200, `{"failed":${failed},"data":[${rows.map(({ json }) => json).join(",")}]}`);
    })
    .catch((thrown: unknown) => answer.fail(thrown, log));
}
