import { PPM_DECIMALS, printFixed, printQuanta } from "../../core/base/units.ts";
import type { PublicTrade } from "../../core/market-data/public-trades.ts";
import { type Instrument, printPrice } from "../../core/protocol/instrument.ts";
import type { Page, PageQuery } from "../../store/database/pages.ts";
import {
  InstrumentList,
  KlineList,
  KlinesQuery,
  OrderBook,
  OrderBookQuery,
  PublicTradeList,
  SymbolsQuery,
  Ticker,
  TickerList,
  TickerQuery,
  TradesQuery,
} from "../../wire/schema/market.ts";
import { DEFAULT_LIMIT } from "../../wire/schema/scalars.ts";
import { historyCaughtUp } from "../exchange/request.ts";
import { listJson } from "../json/json-writers.ts";
import { klineJson, readKlines, requireCandles } from "../json/klines.ts";
import { publicTradeJson } from "../json/market-json.ts";
import type { Context } from "../routing/context.ts";
import { badCursor, checkTimeRange, readPage, waitForReadSlotOf } from "../routing/paging.ts";
import { type Route, route } from "../routing/router.ts";

const DEFAULT_DEPTH = 100;

export function marketRoutes(context: Context): Route[] {
  const { engine, symbols, market, history } = context;
  return [
    route({
      method: "GET",
      path: "/market/ticker",
      access: "PUBLIC",
      summary: "One symbol at a glance, or all",
      query: TickerQuery,
      replies: { 200: [Ticker, TickerList] },
      handle({ call, query }) {
        const { symbol } = query;
        if (symbol === undefined) call.reply(200, market.allTickersJson());
        else call.reply(200, market.tickerJson(symbols.bySymbol(symbol).id));
      },
    }),
    route({
      method: "GET",
      path: "/market/orderbook",
      access: "PUBLIC",
      summary: "The best price levels",
      query: OrderBookQuery,
      replies: { 200: OrderBook },
      handle({ call, query }) {
        const { id } = symbols.bySymbol(query.symbol);
        call.reply(200, market.symbol(id).orderBookJson(query.depth ?? DEFAULT_DEPTH));
      },
    }),
    tradesRoute(context, {
      path: "/market/trades",
      summary: "Trades, newest first",
      latest: (id, limit) => market.symbol(id).latestTrades(limit),
      read: (id, query) => history.tradesOf(id, query),
    }),
    tradesRoute(context, {
      path: "/market/liquidations",
      summary: "Liquidations in the book and positions that were handed over, newest first",
      latest: (id, limit) => market.symbol(id).latestLiquidations(limit),
      read: (id, query) => history.liquidationsOf(id, query),
    }),
    route({
      method: "GET",
      path: "/market/klines",
      access: "PUBLIC",
      summary: "Candles, oldest first: from startTime on, or the latest",
      query: KlinesQuery,
      replies: { 200: KlineList },
      async handle({ call, query }) {
        const instrument = symbols.bySymbol(query.symbol);
        const { interval, priceType = "LAST", endTime, limit = DEFAULT_LIMIT } = query;
        requireCandles(priceType, interval);
        checkTimeRange(query);
        const startTime = query.cursor === undefined ? query.startTime : readOpenTime(query.cursor);
        // First: what is released while the history catches up may be a part of it only.
        const time = engine.releasedTime(instrument.id);
        await historyCaughtUp(engine);
        await waitForReadSlotOf(call);
        const series = { instrumentId: instrument.id, priceType, interval };
        const page = readKlines(history, series, { limit, startTime, endTime }, time);
        const rows = page.candles.map((candle) => klineJson(instrument, interval, candle, time));
        call.reply(200, listJson(rows, page.nextOpenTime === null ? null : String(page.nextOpenTime)));
      },
    }),
    route({
      method: "GET",
      path: "/market/symbols",
      access: "PUBLIC",
      summary: "The instruments and their limits",
      query: SymbolsQuery,
      replies: { 200: InstrumentList },
      handle({ call, query }) {
        const rows = symbols.selected(query.symbol).map((instrument) => {
          return JSON.stringify({ ...describeInstrument(instrument), ...market.symbol(instrument.id).status });
        });
        call.reply(200, listJson(rows, null));
      },
    }),
  ];
}

interface TradeLists {
  path: string;
  summary: string;
  /** What the market remembers; null where that is not enough. */
  latest(instrumentId: number, limit: number): Page<PublicTrade> | null;
  read(instrumentId: number, query: PageQuery): Page<PublicTrade>;
}

function tradesRoute(context: Context, { path, summary, latest, read }: TradeLists): Route {
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
      // Who polls for the latest, as very many may, neither waits for the history nor drives it on.
      const isOfLatest = cursor === undefined && startTime === undefined && endTime === undefined;
      const page =
        (isOfLatest ? latest(instrument.id, limit) : null) ??
        (await readPage(context, call, query, (asked) => read(instrument.id, asked)));
      const rows = page.data.map((trade) => publicTradeJson(instrument, trade));
      call.reply(200, listJson(rows, page.nextCursor));
    },
  });
}

function readOpenTime(cursor: string): number {
  if (!/^[0-9]{1,15}$/.test(cursor)) throw badCursor();
  return Number(cursor);
}

/** Instrument, all but its status. */
function describeInstrument(instrument: Instrument) {
  const { config } = instrument;
  const rate = (ppm: number) => printFixed(ppm, PPM_DECIMALS);
  return {
    symbol: config.symbol,
    baseAsset: config.baseAsset,
    quoteAsset: config.quoteAsset,
    tickSize: config.tickSize,
    stepSize: config.stepSize,
    minQuantity: config.minQuantity,
    maxQuantity: config.maxQuantity,
    minNotional: config.minNotional,
    maxPrice: printPrice(instrument, instrument.maxPriceTicks),
    maxOpenOrders: instrument.maxOpenOrders,
    maxLeverage: instrument.maxLeverage,
    riskTiers: instrument.riskTiers.map((tier) => ({
      maxNotional: printQuanta(tier.maxNotionalQuanta),
      maxLeverage: tier.maxLeverage,
      initialMarginRate: rate(tier.initialMarginPpm),
      maintenanceMarginRate: rate(tier.maintenanceMarginPpm),
      maintenanceDeduction: printQuanta(tier.maintenanceDeductionQuanta),
    })),
    makerFeeRate: config.makerFeeRate,
    takerFeeRate: config.takerFeeRate,
    liquidationFeeRate: config.liquidationFeeRate,
    priceBand: config.priceBand,
    fundingIntervalHours: config.fundingIntervalHours,
    fundingRateCap: config.fundingRateCap,
  };
}
