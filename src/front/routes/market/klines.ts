import { KlineList, KlinesQuery } from "../../../wire/schema/market.ts";
import { DEFAULT_LIMIT } from "../../../wire/schema/scalars.ts";
import { historyCaughtUp } from "../../exchange/request.ts";
import { klineJson, readKlines, requireCandles } from "../../json/klines.ts";
import type { Context } from "../../routing/context.ts";
import { badCursor, checkTimeRange, replyPage, waitForReadSlotOf } from "../../routing/paging.ts";
import { type Route, route } from "../../routing/route.ts";

export const klinesRoute = ({ engine, history, symbols }: Context): Route =>
  route({
    method: "GET",
    path: "/market/klines",
    access: "PUBLIC",
    summary: "Candles, oldest first: from startTime on, or the latest ones",
    query: KlinesQuery,
    replies: { 200: KlineList },
    async handle({ call, query }) {
      const instrument = symbols.bySymbol(query.symbol);
      const { interval, priceType = "LAST", endTime, limit = DEFAULT_LIMIT } = query;
      requireCandles(priceType, interval);
      checkTimeRange(query);
      const startTime = query.cursor === undefined ? query.startTime : readOpenTime(query.cursor);
      // Read before waiting: the history may hold only a part of the transactions released while it catches up.
      const time = engine.releasedTime(instrument.id);
      await historyCaughtUp(engine);
      await waitForReadSlotOf(call);
      const series = { instrumentId: instrument.id, priceType, interval };
      const { candles, nextOpenTime } = readKlines(history, series, { limit, startTime, endTime }, time);
      const nextCursor = nextOpenTime === null ? null : String(nextOpenTime);
      replyPage(call, { data: candles, nextCursor }, (candle) => klineJson(instrument, interval, candle, time));
    },
  });

function readOpenTime(cursor: string): number {
  if (!/^[0-9]{1,15}$/.test(cursor)) throw badCursor();
  return Number(cursor);
}
