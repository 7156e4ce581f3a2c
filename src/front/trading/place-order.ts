import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { BUY, isConditional, ORDER_TYPES, SIDES } from "../../core/base/enums.ts";
import { printQuanta } from "../../core/base/units.ts";
import { DryRunOrder, PlaceOrder, ReadMaxOrderSize } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../core/protocol/message-schema.ts";
import { DryRunResult, MaxOrderSizeView, OrderView } from "../../core/protocol/replies.ts";
import type { MaxOrderSizeQuery } from "../../wire/schema/order-size.ts";
import type { PlaceOrderBody } from "../../wire/schema/orders.ts";
import { tradableInstrument } from "../auth/key-limits.ts";
import { ApiError } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import { firstReply, mapReplies, refusalIn, replyOf, requestFor } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { expectedFillJson, maxOrderSizeJson, orderJsonWith, projectionJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { isDuplicate, replyDuplicate, replyPlaced } from "./order-replies.ts";
import { readConditionalOrder } from "./parsing/conditional-order.ts";
import { isExtended, readExtendedOrder } from "./parsing/extended-order.ts";
import { readOrder, setKeyLimits } from "./parsing/order-fields.ts";

type NewOrder = MessageOf<typeof DryRunOrder>["order"];

/** Places an order of any type, or makes a dry run of it. */
export function placeOrder(context: Context, answer: Answer, principal: Principal, body: PlaceOrderBody): void {
  const instrument = tradableInstrument(context, principal, body.symbol);
  const command = readNewOrder(principal, instrument, body);
  if (body.dryRun === true) dryRunOrder(context, answer, instrument, command);
  else sendOrder(context, answer, instrument, command);
}

/**
 * The command that places an order of any type. It is reused, so encode it before the next call. Throws an ApiError when
 * fields contradict each other or are not a whole number of ticks or lots.
 */
export function readNewOrder(principal: Principal, instrument: Instrument, body: PlaceOrderBody): NewOrder {
  const command = readFields(instrument, body);
  command.accountId = principal.accountId;
  setKeyLimits(command, principal);
  return command;
}

// Reused for each order: the engine client has encoded it when request() returns.
const plainOrder = blank(PlaceOrder);

function readFields(instrument: Instrument, body: PlaceOrderBody): NewOrder {
  if (isConditional(ORDER_TYPES.indexOf(body.type))) return readConditionalOrder(instrument, body);
  if (isExtended(body)) return readExtendedOrder(instrument, body);
  readOrder(instrument, body, plainOrder);
  return plainOrder;
}

/** Places the order and answers with it, with its duplicate (same clientOrderId and body), or with a refusal. */
export function sendOrder(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  command: Message & { accountId: number; clientOrderId: string },
): void {
  const { accountId, clientOrderId } = command;
  const isReserved = clientOrderId !== "" && reserveClientOrderId(context, accountId, clientOrderId, instrument);
  const release = isReserved ? () => context.clientOrderIds.release(accountId, clientOrderId) : undefined;
  const read = (transaction: ReleasedTransaction): void => {
    const reply = firstReply(transaction);
    if (isDuplicate(reply)) replyDuplicate(context, answer, instrument, reply);
    else replyPlaced(answer, instrument, transaction);
  };
  try {
    requestFor(context, answer, instrument.id, command, read, release);
  } catch (thrown) {
    release?.();
    throw thrown;
  }
}

/**
 * Reserves the id until the symbol has answered. A symbol knows only the ids used on it, so this refuses an id that
 * another symbol has. Returns true when the caller must release the id.
 */
export function reserveClientOrderId(
  context: Context,
  accountId: number,
  clientOrderId: string,
  instrument: Instrument,
): boolean {
  checkClientOrderId(context, accountId, clientOrderId, instrument);
  return context.clientOrderIds.hold(accountId, clientOrderId, instrument.id, Date.now());
}

/** Throws CLIENT_ORDER_ID_REUSED when the id was used on another symbol. */
function checkClientOrderId(
  { clientOrderIds }: Context,
  accountId: number,
  clientOrderId: string,
  instrument: Instrument,
): void {
  const owner = clientOrderIds.ownerOf(accountId, clientOrderId);
  if (owner !== 0 && owner !== instrument.id) throw new ApiError("CLIENT_ORDER_ID_REUSED", { field: "clientOrderId" });
}

/** Answers with the expected result of an order, without placing it. */
function dryRunOrder(context: Context, answer: Answer, instrument: Instrument, order: NewOrder): void {
  if (order.clientOrderId !== "") checkClientOrderId(context, order.accountId, order.clientOrderId, instrument);
  requestFor(context, answer, instrument.id, { ...blank(DryRunOrder), order }, (transaction) => {
    const reply = firstReply(transaction);
    const refusal = refusalIn(reply, instrument);
    if (refusal !== null) return answer.refuse(refusal);
    if (isDuplicate(reply)) return replyDuplicate(context, answer, instrument, reply);
    const [view] = mapReplies(transaction, OrderView, (view) => view);
    const [end] = mapReplies(transaction, DryRunResult, (end) => end);
    if (view === undefined || end === undefined) throw new Error("a dry run without a result");
    const fills = end.fills.map((fill) => expectedFillJson(instrument, fill)).join(",");
    const more =
      `,"dryRun":true,"fills":[${fills}],"marginRequired":"${printQuanta(end.requiredQuanta)}",` +
      `"before":${projectionJson(instrument, end.before)},"after":${projectionJson(instrument, end.after)}`;
    answer.reply(200, orderJsonWith(instrument, view, transaction.sequence, more));
  });
}

/** Answers with the largest orders that would be accepted. The limits of the API key count. */
export function readMaxOrderSize(
  context: Context,
  answer: Answer,
  principal: Principal,
  { side, ...query }: MaxOrderSizeQuery,
): void {
  const instrument = tradableInstrument(context, principal, query.symbol);
  const body = { ...query, side: side ?? SIDES[BUY], quantity: instrument.config.minQuantity };
  const order = readNewOrder(principal, instrument, body) as MessageOf<typeof PlaceOrder>;
  const command = { type: ReadMaxOrderSize.code, order, side: side === undefined ? -1 : order.side };
  requestFor(context, answer, instrument.id, command, (transaction) => {
    const { sizes } = replyOf(transaction, MaxOrderSizeView);
    answer.reply(200, maxOrderSizeJson(instrument, sizes, transaction.sequence));
  });
}
