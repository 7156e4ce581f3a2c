import { MARGIN_MODES } from "../../core/base/enums.ts";
import { ClosePosition, MoveMargin, SetLeverage, SetMarginMode } from "../../core/protocol/commands.ts";
import { blank } from "../../core/protocol/message-schema.ts";
import { LeverageView, MarginModeView, PositionView } from "../../core/protocol/replies.ts";
import type { Static, TSchema } from "../../packages/typebox.ts";
import type { ClosePositionBody, LeverageBody, MarginBody, MarginModeBody } from "../../wire/schema/orders.ts";
import { checkLeverage, tradableInstrument } from "../auth/key-limits.ts";
import { replyOf, requestFor } from "../exchange/request.ts";
import { readPrice, readQuantity, readSignedAmount } from "../json/amounts.ts";
import { positionJson } from "../json/json-writers.ts";
import type { Operation } from "../routing/context.ts";
import { replyPlaced } from "./order-replies.ts";
import { readMaxSlippage } from "./parsing/order-fields.ts";

type PositionChange<Body extends TSchema> = Operation<[symbol: string, body: Static<Body>]>;

export const closePosition: PositionChange<typeof ClosePositionBody> = (context, answer, principal, symbol, body) => {
  const instrument = tradableInstrument(context, principal, symbol);
  const command = {
    ...blank(ClosePosition),
    accountId: principal.accountId,
    quantityLots: body.quantity === undefined ? 0 : readQuantity(instrument, body.quantity),
    priceTicks: body.price === undefined ? 0 : readPrice(instrument, body.price),
    expiresAt: body.expiresAt ?? 0,
    maxSlippagePpm: readMaxSlippage(body, body.price === undefined),
  };
  requestFor(context, answer, instrument.id, command, (transaction) => replyPlaced(answer, instrument, transaction));
};

export const setLeverage: PositionChange<typeof LeverageBody> = (context, answer, principal, symbol, body) => {
  const instrument = tradableInstrument(context, principal, symbol);
  checkLeverage(principal, body.leverage);
  const { leverage, expiresAt = 0 } = body;
  const command = { ...blank(SetLeverage), accountId: principal.accountId, leverage, expiresAt };
  requestFor(context, answer, instrument.id, command, (transaction) => {
    const { leverage } = replyOf(transaction, LeverageView, instrument);
    answer.reply(200, JSON.stringify({ symbol: instrument.symbol, leverage }));
  });
};

export const setMarginMode: PositionChange<typeof MarginModeBody> = (context, answer, principal, symbol, body) => {
  const instrument = tradableInstrument(context, principal, symbol);
  const marginMode = MARGIN_MODES.indexOf(body.mode);
  const expiresAt = body.expiresAt ?? 0;
  const command = { ...blank(SetMarginMode), accountId: principal.accountId, marginMode, expiresAt };
  requestFor(context, answer, instrument.id, command, (transaction) => {
    const view = replyOf(transaction, MarginModeView, instrument);
    answer.reply(200, JSON.stringify({ symbol: instrument.symbol, marginMode: MARGIN_MODES[view.marginMode] }));
  });
};

export const moveMargin: PositionChange<typeof MarginBody> = (context, answer, principal, symbol, body) => {
  const instrument = tradableInstrument(context, principal, symbol);
  const amountQuanta = readSignedAmount(body.amount);
  const { reference = "", expiresAt = 0 } = body;
  const command = { ...blank(MoveMargin), accountId: principal.accountId, amountQuanta, expiresAt, reference };
  requestFor(context, answer, instrument.id, command, (transaction) => {
    const view = replyOf(transaction, PositionView, instrument);
    const moved = { ...view, sequence: view.sequence || transaction.sequence };
    answer.reply(200, positionJson(instrument, moved, view.duplicate === 1 ? ',"duplicate":true' : ""));
  });
};
