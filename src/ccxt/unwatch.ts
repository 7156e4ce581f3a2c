import type { Dict, Str, Strings } from "ccxt";
import type { ChannelRequest } from "../client/types.ts";
import { PerpdStreams } from "./streams.ts";

/** unWatch*: ends what watch* began, at any depth or pace. Whoever waits for it is told by UnsubscribeError. */
export class PerpdUnwatch extends PerpdStreams {
  override async unWatchOrderBook(symbol: string, _params: Dict = {}): Promise<void> {
    return this.end("orderbook", [symbol]);
  }

  override async unWatchOrderBookForSymbols(symbols: string[], _params: Dict = {}): Promise<void> {
    return this.end("orderbook", symbols);
  }

  override async unWatchTrades(symbol: string, _params: Dict = {}): Promise<void> {
    return this.end("trades", [symbol]);
  }

  override async unWatchTradesForSymbols(symbols: string[], _params: Dict = {}): Promise<void> {
    return this.end("trades", symbols);
  }

  override async unWatchTicker(symbol: string, _params: Dict = {}): Promise<void> {
    return this.end("ticker", [symbol]);
  }

  /** All of them where none are named, here and below. */
  override async unWatchTickers(symbols?: Strings, _params: Dict = {}): Promise<void> {
    return this.end("ticker", symbols);
  }

  override async unWatchBidsAsks(symbols?: Strings, _params: Dict = {}): Promise<void> {
    return this.end("ticker", symbols);
  }

  override async unWatchOHLCV(symbol: string, timeframe = "1m", _params: Dict = {}): Promise<void> {
    const interval = this.safeString(this.timeframes, timeframe, timeframe);
    return this.end("klines", [symbol], (request) => request.interval === interval);
  }

  override async unWatchOrders(symbol?: Str, _params: Dict = {}): Promise<void> {
    return this.end("orders", symbol === undefined ? undefined : [symbol]);
  }

  override async unWatchMyTrades(symbol?: Str, _params: Dict = {}): Promise<void> {
    return this.end("fills", symbol === undefined ? undefined : [symbol]);
  }

  /** What is watched is all positions. */
  override async unWatchPositions(_symbols?: Strings, _params: Dict = {}): Promise<void> {
    return this.end("positions", undefined);
  }

  private async end(
    channel: ChannelRequest["channel"],
    symbols: Strings,
    isMeant: (request: ChannelRequest) => boolean = () => true,
  ): Promise<void> {
    await this.loadMarkets();
    const ids = symbols?.map((symbol) => this.marketId(symbol));
    await this.unfollow((request) => {
      if (request.channel !== channel || !isMeant(request)) return false;
      return ids === undefined || ids.includes(request.symbol);
    });
  }
}
