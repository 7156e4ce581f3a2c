import type { Static } from "typebox";
import { MarginModeView, MoveMargin, PositionView, SetMarginMode } from "../../core/messages.ts";
import { blank, type MessageOf } from "../../core/shape.ts";
import { MARGIN_MODES } from "../../core/words.ts";
import { MovedMargin } from "../../wire/schema/account.ts";
import { MarginBody, MarginMode, MarginModeBody } from "../../wire/schema/orders.ts";
import { SymbolName } from "../../wire/schema/scalars.ts";
import { readSignedAmount } from "../amounts.ts";
import type { Answer } from "../answer.ts";
import { askFor, replyOf } from "../ask.ts";
import type { Context } from "../context.ts";
import type { Principal } from "../credentials.ts";
import { checkSymbol } from "../key-limits.ts";
import { ORDER_COST } from "../limits.ts";
import { type Route, route } from "../router.ts";
import { positionJson } from "../views.ts";

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
