import { printQuanta } from "../../core/base/units.ts";
import { DryRunOrder } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import { DryRunResult, OrderView } from "../../core/protocol/replies.ts";
import { firstReply, mapReplies, refusalIn, requestFor } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { expectedFillJson, orderJsonWith, projectionJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { isDuplicate, replyDuplicate } from "./duplicate-order.ts";
import { checkClientOrderId } from "./send-order.ts";

/** Answers with the expected result of an order, without placing it. */
export function dryRunOrder(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  order: MessageOf<typeof DryRunOrder>["order"],
): void {
  if (order.clientOrderId !== "") checkClientOrderId(context, order.accountId, order.clientOrderId, instrument);
  requestFor(context, answer, instrument.id, { ...blank(DryRunOrder), order }, (transaction) => {
    const reply = firstReply(transaction);
    const refusal = refusalIn(reply, instrument);
    if (refusal !== null) return answer.refuse(refusal);
    if (isDuplicate(reply)) return replyDuplicate(context, answer, instrument, reply);
    const [view] = mapReplies(transaction, OrderView.code, (view: MessageOf<typeof OrderView>) => view);
    const [end] = mapReplies(transaction, DryRunResult.code, (end: MessageOf<typeof DryRunResult>) => end);
    if (view === undefined || end === undefined) throw new Error("a dry run without a result");
    const fills = end.fills.map((fill) => expectedFillJson(instrument, fill)).join(",");
    const more =
      `,"dryRun":true,"fills":[${fills}],"marginRequired":"${printQuanta(end.requiredQuanta)}",` +
      `"before":${projectionJson(instrument, end.before)},"after":${projectionJson(instrument, end.after)}`;
    answer.reply(200, orderJsonWith(instrument, view, transaction.sequence, more));
  });
}
