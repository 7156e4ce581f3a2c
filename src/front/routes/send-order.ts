import type { Released } from "../../actor/road.ts";
import type { Instrument } from "../../core/instrument.ts";
import { Refused } from "../../core/messages.ts";
import type { Message } from "../../core/shape.ts";
import type { Answer } from "../answer.ts";
import { askFor, firstReply } from "../ask.ts";
import type { Context } from "../context.ts";
import { ApiError } from "../errors.ts";
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
  const isFirstUse = clientOrderId !== "" && claim(context, accountId, clientOrderId, instrument);
  const note = isFirstUse ? dropUnlessPlaced(context, accountId, clientOrderId) : undefined;
  const read = (turn: Released): void => {
    const reply = firstReply(turn);
    if (isDuplicate(reply)) replyDuplicate(context, answer, instrument, reply);
    else replyPlaced(answer, instrument, turn);
  };
  try {
    askFor(context, answer, instrument.id, command, read, note);
  } catch (thrown) {
    note?.(null);
    throw thrown;
  }
}

/** For askFor(): where nothing was placed, the id is free again. */
const dropUnlessPlaced =
  ({ clientOrderIds }: Context, accountId: number, clientOrderId: string) =>
  (turn: Released | null): void => {
    if (turn === null || firstReply(turn).type === Refused.code) clientOrderIds.drop(accountId, clientOrderId);
  };

/**
 * Each symbol knows the ids used on it; here an id that another symbol has is refused. Returns whether nobody has used
 * the id yet: then it is taken from now on, also while the order is on its way.
 */
export function claim(context: Context, accountId: number, clientOrderId: string, instrument: Instrument): boolean {
  const isFirstUse = isUnused(context, accountId, clientOrderId, instrument);
  if (isFirstUse) context.clientOrderIds.keep(accountId, clientOrderId, instrument.id, Date.now());
  return isFirstUse;
}

/** Throws CLIENT_ORDER_ID_REUSED when another symbol has the id; false: this one has. */
export function isUnused(
  { clientOrderIds }: Context,
  accountId: number,
  clientOrderId: string,
  instrument: Instrument,
): boolean {
  const owner = clientOrderIds.ownerOf(accountId, clientOrderId);
  if (owner !== 0 && owner !== instrument.id) throw new ApiError("CLIENT_ORDER_ID_REUSED", { field: "clientOrderId" });
  return owner === 0;
}
