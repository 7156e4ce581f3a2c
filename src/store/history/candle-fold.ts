import {
  aggregate,
  applyPrice,
  applyTrade,
  type Candle,
  type CandleSeries,
  flatCandle,
  hasCandles,
  INTERVALS,
  openTimeOf,
  PRICE_TYPES,
  type PriceType,
  shortestInterval,
} from "../../core/market-data/candles.ts";
import { CandleRecord } from "../database/history-schema.ts";
import type { Key, RowTable } from "../database/table.ts";
import type { WriteBatch } from "../database/write-batch.ts";

/**
 * Candles of every interval, kept up as trades and prices are folded, so that reading them is reading rows. A trade costs
 * one candle of a second, a price one of a minute; once per batch these are added to the intervals that hold them.
 */
export class CandleFold {
  private readonly table: RowTable<CandleRecord>;
  /** By instrument: this batch's trades and prices, in candles of the shortest interval. */
  private readonly gathered: Record<PriceType, Map<number, Candle[]>> = {
    LAST: new Map(),
    MARK: new Map(),
    INDEX: new Map(),
  };
  /** By series: what begins behind it needs no look into the table. */
  private readonly newest = new Map<string, Candle>();

  constructor(table: RowTable<CandleRecord>) {
    this.table = table;
  }

  trade(instrumentId: number, timeMs: number, priceTicks: number, quantityLots: number, quanta: number): void {
    applyTrade(this.candleAt("LAST", instrumentId, timeMs, priceTicks), priceTicks, quantityLots, quanta);
  }

  price(priceType: "MARK" | "INDEX", instrumentId: number, timeMs: number, priceTicks: number): void {
    applyPrice(this.candleAt(priceType, instrumentId, timeMs, priceTicks), priceTicks);
  }

  /** Adds what was gathered to the batch, and forgets it. */
  flush(batch: WriteBatch): void {
    for (const priceType of PRICE_TYPES) {
      for (const [instrumentId, candles] of this.gathered[priceType]) {
        for (const interval of INTERVALS) {
          if (!hasCandles(priceType, interval)) continue;
          const series = { instrumentId, priceType, interval };
          for (const gathered of aggregate(candles, interval)) this.add(batch, series, gathered);
        }
      }
      this.gathered[priceType].clear();
    }
  }

  /** This batch's candle that the time falls into; begun with this price if it is new. */
  private candleAt(priceType: PriceType, instrumentId: number, timeMs: number, priceTicks: number): Candle {
    let candles = this.gathered[priceType].get(instrumentId);
    if (candles === undefined) {
      candles = [];
      this.gathered[priceType].set(instrumentId, candles);
    }
    const openTime = openTimeOf(shortestInterval(priceType), timeMs);
    let candle = candles.at(-1);
    if (candle === undefined || candle.openTime < openTime) {
      candle = flatCandle(openTime, priceTicks);
      candles.push(candle);
    }
    return candle;
  }

  private add(batch: WriteBatch, series: CandleSeries, gathered: Candle): void {
    const { instrumentId, priceType, interval } = series;
    const name = `${priceType} ${interval} ${instrumentId}`;
    const newest = this.newest.get(name) ?? this.readNewest(series);
    const { openTime } = gathered;
    let known: Candle | undefined;
    if (newest?.openTime === openTime) known = newest;
    // Only where the clock was set back.
    else if (newest !== undefined && newest.openTime > openTime) known = this.read(series, openTime);
    const candle = known === undefined ? gathered : aggregate([known, gathered], interval)[0];
    batch.put(this.table, candleKey(series, openTime), toRecord(candle));
    this.newest.set(name, newest !== undefined && newest.openTime > openTime ? newest : candle);
  }

  private readNewest(series: CandleSeries): Candle | undefined {
    let newest: Candle | undefined;
    const start = candleKey(series, Number.MAX_SAFE_INTEGER);
    const end = candleKey(series, -1);
    this.table.each({ start, end, reverse: true, limit: 1 }, (_key, record) => {
      newest = toCandle(record);
    });
    return newest;
  }

  private read(series: CandleSeries, openTime: number): Candle | undefined {
    const record = this.table.get(candleKey(series, openTime));
    return record === undefined ? undefined : toCandle(record);
  }
}

/** Those of trades were there first, and have no name of their own. */
export const candleKey = ({ instrumentId, priceType, interval }: CandleSeries, openTime: number): Key => [
  priceType === "LAST" ? interval : `${priceType} ${interval}`,
  instrumentId,
  openTime,
];

export function toCandle(record: CandleRecord): Candle {
  const { openTime, openTicks, highTicks, lowTicks, closeTicks, volumeLots, trades } = record;
  const turnoverQuanta = BigInt(record.turnoverQuanta);
  return { openTime, openTicks, highTicks, lowTicks, closeTicks, volumeLots, turnoverQuanta, trades };
}

function toRecord(candle: Candle): CandleRecord {
  return { type: CandleRecord.code, ...candle, turnoverQuanta: candle.turnoverQuanta.toString() };
}
