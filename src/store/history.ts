import { type Candle, type Interval, openTimeOf } from "../core/candles.ts";
import { idToInstrumentId, type Transfer, type TransferKind } from "../core/messages.ts";
import { candleKey, toCandle } from "./candle-fold.ts";
import type { Database } from "./database.ts";
import { readIndex } from "./history-fold.ts";
import { type Page, type PageQuery, readPage } from "./pages.ts";
import type { FillRecord, OrderRecord, TradeRecord } from "./rows.ts";

export interface AccountQuery extends PageQuery {
  instrumentId?: number | undefined;
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

  /** Everything through this sequence is in the index. */
  indexedSequence(): number {
    this.database.refresh();
    return readIndex(this.database).sequence;
  }

  /** The order as of the index, open or not; undefined when there is none. Whose it is, is for the caller to check. */
  orderById(orderId: number): OrderRecord | undefined {
    this.database.refresh();
    return this.database.orders.get(orderId);
  }

  /** The latest order that the account placed under this client order id. */
  orderByClientId(accountId: number, clientOrderId: string): OrderRecord | undefined {
    const { database } = this;
    database.refresh();
    for (let generation = readIndex(database).clientIdGeneration; generation >= 0; generation--) {
      const found = database.clientOrders.get([generation, accountId, clientOrderId]);
      if (found !== undefined) return database.orders.require(found.orderId);
    }
    return undefined;
  }

  /** The account's orders that are no longer open, the last closed first. Times are those of the closing. */
  ordersOf(accountId: number, query: AccountQuery): Page<OrderRecord> {
    const { database } = this;
    database.refresh();
    return readPage(database.closedOrders, rangeByTime(accountId, 3, query), ([, , orderId]) =>
      isWanted(query, orderId as number) ? database.orders.require(orderId as number) : null,
    );
  }

  /** The account's fills, the latest first. */
  fillsOf(accountId: number, query: AccountQuery): Page<FillRecord> {
    const { database } = this;
    database.refresh();
    return readPage(database.fills, rangeByTime(accountId, 4, query), (numbers) =>
      isWanted(query, numbers[2] as number) ? database.fills.require([accountId, ...numbers]) : null,
    );
  }

  /** The order's fills, the latest first. */
  fillsOfOrder(order: OrderRecord, limit: number): FillRecord[] {
    const { database } = this;
    const { accountId, createdAt, updatedAt } = order;
    database.refresh();
    const range = rangeByTime(accountId, 4, { limit, startTime: createdAt, endTime: updatedAt });
    return readPage(database.fills, range, (numbers) =>
      numbers[3] === order.orderId ? database.fills.require([accountId, ...numbers]) : null,
    ).data;
  }

  /** The account's deposits or withdrawals, the latest first. Times are those of the request. */
  transfersOf(accountId: number, kind: TransferKind, query: PageQuery): Page<Transfer> {
    const { database } = this;
    const { limit, cursor, startTime = 0, endTime = Number.MAX_SAFE_INTEGER } = query;
    database.refresh();
    return readPage(database.transfers, { limit, cursor, prefix: [accountId, kind], numbers: 1 }, ([transferId]) => {
      const { transfer } = database.transfers.require([accountId, kind, transferId as number]);
      return transfer.createdAt >= startTime && transfer.createdAt <= endTime ? transfer : null;
    });
  }

  /** The latest first. */
  tradesOf(instrumentId: number, limit: number): TradeRecord[] {
    const { database } = this;
    database.refresh();
    const trades: TradeRecord[] = [];
    database.trades.each({ start: [instrumentId + 1], end: [instrumentId], reverse: true, limit }, (_key, trade) => {
      trades.push(trade);
      return true;
    });
    return trades;
  }

  /**
   * Candles with trades, in order of time: from `startTime` on at most `limit`; without one the latest, up to `endTime`.
   */
  candles(instrumentId: number, interval: Interval, query: CandleQuery): Candle[] {
    const { database } = this;
    const { limit, startTime, endTime = Number.MAX_SAFE_INTEGER - 1 } = query;
    database.refresh();
    const isLatest = startTime === undefined;
    const range = isLatest
      ? { start: candleKey(interval, instrumentId, endTime), end: candleKey(interval, instrumentId, -1), reverse: true }
      : { start: candleKey(interval, instrumentId, startTime), end: candleKey(interval, instrumentId, endTime + 1) };
    const candles: Candle[] = [];
    database.candles.each({ ...range, limit }, (_key, record) => {
      candles.push(toCandle(record));
      return true;
    });
    return isLatest ? candles.reverse() : candles;
  }

  /** Candles of a minute from the one that holds `fromTime` to the latest: what a day's statistics begin with. */
  minuteCandles(instrumentId: number, fromTime: number): Candle[] {
    const startTime = openTimeOf("1m", fromTime);
    return this.candles(instrumentId, "1m", { startTime, limit: Number.MAX_SAFE_INTEGER });
  }
}

/** A list whose keys are [accountId, time, ...]. */
function rangeByTime(accountId: number, numbers: number, query: PageQuery) {
  const { limit, cursor, startTime, endTime } = query;
  return { limit, cursor, prefix: [accountId], numbers, from: startTime, through: endTime };
}

/** Order and trade ids carry their instrument, so a filter by instrument reads keys only. */
const isWanted = (query: AccountQuery, id: number): boolean =>
  query.instrumentId === undefined || idToInstrumentId(id) === query.instrumentId;
