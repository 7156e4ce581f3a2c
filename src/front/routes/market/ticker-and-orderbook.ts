import { OrderBook, OrderBookQuery, Ticker, TickerList, TickerQuery } from "../../../wire/schema/market.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

const DEFAULT_DEPTH = 100;

export const tickerRoute = ({ market, symbols }: Context): Route =>
  route({
    method: "GET",
    path: "/market/ticker",
    access: "PUBLIC",
    summary: "Prices and 24-hour statistics of one symbol, or of all",
    query: TickerQuery,
    replies: { 200: [Ticker, TickerList] },
    handle({ call, query: { symbol } }) {
      if (symbol === undefined) call.reply(200, market.allTickersJson());
      else call.reply(200, market.tickerJson(symbols.bySymbol(symbol).id));
    },
  });

export const orderBookRoute = ({ market, symbols }: Context): Route =>
  route({
    method: "GET",
    path: "/market/orderbook",
    access: "PUBLIC",
    summary: "The best price levels of the order book",
    query: OrderBookQuery,
    replies: { 200: OrderBook },
    handle({ call, query: { symbol, depth = DEFAULT_DEPTH } }) {
      call.reply(200, market.symbol(symbols.bySymbol(symbol).id).orderBookJson(depth));
    },
  });
