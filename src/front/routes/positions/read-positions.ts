import { ReadPosition } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { PositionView } from "../../../core/protocol/replies.ts";
import { Position, PositionList, PositionsQuery } from "../../../wire/schema/account.ts";
import { SymbolName } from "../../../wire/schema/scalars.ts";
import { mapReplies, requestEach, requestFor } from "../../exchange/request.ts";
import { listJson, positionJson } from "../../json/json-writers.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

type View = MessageOf<typeof PositionView>;

export const openPositionsRoute = ({ engine, symbols }: Context): Route =>
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
  });

export const readPositionRoute = (context: Context): Route =>
  route({
    method: "GET",
    path: "/positions/:symbol",
    access: "READ",
    summary: "The position in a symbol, open or not, with its leverage and margin mode",
    parameter: SymbolName,
    replies: { 200: Position },
    handle({ call, principal: { accountId }, parameter }) {
      const instrument = context.symbols.bySymbol(parameter);
      requestFor(context, call, instrument.id, { ...blank(ReadPosition), accountId }, (transaction) => {
        const print = (view: View): string => positionJson(instrument, view);
        const [json] = mapReplies<View, string>(transaction, PositionView.code, print);
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
