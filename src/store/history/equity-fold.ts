import { must } from "../../assert.ts";
import { isCustomer } from "../../core/base/enums.ts";
import type { Quanta, QuantityLots, TimeMs } from "../../core/base/units.ts";
import { type EquityInterval, openTimeOf } from "../../core/market-data/candles.ts";
import {
  AccountOpened,
  DeficitCovered,
  Deposited,
  type Event,
  FundingPaid,
  PositionTransferred,
  Traded,
  WithdrawalRequested,
} from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Database } from "../database/database.ts";
import { EquityRecord, type IndexRecord } from "../database/history-schema.ts";
import type { Key } from "../database/table.ts";
import type { WriteBatch } from "../database/write-batch.ts";
import {
  deleveragedChange,
  liquidatedChange,
  makerChange,
  type PositionChange,
  takerChange,
} from "./position-records.ts";

/** Beyond this many, accounts leave the cache and are read from the database when an event names them. */
const MAX_CACHED_ACCOUNTS = 50_000;
const DAY_MS = 86_400_000;

/** The rows of one length. Those of a partition go together, so that removing old ones reads no others. */
export interface EquitySeries {
  readonly interval: EquityInterval;
  readonly partitionMs: number;
  /** How many partitions are kept, with the one that is under way. */
  readonly partitions: number;
}

/** The last one is kept for ever: every account has its newest row in it. */
export const EQUITY_SERIES = [
  { interval: "1m", partitionMs: DAY_MS, partitions: 2 },
  { interval: "1h", partitionMs: 30 * DAY_MS, partitions: 3 },
  { interval: "1d", partitionMs: Number.POSITIVE_INFINITY, partitions: 1 },
] as const satisfies EquitySeries[];
export const LONGEST_SERIES: EquitySeries = EQUITY_SERIES[2];

export const partitionOf = ({ partitionMs }: EquitySeries, time: TimeMs): number => Math.floor(time / partitionMs);

/** Rows that begin before this time are removed, or will be. */
export const equityKeptSince = (series: EquitySeries, now: TimeMs): TimeMs =>
  series.partitionMs === Number.POSITIVE_INFINITY
    ? 0
    : (partitionOf(series, now) - series.partitions + 1) * series.partitionMs;

/** The table is that of the candles. */
const equityKey = (series: EquitySeries, accountId: number, openTime: TimeMs): Key => [
  ...equityPartition(series, partitionOf(series, openTime)),
  accountId,
  openTime,
];

/** Comes before all keys of the partition. */
export const equityPartition = ({ interval }: EquitySeries, partition: number): (number | string)[] => [
  `EQUITY ${interval}`,
  partition,
];

interface OpenPosition {
  sizeLots: QuantityLots;
  /** Signed: size × mark less this is the unrealized profit. */
  costQuanta: Quanta;
}

interface AccountState {
  readonly accountId: number;
  /** Of the last change. */
  time: TimeMs;
  walletQuanta: Quanta;
  depositedQuanta: Quanta;
  /** By instrument. */
  readonly positions: Map<number, OpenPosition>;
  /** Not all of it is in the batch. */
  isChanged: boolean;
}

/**
 * Maintains the money and the positions that each customer had at the end of a minute, an hour and a day in which they have
 * changed. With the candles of mark prices that gives the equity at any time: see equity-history.ts. So no price writes a
 * row, and an account has at most three rows for each minute with an event of its own.
 *
 * All events of an account must be folded, so accounts that are older than these rows have none.
 */
export class EquityFold {
  private readonly database: Database;
  private readonly instruments: ReadonlyMap<number, Instrument>;
  private readonly index: IndexRecord;
  private readonly states = new Map<number, AccountState>();
  /** Those that this batch has changed. */
  private readonly changed = new Set<AccountState>();

  /** Notes in `index` which accounts it follows. */
  constructor(database: Database, instruments: ReadonlyMap<number, Instrument>, index: IndexRecord) {
    this.database = database;
    this.instruments = instruments;
    this.index = index;
  }

  apply(batch: WriteBatch, event: Event, instrumentId: number, time: TimeMs): void {
    switch (event.type) {
      case AccountOpened.code:
        this.index.firstEquityAccount ||= event.accountId;
        break;
      case Deposited.code:
        this.transfer(batch, event.accountId, event.amountQuanta, time);
        break;
      case WithdrawalRequested.code:
        this.transfer(batch, event.accountId, -event.amountQuanta, time);
        break;
      case Traded.code: {
        const { quantaPerTickLot } = must(this.instruments.get(instrumentId), "an instrument of the configuration");
        const quanta = event.priceTicks * event.quantityLots * quantaPerTickLot;
        this.move(batch, takerChange(event, quanta), instrumentId, time);
        this.move(batch, makerChange(event, quanta), instrumentId, time);
        break;
      }
      case PositionTransferred.code:
        this.move(batch, liquidatedChange(event), instrumentId, time);
        this.move(batch, deleveragedChange(event), instrumentId, time);
        break;
      case FundingPaid.code:
      case DeficitCovered.code:
        if (this.follows(event.accountId)) this.change(batch, event.accountId, time).walletQuanta += event.amountQuanta;
        break;
    }
  }

  /** Puts everything that is not written yet into the batch. */
  flush(batch: WriteBatch): void {
    for (const state of this.changed) {
      write(this.database, batch, state);
      state.isChanged = false;
    }
    this.changed.clear();
  }

  /** Call it when the batch is in the database. */
  trimCache(): void {
    if (this.states.size > MAX_CACHED_ACCOUNTS) this.states.clear();
  }

  private transfer(batch: WriteBatch, accountId: number, amountQuanta: Quanta, time: TimeMs): void {
    if (!this.follows(accountId)) return;
    const state = this.change(batch, accountId, time);
    state.walletQuanta += amountQuanta;
    state.depositedQuanta += amountQuanta;
  }

  private move(batch: WriteBatch, change: PositionChange, instrumentId: number, time: TimeMs): void {
    const { accountId, lots, sizeLots, quanta, feeQuanta, realizedQuanta } = change;
    if (!this.follows(accountId)) return;
    const state = this.change(batch, accountId, time);
    state.walletQuanta += realizedQuanta - feeQuanta;
    const costQuanta = state.positions.get(instrumentId)?.costQuanta ?? 0;
    if (sizeLots === 0) state.positions.delete(instrumentId);
    else {
      const paidQuanta = lots > 0 ? quanta : -quanta;
      state.positions.set(instrumentId, { sizeLots, costQuanta: costQuanta + paidQuanta + realizedQuanta });
    }
  }

  private follows(accountId: number): boolean {
    const { firstEquityAccount } = this.index;
    return isCustomer(accountId) && firstEquityAccount !== 0 && accountId >= firstEquityAccount;
  }

  /** The state, which an event is about to change. */
  private change(batch: WriteBatch, accountId: number, time: TimeMs): AccountState {
    let state = this.states.get(accountId);
    if (state === undefined) {
      state = this.read(accountId);
      this.states.set(accountId, state);
    }
    const { interval } = EQUITY_SERIES[0];
    // The batch may be of hours. The state at the end of a minute is that before the first change of a later one.
    if (state.isChanged && openTimeOf(interval, time) > openTimeOf(interval, state.time))
      write(this.database, batch, state);
    // Times of different actors may differ a little from the log's order.
    state.time = Math.max(state.time, time);
    state.isChanged = true;
    this.changed.add(state);
    return state;
  }

  private read(accountId: number): AccountState {
    const row = readEquity(this.database, LONGEST_SERIES, accountId, Number.MAX_SAFE_INTEGER);
    const { time = 0, walletQuanta = 0, depositedQuanta = 0, positions = [] } = row ?? {};
    const open = positions.map(([id, sizeLots, costQuanta]) => [id, { sizeLots, costQuanta }] as const);
    return { accountId, time, walletQuanta, depositedQuanta, positions: new Map(open), isChanged: false };
  }
}

function write(database: Database, batch: WriteBatch, state: AccountState): void {
  const { accountId, time, walletQuanta, depositedQuanta } = state;
  const positions = [...state.positions].map(([id, { sizeLots, costQuanta }]) => [id, sizeLots, costQuanta] as const);
  const rows = [
    batch.encodeRow({ type: EquityRecord.code, time, walletQuanta, depositedQuanta, positions } as EquityRecord),
  ];
  for (const series of EQUITY_SERIES)
    batch.putRows(database.equity, equityKey(series, accountId, openTimeOf(series.interval, time)), rows);
}

/** The account's newest row of the series that begins before the time `before` and in its partition. */
export function readEquity(
  database: Database,
  series: EquitySeries,
  accountId: number,
  before: TimeMs,
): EquityRecord | undefined {
  const start = equityKey(series, accountId, before - 1);
  const end = [...equityPartition(series, partitionOf(series, before - 1)), accountId];
  return database.equity.first({ start, end, reverse: true });
}
