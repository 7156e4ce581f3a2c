import { INSURANCE_ACCOUNT, LEDGER } from "../../../core/base/enums.ts";
import { printQuanta } from "../../../core/base/units.ts";
import { Insurance, InsuranceQuery } from "../../../wire/schema/risk.ts";
import { readFigures } from "../../exchange/balance-reader.ts";
import { listJson } from "../../json/json-writers.ts";
import { fundMovementJson } from "../../json/risk-json.ts";
import type { Context } from "../../routing/context.ts";
import { readPage } from "../../routing/paging.ts";
import { type Route, route } from "../../routing/route.ts";

export const insuranceRoute = (context: Context): Route =>
  route({
    method: "GET",
    path: "/market/insurance",
    access: "PUBLIC",
    summary: "The insurance fund: its balance, and the changes of it, newest first",
    query: InsuranceQuery,
    replies: { 200: Insurance },
    async handle({ call, query }) {
      const { engine, symbols, history, log } = context;
      const page = await readPage(context, call, query, (historyQuery) => history.fundMovements(historyQuery));
      const rows = page.data.map((movement) => {
        const symbol = movement.actorId === LEDGER ? null : symbols.byId(movement.actorId).symbol;
        return fundMovementJson(symbol, movement);
      });
      readFigures(engine, INSURANCE_ACCOUNT, ({ equity, unrealized }) => {
        try {
          const head = `"asset":"USDC","balance":"${printQuanta(equity)}","unrealizedPnl":"${printQuanta(unrealized)}"`;
          call.reply(200, `{${head},${listJson(rows, page.nextCursor).slice(1)}`);
        } catch (thrown) {
          call.fail(thrown, log);
        }
      });
    },
  });
