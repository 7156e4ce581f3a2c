import type { Released } from "../../actor/road.ts";
import type { Instrument } from "../../core/instrument.ts";
import type { Message } from "../../core/shape.ts";
import type { Answer } from "../answer.ts";
import { askFor, firstReply, refusalIn } from "../ask.ts";
import type { Context } from "../context.ts";
import type { Principal } from "../credentials.ts";
import type { ApiError } from "../errors.ts";
import { checkSymbol } from "../key-limits.ts";
import { findOpen, instrumentOf, isClientId, readOrderId, whyNotOpen } from "./find-orders.ts";

/** How a request names an order that should be open: as a path would, and by the field that errors call that. */
export interface OrderName {
  readonly reference: string;
  readonly field: string;
}

/**
 * Lets `then` go on with the id of the order, and its symbol, which the principal may trade: at once when the order is
 * named by its id, which nobody has to be asked for. Refuses what no open order has.
 */
export function withOrder(
  context: Context,
  answer: Answer,
  principal: Principal,
  { reference, field }: OrderName,
  then: (instrument: Instrument, orderId: number) => void,
): void | Promise<void> {
  const { accountId } = principal;
  const found = (orderId: number): void | Promise<void> => {
    if (orderId === 0) return whyNotOpen(context, accountId, reference, field).then((error) => answer.refuse(error));
    const instrument = instrumentOf(context, orderId);
    checkSymbol(principal, instrument);
    then(instrument, orderId);
  };
  if (!isClientId(reference)) return found(readOrderId(context, reference));
  return findOpen(context, answer, accountId, reference).then((row) => found(row?.orderId ?? 0));
}

/** The refusal with the order called as the request calls it: the symbols know it by its id alone. */
export const calledBy = (field: string, refusal: ApiError): ApiError =>
  refusal.field === "id" ? refusal.about(field) : refusal;

/** Asks for a change of an order, and lets `reply` answer; when it is not open, answers why. */
export function askOfOrder(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  command: Message & { accountId: number },
  { reference, field }: OrderName,
  reply: (turn: Released) => void,
): void {
  const { accountId } = command;
  askFor(context, answer, instrument.id, command, (turn) => {
    const refusal = refusalIn(firstReply(turn), instrument);
    if (refusal === null) return reply(turn);
    if (refusal.code !== "ORDER_NOT_FOUND") return answer.refuse(calledBy(field, refusal));
    whyNotOpen(context, accountId, reference, field)
      .then((error) => answer.refuse(error))
      .catch((thrown: unknown) => answer.fail(thrown, context.log));
  });
}
