import { Balance } from "../../../wire/schema/account.ts";
import { readFigures } from "../../exchange/balance-reader.ts";
import { balanceJson } from "../../json/json-writers.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

export const balanceRoute = ({ engine, log }: Context): Route =>
  route({
    method: "GET",
    path: "/account/balance",
    access: "READ",
    summary: "Balance and margin across all symbols",
    replies: { 200: Balance },
    handle({ call, principal }) {
      readFigures(engine, principal.accountId, (figures, sequence) => {
        try {
          call.reply(200, balanceJson(figures, sequence, Date.now()));
        } catch (thrown) {
          call.fail(thrown, log);
        }
      });
    },
  });
