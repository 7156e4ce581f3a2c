import { type Candle, type CandleSeries, flatCandle } from "../../../src/core/market-data/candles.ts";
import type { CandleQuery } from "../../../src/store/history/history.ts";

/** A candle of one trade. */
export const traded = (openTime: number, priceTicks: number): Candle => ({
  ...flatCandle(openTime, priceTicks),
  volumeLots: 1,
  trades: 1,
});

/** A history with these candles, oldest first, for any kind of candle. */
export const historyOf = (candles: readonly Candle[]) => ({
  candles(_series: CandleSeries, query: CandleQuery): Candle[] {
    const { startTime, endTime = Number.MAX_SAFE_INTEGER, limit } = query;
    const found = candles.filter(({ openTime }) => openTime >= (startTime ?? 0) && openTime <= endTime);
    return startTime === undefined ? found.slice(-limit) : found.slice(0, limit);
  },
});
