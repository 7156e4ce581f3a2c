import { INSURANCE_ACCOUNT, idToInstrumentId } from "../../core/base/enums.ts";
import {
  type Candle,
  type CandleSeries,
  closeTimeOf,
  type OpenInterestInterval,
  openTimeOf,
} from "../../core/market-data/candles.ts";
import type { Transfer, TransferKind } from "../../core/protocol/payloads.ts";
import type { Database } from "../database/database.ts";
import {
  type FillRecord,
  type FundingPaymentRecord,
  type FundingRateRecord,
  type FundMovementRecord,
  OrderRecord,
  type ReferenceRecord,
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
import { candleKey, toCandle } from "./candle-fold.ts";
import { fundingRateKey } from "./funding-fold.ts";
import { readIndex } from "./history-fold.ts";
import { readOpenInterest } from "./open-interest-fold.ts";

export interface AccountQuery extends PageQuery {
  instrumentId?: number | undefined;
}

/** A payment, and the rate that it follows from. */
export interface FundingPayment {
  readonly payment: FundingPaymentRecord;
  readonly rate: FundingRateRecord;
}

export interface OpenInterestQuery extends PageQuery {
  interval: OpenInterestInterval;
}

/** At a moment. */
export interface OpenInterest {
  readonly time: number;
  readonly openInterestLots: number;
  readonly markTicks: number;
}

export interface CandleQuery {
  limit: number;
  /** Both are compared with a candle's openTime, and included. */
  startTime?: number | undefined;
  endTime?: number | undefined;
}

/**
 * The history index, to be read on any thread: what the store thread has folded so far. Every call sees the latest
 * commit and is done when it returns; none changes anything. Throws DatabaseCorruptError on damaged rows.
 */
export class History {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** The order as of the index, open or not; undefined when there is none. Whose it is, is for the caller to check. */
  orderById(orderId: number): OrderRecord | undefined {
    this.database.refresh();
    return this.find(orderId);
  }

  /** The latest order that the account placed under this client order id. */
  orderByClientId(accountId: number, clientOrderId: string): OrderRecord | undefined {
    const { database } = this;
    database.refresh();
    for (let generation = readIndex(database).clientIdGeneration; generation >= 0; generation--) {
      const found = database.clientOrders.get([generation, accountId, clientOrderId]);
      if (found !== undefined) return this.find(found.orderId) ?? database.orders.require(found.orderId);
    }
    return undefined;
  }

  /** The account's orders that are no longer open, the last closed first. Times are those of the closing. */
  ordersOf(accountId: number, query: AccountQuery): Page<OrderRecord> {
    const { database } = this;
    database.refresh();
    return database.closedOrders.read(accountId, query, (entry) => {
      const isBrief = entry.type === OrderRecord.code;
      const [id, time] = isBrief ? [entry.orderId, entry.updatedAt] : [entry.id, entry.time];
      if (!isOf(query, id) || !isWithin(time, query)) return null;
      return isBrief ? entry : database.orders.require(id);
    });
  }

  /** The account's fills, the latest first; those of turns behind `throughSequence` left out. */
  fillsOf(accountId: number, query: AccountQuery & { throughSequence?: number }): Page<FillRecord> {
    this.database.refresh();
    const { throughSequence = Number.MAX_SAFE_INTEGER } = query;
    return this.database.fills.read(accountId, query, (fill) =>
      isOf(query, fill.tradeId) && isWithin(fill.time, query) && fill.sequence <= throughSequence ? fill : null,
    );
  }

  /** The fills up to the order's last change, the latest first. They are all when they add up to what it has filled. */
  fillsOfOrder(order: OrderRecord, query: AccountQuery): Page<FillRecord> {
    const { orderId, accountId, createdAt, updatedAt, sequence } = order;
    const { startTime = 0, endTime = Number.MAX_SAFE_INTEGER } = query;
    const lifetime = { startTime: Math.max(startTime, createdAt), endTime: Math.min(endTime, updatedAt) };
    this.database.refresh();
    return this.database.fills.read(accountId, { ...query, ...lifetime, throughSequence: sequence }, (fill) =>
      fill.orderId === orderId && isOf(query, orderId) && isWithin(fill.time, query) ? fill : null,
    );
  }

  /**
   * The account's deposits or withdrawals, the latest first; those asked for behind `throughSequence` left out. Times are
   * those of the request.
   */
  transfersOf(accountId: number, kind: TransferKind, query: SeriesQuery): Page<Transfer> {
    const { database } = this;
    const { throughSequence = Number.MAX_SAFE_INTEGER } = query;
    database.refresh();
    const list = kind === "DEPOSIT" ? database.deposits : database.withdrawals;
    return list.read(accountId, query, ({ id, time }) => {
      if (!isWithin(time, query)) return null;
      const { transfer, sequence } = database.transfers.require(id);
      return sequence <= throughSequence ? transfer : null;
    });
  }

  /** The symbol's trades, the latest first. */
  tradesOf(instrumentId: number, query: PageQuery): Page<TradeRecord> {
    this.database.refresh();
    return readTrades(this.database.trades, instrumentId, query);
  }

  /** Liquidations and what was handed over, as everyone sees them; the latest first. */
  liquidationsOf(instrumentId: number, query: PageQuery): Page<TradeRecord> {
    this.database.refresh();
    return readTrades(this.database.liquidations, instrumentId, query);
  }

  /** The symbol's funding rates, the latest first. Times are those when the intervals ended. */
  fundingRatesOf(instrumentId: number, query: PageQuery): Page<FundingRateRecord> {
    const { limit, cursor, startTime = 0, endTime = Number.MAX_SAFE_INTEGER - 1 } = query;
    const [resume = endTime] = cursor === undefined ? [] : parseCursor(cursor, 1);
    const start = fundingRateKey(instrumentId, Math.min(resume, endTime));
    const end = fundingRateKey(instrumentId, startTime - 1);
    this.database.refresh();
    const data: FundingRateRecord[] = [];
    this.database.fundingRates.each({ start, end, reverse: true, limit: limit + 1 }, (_key, rate) => {
      data.push(rate);
    });
    const next = data.length > limit ? data.pop() : undefined;
    return { data, nextCursor: next === undefined ? null : printCursor([next.fundingTime]) };
  }

  /**
   * The symbol's open interest when intervals ended, the latest first. An interval that still runs at `now` has not ended:
   * its figures are those of now. One in which nothing traded and no price came has none.
   */
  openInterestOf(instrumentId: number, query: OpenInterestQuery, now: number): Page<OpenInterest> {
    const { limit, interval, cursor, startTime = 0, endTime = now } = query;
    this.database.refresh();
    const data: OpenInterest[] = [];
    // Whatever begins here or later is not shown: it is beyond the end, or has come since.
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

  /**
   * What the account paid and got for funding, the latest first; in turns behind `throughSequence` left out. Times are
   * those of the payments.
   */
  fundingOf(accountId: number, query: AccountQuery & { throughSequence?: number }): Page<FundingPayment> {
    const { database } = this;
    const { throughSequence = Number.MAX_SAFE_INTEGER } = query;
    database.refresh();
    return database.fundingPayments.read(accountId, query, (payment) => {
      const { instrumentId, fundingTime, time, sequence } = payment;
      if (query.instrumentId !== undefined && instrumentId !== query.instrumentId) return null;
      if (!isWithin(time, query) || sequence > throughSequence) return null;
      return { payment, rate: database.fundingRates.require(fundingRateKey(instrumentId, fundingTime)) };
    });
  }

  /** Everything that changed the account's money, the latest first: see account-ledger.ts. */
  ledgerOf(accountId: number, query: LedgerQuery): Page<LedgerEntry> {
    this.database.refresh();
    return readAccountLedger(this.database, accountId, query);
  }

  /** What moved the insurance fund's money, the latest first. */
  fundMovements(query: AccountQuery): Page<FundMovementRecord> {
    this.database.refresh();
    return this.database.fundMovements.read(INSURANCE_ACCOUNT, query, (movement) =>
      (query.instrumentId === undefined || movement.actorId === query.instrumentId) && isWithin(movement.time, query)
        ? movement
        : null,
    );
  }

  /**
   * Candles with trades, or prices, in order of time: from `startTime` on at most `limit`; without one the latest, up to
   * `endTime`.
   */
  candles(series: CandleSeries, query: CandleQuery): Candle[] {
    const { database } = this;
    const { limit, startTime, endTime = Number.MAX_SAFE_INTEGER - 1 } = query;
    database.refresh();
    const isLatest = startTime === undefined;
    const range = isLatest
      ? { start: candleKey(series, endTime), end: candleKey(series, -1), reverse: true }
      : { start: candleKey(series, startTime), end: candleKey(series, endTime + 1) };
    const candles: Candle[] = [];
    database.candles.each({ ...range, limit }, (_key, record) => {
      candles.push(toCandle(record));
    });
    return isLatest ? candles.reverse() : candles;
  }

  /** Candles of a minute from the one that holds `fromTime` to the latest: what a day's statistics begin with. */
  minuteCandles(instrumentId: number, fromTime: number): Candle[] {
    const startTime = openTimeOf("1m", fromTime);
    const series = { instrumentId, priceType: "LAST", interval: "1m" } as const;
    return this.candles(series, { startTime, limit: Number.MAX_SAFE_INTEGER });
  }

  private find(orderId: number): OrderRecord | undefined {
    const { orders, shortLivedOrders, closedOrders } = this.database;
    const order = orders.get(orderId);
    if (order !== undefined) return order;
    const place = shortLivedOrders.locationOf(orderId);
    const isIt = (entry: ReferenceRecord | OrderRecord) => entry.type === OrderRecord.code && entry.orderId === orderId;
    const entry = place && closedOrders.find(place.accountId, place, isIt);
    return entry?.type === OrderRecord.code ? entry : undefined;
  }
}

/** Order and trade ids carry their instrument. */
const isOf = ({ instrumentId }: AccountQuery, id: number): boolean =>
  instrumentId === undefined || idToInstrumentId(id) === instrumentId;

/** A page behind a tradeCursor(), or behind a cursor of the table's own. */
function readTrades(table: SeriesTable<TradeRecord>, instrumentId: number, query: PageQuery): Page<TradeRecord> {
  const within = (trade: TradeRecord) => (isWithin(trade.time, query) ? trade : null);
  if (query.cursor?.split(".").length !== TRADE_CURSOR_NUMBERS) return table.read(instrumentId, query, within);
  const [time, sequence, tradeId] = parseCursor(query.cursor, TRADE_CURSOR_NUMBERS);
  const { limit, startTime, endTime = time } = query;
  const behind = { limit, startTime, endTime: Math.min(endTime, time), throughSequence: sequence };
  return table.read(instrumentId, behind, (trade) => (trade.tradeId <= tradeId ? within(trade) : null));
}
