import type { Static } from "typebox";
import { MARGIN_MODES } from "../../core/base/enums.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import { MarginModeView, MoveMargin, PositionView, SetMarginMode } from "../../core/protocol/messages.ts";
import { MovedMargin } from "../../wire/schema/account.ts";
import { MarginBody, MarginMode, MarginModeBody } from "../../wire/schema/orders.ts";
import { SymbolName } from "../../wire/schema/scalars.ts";
import { checkSymbol } from "../auth/key-limits.ts";
import { ORDER_COST } from "../auth/limits.ts";
import type { Principal } from "../exchange/credentials.ts";
import { askFor, replyOf } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { readSignedAmount } from "../json/amounts.ts";
import { positionJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { type Route, route } from "../routing/router.ts";

/** Margin mode of a symbol, and what is set aside for an isolated position. */
export function marginRoutes(context: Context): Route[] {
  return [
    route({
      method: "POST",
      path: "/positions/:symbol/margin-mode",
      access: "TRADE",
      summary: "Set the margin mode of a symbol: cross or isolated",
      cost: ORDER_COST,
      parameter: SymbolName,
      body: MarginModeBody,
      replies: { 200: MarginMode },
      errors: [
        "UNKNOWN_SYMBOL",
        "OPEN_ORDERS_EXIST",
        "INSUFFICIENT_MARGIN",
        "SYMBOL_HALTED",
        "STALE_PRICE",
        "REQUEST_EXPIRED",
        "SYMBOL_NOT_ALLOWED",
      ],
      handle: ({ call, principal, parameter, body }) => setMarginMode(context, call, principal, parameter, body),
    }),
    route({
      method: "POST",
      path: "/positions/:symbol/margin",
      access: "TRADE",
      summary: "Add margin to an isolated position, or take some out",
      cost: ORDER_COST,
      parameter: SymbolName,
      body: MarginBody,
      replies: { 200: MovedMargin },
      errors: [
        "UNKNOWN_SYMBOL",
        "AMOUNT_TOO_FINE",
        "NO_POSITION",
        "POSITION_NOT_ISOLATED",
        "REFERENCE_REUSED",
        "INSUFFICIENT_MARGIN",
        "SYMBOL_HALTED",
        "STALE_PRICE",
        "REQUEST_EXPIRED",
        "SYMBOL_NOT_ALLOWED",
      ],
      handle: ({ call, principal, parameter, body }) => moveMargin(context, call, principal, parameter, body),
    }),
  ];
}

export function setMarginMode(
  context: Context,
  answer: Answer,
  principal: Principal,
  symbol: string,
  body: Static<typeof MarginModeBody>,
): void {
  const instrument = context.symbols.named(symbol);
  checkSymbol(principal, instrument);
  const marginMode = MARGIN_MODES.indexOf(body.mode);
  const expiresAt = body.expiresAt ?? 0;
  const command = { ...blank(SetMarginMode), accountId: principal.accountId, marginMode, expiresAt };
  askFor(context, answer, instrument.id, command, (turn) => {
    const view = replyOf<MessageOf<typeof MarginModeView>>(turn, MarginModeView.code, instrument);
    answer.reply(200, JSON.stringify({ symbol: instrument.symbol, marginMode: MARGIN_MODES[view.marginMode] }));
  });
}

export function moveMargin(
  context: Context,
  answer: Answer,
  principal: Principal,
  symbol: string,
  body: Static<typeof MarginBody>,
): void {
  const instrument = context.symbols.named(symbol);
  checkSymbol(principal, instrument);
  const amountQuanta = readSignedAmount(body.amount);
  const { reference = "", expiresAt = 0 } = body;
  const command = { ...blank(MoveMargin), accountId: principal.accountId, amountQuanta, expiresAt, reference };
  askFor(context, answer, instrument.id, command, (turn) => {
    const view = replyOf<MessageOf<typeof PositionView>>(turn, PositionView.code, instrument);
    const moved = { ...view, sequence: view.sequence || turn.sequence };
    answer.reply(200, positionJson(instrument, moved, view.duplicate === 1 ? ',"duplicate":true' : ""));
  });
}
