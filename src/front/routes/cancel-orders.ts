import type { Static } from "typebox";
import { CancelAll, CancelOrder, OrderView, SIDES } from "../../core/messages.ts";
import { blank, type MessageOf } from "../../core/shape.ts";
import type { CancelAllQuery } from "../../wire/schema/orders.ts";
import type { Answer } from "../answer.ts";
import { ask, askEach, mapReplies, replyOf } from "../ask.ts";
import type { Context } from "../context.ts";
import type { Principal } from "../credentials.ts";
import { ApiError } from "../errors.ts";
import { allowedOf, checkSymbol } from "../key-limits.ts";
import { orderJson } from "../views.ts";
import { instrumentOf, resolveOrderId, whyNotOpen } from "./find-orders.ts";

type View = MessageOf<typeof OrderView>;

/** Cancels an order by its id, or by `client:` and its client order id. `field` is what errors call that. */
export async function cancelOrder(
  context: Context,
  answer: Answer,
  principal: Principal,
  reference: string,
  field = "id",
): Promise<void> {
  const { accountId } = principal;
  const orderId = await resolveOrderId(context, answer, accountId, reference);
  if (orderId !== 0) checkSymbol(principal, instrumentOf(context, orderId));
  const canceled = orderId === 0 ? null : await cancel(context, accountId, orderId);
  if (canceled !== null) return answer.reply(200, canceled);
  throw await whyNotOpen(context, accountId, reference, field);
}

/** Cancels every open order of the account, or those of a symbol or side; of an API key, on the symbols it may trade. */
export async function cancelOrders(
  { road, symbols }: Context,
  answer: Answer,
  principal: Principal,
  which: Static<typeof CancelAllQuery>,
): Promise<void> {
  const { accountId } = principal;
  if (which.symbol !== undefined) checkSymbol(principal, symbols.named(which.symbol));
  const side = which.side === undefined ? -1 : SIDES.indexOf(which.side);
  const canceled = await askEach(
    road,
    answer,
    allowedOf(principal, symbols.selected(which.symbol)),
    () => ({ ...blank(CancelAll), accountId, side }),
    (turn, instrument) =>
      mapReplies<View, string>(turn, OrderView.code, (view) => orderJson(instrument, view, turn.sequence)),
  );
  const rows = canceled.flat();
  answer.reply(200, `{"canceled":${rows.length},"data":[${rows.join(",")}]}`);
}

/** The canceled order as JSON, or null when the account has no such order open. */
async function cancel(context: Context, accountId: number, orderId: number): Promise<string | null> {
  const instrument = instrumentOf(context, orderId);
  const command = { ...blank(CancelOrder), accountId, orderId };
  try {
    return await ask(context.road, instrument.id, command, (turn) =>
      orderJson(instrument, replyOf<View>(turn, OrderView.code, instrument), turn.sequence),
    );
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === "ORDER_NOT_FOUND") return null;
    throw thrown;
  }
}
