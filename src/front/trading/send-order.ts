import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { ApiError } from "../common/errors.ts";
import { firstReply, requestFor } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import type { Context } from "../routing/context.ts";
import { isDuplicate, replyDuplicate } from "./duplicate-order.ts";
import { replyPlaced } from "./placed-reply.ts";

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
export function checkClientOrderId(
  { clientOrderIds }: Context,
  accountId: number,
  clientOrderId: string,
  instrument: Instrument,
): void {
  const owner = clientOrderIds.ownerOf(accountId, clientOrderId);
  if (owner !== 0 && owner !== instrument.id) throw new ApiError("CLIENT_ORDER_ID_REUSED", { field: "clientOrderId" });
}
