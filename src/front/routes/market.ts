import { must } from "../../assert.ts";
import { INSURANCE_ACCOUNT, LEDGER } from "../../core/base/enums.ts";
import { printQuanta } from "../../core/base/units.ts";
import type { PublicTrade } from "../../core/market-data/public-trades.ts";
import type { Static } from "../../packages/typebox.ts";
import type { Page, PageQuery } from "../../store/database/pages.ts";
import * as schema from "../../wire/schema/market.ts";
import * as risk from "../../wire/schema/risk.ts";
import { DEFAULT_LIMIT } from "../../wire/schema/scalars.ts";
import { replyFigures } from "../exchange/balance-reader.ts";
import { CandleCache } from "../exchange/candle-cache.ts";
import { historyCaughtUp } from "../exchange/request.ts";
import type { Call } from "../http/call.ts";
import { listJson } from "../json/json-writers.ts";
import { findKlines, klineJson, klineParts, requireCandles } from "../json/klines.ts";
import { publicTradeJson } from "../json/market-json.ts";
import { fundingJson, fundMovementJson, openInterestJson } from "../json/risk-json.ts";
import type { Context } from "../routing/context.ts";
import {
  badCursor,
  checkTimeRange,
  listRoute,
  printPage,
  readPage,
  replyPage,
  replyWithPage,
  waitForReadSlotOf,
} from "../routing/paging.ts";
import { get, type Route } from "../routing/route.ts";
import { SharedReads } from "../routing/shared-reads.ts";

const DEFAULT_DEPTH = 100;

/** Market data in memory. */
type MarketContext = Pick<Context, "market" | "symbols">;

export const tickerRoute = ({ market, symbols }: MarketContext): Route =>
  get("/market/ticker", {
    access: "PUBLIC",
    summary: "Prices and 24-hour statistics of one symbol, or of all",
    query: schema.TickerQuery,
    replies: { 200: [schema.Ticker, schema.TickerList] },
    handle({ call, query: { symbol } }) {
      if (symbol === undefined) call.reply(200, market.allTickersJson());
      else call.reply(200, market.tickerJson(symbols.bySymbol(symbol).id));
    },
  });

export const sparklinesRoute = ({ market }: MarketContext): Route =>
  get("/market/sparklines", {
    access: "PUBLIC",
    summary: "The prices of the last day in half hours, of all symbols, for small charts",
    replies: { 200: schema.SparklineList },
    handle: ({ call }) => call.reply(200, market.sparklinesJson()),
  });

export const orderBookRoute = ({ market, symbols }: MarketContext): Route =>
  get("/market/orderbook", {
    access: "PUBLIC",
    summary: "The best price levels of the order book",
    query: schema.OrderBookQuery,
    replies: { 200: schema.OrderBook },
    handle({ call, query: { symbol, depth = DEFAULT_DEPTH } }) {
      const book = market.symbol(symbols.bySymbol(symbol).id);
      if (depth <= DEFAULT_DEPTH || book.hasOrderBookJson(depth)) return call.reply(200, book.orderBookJson(depth));
      return waitForReadSlotOf(call).then(() => call.reply(200, book.orderBookJson(depth)));
    },
  });

export const tradesRoute = (context: Context): Route =>
  newestTradesRoute(
    context,
    older(context, (id, query) => context.history.tradesOf(id, query)),
  );

export const liquidationsRoute = (context: Context): Route =>
  newestLiquidationsRoute(
    context,
    older(context, (id, query) => context.history.liquidationsOf(id, query)),
  );

/** Answers with trades that are not in memory. */
type AnswerOlder = (call: Call, query: Static<typeof schema.TradesQuery>, print: PrintTrades) => void | Promise<void>;
type PrintTrades = (page: Page<PublicTrade>) => Page<string>;

function older(context: Context, read: (instrumentId: number, query: PageQuery) => Page<PublicTrade>): AnswerOlder {
  return (call, query, print) =>
    replyWithPage(context, call, query, (historyQuery) => print(read(historyQuery.instrumentId, historyQuery)));
}

export const newestTradesRoute = (context: MarketContext, answerOlder: AnswerOlder): Route =>
  publicTradesRoute(context, {
    path: "/market/trades",
    summary: "Trades, newest first",
    latest: (id, limit) => context.market.symbol(id).latestTrades(limit),
    answerOlder,
  });

export const newestLiquidationsRoute = (context: MarketContext, answerOlder: AnswerOlder): Route =>
  publicTradesRoute(context, {
    path: "/market/liquidations",
    summary: "Liquidations in the order book, and positions that were transferred without a trade, newest first",
    latest: (id, limit) => context.market.symbol(id).latestLiquidations(limit),
    answerOlder,
  });

interface TradeSource {
  path: string;
  summary: string;
  /** The newest trades from memory; null when memory has too few. */
  latest(instrumentId: number, limit: number): Page<PublicTrade> | null;
  answerOlder: AnswerOlder;
}

function publicTradesRoute(context: MarketContext, { path, summary, latest, answerOlder }: TradeSource): Route {
  return get(path, {
    access: "PUBLIC",
    summary,
    query: schema.TradesQuery,
    replies: { 200: schema.PublicTradeList },
    async handle({ call, query }) {
      const instrument = context.symbols.bySymbol(query.symbol);
      const { limit = DEFAULT_LIMIT, cursor, sort, startTime, endTime } = query;
      // Very many clients may poll for the newest trades. They neither wait for the history nor make it commit sooner.
      const isLatest = [cursor, startTime, endTime].every((given) => given === undefined) && sort !== "ASC";
      const print: PrintTrades = (page) => printPage(page, (trade) => publicTradeJson(instrument, trade));
      const newest = isLatest ? latest(instrument.id, limit) : null;
      if (newest !== null) {
        if (limit > DEFAULT_LIMIT) await waitForReadSlotOf(call);
        return replyPage(call, print(newest));
      }
      await answerOlder(call, query, print);
    },
  });
}

export const klinesRoute = ({ engine, history, symbols }: Context): Route => {
  const reads = new SharedReads<Uint8Array>();
  const cache = new CandleCache(history, () => engine.historySince);
  return get("/market/klines", {
    access: "PUBLIC",
    summary: "Candles, oldest first: from startTime on, or the latest ones",
    query: schema.KlinesQuery,
    replies: { 200: schema.KlineList },
    async handle({ call, query }) {
      const instrument = symbols.bySymbol(query.symbol);
      const { interval, priceType = "LAST", endTime, limit = DEFAULT_LIMIT } = query;
      requireCandles(priceType, interval);
      checkTimeRange(query);
      const startTime = query.cursor === undefined ? query.startTime : readOpenTime(query.cursor);
      const series = { instrumentId: instrument.id, priceType, interval };
      // Everybody who opens a chart asks for the same candles.
      const key = [instrument.id, priceType, interval, startTime, endTime, limit].join(" ");
      const page = await reads.share(key, call, async (group) => {
        // Read before waiting: the history may hold only a part of the transactions released while it catches up.
        const time = engine.releasedTime(instrument.id);
        await historyCaughtUp(engine);
        await waitForReadSlotOf(group);
        const candles = cache.at(time);
        const range = findKlines(candles, series, { limit, startTime, endTime }, time);
        if (range === null) return Buffer.from(listJson([], null));
        const rows: string[] = [];
        for (const part of klineParts(candles, series, range)) {
          for (const candle of part) rows.push(klineJson(instrument, series, candle, time));
          if (part.at(-1)?.openTime !== range.last) await waitForReadSlotOf(group);
        }
        const { nextOpenTime } = range;
        return Buffer.from(listJson(rows, nextOpenTime === null ? null : String(nextOpenTime)));
      });
      call.reply(200, page);
    },
  });
};

function readOpenTime(cursor: string): number {
  if (!/^[0-9]{1,15}$/.test(cursor)) throw badCursor();
  return Number(cursor);
}

export const symbolsRoute = ({ market, symbols }: MarketContext): Route =>
  get("/market/symbols", {
    access: "PUBLIC",
    summary: "Instruments with their limits, fees and trading status",
    description: "The channel `symbols` has the same rows, and sends each one that changes.",
    query: schema.SymbolsQuery,
    replies: { 200: schema.InstrumentList },
    handle({ call, query }) {
      const rows = symbols.selected(query.symbol).map(({ id }) => market.instrumentJson(id));
      call.reply(200, listJson(rows, null));
    },
  });

export const fundingRatesRoute = (context: Context): Route =>
  listRoute(context, "/market/funding", {
    access: "PUBLIC",
    summary: "Funding rates of past intervals, newest first",
    query: risk.FundingQuery,
    reply: risk.FundingList,
    read: (query) => context.history.fundingRatesOf(query.instrumentId, query),
    print: (rate, { symbol }) => fundingJson(context.symbols.bySymbol(symbol), rate),
  });

export const insuranceRoute = (context: Context): Route =>
  get("/market/insurance", {
    access: "PUBLIC",
    summary: "The insurance fund: its balance, and the changes of it, newest first",
    query: risk.InsuranceQuery,
    replies: { 200: risk.Insurance },
    async handle({ call, query }) {
      const { symbols, history } = context;
      const page = await readPage(context, call, query, (historyQuery) => history.fundMovements(historyQuery));
      const rows = page.data.map((movement) => {
        const symbol = movement.actorId === LEDGER ? null : symbols.byId(movement.actorId).symbol;
        return fundMovementJson(symbol, movement);
      });
      replyFigures(context, call, INSURANCE_ACCOUNT, ({ equity, unrealized }) => {
        const head = `"asset":"USDC","balance":"${printQuanta(equity)}","unrealizedPnl":"${printQuanta(unrealized)}"`;
        return `{${head},${listJson(rows, page.nextCursor).slice(1)}`;
      });
    },
  });

export const openInterestRoute = ({ market, symbols }: MarketContext): Route =>
  get("/market/open-interest", {
    access: "PUBLIC",
    summary: "Open interest of one symbol, or of all",
    query: risk.OpenInterestQuery,
    replies: { 200: [risk.OpenInterest, risk.OpenInterestList] },
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
  get("/market/open-interest/history", {
    access: "PUBLIC",
    summary: "Open interest at the end of past intervals, newest first",
    query: risk.OpenInterestHistoryQuery,
    replies: { 200: risk.OpenInterestHistory },
    async handle({ call, query }) {
      const { engine, history, symbols } = context;
      const instrument = symbols.bySymbol(query.symbol);
      // Read before waiting: the history may hold only a part of the transactions released while it catches up.
      const now = engine.releasedTime(instrument.id);
      const page = await readPage(context, call, query, (historyQuery) =>
        history.openInterestOf(instrument.id, historyQuery, now),
      );
      replyPage(
        call,
        printPage(page, (figures) => openInterestJson(instrument, figures)),
      );
    },
  });
