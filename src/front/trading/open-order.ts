import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import type { CancelOrder } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../core/protocol/message-schema.ts";
import { checkSymbol } from "../auth/key-limits.ts";
import type { ApiError } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import { firstReply, refusalIn, requestFor } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import type { Context } from "../routing/context.ts";
import { findOpenOrder, instrumentOf, isClientId, notOpenError, readClientId, readOrderId } from "./find-orders.ts";

/** How a request names an order that should be open: as a path would, and by the field that errors call that. */
export interface OrderName {
  readonly reference: string;
  readonly field: string;
}

/** How a command names an order: by one of the two. */
type OrderIds = Pick<MessageOf<typeof CancelOrder>, "orderId" | "clientOrderId">;

/** Answers when the symbol has no such order. */
export type NotFound = () => Promise<void>;

/**
 * Lets `then` go on with the symbol of the order, which the principal may trade, and with the name that it has there: at
 * once, so that what comes behind on a WebSocket does not overtake it, unless nobody knows which symbol has the client's
 * name for it. Refuses what no open order has.
 */
export function resolveOrder(
  context: Context,
  answer: Answer,
  principal: Principal,
  name: OrderName,
  then: (instrument: Instrument, ids: OrderIds, notFound?: NotFound) => void,
): void | Promise<void> {
  const { symbols, clientOrderIds } = context;
  const { accountId } = principal;
  const { reference } = name;
  const go = (instrument: Instrument, ids: OrderIds, notFound?: NotFound): void => {
    checkSymbol(principal, instrument);
    then(instrument, ids, notFound);
  };
  const goById = (orderId: number): void | Promise<void> =>
    orderId === 0
      ? refuseNotOpen(context, answer, accountId, name)
      : go(instrumentOf(context, orderId), { orderId, clientOrderId: "" });
  if (!isClientId(reference)) return goById(readOrderId(context, reference));
  const search = () => findOpenOrder(context, answer, accountId, reference).then((row) => goById(row?.orderId ?? 0));
  const clientOrderId = readClientId(reference);
  const owner = symbols.findById(clientOrderIds.ownerOf(accountId, clientOrderId));
  return owner === undefined ? search() : go(owner, { orderId: 0, clientOrderId }, search);
}

async function refuseNotOpen(
  context: Context,
  answer: Answer,
  accountId: number,
  { reference, field }: OrderName,
): Promise<void> {
  answer.refuse(await notOpenError(context, accountId, reference, field));
}

/** The refusal with the order called as the request calls it: the symbols know it by its id alone. */
export const withField = (field: string, refusal: ApiError): ApiError =>
  refusal.field === "id" ? refusal.about(field) : refusal;

/** Asks for a change of an order, and lets `reply` answer; `notFound`: where there is no such order, by default with why. */
export function requestOrderChange(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  command: Message & { accountId: number },
  name: OrderName,
  reply: (transaction: ReleasedTransaction) => void,
  notFound?: NotFound,
): void {
  // The command may be another request's by the time of the answer: see PlainRequest.
  const { accountId } = command;
  const notOpen = notFound ?? (() => refuseNotOpen(context, answer, accountId, name));
  requestFor(context, answer, instrument.id, command, (transaction) => {
    const refusal = refusalIn(firstReply(transaction), instrument);
    if (refusal === null) return reply(transaction);
    if (refusal.code !== "ORDER_NOT_FOUND") return answer.refuse(withField(name.field, refusal));
    notOpen().catch((thrown: unknown) => answer.fail(thrown, context.log));
  });
}
