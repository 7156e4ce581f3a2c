import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "./units.ts";

/**
 * Candle arithmetic: candles of a second take the trades, those of every other interval are put together from them.
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
const RULES: Record<Interval, { lengthMs: number; originMs: TimeMs }> = {
  "1s": { lengthMs: SECOND, originMs: 0 },
  "1m": { lengthMs: MINUTE, originMs: 0 },
  "3m": { lengthMs: 3 * MINUTE, originMs: 0 },
  "5m": { lengthMs: 5 * MINUTE, originMs: 0 },
  "15m": { lengthMs: 15 * MINUTE, originMs: 0 },
  "30m": { lengthMs: 30 * MINUTE, originMs: 0 },
  "1h": { lengthMs: HOUR, originMs: 0 },
  "2h": { lengthMs: 2 * HOUR, originMs: 0 },
  "4h": { lengthMs: 4 * HOUR, originMs: 0 },
  "6h": { lengthMs: 6 * HOUR, originMs: 0 },
  "8h": { lengthMs: 8 * HOUR, originMs: 0 },
  "12h": { lengthMs: 12 * HOUR, originMs: 0 },
  "1d": { lengthMs: DAY, originMs: 0 },
  "3d": { lengthMs: 3 * DAY, originMs: 0 },
  "1w": { lengthMs: WEEK, originMs: FIRST_MONDAY },
  "1M": { lengthMs: 0, originMs: 0 },
};

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
  if (priceTicks > candle.highTicks) candle.highTicks = priceTicks;
  if (priceTicks < candle.lowTicks) candle.lowTicks = priceTicks;
  candle.closeTicks = priceTicks;
  candle.volumeLots += quantityLots;
  candle.turnoverQuanta += BigInt(quanta);
  candle.trades++;
}

/**
 * Candles of `interval` from candles that each lie within one of them, in order of time. The first and last are as complete
 * as what was given.
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
