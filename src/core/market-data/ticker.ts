import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "../base/units.ts";
import type { Candle } from "./candles.ts";

const MINUTE_MS = 60_000;
/** The current minute and the 1440 before it: the last 24 hours, and less than a minute more. */
const SLOTS = 1441;

/** A minute with trades. */
export type TradedMinute = Pick<
  Candle,
  "openTime" | "openTicks" | "highTicks" | "lowTicks" | "volumeLots" | "turnoverQuanta"
>;

/** Open, high, low, volume and turnover of the last 24 hours, in buckets of one minute. */
export class Ticker24h {
  private minute = 0;
  private readonly opens = new Int32Array(SLOTS);
  private readonly highs = new Int32Array(SLOTS);
  private readonly lows = new Int32Array(SLOTS);
  private readonly volumes = new Float64Array(SLOTS);
  private readonly turnovers = new BigInt64Array(SLOTS);

  private volume = 0;
  private turnover = 0n;
  private open = 0;
  private high = 0;
  private low = 0;
  /** A bucket with trades was dropped, so open, high and low must be computed again. */
  private stale = false;

  /** Adds minute candles of the last day, in the order of time. Call it before the first trade. */
  prime(minuteCandles: Iterable<Readonly<TradedMinute>>): void {
    for (const candle of minuteCandles) {
      this.advance(candle.openTime);
      this.add(candle.openTicks, candle.highTicks, candle.lowTicks, candle.volumeLots, candle.turnoverQuanta);
    }
  }

  /** The minutes with trades, oldest first: for prime() of another one. */
  minutes(): TradedMinute[] {
    const minutes: TradedMinute[] = [];
    for (let minute = Math.max(0, this.minute - SLOTS + 1); minute <= this.minute; minute++) {
      const slot = minute % SLOTS;
      if (this.volumes[slot] === 0) continue;
      minutes.push({
        openTime: minute * MINUTE_MS,
        openTicks: this.opens[slot],
        highTicks: this.highs[slot],
        lowTicks: this.lows[slot],
        volumeLots: this.volumes[slot],
        turnoverQuanta: this.turnovers[slot],
      });
    }
    return minutes;
  }

  trade(time: TimeMs, priceTicks: PriceTicks, quantityLots: QuantityLots, quanta: Quanta): void {
    this.advance(time);
    this.add(priceTicks, priceTicks, priceTicks, quantityLots, BigInt(quanta));
  }

  /** Drops buckets that are older than a day at `time`. A time before the last one changes nothing. */
  advance(time: TimeMs): void {
    const minute = Math.floor(time / MINUTE_MS);
    const passed = Math.min(minute - this.minute, SLOTS);
    for (let back = passed - 1; back >= 0; back--) this.drop((minute - back) % SLOTS);
    if (passed > 0) this.minute = minute;
  }

  /** The first price of the window. Open, high and low are 0 when nothing traded in it. */
  get openTicks(): PriceTicks {
    this.refresh();
    return this.open;
  }
  get highTicks(): PriceTicks {
    this.refresh();
    return this.high;
  }
  get lowTicks(): PriceTicks {
    this.refresh();
    return this.low;
  }
  /** Below 2^53 as long as fewer than 10^11 lots trade in every second of the day. */
  get volumeLots(): QuantityLots {
    return this.volume;
  }
  get turnoverQuanta(): bigint {
    return this.turnover;
  }

  private add(open: PriceTicks, high: PriceTicks, low: PriceTicks, lots: QuantityLots, quanta: bigint): void {
    const slot = this.minute % SLOTS;
    if (this.volumes[slot] === 0) {
      this.opens[slot] = open;
      this.highs[slot] = high;
      this.lows[slot] = low;
    } else {
      if (high > this.highs[slot]) this.highs[slot] = high;
      if (low < this.lows[slot]) this.lows[slot] = low;
    }
    if (this.volume === 0) {
      this.open = open;
      this.high = high;
      this.low = low;
      this.stale = false;
    } else {
      if (high > this.high) this.high = high;
      if (low < this.low) this.low = low;
    }
    this.volumes[slot] += lots;
    this.turnovers[slot] += quanta;
    this.volume += lots;
    this.turnover += quanta;
  }

  private drop(slot: number): void {
    if (this.volumes[slot] === 0) return;
    this.volume -= this.volumes[slot];
    this.turnover -= this.turnovers[slot];
    this.volumes[slot] = 0;
    this.turnovers[slot] = 0n;
    this.stale = true;
  }

  private refresh(): void {
    if (!this.stale) return;
    this.stale = false;
    this.open = 0;
    this.high = 0;
    this.low = 0;
    for (let age = SLOTS - 1; age >= 0; age--) {
      const slot = (this.minute - age + SLOTS) % SLOTS;
      if (this.volumes[slot] === 0) continue;
      if (this.open === 0) {
        this.open = this.opens[slot];
        this.low = this.lows[slot];
      }
      this.high = Math.max(this.high, this.highs[slot]);
      this.low = Math.min(this.low, this.lows[slot]);
    }
  }
}
