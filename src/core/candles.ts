import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "./units.ts";

/**
 * Candle arithmetic. Four base intervals are kept as trades happen; every other interval is put together from one of
 * them when it is read.
 *
 * Intervals follow UTC: weeks begin on Monday, months are calendar months, three days are counted from the epoch.
 * Only intervals with trades have a candle; `fillGaps` shows the others, flat at the close before them, as most
 * exchanges do.
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
}

export const BASE_INTERVALS = ["1s", "1m", "1h", "1d"] as const;
export type BaseInterval = (typeof BASE_INTERVALS)[number];

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

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
/** 1970-01-05, the first Monday after the epoch. */
const FIRST_MONDAY = 4 * DAY;

/** Length of a month is its calendar's: 0 here. */
const RULES: Record<Interval, { base: BaseInterval; lengthMs: number; originMs: TimeMs }> = {
  "1s": { base: "1s", lengthMs: SECOND, originMs: 0 },
  "1m": { base: "1m", lengthMs: MINUTE, originMs: 0 },
  "3m": { base: "1m", lengthMs: 3 * MINUTE, originMs: 0 },
  "5m": { base: "1m", lengthMs: 5 * MINUTE, originMs: 0 },
  "15m": { base: "1m", lengthMs: 15 * MINUTE, originMs: 0 },
  "30m": { base: "1m", lengthMs: 30 * MINUTE, originMs: 0 },
  "1h": { base: "1h", lengthMs: HOUR, originMs: 0 },
  "2h": { base: "1h", lengthMs: 2 * HOUR, originMs: 0 },
  "4h": { base: "1h", lengthMs: 4 * HOUR, originMs: 0 },
  "6h": { base: "1h", lengthMs: 6 * HOUR, originMs: 0 },
  "8h": { base: "1h", lengthMs: 8 * HOUR, originMs: 0 },
  "12h": { base: "1h", lengthMs: 12 * HOUR, originMs: 0 },
  "1d": { base: "1d", lengthMs: DAY, originMs: 0 },
  "3d": { base: "1d", lengthMs: 3 * DAY, originMs: 0 },
  "1w": { base: "1d", lengthMs: WEEK, originMs: FIRST_MONDAY },
  "1M": { base: "1d", lengthMs: 0, originMs: 0 },
};

export const isInterval = (text: string): text is Interval => Object.hasOwn(RULES, text);

/** The base interval that candles of `interval` are put together from. */
export const baseOf = (interval: Interval): BaseInterval => RULES[interval].base;

/** First millisecond of the interval that `time` falls into. */
export function openTimeOf(interval: Interval, time: TimeMs): TimeMs {
  if (interval === "1M") {
    const date = new Date(time);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  }
  const { lengthMs, originMs } = RULES[interval];
  return Math.floor((time - originMs) / lengthMs) * lengthMs + originMs;
}

/** Last millisecond of the interval that begins at `openTime`. */
export function closeTimeOf(interval: Interval, openTime: TimeMs): TimeMs {
  if (interval === "1M") {
    const date = new Date(openTime);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) - 1;
  }
  return openTime + RULES[interval].lengthMs - 1;
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
  };
}

/** A trade in the candle's interval, not earlier than those before it. Start a candle as a flat one at its first price. */
export function applyTrade(candle: Candle, priceTicks: PriceTicks, quantityLots: QuantityLots, quanta: Quanta): void {
  applyPrice(candle, priceTicks);
  candle.volumeLots += quantityLots;
  candle.turnoverQuanta += BigInt(quanta);
  candle.trades++;
}

/** A price without a trade: candles of mark and index prices. */
export function applyPrice(candle: Candle, priceTicks: PriceTicks): void {
  if (priceTicks > candle.highTicks) candle.highTicks = priceTicks;
  if (priceTicks < candle.lowTicks) candle.lowTicks = priceTicks;
  candle.closeTicks = priceTicks;
}

/**
 * Candles of `interval` from candles of its base interval, in order of time. The first and last are as complete as what
 * was given.
 */
export function aggregate(baseCandles: Iterable<Readonly<Candle>>, interval: Interval): Candle[] {
  const candles: Candle[] = [];
  let current: Candle | undefined;
  for (const base of baseCandles) {
    const openTime = openTimeOf(interval, base.openTime);
    if (current === undefined || current.openTime !== openTime) {
      current = { ...base, openTime };
      candles.push(current);
      continue;
    }
    if (base.highTicks > current.highTicks) current.highTicks = base.highTicks;
    if (base.lowTicks < current.lowTicks) current.lowTicks = base.lowTicks;
    current.closeTicks = base.closeTicks;
    current.volumeLots += base.volumeLots;
    current.turnoverQuanta += base.turnoverQuanta;
    current.trades += base.trades;
  }
  return candles;
}

/**
 * Every interval from the one that holds `fromTime` to the one that holds `toTime`: intervals without a candle are flat
 * at the close before them, without volume. `previousCloseTicks` is the close before `fromTime`; 0 when there was none,
 * and then the row begins with the first candle. The caller bounds the range.
 */
export function fillGaps(
  candles: readonly Candle[],
  interval: Interval,
  fromTime: TimeMs,
  toTime: TimeMs,
  previousCloseTicks: PriceTicks,
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
    } else if (closeTicks > 0) {
      filled.push(flatCandle(openTime, closeTicks));
    }
  }
  return filled;
}
