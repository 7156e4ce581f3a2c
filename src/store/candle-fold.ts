import {
  aggregate,
  applyTrade,
  type Candle,
  flatCandle,
  INTERVALS,
  type Interval,
  openTimeOf,
} from "../core/candles.ts";
import { CandleRecord } from "./rows.ts";
import type { Key, RowTable } from "./table.ts";
import type { WriteBatch } from "./write-batch.ts";

/**
 * Candles of every interval, kept up as trades are folded, so that reading them is reading rows. A trade costs one
 * candle of a second; once per batch these are added to the intervals that hold them.
 */
export class CandleFold {
  private readonly table: RowTable<CandleRecord>;
  /** By instrument: this batch's trades, second by second. */
  private readonly seconds = new Map<number, Candle[]>();
  /** By interval and instrument: what begins behind it needs no look into the table. */
  private readonly newest = new Map<string, Candle>();

  constructor(table: RowTable<CandleRecord>) {
    this.table = table;
  }

  trade(instrumentId: number, timeMs: number, priceTicks: number, quantityLots: number, quanta: number): void {
    let candles = this.seconds.get(instrumentId);
    if (candles === undefined) {
      candles = [];
      this.seconds.set(instrumentId, candles);
    }
    const openTime = openTimeOf("1s", timeMs);
    let candle = candles.at(-1);
    if (candle === undefined || candle.openTime < openTime) {
      candle = flatCandle(openTime, priceTicks);
      candles.push(candle);
    }
    applyTrade(candle, priceTicks, quantityLots, quanta);
  }

  /** Adds what was gathered to the batch, and forgets it. */
  flush(batch: WriteBatch): void {
    for (const [instrumentId, seconds] of this.seconds) {
      for (const interval of INTERVALS) {
        for (const gathered of aggregate(seconds, interval)) this.add(batch, interval, instrumentId, gathered);
      }
    }
    this.seconds.clear();
  }

  private add(batch: WriteBatch, interval: Interval, instrumentId: number, gathered: Candle): void {
    const name = `${interval} ${instrumentId}`;
    const newest = this.newest.get(name) ?? this.readNewest(interval, instrumentId);
    const { openTime } = gathered;
    let known: Candle | undefined;
    if (newest?.openTime === openTime) known = newest;
    // Only where the clock was set back.
    else if (newest !== undefined && newest.openTime > openTime) known = this.read(interval, instrumentId, openTime);
    const candle = known === undefined ? gathered : aggregate([known, gathered], interval)[0];
    batch.put(this.table, candleKey(interval, instrumentId, openTime), toRecord(candle));
    this.newest.set(name, newest !== undefined && newest.openTime > openTime ? newest : candle);
  }

  private readNewest(interval: Interval, instrumentId: number): Candle | undefined {
    let newest: Candle | undefined;
    const start = candleKey(interval, instrumentId, Number.MAX_SAFE_INTEGER);
    const end = candleKey(interval, instrumentId, -1);
    this.table.each({ start, end, reverse: true, limit: 1 }, (_key, record) => {
      newest = toCandle(record);
    });
    return newest;
  }

  private read(interval: Interval, instrumentId: number, openTime: number): Candle | undefined {
    const record = this.table.get(candleKey(interval, instrumentId, openTime));
    return record === undefined ? undefined : toCandle(record);
  }
}

export const candleKey = (interval: Interval, instrumentId: number, openTime: number): Key => [
  interval,
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
