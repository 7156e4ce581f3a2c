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

/** An order that a request names: in the form of a path parameter, and the field for errors. */
export interface OrderName {
  readonly reference: string;
  readonly field: string;
}

/** How a command names an order. One of the two is set. */
type OrderIds = Pick<MessageOf<typeof CancelOrder>, "orderId" | "clientOrderId">;

/** Answers a request whose order the symbol does not have. */
export type NotFound = () => Promise<void>;

/**
 * Finds the symbol of an order, checks that the principal may trade it, and calls `then`. Usually this is synchronous, so
 * that later requests of a WebSocket do not overtake this one. Only a clientOrderId of an unknown symbol needs a search.
 * Refuses an order that is not open.
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

async function refuseNotOpen(
  context: Context,
  answer: Answer,
  accountId: number,
  { reference, field }: OrderName,
): Promise<void> {
  answer.refuse(await notOpenError(context, accountId, reference, field));
}

/** The refusal with the request's name for the order's field. The engine always names `id`. */
export const withField = (field: string, refusal: ApiError): ApiError =>
  refusal.field === "id" ? refusal.about(field) : refusal;

/** Sends a change of an order. `reply` answers on success, `notFound` when the symbol has no such order. */
export function requestOrderChange(
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
