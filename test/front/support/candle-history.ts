import { type Candle, type CandleSeries, flatCandle } from "../../../src/core/market-data/candles.ts";
import type { CandleQuery } from "../../../src/store/history/history.ts";

/** A candle of one trade. */
export const traded = (openTime: number, priceTicks: number): Candle => ({
  ...flatCandle(openTime, priceTicks),
  volumeLots: 1,
  trades: 1,
});

/** The history of a symbol whose candles these are, oldest first: whatever kind is asked for. */
export const historyOf = (candles: readonly Candle[]) => ({
  candles(_series: CandleSeries, query: CandleQuery): Candle[] {
    const { startTime, endTime = Number.MAX_SAFE_INTEGER, limit } = query;
    const found = candles.filter(({ openTime }) => openTime >= (startTime ?? 0) && openTime <= endTime);
    return startTime === undefined ? found.slice(-limit) : found.slice(0, limit);
  },
});
