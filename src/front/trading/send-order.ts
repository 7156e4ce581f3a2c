import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { ApiError } from "../common/errors.ts";
import { firstReply, requestFor } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import type { Context } from "../routing/context.ts";
import { isDuplicate, replyDuplicate } from "./duplicate-order.ts";
import { replyPlaced } from "./placed-reply.ts";

/** Sends an order's command to its symbol, and answers with the order, its first order or a refusal. */
export function sendOrder(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  command: Message & { accountId: number; clientOrderId: string },
): void {
  const { accountId, clientOrderId } = command;
  const isHeld = clientOrderId !== "" && reserveClientOrderId(context, accountId, clientOrderId, instrument);
  const note = isHeld ? () => context.clientOrderIds.release(accountId, clientOrderId) : undefined;
  const read = (transaction: ReleasedTransaction): void => {
    const reply = firstReply(transaction);
    if (isDuplicate(reply)) replyDuplicate(context, answer, instrument, reply);
    else replyPlaced(answer, instrument, transaction);
  };
  try {
    requestFor(context, answer, instrument.id, command, read, note);
  } catch (thrown) {
    note?.();
    throw thrown;
  }
}

/**
 * Each symbol knows the ids used on it; here an id that another symbol has is refused. Returns whether the order holds its
 * id while it is on its way, and has to release it.
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

/** Throws CLIENT_ORDER_ID_REUSED when another symbol has the id. */
export function checkClientOrderId(
  { clientOrderIds }: Context,
  accountId: number,
  clientOrderId: string,
  instrument: Instrument,
): void {
  const owner = clientOrderIds.ownerOf(accountId, clientOrderId);
  if (owner !== 0 && owner !== instrument.id) throw new ApiError("CLIENT_ORDER_ID_REUSED", { field: "clientOrderId" });
}
