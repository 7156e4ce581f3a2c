import { idToInstrumentId } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import type { Message, MessageOf } from "../../core/protocol/message-schema.ts";
import type { ClientIdRow } from "../../core/protocol/snapshot-schema.ts";
import type { ClientId, PastClientIds } from "../../core/state/client-ids.ts";
import { CLIENT_IDS } from "../../core/state/symbol-rows.ts";
import { decodeMessage } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import { ClientIdFilter } from "./client-id-filter.ts";
import { hashOfClientId } from "./client-order-table.ts";
import type { Database } from "./database.ts";
import { HISTORY_INDEX_KEY } from "./history-schema.ts";
import type { Key, Range, RowTable } from "./table.ts";

/** The client order ids that a start leaves on disk. Threads pass it on. */
export interface PastIds {
  /** By symbol: the last order whose id a start does not load. */
  readonly through: ReadonlyMap<number, number>;
  /** How many they are at most. */
  readonly count: number;
}

/** As PastIds, with the memory of a ClientIdFilter. */
export interface SharedPastIds extends PastIds {
  readonly filter: SharedArrayBuffer;
}

export const NO_PAST_IDS: PastIds = { through: new Map(), count: 0 };

export const clientIdKey = (instrumentId: number, orderId: number): Key => [instrumentId, CLIENT_IDS, orderId];
/** The ids of the symbol's orders after `orderId`. */
export const clientIdRange = (instrumentId: number, orderId: number): Range => ({
  start: clientIdKey(instrumentId, orderId + 1),
  end: clientIdKey(instrumentId, Number.MAX_SAFE_INTEGER),
});

type ClientIds = RowTable<MessageOf<typeof ClientIdRow>>;
const clientIdsOf = ({ pastRows }: Database): ClientIds => pastRows as RowTable as ClientIds;

/**
 * Finds which ids can stay on disk: those that the history index finds by their text. The index follows the log in order. So if it
 * finds the id of one order it finds those of the symbol's earlier orders. Reads as many rows as the index is behind, and a few.
 */
export function findPastIds(database: Database, actorIds: readonly number[]): PastIds {
  const index = database.index.get(HISTORY_INDEX_KEY);
  // Older versions left ids that are found by long searches only.
  if (index === undefined || index.clientIdGeneration >= 0) return NO_PAST_IDS;
  const through = new Map<number, number>();
  for (const actorId of actorIds) through.set(actorId, lastIndexed(database, actorId));
  return { through, count: database.pastRows.valueCount };
}

/** The symbol's last order whose client order id the index finds, or one not far before it; 0 = there is none. */
function lastIndexed(database: Database, instrumentId: number): number {
  const { start: end, end: start } = clientIdRange(instrumentId, 0) as { start: Key; end: Key };
  let rank = 0;
  // A look-up in the index costs more than to read a row.
  let next = 1;
  for (const { key } of clientIdsOf(database).values({ start, end, reverse: true })) {
    if (++rank < next) continue;
    next *= 2;
    const { accountId, clientOrderId, orderId } = clientIdsOf(database).require(key);
    if (findIndexed(database, accountId, clientOrderId, instrumentId)?.orderId === orderId) return orderId;
  }
  return 0;
}

/**
 * The latest remembered use of the id that the history index finds; null = there is none. `instrumentId` null: on any symbol.
 * A later use on another symbol does not hide one that its own symbol still remembers.
 */
function findIndexed(
  database: Database,
  accountId: number,
  clientOrderId: string,
  instrumentId: number | null,
): ClientId | null {
  const { index, clientOrders } = database;
  const hash = hashOfClientId(accountId, clientOrderId);
  for (const { id, lastHash } of index.get(HISTORY_INDEX_KEY)?.clientIdRuns ?? []) {
    // Older versions wrote runs with the ids themselves, without this field.
    const isTextRun = lastHash === undefined;
    const orderIds = isTextRun
      ? [clientOrders.findInTextRun(id, accountId, clientOrderId)]
      : clientOrders.findInRun(id, hash);
    for (const orderId of orderIds) {
      if (instrumentId !== null && idToInstrumentId(orderId) !== instrumentId) continue;
      const found = readId(database, orderId);
      if (found?.accountId === accountId && found.clientOrderId === clientOrderId) return found;
    }
  }
  return null;
}

const readId = (database: Database, orderId: number): ClientId | null =>
  clientIdsOf(database).get(clientIdKey(idToInstrumentId(orderId), orderId)) ?? null;

/** Reads the ids that were left on disk. Each method throws DatabaseCorruptError for damaged rows. */
export class PastIdReader {
  private readonly database: Database;
  private readonly past: PastIds;
  private readonly filter: ClientIdFilter;

  /** The database must stay open. */
  constructor(database: Database, past: SharedPastIds) {
    this.database = database;
    this.past = past;
    this.filter = new ClientIdFilter(past.filter);
  }

  /** The latest use of the id, by default on any symbol, at whatever time; null = there is none, or it was loaded. */
  find(accountId: number, clientOrderId: string, instrumentId: number | null = null): ClientId | null {
    if (!this.filter.mayHold(accountId, clientOrderId)) return null;
    const { database } = this;
    database.refresh();
    const indexed = findIndexed(database, accountId, clientOrderId, instrumentId);
    const found = indexed !== null && this.isLeft(indexed.orderId) ? indexed : null;
    // The caller's thread may block for ever, and would keep pages from being reused.
    database.refresh();
    return found;
  }

  /** Those of one symbol. */
  of(instrumentId: number): PastClientIds {
    let expiredThrough = 0;
    let oldest = 0;
    return {
      find: (accountId, clientOrderId) => this.find(accountId, clientOrderId, instrumentId),
      read: (orderId) => this.read(orderId),
      takeExpired: (before, most) => {
        if (before <= oldest) return [];
        const orderIds: number[] = [];
        oldest = this.eachExpired(instrumentId, expiredThrough, before, most, orderIds);
        expiredThrough = orderIds.at(-1) ?? expiredThrough;
        return orderIds;
      },
    };
  }

  private read(orderId: number): ClientId | null {
    return this.isLeft(orderId) ? readId(this.database, orderId) : null;
  }

  private isLeft(orderId: number): boolean {
    return orderId <= this.throughOf(idToInstrumentId(orderId));
  }

  /** Adds the orders after `orderId` whose ids are from before this time. Returns the time of the next id. */
  private eachExpired(instrumentId: number, orderId: number, before: TimeMs, most: number, orderIds: number[]): TimeMs {
    const { database } = this;
    const { start } = clientIdRange(instrumentId, orderId) as { start: Key };
    const end = clientIdKey(instrumentId, this.throughOf(instrumentId) + 1);
    let next = Number.POSITIVE_INFINITY;
    database.refresh();
    for (const { rows } of clientIdsOf(database).values({ start, end })) {
      const { orderId, time } = decodeMessage(viewOf(rows), rows, 0) as ClientId & Message;
      next = time;
      if (time >= before || orderIds.length === most) break;
      orderIds.push(orderId);
      next = Number.POSITIVE_INFINITY;
    }
    database.refresh();
    return next;
  }

  private throughOf(instrumentId: number): number {
    return this.past.through.get(instrumentId) ?? 0;
  }
}
