import { INSURANCE_ACCOUNT, idToInstrumentId } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import {
  type Candle,
  type CandleSeries,
  closeTimeOf,
  type OpenInterestInterval,
  openTimeOf,
} from "../../core/market-data/candles.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Transfer, TransferKind } from "../../core/protocol/payloads.ts";
import { hashOfClientId } from "../database/client-order-table.ts";
import type { Database } from "../database/database.ts";
import {
  type ClosedPositionRecord,
  type FillRecord,
  type FundingPaymentRecord,
  type FundingRateRecord,
  type FundMovementRecord,
  isOpen,
  type OperatorActRecord,
  OrderRecord,
  type TradeRecord,
} from "../database/history-schema.ts";
import {
  isWithin,
  type Page,
  type PageQuery,
  parseCursor,
  printCursor,
  TRADE_CURSOR_NUMBERS,
} from "../database/pages.ts";
import type { SeriesQuery, SeriesTable } from "../database/series.ts";
import { type LedgerEntry, type LedgerQuery, readAccountLedger } from "./account-ledger.ts";
import { candleKey, candlesKeptSince, toCandle } from "./candle-fold.ts";
import { isTextRun, runsOf } from "./client-id-runs.ts";
import { type Equity, type EquityQuery, readEquityHistory } from "./equity-history.ts";
import { findOrder } from "./find-order.ts";
import { fundingRateKey } from "./funding-fold.ts";
import { PRICE_ACTS, readIndex, STATUS_ACTS } from "./history-fold.ts";
import { nextOpenInterest, readOpenInterest } from "./open-interest-fold.ts";
import { closedPositionList } from "./position-fold.ts";

/** With those of the first and the last minute, which are not whole. */
const MINUTE_CANDLES_PER_DAY = 24 * 60 + 1;
/** Takes less than half a millisecond. */
const GENERATIONS_PER_CALL = 128;

interface AccountQuery extends PageQuery {
  instrumentId?: number | undefined;
}

interface ClosedOrderQuery extends AccountQuery {
  /** Of STATUS_*; none = all. */
  statuses?: readonly number[] | undefined;
}

interface FillQuery extends AccountQuery {
  throughSequence?: number;
  /** Of EXEC_*. */
  execType?: number | undefined;
}

/** A payment with its rate. */
export interface FundingPayment {
  readonly payment: FundingPaymentRecord;
  readonly rate: FundingRateRecord;
}

export interface OpenInterestQuery extends PageQuery {
  interval: OpenInterestInterval;
}

/** The open interest at a time, in ms. */
export interface OpenInterest {
  readonly time: number;
  readonly openInterestLots: number;
  readonly markTicks: number;
}

/** A part of a search for an order by its client order id. */
interface ClientIdSearch {
  readonly order: OrderRecord | undefined;
  /** Where to go on if there is no order so far; null = everything was searched. */
  readonly olderThan: number | null;
}

export interface CandleQuery {
  limit: number;
  /** Both are compared with a candle's openTime and are included. */
  startTime?: number | undefined;
  endTime?: number | undefined;
}

/**
 * Reads the history index, which the store thread maintains. For any thread. Every call sees the latest commit. All lists are
 * newest first unless the query's `sort` is ASC, and go back to where the history that is kept begins. Throws
 * DatabaseCorruptError for damaged rows and BadCursorError for a bad cursor.
 */
export class History {
  private readonly database: Database;
  /** A time that the index reaches. */
  private reached: TimeMs = 0;

  constructor(database: Database) {
    this.database = database;
  }

  /** The order, open or not; undefined if there is none. The caller must check that the account may see it. */
  orderById(orderId: number): OrderRecord | undefined {
    this.database.refresh();
    return this.find(orderId);
  }

  /** Whether an order of this time is open, as far as the index knows: true while it does not reach that time. */
  isOpen(orderId: number, placedAt: TimeMs): boolean {
    const { database } = this;
    // One look-up: open orders are all in this table. It need not see the latest commit, since what closes meanwhile counts as open.
    const order = database.orders.get(orderId);
    if (order !== undefined) return isOpen(order);
    if (placedAt > this.reached) this.reached = readIndex(database).clock;
    return placedAt > this.reached;
  }

  /**
   * The latest order that the account placed with this client order id. The number of reads is bounded. An index of an older
   * version may hold many generations of ids, and one call reads some of them. Then `olderThan` is where the next call must
   * go on.
   */
  orderByClientId(accountId: number, clientOrderId: string, olderThan = Number.MAX_SAFE_INTEGER): ClientIdSearch {
    const { database } = this;
    database.refresh();
    const { clientOrders } = database;
    const index = readIndex(database);
    const hash = hashOfClientId(accountId, clientOrderId);
    // Also if the search goes on: meanwhile the store thread may have turned a generation into a run.
    for (const run of runsOf(index)) {
      const orderIds = isTextRun(run)
        ? [clientOrders.findInTextRun(run.id, accountId, clientOrderId)].filter((orderId) => orderId !== 0)
        : clientOrders.findInRun(run.id, hash);
      for (const orderId of orderIds) {
        const order = this.findNamed(orderId);
        if (order?.accountId === accountId && order.clientOrderId === clientOrderId) return { order, olderThan: null };
      }
    }
    let generation = Math.min(index.clientIdGeneration, olderThan - 1);
    for (const end = generation - GENERATIONS_PER_CALL; generation >= 0 && generation > end; generation--) {
      const found = clientOrders.get([generation, accountId, clientOrderId]);
      if (found !== undefined) return { order: this.findNamed(found.orderId), olderThan: null };
    }
    return { order: undefined, olderThan: generation < 0 ? null : generation + 1 };
  }

  /** The account's closed orders, in the order of their closing. Times are those of the closing. */
  ordersOf(accountId: number, asked: ClosedOrderQuery): Page<OrderRecord> {
    const query = this.keptPart(asked);
    const { database } = this;
    const { statuses } = query;
    return database.closedOrders.read(accountId, query, (entry) => {
      const isShortLived = entry.type === OrderRecord.code;
      const [id, time] = isShortLived ? [entry.orderId, entry.updatedAt] : [entry.id, entry.time];
      if (!isSelected(query, idToInstrumentId(id), time)) return null;
      if (statuses !== undefined && entry.status !== 0 && !statuses.includes(entry.status)) return null;
      const order = isShortLived ? entry : database.orders.require(id);
      return statuses === undefined || statuses.includes(order.status) ? order : null;
    });
  }

  /** The account's fills, without those after `throughSequence`. */
  fillsOf(accountId: number, asked: FillQuery): Page<FillRecord> {
    const query = this.keptPart(asked);
    return this.database.fills.read(accountId, query, (fill) =>
      isWanted(query, fill) && isKnown(query, fill) ? fill : null,
    );
  }

  /** The account's closed positions, without those closed after `throughSequence`. Times are those of the closing. */
  closedPositionsOf(accountId: number, asked: AccountQuery & { throughSequence?: number }): Page<ClosedPositionRecord> {
    const query = this.keptPart(asked);
    return this.database.closedPositions.read(closedPositionList(accountId), query, (position) =>
      isSelected(query, position.instrumentId, position.time) && isKnown(query, position) ? position : null,
    );
  }

  /** The fills up to the order's last change. They are complete if they add up to its filled quantity. */
  fillsOfOrder(order: OrderRecord, asked: FillQuery): Page<FillRecord> {
    const query = this.keptPart(asked);
    const { orderId, accountId, createdAt, updatedAt, sequence } = order;
    const { startTime = 0, endTime = Number.MAX_SAFE_INTEGER } = query;
    const lifetime = { startTime: Math.max(startTime, createdAt), endTime: Math.min(endTime, updatedAt) };
    return this.database.fills.read(accountId, { ...query, ...lifetime, throughSequence: sequence }, (fill) =>
      fill.orderId === orderId && isWanted(query, fill) ? fill : null,
    );
  }

  /** The account's deposits or withdrawals, without those requested after `throughSequence`. Times are those of the request. */
  transfersOf(accountId: number, kind: TransferKind, query: SeriesQuery): Page<Transfer> {
    const { database } = this;
    database.refresh();
    const list = kind === "DEPOSIT" ? database.deposits : database.withdrawals;
    return list.read(accountId, query, ({ id, time }) => {
      if (!isWithin(time, query)) return null;
      const row = database.transfers.require(id);
      return isKnown(query, row) ? row.transfer : null;
    });
  }

  /** The symbol's trades. */
  tradesOf(instrumentId: number, query: PageQuery): Page<TradeRecord> {
    return readTrades(this.database.trades, instrumentId, this.keptPart(query));
  }

  /** The symbol's public liquidations and position transfers. */
  liquidationsOf(instrumentId: number, query: PageQuery): Page<TradeRecord> {
    return readTrades(this.database.liquidations, instrumentId, this.keptPart(query));
  }

  /** The symbol's funding rates. Times are the ends of the intervals. */
  fundingRatesOf(instrumentId: number, query: PageQuery): Page<FundingRateRecord> {
    const { limit, cursor, sort, startTime = 0, endTime = Number.MAX_SAFE_INTEGER - 1 } = query;
    const isAscending = sort === "ASC";
    const [resume] = cursor === undefined ? [] : parseCursor(cursor, 1);
    const [first, last] = isAscending ? [startTime, endTime + 1] : [endTime, startTime - 1];
    const from = resume === undefined ? first : isAscending ? Math.max(resume, first) : Math.min(resume, first);
    const start = fundingRateKey(instrumentId, from);
    const end = fundingRateKey(instrumentId, last);
    this.database.refresh();
    const data: FundingRateRecord[] = [];
    this.database.fundingRates.each({ start, end, reverse: !isAscending, limit: limit + 1 }, (_key, rate) => {
      data.push(rate);
    });
    const next = data.length > limit ? data.pop() : undefined;
    return { data, nextCursor: next === undefined ? null : printCursor([next.fundingTime]) };
  }

  /**
   * The symbol's open interest at the ends of intervals. For an interval that still runs at `now` it is the current one. An
   * interval without a trade or a price has no entry.
   */
  openInterestOf(instrumentId: number, query: OpenInterestQuery, now: number): Page<OpenInterest> {
    const { limit, interval, cursor, startTime = 0, endTime = now } = query;
    this.database.refresh();
    if (query.sort === "ASC") return readOpenInterestAscending(this.database, instrumentId, query, now);
    const data: OpenInterest[] = [];
    // Rows that begin here or later are beyond the end of the query, or are newer than the cursor.
    let before = endTime < now ? openTimeOf(interval, endTime) : now + 1;
    if (cursor !== undefined) before = Math.min(before, ...parseCursor(cursor, 1));
    for (;;) {
      const record = readOpenInterest(this.database, instrumentId, before);
      if (record === undefined) break;
      const { openInterestLots, markTicks } = record;
      const openTime = openTimeOf(interval, record.openTime);
      const time = Math.min(closeTimeOf(interval, openTime) + 1, now);
      if (time < startTime) break;
      if (data.length === limit) return { data, nextCursor: printCursor([before]) };
      data.push({ time, openInterestLots, markTicks });
      before = openTime;
    }
    return { data, nextCursor: null };
  }

  /** The account's funding payments, without those after `throughSequence`. Times are those of the payments. */
  fundingOf(accountId: number, asked: AccountQuery & { throughSequence?: number }): Page<FundingPayment> {
    const { database } = this;
    const query = this.keptPart(asked);
    return database.fundingPayments.read(accountId, query, (payment) => {
      const { instrumentId, fundingTime, time } = payment;
      if (!isSelected(query, instrumentId, time) || !isKnown(query, payment)) return null;
      return { payment, rate: database.fundingRates.require(fundingRateKey(instrumentId, fundingTime)) };
    });
  }

  /** Every change of the account's money that is kept: see account-ledger.ts. */
  ledgerOf(accountId: number, query: LedgerQuery): Page<LedgerEntry> {
    return readAccountLedger(this.database, accountId, this.keptPart(query));
  }

  /** The account's equity at the ends of intervals: see equity-history.ts. Throws BadCursorError. */
  equityOf(accountId: number, query: EquityQuery, instrumentOf: (id: number) => Instrument): Page<Equity> {
    const { database } = this;
    database.refresh();
    return readEquityHistory(database, accountId, query, instrumentOf, readIndex(database).clock);
  }

  /** Every change of the insurance fund's money. */
  fundMovements(query: AccountQuery): Page<FundMovementRecord> {
    this.database.refresh();
    return this.database.fundMovements.read(INSURANCE_ACCOUNT, query, (movement) =>
      isSelected(query, movement.actorId, movement.time) ? movement : null,
    );
  }

  /** Actions of operators: index prices that they set, or everything else. */
  operatorActs(query: AccountQuery & { isPrice: boolean }): Page<OperatorActRecord> {
    this.database.refresh();
    return this.database.operatorActs.read(query.isPrice ? PRICE_ACTS : STATUS_ACTS, query, (act) =>
      isSelected(query, act.instrumentId, act.time) ? act : null,
    );
  }

  /**
   * At most `limit` candles in ascending order of time, from `startTime` on. Without `startTime` the latest, up to `endTime`.
   * Intervals without trades or prices have no candle.
   */
  candles(series: CandleSeries, query: CandleQuery): Candle[] {
    const { database } = this;
    const { limit, startTime, endTime = Number.MAX_SAFE_INTEGER - 1 } = query;
    database.refresh();
    const isLatest = startTime === undefined;
    const keptSince = candlesKeptSince(series.interval, () => database.keptSince());
    const from = Math.max(startTime ?? 0, keptSince);
    const range = isLatest
      ? { start: candleKey(series, endTime), end: candleKey(series, from - 1), reverse: true }
      : { start: candleKey(series, from), end: candleKey(series, endTime + 1) };
    const candles: Candle[] = [];
    database.candles.each({ ...range, limit }, (_key, record) => {
      candles.push(toCandle(record));
    });
    return isLatest ? candles.reverse() : candles;
  }

  /**
   * One-minute candles from the one that holds `fromTime` to the latest, for the 24-hour statistics at a start. At most those of
   * a day: there are more if the clock was set back.
   */
  minuteCandles(instrumentId: number, fromTime: number): Candle[] {
    const startTime = openTimeOf("1m", fromTime);
    const series = { instrumentId, priceType: "LAST", interval: "1m" } as const;
    return this.candles(series, { limit: MINUTE_CANDLES_PER_DAY }).filter(({ openTime }) => openTime >= startTime);
  }

  /** Since when the history is kept, in ms; 0 = from the beginning. */
  keptSince(): number {
    this.database.refresh();
    return this.database.keptSince();
  }

  /** The query without the time of which rows may be gone. Makes the next read see the latest commit. */
  private keptPart<Query extends PageQuery>(query: Query): Query {
    const since = this.keptSince();
    return since > (query.startTime ?? 0) ? { ...query, startTime: since } : query;
  }

  private find(orderId: number): OrderRecord | undefined {
    const order = findOrder(this.database, orderId);
    const isShown = order === undefined || isOpen(order) || order.updatedAt >= this.database.keptSince();
    return isShown ? order : undefined;
  }

  /** The order that a client order id leads to. Ids of orders that retention has removed may be left. */
  private findNamed(orderId: number): OrderRecord | undefined {
    const order = this.find(orderId);
    return order === undefined && this.database.keptSince() === 0 ? this.database.orders.require(orderId) : order;
  }
}

export type CandleHistory = Pick<History, "candles">;

/** Whether a row of this instrument and time is one that the query asks for. */
const isSelected = (query: AccountQuery, instrumentId: number, time: number): boolean =>
  (query.instrumentId === undefined || instrumentId === query.instrumentId) && isWithin(time, query);

const isKnown = ({ throughSequence = Number.MAX_SAFE_INTEGER }: SeriesQuery, row: { readonly sequence: number }) =>
  row.sequence <= throughSequence;

function readOpenInterestAscending(
  database: Database,
  instrumentId: number,
  query: OpenInterestQuery,
  now: number,
): Page<OpenInterest> {
  const { limit, interval, cursor, startTime = 0, endTime = now } = query;
  const data: OpenInterest[] = [];
  // The interval that ends at startTime has its row at that time.
  let from = openTimeOf(interval, Math.max(startTime - 1, 0));
  if (cursor !== undefined) from = Math.max(from, ...parseCursor(cursor, 1));
  for (;;) {
    const next = nextOpenInterest(database, instrumentId, from);
    if (next === undefined || next.openTime > now) break;
    const closeTime = closeTimeOf(interval, openTimeOf(interval, next.openTime));
    const time = Math.min(closeTime + 1, now);
    if (time > endTime) break;
    if (data.length === limit) return { data, nextCursor: printCursor([from]) };
    const newest = readOpenInterest(database, instrumentId, Math.min(closeTime, now) + 1) ?? next;
    const { openInterestLots, markTicks } = newest;
    data.push({ time, openInterestLots, markTicks });
    from = closeTime + 1;
  }
  return { data, nextCursor: null };
}

const isWanted = (query: FillQuery, { tradeId, time, execType }: FillRecord): boolean =>
  isSelected(query, idToInstrumentId(tradeId), time) && (query.execType === undefined || execType === query.execType);

/** A page from a cursor of tradeCursor(), or from one of the table itself. The former only go towards older trades. */
function readTrades(table: SeriesTable<TradeRecord>, instrumentId: number, query: PageQuery): Page<TradeRecord> {
  const within = (trade: TradeRecord) => (isWithin(trade.time, query) ? trade : null);
  if (query.sort === "ASC" || query.cursor?.split(".").length !== TRADE_CURSOR_NUMBERS)
    return table.read(instrumentId, query, within);
  const [time, sequence, tradeId] = parseCursor(query.cursor, TRADE_CURSOR_NUMBERS);
  const { limit, startTime, endTime = time } = query;
  const older = { limit, startTime, endTime: Math.min(endTime, time), throughSequence: sequence };
  return table.read(instrumentId, older, (trade) => (trade.tradeId <= tradeId ? within(trade) : null));
}
