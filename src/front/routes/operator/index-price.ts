import { SetIndexPrice } from "../../../core/protocol/commands.ts";
import { blank } from "../../../core/protocol/message-schema.ts";
import { Done } from "../../../core/protocol/replies.ts";
import { errorsIn } from "../../../wire/error-codes.ts";
import { SymbolName } from "../../../wire/schema/scalars.ts";
import { IndexPrice, IndexPriceBody } from "../../../wire/schema/system.ts";
import { replyOf, requestFor } from "../../exchange/request.ts";
import { readPrice } from "../../json/amounts.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

export const indexPriceRoute = (context: Context): Route =>
  route({
    method: "PUT",
    path: "/operator/index/:symbol",
    access: "OPERATOR",
    summary: "Set a symbol's index price",
    parameter: SymbolName,
    body: IndexPriceBody,
    replies: { 200: IndexPrice },
    errors: errorsIn("SET_INDEX_PRICE"),
    handle({ call, parameter, body }) {
      const instrument = context.symbols.bySymbol(parameter);
      const isGuarded = body.guarded === true ? 1 : 0;
      const command = { ...blank(SetIndexPrice), indexTicks: readPrice(instrument, body.price), isGuarded };
      requestFor(context, call, instrument.id, command, (transaction) => {
        replyOf(transaction, Done.code, instrument);
        call.reply(200, JSON.stringify({ symbol: instrument.symbol, indexPrice: body.price }));
      });
    },
  });
