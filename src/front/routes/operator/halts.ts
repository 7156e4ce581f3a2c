import { HALT_REASON, HALT_REASONS, TRADING_STATUSES } from "../../../core/base/enums.ts";
import { HaltSymbol, ResumeSymbol } from "../../../core/protocol/commands.ts";
import { blank, type Message, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { StatusView } from "../../../core/protocol/replies.ts";
import { SymbolName } from "../../../wire/schema/scalars.ts";
import { HaltBody, TradingStatus } from "../../../wire/schema/system.ts";
import { replyOf, requestFor } from "../../exchange/request.ts";
import type { Call } from "../../http/call.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

export const haltRoute = (context: Context): Route =>
  route({
    method: "POST",
    path: "/operator/symbols/:symbol/halt",
    access: "OPERATOR",
    summary: "Halt trading in a symbol until it is resumed",
    description:
      "`REDUCE_ONLY` accepts cancels and orders that only reduce a position. `CANCEL_ONLY`, the default, accepts cancels; " +
      "nobody is liquidated. `HALTED` accepts nothing. A halt survives a restart. Halting a halted symbol changes the mode.",
    parameter: SymbolName,
    body: HaltBody,
    bodyOptional: true,
    replies: { 200: TradingStatus },
    handle({ call, parameter, body }) {
      const mode = TRADING_STATUSES.indexOf(body.mode ?? "CANCEL_ONLY");
      const command: MessageOf<typeof HaltSymbol> = { type: HaltSymbol.code, mode, reason: HALT_REASON.OPERATOR };
      setStatus(context, call, parameter, command);
    },
  });

export const resumeRoute = (context: Context): Route =>
  route({
    method: "POST",
    path: "/operator/symbols/:symbol/resume",
    access: "OPERATOR",
    summary: "Resume trading in a halted symbol",
    description:
      "Ends any halt: by the operator, the circuit breaker or the self-check. A symbol without a price, or with a stale " +
      "one, stays restricted until it gets a price.",
    parameter: SymbolName,
    replies: { 200: TradingStatus },
    handle: ({ call, parameter }) => setStatus(context, call, parameter, blank(ResumeSymbol)),
  });

/** Answers with the symbol's trading status after the command, once it is durable. */
function setStatus(context: Context, call: Call, symbol: string, command: Message): void {
  const instrument = context.symbols.bySymbol(symbol);
  requestFor(context, call, instrument.id, command, (transaction) => {
    const { mode, reason, until } = replyOf<MessageOf<typeof StatusView>>(transaction, StatusView.code, instrument);
    const status = {
      symbol: instrument.symbol,
      status: TRADING_STATUSES[mode],
      statusReason: HALT_REASONS[reason],
      until: until === 0 ? null : until,
      sequence: transaction.sequence,
    };
    call.reply(200, JSON.stringify(status));
  });
}
