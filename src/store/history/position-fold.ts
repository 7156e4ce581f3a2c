import { must } from "../../assert.ts";
import { CROSS, isCustomer, serialToId } from "../../core/base/enums.ts";
import type { Quanta, TimeMs } from "../../core/base/units.ts";
import {
  AccountOpened,
  type Event,
  FundingPaid,
  LeverageSet,
  MarginModeSet,
  PositionTransferred,
  Traded,
} from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank } from "../../core/protocol/message-schema.ts";
import type { Database } from "../database/database.ts";
import { type ClosedPositionRecord, type IndexRecord, PositionStateRecord } from "../database/history-schema.ts";
import { type SeriesPosition, SeriesWriter } from "../database/series.ts";
import type { Key } from "../database/table.ts";
import type { WriteBatch } from "../database/write-batch.ts";
import {
  applyChange,
  applyFunding,
  deleveragedChange,
  liquidatedChange,
  makerChange,
  type PositionChange,
  type PositionState,
  takerChange,
} from "./position-records.ts";

/** Beyond this many, positions leave the cache and are read from the database when an event names them. */
const MAX_CACHED_POSITIONS = 50_000;
/** A chunk of the largest rows stays below 4 KB. */
const POSITIONS_PER_CHUNK = 24;
/** Leverage and margin mode of an account whose settings are older than the position records. */
const UNKNOWN_LEVERAGE = 0;
const UNKNOWN_MODE = -1;

export const positionStateKey = (instrumentId: number, accountId: number): Key => ["POSITION", instrumentId, accountId];
/** Whether the index has folded every event of the account. */
export const isTracked = ({ firstTrackedAccount }: IndexRecord, accountId: number): boolean =>
  firstTrackedAccount !== 0 && accountId >= firstTrackedAccount;

/** The table also has lists of accounts under their own ids. */
export const closedPositionList = (accountId: number): number => -accountId;

/**
 * Maintains a record of every position of a customer that was closed. The sums of open positions are rows of the database,
 * too, so that a start continues with them. An index that an older version began has no sums of positions that were open
 * then. Their records begin with the first event, and openedAt is 0.
 */
export class PositionFold {
  private readonly database: Database;
  private readonly instruments: ReadonlyMap<number, Instrument>;
  private readonly closed: SeriesWriter<ClosedPositionRecord>;
  private readonly states = new Map<number, PositionState>();
  /** Those that this batch has changed. */
  private readonly changed = new Set<PositionState>();
  private readonly index: IndexRecord;

  /** Notes in `index` which accounts it follows from their beginning. */
  constructor(database: Database, instruments: ReadonlyMap<number, Instrument>, index: IndexRecord) {
    this.database = database;
    this.instruments = instruments;
    this.index = index;
    this.closed = new SeriesWriter(database.closedPositions, POSITIONS_PER_CHUNK);
  }

  apply(batch: WriteBatch, event: Event, instrumentId: number, place: SeriesPosition, time: TimeMs): void {
    switch (event.type) {
      case Traded.code: {
        const quanta = this.notional(instrumentId, event.priceTicks, event.quantityLots);
        this.move(batch, takerChange(event, quanta), instrumentId, place, time);
        this.move(batch, makerChange(event, quanta), instrumentId, place, time);
        break;
      }
      case PositionTransferred.code:
        this.move(batch, liquidatedChange(event), instrumentId, place, time);
        this.move(batch, deleveragedChange(event), instrumentId, place, time);
        break;
      case FundingPaid.code:
        if (isCustomer(event.accountId)) applyFunding(this.change(instrumentId, event.accountId), event);
        break;
      case LeverageSet.code:
        if (isCustomer(event.accountId)) this.change(instrumentId, event.accountId).leverage = event.leverage;
        break;
      case MarginModeSet.code:
        if (isCustomer(event.accountId)) this.change(instrumentId, event.accountId).marginMode = event.marginMode;
        break;
      case AccountOpened.code:
        this.index.firstTrackedAccount ||= event.accountId;
        break;
    }
  }

  /** Puts everything that is not written yet into the batch. */
  flush(batch: WriteBatch): void {
    const { positionStates } = this.database;
    for (const state of this.changed) {
      const key = positionStateKey(state.instrumentId, state.accountId);
      if (this.isInitial(state)) batch.remove(positionStates, key);
      else batch.put(positionStates, key, { ...state, exitQuanta: state.exitQuanta.toString() });
    }
    this.changed.clear();
    this.closed.flush(batch);
  }

  /** Call it when the batch is in the database. */
  trimCache(): void {
    if (this.states.size > MAX_CACHED_POSITIONS) this.states.clear();
  }

  private move(
    batch: WriteBatch,
    change: PositionChange,
    instrumentId: number,
    place: SeriesPosition,
    time: TimeMs,
  ): void {
    const { accountId } = change;
    if (!isCustomer(accountId)) return;
    const record = applyChange(this.change(instrumentId, accountId), change, time, place.sequence);
    if (record !== null) this.closed.append(batch, closedPositionList(accountId), place, record);
  }

  /** The state, which the event is about to change. */
  private change(instrumentId: number, accountId: number): PositionState {
    const id = serialToId(accountId, instrumentId);
    let state = this.states.get(id);
    if (state === undefined) {
      state = this.read(instrumentId, accountId) ?? this.initial(instrumentId, accountId);
      this.states.set(id, state);
    }
    this.changed.add(state);
    return state;
  }

  private read(instrumentId: number, accountId: number): PositionState | undefined {
    const row = this.database.positionStates.get(positionStateKey(instrumentId, accountId));
    return row && { ...row, exitQuanta: BigInt(row.exitQuanta) };
  }

  private initial(instrumentId: number, accountId: number): PositionState {
    const state = { ...blank(PositionStateRecord), instrumentId, accountId, exitQuanta: 0n };
    const isKnown = isTracked(this.index, accountId);
    state.leverage = isKnown ? this.instrument(instrumentId).defaultLeverage : UNKNOWN_LEVERAGE;
    state.marginMode = isKnown ? CROSS : UNKNOWN_MODE;
    return state;
  }

  private isInitial({ instrumentId, accountId, sizeLots, leverage, marginMode }: PositionState): boolean {
    if (sizeLots !== 0) return false;
    const initial = this.initial(instrumentId, accountId);
    return leverage === initial.leverage && marginMode === initial.marginMode;
  }

  private notional(instrumentId: number, priceTicks: number, quantityLots: number): Quanta {
    return priceTicks * quantityLots * this.instrument(instrumentId).quantaPerTickLot;
  }

  private instrument(instrumentId: number): Instrument {
    return must(this.instruments.get(instrumentId), `instrument ${instrumentId} in the configuration`);
  }
}
