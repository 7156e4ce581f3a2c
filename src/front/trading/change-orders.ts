import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { SIDES } from "../../core/base/enums.ts";
import { AmendOrder, CancelAfter, CancelAll, CancelOrder } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { AttachedLegs, LegChanges } from "../../core/protocol/payloads.ts";
import { Done, OrderView } from "../../core/protocol/replies.ts";
import type { Static } from "../../packages/typebox.ts";
import type { AmendOrderBody as AmendOrderSchema, CancelAfterBody, CancelAllQuery } from "../../wire/schema/orders.ts";
import { allowedOf, checkSymbol } from "../auth/key-limits.ts";
import { ApiError, badCombination } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import { firstReply, mapReplies, refusalIn, replyOf, requestEach, requestFor } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { readPrice, readQuantity } from "../json/amounts.ts";
import { orderJson } from "../json/json-writers.ts";
import type { Context, Operation } from "../routing/context.ts";
import {
  findOpenOrder,
  instrumentOf,
  isClientId,
  notOpenError,
  type OrderName,
  readClientId,
  readOrderId,
} from "./find-orders.ts";
import { replyPlaced } from "./order-replies.ts";
import { readCallbackRate } from "./parsing/conditional-order.ts";
import { readLeg } from "./parsing/extended-order.ts";
import { readMaxSlippage, readPriceMatch, setKeyLimits } from "./parsing/order-fields.ts";

type AmendOrderBody = Static<typeof AmendOrderSchema>;
type CancelFilter = Static<typeof CancelAllQuery>;

/** How a command names an order. One of the two is set. */
type OrderIds = Pick<MessageOf<typeof CancelOrder>, "orderId" | "clientOrderId">;

/** Answers a request whose order the symbol does not have. */
type NotFound = () => Promise<void>;

/**
 * Finds the symbol of an order, checks that the principal may trade it, and calls `then`. Usually this is synchronous, so
 * that later requests of a WebSocket do not overtake this one. Only a clientOrderId of an unknown symbol needs a search.
 * Refuses an order that is not open.
 */
function resolveOrder(
  context: Context,
  answer: Answer,
  principal: Principal,
  name: OrderName,
  then: (instrument: Instrument, ids: OrderIds, notFound?: NotFound) => void,
): void | Promise<void> {
  const { symbols, clientOrderIds } = context;
  const { accountId } = principal;
  const { reference } = name;
  const proceed = (instrument: Instrument, ids: OrderIds, notFound?: NotFound): void => {
    checkSymbol(principal, instrument);
    then(instrument, ids, notFound);
  };
  const proceedById = (orderId: number): void | Promise<void> =>
    orderId === 0
      ? refuseNotOpen(context, answer, accountId, name)
      : proceed(instrumentOf(context, orderId), { orderId, clientOrderId: "" });
  if (!isClientId(reference)) return proceedById(readOrderId(context, reference));
  const search = () =>
    findOpenOrder(context, answer, accountId, reference).then((row) => proceedById(row?.orderId ?? 0));
  const clientOrderId = readClientId(reference);
  const owner = symbols.findById(clientOrderIds.ownerOf(accountId, clientOrderId));
  return owner === undefined ? search() : proceed(owner, { orderId: 0, clientOrderId }, search);
}

async function refuseNotOpen(context: Context, answer: Answer, accountId: number, name: OrderName): Promise<void> {
  answer.refuse(await notOpenError(context, accountId, name));
}

/** The refusal with the request's name for the order's field. The engine always names `id`. */
export const withField = (field: string, refusal: ApiError): ApiError =>
  refusal.field === "id" ? refusal.about(field) : refusal;

/** Sends a change of an order. `reply` answers on success, `notFound` when the symbol has no such order. */
function requestOrderChange(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  command: Message & { accountId: number },
  name: OrderName,
  reply: (transaction: ReleasedTransaction) => void,
  notFound?: NotFound,
): void {
  // FastPathRequest reuses its command: it may hold another request when the answer comes.
  const { accountId } = command;
  const notOpen = notFound ?? (() => refuseNotOpen(context, answer, accountId, name));
  requestFor(context, answer, instrument.id, command, (transaction) => {
    const refusal = refusalIn(firstReply(transaction), instrument);
    if (refusal === null) return reply(transaction);
    if (refusal.code !== "ORDER_NOT_FOUND") return answer.refuse(withField(name.field, refusal));
    notOpen().catch((thrown: unknown) => answer.fail(thrown, context.log));
  });
}

export const amendOrder: Operation<[OrderName, AmendOrderBody]> = (context, answer, principal, name, body) => {
  checkAmendment(body);
  return resolveOrder(context, answer, principal, name, (instrument, ids, notFound) => {
    const command = { ...readAmendment(principal, instrument, body), ...ids };
    sendAmendment(context, answer, instrument, command, name, notFound);
  });
};

/** Answers with the amended order and its fills. */
export function sendAmendment(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  command: MessageOf<typeof AmendOrder>,
  name: OrderName,
  notFound?: NotFound,
): void {
  const reply = (transaction: ReleasedTransaction): void => replyPlaced(answer, instrument, transaction, 200);
  requestOrderChange(context, answer, instrument, command, name, reply, notFound);
}

const CHANGES = [
  "price",
  "priceMatch",
  "quantity",
  "displayQuantity",
  "triggerPrice",
  "callbackRate",
  "activationPrice",
  "maxSlippage",
  "goodTillDate",
  "takeProfit",
  "stopLoss",
  "remove",
] as const;

/** Throws MISSING_FIELD when the body changes nothing. */
export function checkAmendment(body: AmendOrderBody): void {
  if (CHANGES.some((field) => body[field] !== undefined)) return;
  throw new ApiError("MISSING_FIELD", {
    field: "price",
    message: `The request changes nothing. Send one or more of ${CHANGES.join(", ")}.`,
  });
}

/** The command without the ids of the order. Throws an ApiError when a value is not a whole number of ticks or lots. */
export function readAmendment(
  principal: Principal,
  instrument: Instrument,
  body: AmendOrderBody,
): MessageOf<typeof AmendOrder> {
  const { displayQuantity, triggerPrice, activationPrice } = body;
  const command = {
    ...blank(AmendOrder),
    accountId: principal.accountId,
    priceMatch: readPriceMatch(body),
    priceTicks: body.price === undefined ? 0 : readPrice(instrument, body.price),
    quantityLots: body.quantity === undefined ? 0 : readQuantity(instrument, body.quantity),
    displayLots: displayQuantity === undefined ? 0 : readQuantity(instrument, displayQuantity, "displayQuantity"),
    triggerTicks: triggerPrice === undefined ? 0 : readPrice(instrument, triggerPrice, "triggerPrice"),
    callbackPpm: body.callbackRate === undefined ? 0 : readCallbackRate(body.callbackRate),
    activationTicks: activationPrice === undefined ? 0 : readPrice(instrument, activationPrice, "activationPrice"),
    // The engine knows whether the order trades at market.
    maxSlippagePpm: readMaxSlippage(body, true),
    goodTillDate: body.goodTillDate ?? 0,
    expiresAt: body.expiresAt ?? 0,
    legs: readLegChanges(instrument, body),
  };
  setKeyLimits(command, principal);
  return command;
}

/** In a request null means that a field is left out. So the field `remove` names the legs to remove. */
function readLegChanges(instrument: Instrument, { takeProfit, stopLoss, remove }: AmendOrderBody): LegChanges | null {
  if (takeProfit === undefined && stopLoss === undefined && remove === undefined) return null;
  const changes: Partial<AttachedLegs> = {};
  if (takeProfit !== undefined) changes.takeProfit = readLeg(instrument, takeProfit, "takeProfit");
  if (stopLoss !== undefined) changes.stopLoss = readLeg(instrument, stopLoss, "stopLoss");
  for (const name of remove ?? []) {
    if (changes[name] != null)
      throw badCombination("remove", `The request sets ${name} and removes it. Send one of the two.`);
    changes[name] = null;
  }
  return changes;
}

export const cancelOrder: Operation<[OrderName]> = (context, answer, principal, name) =>
  resolveOrder(context, answer, principal, name, (instrument, ids, notFound) => {
    const command = { ...blank(CancelOrder), accountId: principal.accountId, ...ids };
    sendCancellation(context, answer, instrument, command, name, notFound);
  });

/** Sends the command and answers with the canceled order. */
export function sendCancellation(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  command: MessageOf<typeof CancelOrder>,
  name: OrderName,
  notFound?: NotFound,
): void {
  const reply = (transaction: ReleasedTransaction): void => {
    const view = replyOf(transaction, OrderView, instrument);
    answer.reply(200, orderJson(instrument, view, transaction.sequence));
  };
  requestOrderChange(context, answer, instrument, command, name, reply, notFound);
}

/**
 * Cancels every open order of the account, or those of a symbol or side, on the symbols that the principal may trade.
 * A refusal counts only when the request names the symbol. Otherwise one halted symbol must not fail the others' cancels.
 */
export const cancelOrders: Operation<[CancelFilter]> = async ({ engine, symbols }, answer, principal, filter) => {
  const { accountId } = principal;
  if (filter.symbol !== undefined) checkSymbol(principal, symbols.bySymbol(filter.symbol));
  const side = filter.side === undefined ? -1 : SIDES.indexOf(filter.side);
  const canceled = await requestEach(
    engine,
    answer,
    allowedOf(principal, symbols.selected(filter.symbol)),
    () => ({ ...blank(CancelAll), accountId, side }),
    (transaction, instrument) => {
      const refusal = refusalIn(firstReply(transaction), instrument);
      if (refusal !== null && filter.symbol !== undefined) throw refusal;
      return mapReplies(transaction, OrderView, (view) => orderJson(instrument, view, transaction.sequence));
    },
  );
  const rows = canceled.flat();
  answer.reply(200, `{"canceled":${rows.length},"data":[${rows.join(",")}]}`);
};

/** A shorter timeout could end between two messages of a client. */
const MIN_TIMEOUT_MS = 1000;

/** Sets or disarms (timeoutMs 0) the account's dead man's switch, on every symbol that the principal may trade. */
export async function setCancelAfter(
  { engine, symbols }: Context,
  answer: Answer,
  principal: Principal,
  { timeoutMs }: Static<typeof CancelAfterBody>,
): Promise<void> {
  if (timeoutMs !== 0 && timeoutMs < MIN_TIMEOUT_MS)
    throw new ApiError("BAD_VALUE", {
      field: "timeoutMs",
      message: `timeoutMs must be 0 or >= ${MIN_TIMEOUT_MS}.`,
      details: { minimum: MIN_TIMEOUT_MS },
    });
  const { accountId } = principal;
  // Each symbol counts from the time of its own transaction, which may differ from this clock.
  const times = await requestEach(
    engine,
    answer,
    allowedOf(principal, symbols.selected(undefined)),
    () => ({ ...blank(CancelAfter), accountId, timeoutMs }),
    (transaction, instrument) => {
      replyOf(transaction, Done, instrument);
      return transaction.time + timeoutMs;
    },
  );
  answer.reply(200, JSON.stringify({ timeoutMs, cancelAt: timeoutMs === 0 ? null : Math.min(...times) }));
}
