import type { TimeMs } from "../../core/base/units.ts";
import { hasCandles, PRICE_TYPES } from "../../core/market-data/candles.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { decodeShared, messageBytes } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import { type Database, RETENTION_KEY } from "../database/database.ts";
import { type OrderLocationRecord, ReferenceRecord, RetentionRecord } from "../database/history-schema.ts";
import type { SeriesTable } from "../database/series.ts";
import type { Key, Range, Table } from "../database/table.ts";
import { noYield, WriteBatch } from "../database/write-batch.ts";
import { candleKey, PRUNED_INTERVALS } from "./candle-fold.ts";
import { EQUITY_SERIES, equityKeptSince, equityPartition, partitionOf } from "./equity-fold.ts";

/** How much history is kept. 0 = without a limit. */
export interface Retention {
  readonly days: number;
  /** Of the tables from which rows are removed. */
  readonly maxBytes: number;
  /** About the number of keys that a commit looks at. Default: some milliseconds of work. */
  readonly keysPerStep?: number;
}

export const KEEP_ALL: Retention = { days: 0, maxBytes: 0 };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Younger history stays: the repetition of an order finds the first one for a day, and statistics cover 24 hours. */
const LEAST_KEPT_MS = 25 * HOUR_MS;
/** Of a history that is too large, the oldest of so many parts of its time goes at once. */
const PARTS = 16;
const KEYS_PER_STEP = 1000;
/** Of one list at a time. */
const KEYS_PER_PORTION = 64;

/** Removes a portion of a table, from a key on. Returns where to go on; undefined = the table is done. */
type Sweep = (from: Key | undefined) => Key | undefined;

/**
 * Removes old history, a portion with each step. It first writes since when the history is kept. From then on no read shows
 * older rows, so it does not matter how many of them are left. Then it sweeps through all lists. A start of the process begins
 * an unfinished sweep anew, because nothing says how far it came.
 *
 * It removes closed orders, fills, funding payments, closed positions, covered deficits, trades, liquidations and short
 * candles. Apart from retention it removes old rows of equity: see equity-fold.ts. It keeps open orders, transfers, funding rates, open interest, long candles, what operators did and the insurance
 * fund's movements.
 */
export class HistoryPruner {
  private readonly database: Database;
  private readonly retention: Retention;
  private readonly yieldNow: () => void;
  private readonly batch: WriteBatch;
  private readonly sweeps: readonly Sweep[];
  /** The sweep under way, and where it goes on. */
  private current: number;
  private from: Key | undefined;
  private keptSince: number;
  /** Keys that this step has looked at. */
  private looks = 0;

  constructor(database: Database, instruments: readonly Instrument[], retention: Retention, yieldNow = noYield) {
    this.database = database;
    this.retention = retention;
    this.yieldNow = yieldNow;
    this.batch = new WriteBatch(yieldNow);
    const { closedOrders } = database;
    this.sweeps = [
      (from) => this.sweepLists(closedOrders, from),
      ...listsOf(database).map((table) => (from: Key | undefined) => this.sweepLists(table, from)),
      (from) => this.sweepLocations(from),
      ...instruments.flatMap(({ id }) => this.candleSweeps(id)),
    ];
    this.keptSince = database.keptSince();
    this.current = this.keptSince > 0 ? 0 : this.sweeps.length;
  }

  /** Since when the history is kept: a whole hour, so that no candle is cut. 0 = nothing was removed. */
  get historySince(): TimeMs {
    return this.keptSince;
  }

  /** Does one commit if there is something to remove. `clock` is the latest time of the history. Returns whether more is left. */
  step(clock: number): boolean {
    const { batch, sweeps } = this;
    const { keysPerStep = KEYS_PER_STEP } = this.retention;
    this.looks = 0;
    this.removeOldEquity(clock, keysPerStep);
    if (this.current === sweeps.length) this.advance(clock);
    for (; this.looks < keysPerStep && this.current < sweeps.length; this.looks++) {
      this.yieldNow();
      this.from = sweeps[this.current](this.from);
      if (this.from === undefined) this.current++;
    }
    if (!batch.isEmpty) this.database.commit(batch);
    return this.current < sweeps.length;
  }

  /** Hides the part of the history that is too old or too much, and begins to remove it. */
  private advance(clock: number): void {
    const { database, retention } = this;
    let since = retention.days === 0 ? 0 : clock - retention.days * DAY_MS;
    if (retention.maxBytes > 0 && usedBytes(database) > retention.maxBytes) {
      const begin = Math.max(this.keptSince, Date.parse(database.genesis.createdAt));
      since = Math.max(since, begin + Math.max(HOUR_MS, (clock - begin) / PARTS));
    }
    since = Math.min(since, clock - LEAST_KEPT_MS);
    since -= since % HOUR_MS;
    if (since <= this.keptSince) return;
    this.keptSince = since;
    this.batch.put(database.retention, RETENTION_KEY, { type: RetentionRecord.code, keptSince: since });
    this.current = 0;
  }

  /** Short intervals of accounts' equity are kept for a fixed time. */
  private removeOldEquity(clock: number, most: number): void {
    const { equity } = this.database;
    for (const series of EQUITY_SERIES) {
      const partition = partitionOf(series, equityKeptSince(series, clock));
      const range = { start: equityPartition(series, 0), end: equityPartition(series, partition) };
      for (const key of equity.keys(range)) {
        if (this.looks >= most) return;
        this.yieldNow();
        this.remove(equity, key);
      }
    }
  }

  /** A portion of the next list. A chunk goes when all its rows are hidden. */
  private sweepLists(table: SeriesTable<Message>, from: Key | undefined): Key | undefined {
    const keys = table.keys(rangeFrom(from)) as Generator<number[], void>;
    try {
      let key = keys.next().value ?? undefined;
      const list = key?.[0];
      for (let removed = 0; key !== undefined && key[0] === list; removed++) {
        if (removed === KEYS_PER_PORTION) return key;
        const next: number[] | undefined = keys.next().value ?? undefined;
        // No row of a chunk is later than the first row of the next one.
        const isHidden = next?.[0] === list ? next[1] < this.keptSince : this.isHidden(table, key);
        if (!isHidden) return [list + 1];
        this.removeChunk(table, key);
        key = next;
      }
      return key;
    } finally {
      keys.return();
    }
  }

  private isHidden(table: SeriesTable<Message>, key: number[]): boolean {
    if (key[1] >= this.keptSince) return false;
    let isHidden = true;
    eachRow(table, key, (row) => {
      const { time, updatedAt } = row as unknown as { time?: number; updatedAt: number };
      if ((time ?? updatedAt) >= this.keptSince) isHidden = false;
    });
    return isHidden;
  }

  private removeChunk(table: SeriesTable<Message>, key: Key): void {
    const { batch, database } = this;
    if (table === database.closedOrders) {
      eachRow(table, key, (row) => {
        if (row.type === ReferenceRecord.code) batch.remove(database.orders, (row as ReferenceRecord).id);
      });
    }
    this.remove(table, key);
  }

  /** A portion of the places of short-lived orders. Those of an instrument are in the order of time. */
  private sweepLocations(from: Key | undefined): Key | undefined {
    const { shortLivedOrders } = this.database;
    let removed = 0;
    let next: Key | undefined;
    shortLivedOrders.eachValue(rangeFrom(from), (key, rows) => {
      const [instrumentId] = key as [number, number];
      next = removed === KEYS_PER_PORTION ? key : [instrumentId + 1];
      if (removed === KEYS_PER_PORTION || this.hasKeptLocation(rows)) return false;
      next = undefined;
      removed++;
      this.remove(shortLivedOrders, key);
      return true;
    });
    return next;
  }

  private hasKeptLocation(rows: Uint8Array): boolean {
    const view = viewOf(rows);
    for (let at = 0; at < rows.length; at += messageBytes(view, at))
      if ((decodeShared(view, rows, at) as OrderLocationRecord).clock >= this.keptSince) return true;
    return false;
  }

  private candleSweeps(instrumentId: number): Sweep[] {
    const { candles } = this.database;
    const series = PRICE_TYPES.flatMap((priceType) =>
      PRUNED_INTERVALS.filter((interval) => hasCandles(priceType, interval)).map((interval) => ({
        ...{ instrumentId, priceType, interval },
      })),
    );
    return series.map((one) => (from) => {
      let last: Key | undefined;
      let removed = 0;
      for (const key of candles.keys({ start: from ?? candleKey(one, 0), end: candleKey(one, this.keptSince) })) {
        if (removed++ === KEYS_PER_PORTION) {
          last = key;
          break;
        }
        this.remove(candles, key);
      }
      return last;
    });
  }

  private remove(table: Table, key: Key): void {
    this.batch.remove(table, key);
    this.looks++;
  }
}

/** The lists from which rows are removed that no other row refers to. */
function listsOf({ fills, fundingPayments, deficits, trades, liquidations }: Database): SeriesTable<Message>[] {
  return [fills, fundingPayments, deficits, trades, liquidations];
}

/** Of the tables from which rows are removed: of the pages that are in use. Free pages take the next rows. */
function usedBytes(database: Database): number {
  const { closedOrders, orders, shortLivedOrders, candles } = database;
  const tables = [...listsOf(database), closedOrders, orders, shortLivedOrders, candles];
  return tables.reduce((sum, table) => sum + table.usedBytes(), 0);
}

const NO_ROWS = new Uint8Array(0);

function eachRow(table: SeriesTable<Message>, key: Key, visit: (row: Message) => void): void {
  const rows = table.firstValue({ start: key })?.rows ?? NO_ROWS;
  const view = viewOf(rows);
  for (let at = 0; at < rows.length; at += messageBytes(view, at)) visit(decodeShared(view, rows, at));
}

const rangeFrom = (start: Key | undefined): Range => (start === undefined ? {} : { start });
