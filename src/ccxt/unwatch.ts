import type { Dict, Str, Strings } from "ccxt";
import type { ChannelRequest } from "../client/types.ts";
import { PerpdStreams } from "./streams.ts";

/**
 * unWatch*: ends the watch* calls of the same name, at any depth or update interval. A stream ends with the last method
 * that reads it. Waiting calls reject with UnsubscribeError.
 */
export class PerpdUnwatch extends PerpdStreams {
  override async unWatchOrderBook(symbol: string, _params: Dict = {}) {
    return this.end("watchOrderBook", "orderbook", [symbol]);
  }

  override async unWatchOrderBookForSymbols(symbols: string[], _params: Dict = {}) {
    return this.end("watchOrderBookForSymbols", "orderbook", symbols);
  }

  override async unWatchTrades(symbol: string, _params: Dict = {}) {
    return this.end("watchTrades", "trades", [symbol]);
  }

  override async unWatchTradesForSymbols(symbols: string[], _params: Dict = {}) {
    return this.end("watchTradesForSymbols", "trades", symbols);
  }

  override async unWatchTicker(symbol: string, _params: Dict = {}) {
    return this.end("watchTicker", "ticker", [symbol]);
  }

  /** All symbols when none are given, here and below. */
  override async unWatchTickers(symbols?: Strings, _params: Dict = {}) {
    return this.end("watchTickers", "ticker", symbols);
  }

  override async unWatchBidsAsks(symbols?: Strings, _params: Dict = {}) {
    return this.end("watchBidsAsks", "ticker", symbols);
  }

  override async unWatchOHLCV(symbol: string, timeframe = "1m", _params: Dict = {}) {
    const interval = this.safeString(this.timeframes, timeframe, timeframe);
    return this.end("watchOHLCV", "klines", [symbol], (request) => request.interval === interval);
  }

  /** Takes pairs of a symbol and a timeframe. */
  override async unWatchOHLCVForSymbols(symbolsAndTimeframes: string[][], _params: Dict = {}) {
    const symbols = symbolsAndTimeframes.map(([symbol]) => symbol as string);
    return this.end("watchOHLCVForSymbols", "klines", symbols);
  }

  override async unWatchMarkPrice(symbol: string, _params: Dict = {}) {
    return this.end("watchMarkPrice", "ticker", [symbol]);
  }

  override async unWatchMarkPrices(symbols?: Strings, _params: Dict = {}) {
    return this.end("watchMarkPrices", "ticker", symbols);
  }

  override async unWatchOrders(symbol?: Str, _params: Dict = {}) {
    return this.end("watchOrders", "orders", symbol === undefined ? undefined : [symbol]);
  }

  override async unWatchMyTrades(symbol?: Str, _params: Dict = {}) {
    return this.end("watchMyTrades", "fills", symbol === undefined ? undefined : [symbol]);
  }

  override async unWatchPositions(symbols?: Strings, _params: Dict = {}) {
    return this.end("watchPositions", "positions", symbols);
  }

  private async end(
    method: string,
    channel: ChannelRequest["channel"],
    symbols: Strings,
    isSelected: (request: ChannelRequest) => boolean = () => true,
  ): Promise<void> {
    await this.loadMarkets();
    const named = this.marketSymbols(symbols);
    await this.endReading(channel, (call) => {
      if (call.method !== method) return false;
      const read = call.wanted ?? call.requests.filter(isSelected).map(({ symbol }) => this.safeSymbol(symbol));
      return named === undefined ? read.length > 0 : read.some((symbol) => named.includes(symbol));
    });
  }
}
