import type { PublicTrade } from "../../../core/market-data/public-trades.ts";
import type { Page, PageQuery } from "../../../store/database/pages.ts";
import { PublicTradeList, TradesQuery } from "../../../wire/schema/market.ts";
import { DEFAULT_LIMIT } from "../../../wire/schema/scalars.ts";
import { publicTradeJson } from "../../json/market-json.ts";
import type { Context } from "../../routing/context.ts";
import { readPage, replyPage } from "../../routing/paging.ts";
import { type Route, route } from "../../routing/route.ts";

export const tradesRoute = (context: Context): Route =>
  publicTradesRoute(context, {
    path: "/market/trades",
    summary: "Trades, newest first",
    latest: (id, limit) => context.market.symbol(id).latestTrades(limit),
    read: (id, query) => context.history.tradesOf(id, query),
  });

export const liquidationsRoute = (context: Context): Route =>
  publicTradesRoute(context, {
    path: "/market/liquidations",
    summary: "Liquidations in the order book, and positions that were transferred without a trade, newest first",
    latest: (id, limit) => context.market.symbol(id).latestLiquidations(limit),
    read: (id, query) => context.history.liquidationsOf(id, query),
  });

interface TradeSource {
  path: string;
  summary: string;
  /** The newest trades from memory; null when memory has too few. */
  latest(instrumentId: number, limit: number): Page<PublicTrade> | null;
  read(instrumentId: number, query: PageQuery): Page<PublicTrade>;
}

function publicTradesRoute(context: Context, { path, summary, latest, read }: TradeSource): Route {
  return route({
    method: "GET",
    path,
    access: "PUBLIC",
    summary,
    query: TradesQuery,
    replies: { 200: PublicTradeList },
    async handle({ call, query }) {
      const instrument = context.symbols.bySymbol(query.symbol);
      const { limit = DEFAULT_LIMIT, cursor, startTime, endTime } = query;
      // Very many clients may poll for the newest trades. They neither wait for the history nor make it commit sooner.
      const isLatest = cursor === undefined && startTime === undefined && endTime === undefined;
      const page =
        (isLatest ? latest(instrument.id, limit) : null) ??
        (await readPage(context, call, query, (historyQuery) => read(instrument.id, historyQuery)));
      replyPage(call, page, (trade) => publicTradeJson(instrument, trade));
    },
  });
}
