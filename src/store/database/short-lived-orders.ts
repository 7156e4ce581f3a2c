import { idToInstrumentId } from "../../core/base/enums.ts";
import { decodeShared, messageBytes } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import { OrderLocationRecord, type OrderRecord } from "./history-schema.ts";
import type { SeriesPosition } from "./series.ts";
import { Table } from "./table.ts";
import type { WriteBatch } from "./write-batch.ts";

const PLACES_PER_CHUNK = 64;
/** In the place of what is held. */
const OPEN = -1;
/** Not an index. */
const NONE = -1;

/** Where an order stands: a row of its account's closed orders. */
export interface OrderLocation extends SeriesPosition {
  accountId: number;
}

/**
 * Brief orders have ended before the batch that places them is written: most orders have. They are written once, into the
 * list of their account's closed orders, and have no row of their own. Ids only grow from batch to batch, so this table,
 * which leads from an id to the list, only grows at its end, many under one key.
 *
 *     [instrumentId, orderId of the first]
 */
export class ShortLivedOrderTable extends Table {
  locationOf(orderId: number): OrderLocation | undefined {
    const instrumentId = idToInstrumentId(orderId);
    let place: OrderLocation | undefined;
    const range = { start: [instrumentId, orderId], end: [instrumentId], reverse: true, limit: 1 };
    this.eachValue(range, (_key, rows) => {
      const view = viewOf(rows);
      for (let at = 0; at < rows.length && place === undefined; at += messageBytes(view, at)) {
        const row = decodeShared(view, rows, at) as OrderLocationRecord;
        if (row.orderId === orderId) place = { accountId: row.accountId, clock: row.clock, sequence: row.sequence };
      }
      return false;
    });
    return place;
  }
}

interface PlacedOrders {
  /** Ascending. */
  readonly orderIds: number[];
  /** Of each: its place, if it has ended. Of WriteBatch.hold(). */
  readonly held: number[];
}

/** Knows what a batch has placed, and gathers where of that stands what has ended. */
export class ShortLivedOrderWriter {
  private readonly table: ShortLivedOrderTable;
  /** By instrument. */
  private readonly placedOrders = new Map<number, PlacedOrders>();

  constructor(table: ShortLivedOrderTable) {
    this.table = table;
  }

  /** An instrument's come in the order of their ids. */
  placed(orderId: number): void {
    const instrumentId = idToInstrumentId(orderId);
    let placed = this.placedOrders.get(instrumentId);
    if (placed === undefined) {
      placed = { orderIds: [], held: [] };
      this.placedOrders.set(instrumentId, placed);
    }
    placed.orderIds.push(orderId);
    placed.held.push(OPEN);
  }

  /** Whether it is a brief one: whether the batch has placed it. */
  ended(batch: WriteBatch, { orderId, accountId }: OrderRecord, { clock, sequence }: SeriesPosition): boolean {
    const placed = this.placedOrders.get(idToInstrumentId(orderId));
    const i = placed === undefined ? NONE : indexOf(placed.orderIds, orderId);
    if (placed === undefined || i === NONE) return false;
    const row: OrderLocationRecord = { type: OrderLocationRecord.code, orderId, accountId, clock, sequence };
    placed.held[i] = batch.encodeRow(row);
    return true;
  }

  /** Writes the places. The next batch begins with nothing placed. */
  flush(batch: WriteBatch): void {
    for (const [instrumentId, { orderIds, held }] of this.placedOrders) {
      let chunk: number[] = [];
      let firstOrderId = 0;
      for (let i = 0; i < held.length; i++) {
        if (held[i] === OPEN) continue;
        if (chunk.length === 0) firstOrderId = orderIds[i];
        chunk.push(held[i]);
        if (chunk.length < PLACES_PER_CHUNK) continue;
        batch.putRows(this.table, [instrumentId, firstOrderId], chunk);
        chunk = [];
      }
      if (chunk.length > 0) batch.putRows(this.table, [instrumentId, firstOrderId], chunk);
      orderIds.length = 0;
      held.length = 0;
    }
  }
}

/** Of a number in an ascending list. Most are near its end. */
function indexOf(ascending: readonly number[], wanted: number): number {
  let low = 0;
  let high = ascending.length - 1;
  if (ascending[high] === wanted) return high;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const value = ascending[middle];
    if (value === wanted) return middle;
    if (value < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return NONE;
}
