import { printQuanta } from "../../core/base/units.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import { OrderView, TrialEnd, TryOrder } from "../../core/protocol/messages.ts";
import { askFor, firstReply, mapReplies, refusalIn } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { expectedFillJson, orderJsonWith, outlookJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { isDuplicate, replyDuplicate } from "./duplicate-order.ts";
import { checkId } from "./send-order.ts";

/** Answers with what would come of an order, and does nothing. */
export function tryOrder(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  order: MessageOf<typeof TryOrder>["order"],
): void {
  if (order.clientOrderId !== "") checkId(context, order.accountId, order.clientOrderId, instrument);
  askFor(context, answer, instrument.id, { ...blank(TryOrder), order }, (turn) => {
    const reply = firstReply(turn);
    const refusal = refusalIn(reply, instrument);
    if (refusal !== null) return answer.refuse(refusal);
    if (isDuplicate(reply)) return replyDuplicate(context, answer, instrument, reply);
    const [view] = mapReplies(turn, OrderView.code, (view: MessageOf<typeof OrderView>) => view);
    const [end] = mapReplies(turn, TrialEnd.code, (end: MessageOf<typeof TrialEnd>) => end);
    if (view === undefined || end === undefined) throw new Error("a trial without an end");
    const fills = end.fills.map((fill) => expectedFillJson(instrument, fill)).join(",");
    const more =
      `,"dryRun":true,"fills":[${fills}],"marginRequired":"${printQuanta(end.requiredQuanta)}",` +
      `"before":${outlookJson(instrument, end.before)},"after":${outlookJson(instrument, end.after)}`;
    answer.reply(200, orderJsonWith(instrument, view, turn.sequence, more));
  });
}
