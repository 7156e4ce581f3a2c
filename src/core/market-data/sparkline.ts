import type { PriceTicks, TimeMs } from "../base/units.ts";
import { type Candle, closeTimeOf, openTimeOf } from "./candles.ts";

export const SPARKLINE_INTERVAL = "30m";
/** A day: the interval that runs, and those before it. */
export const SPARKLINE_POINTS = 48;

const LENGTH_MS = closeTimeOf(SPARKLINE_INTERVAL, 0) + 1;

/** Opening time of the first interval of a sparkline at `now`. */
export const sparklineStart = (now: TimeMs): TimeMs =>
  openTimeOf(SPARKLINE_INTERVAL, now) - (SPARKLINE_POINTS - 1) * LENGTH_MS;

/** The last price of an interval. */
export type Close = Pick<Candle, "openTime" | "closeTicks">;

/** A symbol's last prices of the intervals of a day. */
export class Sparkline {
  private readonly closes = new Int32Array(SPARKLINE_POINTS);
  /** The number of the interval, counted from the epoch, that each close belongs to. */
  private readonly numbers = new Float64Array(SPARKLINE_POINTS).fill(-1);

  /** Adds candles of the last day, in the order of time. Call it before the first trade. */
  prime(candles: Iterable<Readonly<Close>>): void {
    for (const { openTime, closeTicks } of candles) this.trade(openTime, closeTicks);
  }

  trade(time: TimeMs, priceTicks: PriceTicks): void {
    const number = Math.floor(time / LENGTH_MS);
    const slot = number % SPARKLINE_POINTS;
    // Earlier only after the clock was set back.
    if (number < this.numbers[slot]) return;
    this.numbers[slot] = number;
    this.closes[slot] = priceTicks;
  }

  /** The intervals with trades, oldest first: for prime() of another one. */
  traded(): Close[] {
    const closes: Close[] = [];
    for (const [slot, number] of this.numbers.entries())
      if (number >= 0) closes.push({ openTime: number * LENGTH_MS, closeTicks: this.closes[slot] });
    return closes.sort((a, b) => a.openTime - b.openTime);
  }

  /** The last price of each interval, oldest first. An interval without a trade has that before it, the first `openTicks`. */
  prices(now: TimeMs, openTicks: PriceTicks): PriceTicks[] {
    const first = Math.floor(sparklineStart(now) / LENGTH_MS);
    let close = openTicks;
    return Array.from({ length: SPARKLINE_POINTS }, (_, i) => {
      const slot = (first + i) % SPARKLINE_POINTS;
      if (this.numbers[slot] === first + i) close = this.closes[slot];
      return close;
    });
  }
}
