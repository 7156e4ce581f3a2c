import { must } from "../../../assert.ts";
import {
  OpenInterest,
  OpenInterestHistory,
  OpenInterestHistoryQuery,
  OpenInterestList,
  OpenInterestQuery,
} from "../../../wire/schema/risk.ts";
import { listJson } from "../../json/json-writers.ts";
import { openInterestJson } from "../../json/risk-json.ts";
import type { Context } from "../../routing/context.ts";
import { readPage, replyPage } from "../../routing/paging.ts";
import { type Route, route } from "../../routing/route.ts";

export const openInterestRoute = ({ market, symbols }: Context): Route =>
  route({
    method: "GET",
    path: "/market/open-interest",
    access: "PUBLIC",
    summary: "Open interest of one symbol, or of all",
    query: OpenInterestQuery,
    replies: { 200: [OpenInterest, OpenInterestList] },
    handle({ call, query }) {
      const now = Date.now();
      const rows = symbols.selected(query.symbol).map((instrument) => {
        const { openInterestLots, markTicks } = market.symbol(instrument.id);
        return openInterestJson(instrument, { openInterestLots, markTicks, time: now });
      });
      call.reply(200, query.symbol === undefined ? listJson(rows, null) : must(rows[0], "the symbol's row"));
    },
  });

export const openInterestHistoryRoute = (context: Context): Route =>
  route({
    method: "GET",
    path: "/market/open-interest/history",
    access: "PUBLIC",
    summary: "Open interest at the end of past intervals, newest first",
    query: OpenInterestHistoryQuery,
    replies: { 200: OpenInterestHistory },
    async handle({ call, query }) {
      const { engine, history, symbols } = context;
      const instrument = symbols.bySymbol(query.symbol);
      // Read before waiting: the history may hold only a part of the transactions released while it catches up.
      const now = engine.releasedTime(instrument.id);
      const page = await readPage(context, call, query, (historyQuery) =>
        history.openInterestOf(instrument.id, historyQuery, now),
      );
      replyPage(call, page, (figures) => openInterestJson(instrument, figures));
    },
  });
