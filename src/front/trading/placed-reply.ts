import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { Traded } from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import { OrderView } from "../../core/protocol/replies.ts";
import { firstReply, refusalIn } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { orderJsonWith, takerFillJson } from "../json/json-writers.ts";

/** Answers with the order that the transaction has placed or amended and with its fills, or with the refusal. */
export function replyPlaced(
  answer: Answer,
  instrument: Instrument,
  transaction: ReleasedTransaction,
  status = 201,
): void {
  const reply = firstReply(transaction);
  const refusal = refusalIn(reply, instrument);
  if (refusal !== null) return answer.refuse(refusal);
  const order = reply as MessageOf<typeof OrderView>;
  if (order.type !== OrderView.code) throw new Error(`an order was answered with message ${order.type}`);
  answer.reply(status, placedJson(instrument, order, transaction));
}

/** The order with its fills among the transaction's events [from, to). */
export function placedJson(
  instrument: Instrument,
  order: MessageOf<typeof OrderView>,
  transaction: ReleasedTransaction,
  from = 0,
  to = transaction.eventCount,
): string {
  let fills = "";
  for (let i = from; i < to; i++) {
    const trade = transaction.messages[i] as MessageOf<typeof Traded>;
    if (trade.type !== Traded.code || trade.takerOrderId !== order.orderId) continue;
    if (fills !== "") fills += ",";
    fills += takerFillJson(instrument, trade, order.clientOrderId, transaction.time, transaction.sequence);
  }
  return orderJsonWith(instrument, order, transaction.sequence, `,"fills":[${fills}]`);
}
