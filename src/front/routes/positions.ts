import { ReadPosition } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import { PositionView } from "../../core/protocol/replies.ts";
import { errorsIn } from "../../wire/error-codes.ts";
import { MovedMargin, Position, PositionList, PositionsQuery } from "../../wire/schema/account.ts";
import {
  ClosePositionBody,
  Leverage,
  LeverageBody,
  MarginBody,
  MarginMode,
  MarginModeBody,
  PlacedOrder,
} from "../../wire/schema/orders.ts";
import { ClosedPositionList, PositionHistoryQuery } from "../../wire/schema/position-history.ts";
import { SymbolName } from "../../wire/schema/scalars.ts";
import { CANCEL_COST } from "../auth/limits.ts";
import { mapReplies, requestEach, requestFor } from "../exchange/request.ts";
import { closedPositionJson } from "../json/closed-position-json.ts";
import { listJson, positionJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { listRoute } from "../routing/paging.ts";
import { get, post, type Route } from "../routing/route.ts";
import { closePosition, moveMargin, setLeverage, setMarginMode } from "../trading/change-position.ts";

type View = MessageOf<typeof PositionView>;

export const openPositionsRoute = ({ engine, symbols }: Context): Route =>
  get("/positions", {
    access: "READ",
    summary: "Open positions",
    query: PositionsQuery,
    replies: { 200: PositionList },
    async handle({ call, principal, query }) {
      const positions = await requestEach(
        engine,
        call,
        symbols.selected(query.symbol),
        () => ({ ...blank(ReadPosition), accountId: principal.accountId }),
        (transaction, instrument) =>
          mapReplies(transaction, PositionView, (view) => (view.sizeLots === 0 ? "" : positionJson(instrument, view))),
      );
      const open = positions.flat().filter((json) => json !== "");
      call.reply(200, listJson(open, null));
    },
  });

export const positionHistoryRoute = (context: Context): Route =>
  listRoute(context, "/positions/history", {
    access: "READ",
    summary: "Closed positions with their profit and loss, the last closed first",
    query: PositionHistoryQuery,
    reply: ClosedPositionList,
    read: (query, { accountId }) => context.history.closedPositionsOf(accountId, query),
    print: (position) => closedPositionJson(context.symbols.byId(position.instrumentId), position),
  });

export const readPositionRoute = (context: Context): Route =>
  get("/positions/:symbol", {
    access: "READ",
    summary: "The position in a symbol, open or not, with its leverage and margin mode",
    parameter: SymbolName,
    replies: { 200: Position },
    handle({ call, principal: { accountId }, parameter }) {
      const instrument = context.symbols.bySymbol(parameter);
      requestFor(context, call, instrument.id, { ...blank(ReadPosition), accountId }, (transaction) => {
        const print = (view: View): string => positionJson(instrument, view);
        const [json] = mapReplies(transaction, PositionView, print);
        call.reply(200, json ?? print(unusedPosition(context, instrument)));
      });
    },
  });

/** The position of an account without any activity in the symbol. */
const unusedPosition = ({ market }: Context, instrument: Instrument): View => ({
  ...blank(PositionView),
  leverage: instrument.config.defaultLeverage,
  markTicks: market.symbol(instrument.id).markTicks,
});

export const closePositionRoute = (context: Context): Route =>
  post("/positions/:symbol/close", {
    access: "TRADE",
    summary: "Close all or a part of a position, at market or at a price",
    description:
      "Places a reduce-only order. Orders of the same account cannot block it: it cancels those that it would trade with " +
      "(EXPIRE_MAKER). Other reduce-only orders shrink with the position.",
    cost: CANCEL_COST,
    parameter: SymbolName,
    body: ClosePositionBody,
    bodyOptional: true,
    examples: {
      "all at market": {},
      "near the mark": { maxSlippage: "0.005" },
      "a part": { quantity: "0.01" },
      "at a price": { price: "65000.5" },
    },
    replies: { 201: PlacedOrder },
    errors: errorsIn("CLOSE_POSITION"),
    handle: ({ call, principal, parameter, body }) => closePosition(context, call, principal, parameter, body),
  });

export const leverageRoute = (context: Context): Route =>
  post("/positions/:symbol/leverage", {
    access: "TRADE",
    summary: "Set the leverage of a symbol",
    parameter: SymbolName,
    body: LeverageBody,
    replies: { 200: Leverage },
    errors: errorsIn("SET_LEVERAGE"),
    handle: ({ call, principal, parameter, body }) => setLeverage(context, call, principal, parameter, body),
  });

export const marginModeRoute = (context: Context): Route =>
  post("/positions/:symbol/margin-mode", {
    access: "TRADE",
    summary: "Set the margin mode of a symbol: cross or isolated",
    parameter: SymbolName,
    body: MarginModeBody,
    replies: { 200: MarginMode },
    errors: errorsIn("SET_MARGIN_MODE"),
    handle: ({ call, principal, parameter, body }) => setMarginMode(context, call, principal, parameter, body),
  });

export const marginRoute = (context: Context): Route =>
  post("/positions/:symbol/margin", {
    access: "TRADE",
    summary: "Add margin to an isolated position, or remove some",
    parameter: SymbolName,
    body: MarginBody,
    replies: { 200: MovedMargin },
    errors: errorsIn("MOVE_MARGIN"),
    handle: ({ call, principal, parameter, body }) => moveMargin(context, call, principal, parameter, body),
  });
