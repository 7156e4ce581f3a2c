import { ReadPosition } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import { PositionView } from "../../core/protocol/replies.ts";
import { errorsIn } from "../../wire/error-codes.ts";
import { Position, PositionList, PositionsQuery } from "../../wire/schema/account.ts";
import { ClosePositionBody, Leverage, LeverageBody, PlacedOrder } from "../../wire/schema/orders.ts";
import { SymbolName } from "../../wire/schema/scalars.ts";
import { CANCEL_COST } from "../auth/limits.ts";
import type { Principal } from "../exchange/credentials.ts";
import { mapReplies, requestEach, requestFor } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import { listJson, positionJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { type Route, route } from "../routing/router.ts";
import { closePosition, setLeverage } from "../trading/change-position.ts";

type View = MessageOf<typeof PositionView>;

export function positionRoutes(context: Context): Route[] {
  const { engine, symbols } = context;
  return [
    route({
      method: "GET",
      path: "/positions",
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
            mapReplies<View, string>(transaction, PositionView.code, (view) =>
              view.sizeLots === 0 ? "" : positionJson(instrument, view),
            ),
        );
        const open = positions.flat().filter((json) => json !== "");
        call.reply(200, listJson(open, null));
      },
    }),
    route({
      method: "GET",
      path: "/positions/:symbol",
      access: "READ",
      summary: "The position in a symbol, open or not, with the leverage and margin mode that are set",
      parameter: SymbolName,
      replies: { 200: Position },
      handle: ({ call, principal, parameter }) => readPosition(context, call, principal, parameter),
    }),
    route({
      method: "POST",
      path: "/positions/:symbol/close",
      access: "TRADE",
      summary: "Close a position or a part of it, at market or at a price",
      description:
        "A reduce-only order that own orders cannot keep from trading: those in its way are canceled (EXPIRE_MAKER), and other " +
        "reduce-only orders shrink with the position.",
      cost: CANCEL_COST,
      parameter: SymbolName,
      body: ClosePositionBody,
      bodyOptional: true,
      examples: { "all at market": {}, "a part": { quantity: "0.01" }, "at a price": { price: "65000.5" } },
      replies: { 201: PlacedOrder },
      errors: errorsIn("CLOSE_POSITION"),
      handle: ({ call, principal, parameter, body }) => closePosition(context, call, principal, parameter, body),
    }),
    route({
      method: "POST",
      path: "/positions/:symbol/leverage",
      access: "TRADE",
      summary: "Set the leverage of a symbol",
      parameter: SymbolName,
      body: LeverageBody,
      replies: { 200: Leverage },
      errors: errorsIn("SET_LEVERAGE"),
      handle: ({ call, principal, parameter, body }) => setLeverage(context, call, principal, parameter, body),
    }),
  ];
}

function readPosition(context: Context, answer: Answer, { accountId }: Principal, symbol: string): void {
  const instrument = context.symbols.bySymbol(symbol);
  requestFor(context, answer, instrument.id, { ...blank(ReadPosition), accountId }, (transaction) => {
    const [json] = mapReplies<View, string>(transaction, PositionView.code, (view) => positionJson(instrument, view));
    answer.reply(200, json ?? positionJson(instrument, untouchedPosition(context, instrument)));
  });
}

/** Of an account that has done nothing in the symbol yet. */
const untouchedPosition = ({ market }: Context, instrument: Instrument): View => ({
  ...blank(PositionView),
  leverage: instrument.config.defaultLeverage,
  markTicks: market.symbol(instrument.id).markTicks,
});
