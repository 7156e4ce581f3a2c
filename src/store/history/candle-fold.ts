import type { Side } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import {
  aggregate,
  applyPrice,
  applyTrade,
  type Candle,
  type CandleSeries,
  flatCandle,
  hasCandles,
  INTERVALS,
  type Interval,
  openTimeOf,
  PRICE_TYPES,
  type PriceType,
  shortestInterval,
} from "../../core/market-data/candles.ts";
import { CandleRecord } from "../database/history-schema.ts";
import type { Key, RowTable } from "../database/table.ts";
import type { WriteBatch } from "../database/write-batch.ts";

/**
 * Maintains candles of every interval, so that a query only reads rows. A trade updates one candle of a second and a price one
 * candle of a minute. Once per batch these are merged into the candles of longer intervals.
 */
export class CandleFold {
  private readonly table: RowTable<CandleRecord>;
  /** By instrument: this batch's trades and prices, as candles of the shortest interval. */
  private readonly pending: Record<PriceType, Map<number, Candle[]>> = {
    LAST: new Map(),
    MARK: new Map(),
    INDEX: new Map(),
    PREMIUM: new Map(),
  };
  /** By series: the newest candle. A candle that begins later cannot be in the table. */
  private readonly newest = new Map<string, Candle>();

  constructor(table: RowTable<CandleRecord>) {
    this.table = table;
  }

  trade(
    instrumentId: number,
    timeMs: number,
    priceTicks: number,
    quantityLots: number,
    quanta: number,
    takerSide: Side,
  ): void {
    applyTrade(this.candleAt("LAST", instrumentId, timeMs, priceTicks), priceTicks, quantityLots, quanta, takerSide);
  }

  /** `price`: in ticks, or a premium in parts per billion. */
  price(priceType: Exclude<PriceType, "LAST">, instrumentId: number, timeMs: number, price: number): void {
    applyPrice(this.candleAt(priceType, instrumentId, timeMs, price), price);
  }

  /** Adds the pending candles to the batch and forgets them. */
  flush(batch: WriteBatch): void {
    for (const priceType of PRICE_TYPES) {
      for (const [instrumentId, candles] of this.pending[priceType]) {
        for (const interval of INTERVALS) {
          if (!hasCandles(priceType, interval)) continue;
          const series = { instrumentId, priceType, interval };
          for (const candle of aggregate(candles, interval)) this.add(batch, series, candle);
        }
      }
      this.pending[priceType].clear();
    }
  }

  /** This batch's candle for the time. A new one begins with this price. */
  private candleAt(priceType: PriceType, instrumentId: number, timeMs: number, priceTicks: number): Candle {
    let candles = this.pending[priceType].get(instrumentId);
    if (candles === undefined) {
      candles = [];
      this.pending[priceType].set(instrumentId, candles);
    }
    const openTime = openTimeOf(shortestInterval(priceType), timeMs);
    let candle = candles.at(-1);
    if (candle === undefined || candle.openTime < openTime) {
      candle = flatCandle(openTime, priceTicks);
      candles.push(candle);
    }
    return candle;
  }

  private add(batch: WriteBatch, series: CandleSeries, added: Candle): void {
    const { instrumentId, priceType, interval } = series;
    const name = `${priceType} ${interval} ${instrumentId}`;
    const newest = this.newest.get(name) ?? this.readNewest(series);
    const { openTime } = added;
    let known: Candle | undefined;
    if (newest?.openTime === openTime) known = newest;
    // Only after the clock was set back.
    else if (newest !== undefined && newest.openTime > openTime) known = this.read(series, openTime);
    const candle = known === undefined ? added : aggregate([known, added], interval)[0];
    batch.put(this.table, candleKey(series, openTime), toRecord(candle));
    this.newest.set(name, newest !== undefined && newest.openTime > openTime ? newest : candle);
  }

  private readNewest(series: CandleSeries): Candle | undefined {
    const start = candleKey(series, Number.MAX_SAFE_INTEGER);
    const newest = this.table.first({ start, end: candleKey(series, -1), reverse: true });
    return newest && toCandle(newest);
  }

  private read(series: CandleSeries, openTime: number): Candle | undefined {
    const record = this.table.get(candleKey(series, openTime));
    return record === undefined ? undefined : toCandle(record);
  }
}

/** Old ones of these are removed. Ten years of all longer candles are less than a day of these. */
export const PRUNED_INTERVALS = INTERVALS.slice(0, INTERVALS.indexOf("1h"));

/** Since when candles of the interval are kept. `keptSince`: the same for the history. */
export const candlesKeptSince = (interval: Interval, keptSince: () => TimeMs): TimeMs =>
  PRUNED_INTERVALS.includes(interval) ? keptSince() : 0;

/** Keys of trade candles have no price type: they are older than the other types. */
export const candleKey = ({ instrumentId, priceType, interval }: CandleSeries, openTime: number): Key => [
  priceType === "LAST" ? interval : `${priceType} ${interval}`,
  instrumentId,
  openTime,
];

/** It names each field, because copying all with `...` takes ten times as long, and a chart asks for hundreds of candles. */
export function toCandle(record: CandleRecord): Candle {
  return {
    openTime: record.openTime,
    openTicks: record.openTicks,
    highTicks: record.highTicks,
    lowTicks: record.lowTicks,
    closeTicks: record.closeTicks,
    volumeLots: record.volumeLots,
    turnoverQuanta: BigInt(record.turnoverQuanta),
    trades: record.trades,
    takerBuyLots: record.takerBuyLots,
    takerBuyQuanta: BigInt(record.takerBuyQuanta),
  };
}

function toRecord(candle: Candle): CandleRecord {
  const { turnoverQuanta, takerBuyQuanta } = candle;
  const sums = { turnoverQuanta: turnoverQuanta.toString(), takerBuyQuanta: takerBuyQuanta.toString() };
  return { type: CandleRecord.code, ...candle, ...sums };
}
