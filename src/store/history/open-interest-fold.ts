import { OPEN_INTEREST_INTERVALS, openTimeOf } from "../../core/market-data/candles.ts";
import type { PriceUpdated } from "../../core/protocol/events.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { Database } from "../database/database.ts";
import { OpenInterestRecord } from "../database/history-schema.ts";
import type { Key } from "../database/table.ts";
import type { WriteBatch } from "../database/write-batch.ts";

const [SHORTEST] = OPEN_INTEREST_INTERVALS;

/** In front of it candles have the name of their series. */
export const openInterestKey = (instrumentId: number, openTime: number): Key => [
  "OPEN_INTEREST",
  instrumentId,
  openTime,
];

/**
 * What is open in each symbol, and its mark: a row for every five minutes, as they ended. The newest is what is open now:
 * trades and handovers go on from it. A symbol that never traded begins with 0; one that traded before there were such
 * rows, with the first price that tells what is open.
 */
export class OpenInterestFold {
  private readonly database: Database;
  /** By instrument; null while nobody knows what is open. */
  private readonly newest = new Map<number, OpenInterestRecord | null>();
  /** By the rows that this batch has changed: whose they are. */
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
    // 0 may be that of an event which does not tell.
    const tells = openInterestLots > 0;
    if (tells && this.newestOf(instrumentId) === null) this.newest.set(instrumentId, BEGIN);
    const record = this.recordAt(instrumentId, time);
    if (record === null) return;
    record.markTicks = markTicks;
    // Trades that an older program has folded in the meantime are in no row.
    if (tells) record.openInterestLots = openInterestLots;
  }

  /** Adds what has changed to the batch. */
  flush(batch: WriteBatch): void {
    for (const [record, instrumentId] of this.changed)
      batch.put(this.database.openInterest, openInterestKey(instrumentId, record.openTime), record);
    this.changed.clear();
  }

  /** The row of the interval that the time falls into, to be changed; null while nobody knows what is open. */
  private recordAt(instrumentId: number, time: number): OpenInterestRecord | null {
    let record = this.newestOf(instrumentId);
    if (record === null) return null;
    const openTime = openTimeOf(SHORTEST, time);
    // The newest one also where the clock was set back.
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

/** The newest row that begins before `before`. */
export function readOpenInterest(
  database: Database,
  instrumentId: number,
  before = Number.MAX_SAFE_INTEGER,
): OpenInterestRecord | undefined {
  // Mostly there is one, and to get it costs half of what a search does.
  let newest = database.openInterest.get(openInterestKey(instrumentId, openTimeOf(SHORTEST, before - 1)));
  if (newest !== undefined) return newest;
  const start = openInterestKey(instrumentId, before - 1);
  const end = openInterestKey(instrumentId, -1);
  database.openInterest.each({ start, end, reverse: true, limit: 1 }, (_key, record) => {
    newest = record;
  });
  return newest;
}

/** Of no interval yet: never changed, as every time is behind it. */
const BEGIN: OpenInterestRecord = { ...blank(OpenInterestRecord), openTime: -1 };
