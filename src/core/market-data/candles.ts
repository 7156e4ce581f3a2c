import { BUY, type Side } from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "../base/units.ts";

/**
 * Trades make candles of one second, and aggregate() makes those of every other interval from them. Mark prices, index prices
 * and samples of the funding premium make candles of one minute without volume. Those of the premium hold parts per billion
 * of the index instead of ticks, and may be negative.
 *
 * Intervals follow UTC: weeks begin on Monday, months are calendar months, and three days count from the epoch. Only
 * intervals with a trade or price have a candle. fillGaps() adds flat ones for the others, as most exchanges do.
 */
export interface Candle {
  openTime: TimeMs;
  openTicks: PriceTicks;
  highTicks: PriceTicks;
  lowTicks: PriceTicks;
  closeTicks: PriceTicks;
  volumeLots: QuantityLots;
  /** BigInt because a busy day passes 2^53 quanta (9 billion USDC). */
  turnoverQuanta: bigint;
  trades: number;
  /** Of the trades whose taker bought. */
  takerBuyLots: QuantityLots;
  takerBuyQuanta: bigint;
}

export const INTERVALS = [
  "1s",
  "1m",
  "3m",
  "5m",
  "15m",
  "30m",
  "1h",
  "2h",
  "4h",
  "6h",
  "8h",
  "12h",
  "1d",
  "3d",
  "1w",
  "1M",
] as const;
export type Interval = (typeof INTERVALS)[number];

/** Of the history of open interest, which shows their ends. Each consists of whole ones of the first. */
export const OPEN_INTEREST_INTERVALS = ["5m", "15m", "30m", "1h", "2h", "4h", "6h", "12h", "1d"] as const;
export type OpenInterestInterval = (typeof OPEN_INTEREST_INTERVALS)[number];

/** Of the history of an account's equity, which shows their ends. */
export const EQUITY_INTERVALS = ["1m", "5m", "15m", "1h", "4h", "1d"] as const;
export type EquityInterval = (typeof EQUITY_INTERVALS)[number];

/** Candles are made of trades, mark prices, index prices or samples of the funding premium. */
export const PRICE_TYPES = ["LAST", "MARK", "INDEX", "PREMIUM"] as const;
export type PriceType = (typeof PRICE_TYPES)[number];

/** One symbol's candles of one kind. */
export interface CandleSeries {
  readonly instrumentId: number;
  readonly priceType: PriceType;
  readonly interval: Interval;
}

/** The other prices come about once a second, so a candle of a second would be one price. */
export const shortestInterval = (priceType: PriceType): Interval => (priceType === "LAST" ? "1s" : "1m");

export const hasCandles = (priceType: PriceType, interval: Interval): boolean =>
  INTERVALS.indexOf(interval) >= INTERVALS.indexOf(shortestInterval(priceType));

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
/** 1970-01-05, the first Monday after the epoch. */
const FIRST_MONDAY = 4 * DAY;

/** A month has no fixed length. */
const LENGTHS_MS: Record<Exclude<Interval, "1M">, number> = {
  "1s": SECOND,
  "1m": MINUTE,
  "3m": 3 * MINUTE,
  "5m": 5 * MINUTE,
  "15m": 15 * MINUTE,
  "30m": 30 * MINUTE,
  "1h": HOUR,
  "2h": 2 * HOUR,
  "4h": 4 * HOUR,
  "6h": 6 * HOUR,
  "8h": 8 * HOUR,
  "12h": 12 * HOUR,
  "1d": DAY,
  "3d": 3 * DAY,
  "1w": WEEK,
};

/** First millisecond of the interval that `time` falls into. */
export function openTimeOf(interval: Interval, time: TimeMs): TimeMs {
  if (interval === "1M") {
    const date = new Date(time);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  }
  const lengthMs = LENGTHS_MS[interval];
  const originMs = interval === "1w" ? FIRST_MONDAY : 0;
  return Math.floor((time - originMs) / lengthMs) * lengthMs + originMs;
}

/** Last millisecond of the interval that begins at `openTime`. */
export function closeTimeOf(interval: Interval, openTime: TimeMs): TimeMs {
  if (interval === "1M") {
    const date = new Date(openTime);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) - 1;
  }
  return openTime + LENGTHS_MS[interval] - 1;
}

/** A candle without trades, flat at one price. */
export function flatCandle(openTime: TimeMs, priceTicks: PriceTicks): Candle {
  return {
    openTime,
    openTicks: priceTicks,
    highTicks: priceTicks,
    lowTicks: priceTicks,
    closeTicks: priceTicks,
    volumeLots: 0,
    turnoverQuanta: 0n,
    trades: 0,
    takerBuyLots: 0,
    takerBuyQuanta: 0n,
  };
}

/** Adds a price of the candle's interval. Call it in the order of time. */
export function applyPrice(candle: Candle, priceTicks: PriceTicks): void {
  if (priceTicks > candle.highTicks) candle.highTicks = priceTicks;
  if (priceTicks < candle.lowTicks) candle.lowTicks = priceTicks;
  candle.closeTicks = priceTicks;
}

/** Adds a trade of the candle's interval. Call it in the order of time, first on a flat candle at the first price. */
export function applyTrade(
  candle: Candle,
  priceTicks: PriceTicks,
  quantityLots: QuantityLots,
  quanta: Quanta,
  takerSide: Side,
): void {
  applyPrice(candle, priceTicks);
  candle.volumeLots += quantityLots;
  candle.turnoverQuanta += BigInt(quanta);
  candle.trades++;
  if (takerSide !== BUY) return;
  candle.takerBuyLots += quantityLots;
  candle.takerBuyQuanta += BigInt(quanta);
}

/**
 * Makes candles of `interval` from shorter ones, in the order of time. No part may reach across two intervals. The first
 * and the last candle are complete if their parts are.
 */
export function aggregate(parts: Iterable<Readonly<Candle>>, interval: Interval): Candle[] {
  const candles: Candle[] = [];
  let current: Candle | undefined;
  for (const part of parts) {
    const openTime = openTimeOf(interval, part.openTime);
    if (current === undefined || current.openTime !== openTime) {
      current = { ...part, openTime };
      candles.push(current);
      continue;
    }
    if (part.highTicks > current.highTicks) current.highTicks = part.highTicks;
    if (part.lowTicks < current.lowTicks) current.lowTicks = part.lowTicks;
    current.closeTicks = part.closeTicks;
    current.volumeLots += part.volumeLots;
    current.turnoverQuanta += part.turnoverQuanta;
    current.trades += part.trades;
    current.takerBuyLots += part.takerBuyLots;
    current.takerBuyQuanta += part.takerBuyQuanta;
  }
  return candles;
}

/**
 * One candle for each interval from that of `fromTime` to that of `toTime`. Intervals without a candle get a flat one at
 * the close before, without volume. `previousCloseTicks` is the close before `fromTime`; null = none, and then the
 * result begins with the first candle. The caller bounds the range.
 */
export function fillGaps(
  candles: readonly Candle[],
  interval: Interval,
  fromTime: TimeMs,
  toTime: TimeMs,
  previousCloseTicks: PriceTicks | null,
): Candle[] {
  const filled: Candle[] = [];
  let closeTicks = previousCloseTicks;
  let index = 0;
  let openTime = openTimeOf(interval, fromTime);
  while (index < candles.length && candles[index].openTime < openTime) index++;
  for (; openTime <= toTime; openTime = closeTimeOf(interval, openTime) + 1) {
    const candle = candles[index];
    if (candle?.openTime === openTime) {
      filled.push(candle);
      closeTicks = candle.closeTicks;
      index++;
    } else if (closeTicks !== null) {
      filled.push(flatCandle(openTime, closeTicks));
    }
  }
  return filled;
}
