import type { Quanta, TimeMs } from "../../core/base/units.ts";
import { closeTimeOf, type EquityInterval, openTimeOf } from "../../core/market-data/candles.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Database } from "../database/database.ts";
import type { EquityRecord } from "../database/history-schema.ts";
import { type Page, type PageQuery, parseCursor, printCursor } from "../database/pages.ts";
import { candleKey, PRUNED_INTERVALS } from "./candle-fold.ts";
import {
  EQUITY_SERIES,
  type EquitySeries,
  equityKeptSince,
  equityPartition,
  LONGEST_SERIES,
  partitionOf,
  readEquity,
} from "./equity-fold.ts";

/** The most rows of accounts and prices that one call reads. */
const MAX_ROWS_READ = 4000;

export interface EquityQuery extends PageQuery {
  interval: EquityInterval;
}

/** The equity of an account at a time, in ms. */
export interface Equity {
  readonly time: TimeMs;
  readonly walletQuanta: Quanta;
  readonly unrealizedQuanta: Quanta;
  /** Deposits less withdrawals until then. */
  readonly depositedQuanta: Quanta;
}

/**
 * The account's equity at the ends of intervals, from its first event on. For the interval that still runs it is the current
 * one. `now`: the latest time in the index. Times before it that an interval's rows no longer reach have no entry.
 */
export function readEquityHistory(
  database: Database,
  accountId: number,
  query: EquityQuery,
  instrumentOf: (id: number) => Instrument,
  now: TimeMs,
): Page<Equity> {
  const { limit, interval, cursor, sort, startTime = 0, endTime = now } = query;
  const reader = new EquityReader(database, accountId, interval, instrumentOf);
  const first = Math.max(startTime, reader.firstTime(now));
  const last = Math.min(endTime, now);
  const isAscending = sort === "ASC";
  const next = (time: TimeMs): TimeMs => endOf(interval, isAscending ? time : time - 1, isAscending, now);
  const [resume] = cursor === undefined ? [] : parseCursor(cursor, 1);
  const data: Equity[] = [];
  let time = isAscending ? endOf(interval, first - 1, true, now) : last === now ? now : openTimeOf(interval, last);
  // An ascending page that ends before the running interval leaves the time of that moment, which is no end of an interval.
  if (resume !== undefined)
    time = isAscending ? Math.max(time, endOf(interval, resume - 1, true, now)) : Math.min(time, resume);
  for (; isAscending ? time <= last : time >= first && time > 0; time = next(time)) {
    if (data.length === limit || reader.rowsRead > MAX_ROWS_READ) return { data, nextCursor: printCursor([time]) };
    const equity = reader.at(time, time === now);
    if (equity !== null) data.push(equity);
    if (isAscending && time === now) break;
  }
  return { data, nextCursor: null };
}

/** The next end of an interval after `time`, or the last one at it or before. The interval that runs ends now. */
function endOf(interval: EquityInterval, time: TimeMs, isAfter: boolean, now: TimeMs): TimeMs {
  const openTime = openTimeOf(interval, time);
  return isAfter ? Math.min(closeTimeOf(interval, openTime) + 1, now) : openTime;
}

class EquityReader {
  rowsRead = 0;
  private readonly database: Database;
  private readonly accountId: number;
  private readonly interval: EquityInterval;
  private readonly instrumentOf: (id: number) => Instrument;
  private readonly series: EquitySeries;

  constructor(
    database: Database,
    accountId: number,
    interval: EquityInterval,
    instrumentOf: (id: number) => Instrument,
  ) {
    this.database = database;
    this.accountId = accountId;
    this.interval = interval;
    this.instrumentOf = instrumentOf;
    this.series = EQUITY_SERIES.findLast(
      (each) => closeTimeOf(each.interval, 0) <= closeTimeOf(interval, 0),
    ) as EquitySeries;
  }

  /** Since when the account's equity is known in these intervals. */
  firstTime(now: TimeMs): TimeMs {
    const { database, accountId, interval, series } = this;
    const account = [...equityPartition(LONGEST_SERIES, 0), accountId];
    const first = database.equity.first({ start: account, end: [...account, Number.MAX_SAFE_INTEGER] });
    const openTime = first ? openTimeOf(LONGEST_SERIES.interval, first.time) : Number.POSITIVE_INFINITY;
    const pricesSince = PRUNED_INTERVALS.includes(interval) ? database.keptSince() : 0;
    // The holdings of an account at the beginning of a partition are in the one before it.
    return Math.max(openTime, equityKeptSince(series, now) + 1, pricesSince);
  }

  /** Null if the account had no event yet. `isNow`: changes of this very millisecond count, too. */
  at(time: TimeMs, isNow: boolean): Equity | null {
    const row = this.rowBefore(isNow ? time + 1 : time);
    if (row === undefined) return null;
    const { walletQuanta, depositedQuanta } = row;
    let unrealizedQuanta = 0;
    for (const [instrumentId, sizeLots, costQuanta] of row.positions) {
      const markTicks = this.markBefore(instrumentId, isNow ? time + 1 : time);
      // There is none only if the prices of that time are no longer kept.
      if (markTicks !== undefined)
        unrealizedQuanta += sizeLots * markTicks * this.instrumentOf(instrumentId).quantaPerTickLot - costQuanta;
    }
    return { time, walletQuanta, unrealizedQuanta, depositedQuanta };
  }

  /** Without a row in the partition nothing has changed since the day before it. */
  private rowBefore(before: TimeMs): EquityRecord | undefined {
    const { database, series, accountId } = this;
    this.rowsRead++;
    const row = readEquity(database, series, accountId, before);
    if (row !== undefined || series === LONGEST_SERIES) return row;
    this.rowsRead++;
    const partitionBegin = partitionOf(series, before - 1) * series.partitionMs;
    return readEquity(database, LONGEST_SERIES, accountId, partitionBegin);
  }

  private markBefore(instrumentId: number, before: TimeMs): number | undefined {
    const { candles } = this.database;
    const series = { instrumentId, priceType: "MARK", interval: this.interval } as const;
    this.rowsRead++;
    // Usually there is one, and a lookup costs half as much as a search.
    const closeTicks = candles.get(candleKey(series, openTimeOf(this.interval, before - 1)))?.closeTicks;
    if (closeTicks !== undefined) return closeTicks;
    this.rowsRead++;
    return candles.first({ start: candleKey(series, before - 1), end: candleKey(series, -1), reverse: true })
      ?.closeTicks;
  }
}
