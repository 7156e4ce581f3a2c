import { OPEN_INTEREST_INTERVALS, openTimeOf } from "../../core/market-data/candles.ts";
import type { PriceUpdated } from "../../core/protocol/events.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { Database } from "../database/database.ts";
import { OpenInterestRecord } from "../database/history-schema.ts";
import type { Key } from "../database/table.ts";
import type { WriteBatch } from "../database/write-batch.ts";

const [SHORTEST] = OPEN_INTEREST_INTERVALS;

/** The table is that of the candles. Their keys begin with the name of a series instead. */
const openInterestKey = (instrumentId: number, openTime: number): Key => ["OPEN_INTEREST", instrumentId, openTime];

/**
 * Maintains each symbol's open interest and mark price: one row for every five minutes, with the values at its end. The newest
 * row holds the current open interest, which trades and handovers change. A symbol that never traded begins with 0. A symbol
 * that traded before there were such rows begins with the first price event that tells its open interest.
 */
export class OpenInterestFold {
  private readonly database: Database;
  /** By instrument: the newest row, or null while the open interest is unknown. */
  private readonly newest = new Map<number, OpenInterestRecord | null>();
  /** The rows that this batch has changed, with their instruments. */
  private readonly changed = new Map<OpenInterestRecord, number>();

  constructor(database: Database) {
    this.database = database;
  }

  change(instrumentId: number, time: number, byLots: number): void {
    const record = this.recordAt(instrumentId, time);
    if (record !== null) record.openInterestLots += byLots;
  }

  price(instrumentId: number, time: number, event: MessageOf<typeof PriceUpdated>): void {
    const { openInterestLots, markTicks } = event;
    // 0 may also mean that the event does not tell, as those of older versions.
    const tells = openInterestLots > 0;
    if (tells && this.newestOf(instrumentId) === null) this.newest.set(instrumentId, BEGIN);
    const record = this.recordAt(instrumentId, time);
    if (record === null) return;
    record.markTicks = markTicks;
    // Corrects for trades that an older version has indexed in the meantime.
    if (tells) record.openInterestLots = openInterestLots;
  }

  /** Adds the changed rows to the batch. */
  flush(batch: WriteBatch): void {
    for (const [record, instrumentId] of this.changed)
      batch.put(this.database.openInterest, openInterestKey(instrumentId, record.openTime), record);
    this.changed.clear();
  }

  /** The row for the time, to be changed; null while the open interest is unknown. */
  private recordAt(instrumentId: number, time: number): OpenInterestRecord | null {
    let record = this.newestOf(instrumentId);
    if (record === null) return null;
    const openTime = openTimeOf(SHORTEST, time);
    // The newest row also serves if the clock was set back.
    if (openTime > record.openTime) {
      record = { ...record, openTime };
      this.newest.set(instrumentId, record);
    }
    this.changed.set(record, instrumentId);
    return record;
  }

  private newestOf(instrumentId: number): OpenInterestRecord | null {
    const known = this.newest.get(instrumentId);
    if (known !== undefined) return known;
    const newest = readOpenInterest(this.database, instrumentId) ?? this.begin(instrumentId);
    this.newest.set(instrumentId, newest);
    return newest;
  }

  private begin(instrumentId: number): OpenInterestRecord | null {
    const hasTraded = this.database.trades.read(instrumentId, { limit: 1 }, (trade) => trade).data.length > 0;
    return hasTraded ? null : BEGIN;
  }
}

/** The newest row that begins before the time `before`, in ms. */
export function readOpenInterest(
  database: Database,
  instrumentId: number,
  before = Number.MAX_SAFE_INTEGER,
): OpenInterestRecord | undefined {
  // Usually there is one, and a lookup costs half as much as a search.
  const newest = database.openInterest.get(openInterestKey(instrumentId, openTimeOf(SHORTEST, before - 1)));
  if (newest !== undefined) return newest;
  const start = openInterestKey(instrumentId, before - 1);
  const end = openInterestKey(instrumentId, -1);
  return database.openInterest.first({ start, end, reverse: true });
}

/** The oldest row that begins at the time `from` or later, in ms. */
export function nextOpenInterest(
  database: Database,
  instrumentId: number,
  from: number,
): OpenInterestRecord | undefined {
  const start = openInterestKey(instrumentId, from);
  return database.openInterest.first({ start, end: openInterestKey(instrumentId, Number.MAX_SAFE_INTEGER) });
}

/** Stands before every interval. It is never changed, since every time is later. */
const BEGIN: OpenInterestRecord = { ...blank(OpenInterestRecord), openTime: -1 };
