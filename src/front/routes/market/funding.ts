import { FundingList, FundingQuery } from "../../../wire/schema/risk.ts";
import { fundingJson } from "../../json/risk-json.ts";
import type { Context } from "../../routing/context.ts";
import { listRoute } from "../../routing/paging.ts";
import type { Route } from "../../routing/route.ts";

export const fundingRatesRoute = (context: Context): Route =>
  listRoute(context, {
    path: "/market/funding",
    access: "PUBLIC",
    summary: "Funding rates of past intervals, newest first",
    query: FundingQuery,
    reply: FundingList,
    read: (query) => context.history.fundingRatesOf(query.instrumentId, query),
    print: (rate, { symbol }) => fundingJson(context.symbols.bySymbol(symbol), rate),
  });
