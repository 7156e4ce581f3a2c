import type { Static } from "typebox";
import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { SIDES } from "../../core/base/enums.ts";
import { CancelAll, CancelOrder } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import { OrderView } from "../../core/protocol/replies.ts";
import type { CancelAllQuery } from "../../wire/schema/orders.ts";
import { allowedOf, checkSymbol } from "../auth/key-limits.ts";
import type { Principal } from "../exchange/credentials.ts";
import { firstReply, mapReplies, refusalIn, replyOf, requestEach } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { orderJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { type NotFound, type OrderName, requestOrderChange, resolveOrder } from "./open-order.ts";

type View = MessageOf<typeof OrderView>;

/** Cancels an order. */
export const cancelOrder = (
  context: Context,
  answer: Answer,
  principal: Principal,
  name: OrderName,
): void | Promise<void> =>
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
  const reply = (transaction: ReleasedTransaction): void =>
    answer.reply(
      200,
      orderJson(instrument, replyOf<View>(transaction, OrderView.code, instrument), transaction.sequence),
    );
  requestOrderChange(context, answer, instrument, command, name, reply, notFound);
}

/**
 * Cancels every open order of the account, or those of a symbol or side, on the symbols that the principal may trade.
 * A refusal counts only when the request names the symbol. Otherwise one halted symbol must not fail the others' cancels.
 */
export async function cancelOrders(
  { engine, symbols }: Context,
  answer: Answer,
  principal: Principal,
  filter: Static<typeof CancelAllQuery>,
): Promise<void> {
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
      return mapReplies<View, string>(transaction, OrderView.code, (view) =>
        orderJson(instrument, view, transaction.sequence),
      );
    },
  );
  const rows = canceled.flat();
  answer.reply(200, `{"canceled":${rows.length},"data":[${rows.join(",")}]}`);
}
