import { HALT_REASON, HALT_REASONS, TRADING_STATUSES } from "../../core/base/enums.ts";
import { HaltSymbol, ResumeSymbol } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../core/protocol/message-schema.ts";
import { StatusView } from "../../core/protocol/replies.ts";
import { SymbolName } from "../../wire/schema/scalars.ts";
import { HaltBody, TradingStatus } from "../../wire/schema/system.ts";
import { replyOf, requestFor } from "../exchange/request.ts";
import type { Call } from "../http/call.ts";
import type { Context } from "../routing/context.ts";
import { type Route, route } from "../routing/router.ts";

/** What the operator can do about a symbol, beside giving it prices. */
export function operatorRoutes(context: Context): Route[] {
  const { symbols } = context;
  /** Both answer with what the symbol then lets happen, durably. */
  const change = (call: Call, instrument: Instrument, command: Message): void =>
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
  return [
    route({
      method: "POST",
      path: "/operator/symbols/:symbol/halt",
      access: "OPERATOR",
      summary: "Halt trading in a symbol until it is resumed",
      description:
        "`REDUCE_ONLY`: orders that only reduce a position, and cancels. `CANCEL_ONLY`, the default: cancels; nobody is " +
        "liquidated. `HALTED`: nothing. It outlasts a restart. Halting what is halted changes the mode.",
      parameter: SymbolName,
      body: HaltBody,
      bodyOptional: true,
      replies: { 200: TradingStatus },
      handle({ call, parameter, body }) {
        const mode = TRADING_STATUSES.indexOf(body.mode ?? "CANCEL_ONLY");
        const command: MessageOf<typeof HaltSymbol> = { type: HaltSymbol.code, mode, reason: HALT_REASON.OPERATOR };
        change(call, symbols.bySymbol(parameter), command);
      },
    }),
    route({
      method: "POST",
      path: "/operator/symbols/:symbol/resume",
      access: "OPERATOR",
      summary: "Let a halted symbol trade again",
      description:
        "Ends any halt: the operator's, the circuit breaker's, the self-check's. What has no price, or a stale one, stays " +
        "as it is until there is a price.",
      parameter: SymbolName,
      replies: { 200: TradingStatus },
      handle({ call, parameter }) {
        change(call, symbols.bySymbol(parameter), blank(ResumeSymbol));
      },
    }),
  ];
}
