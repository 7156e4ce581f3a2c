import type { Static } from "typebox";
import { CancelAfter } from "../../core/protocol/commands.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import { Done } from "../../core/protocol/replies.ts";
import type { CancelAfterBody } from "../../wire/schema/orders.ts";
import { allowedOf } from "../auth/key-limits.ts";
import { ApiError } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import { replyOf, requestEach } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import type { Context } from "../routing/context.ts";

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
      replyOf<MessageOf<typeof Done>>(transaction, Done.code, instrument);
      return transaction.time + timeoutMs;
    },
  );
  answer.reply(200, JSON.stringify({ timeoutMs, cancelAt: timeoutMs === 0 ? null : Math.min(...times) }));
}
