import { idToInstrumentId } from "../../core/base/enums.ts";
import { decodeShared, messageBytes } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import { OrderLocationRecord, type OrderRecord } from "./history-schema.ts";
import type { SeriesPosition } from "./series.ts";
import { Table } from "./table.ts";
import type { WriteBatch } from "./write-batch.ts";

const LOCATIONS_PER_CHUNK = 64;
/** Marks an order that has not ended. */
const OPEN = -1;
/** Not an index. */
const NONE = -1;

/** The position of an order in its account's list of closed orders. */
interface OrderLocation extends SeriesPosition {
  accountId: number;
}

/**
 * The locations of short-lived orders: those that ended within the batch that placed them, as most do. They are written once,
 * to the list of their account's closed orders, and have no row in the table of orders. This table leads from an order id to
 * that list. Ids ascend from batch to batch, so it only grows at its end.
 *
 * A value holds many rows. Its key is [instrumentId, orderId of the first row].
 */
export class ShortLivedOrderTable extends Table {
  /** The first order of the instrument that is left, about; infinity = none is left. */
  firstOrderOf(instrumentId: number): number {
    const key = this.firstKey({ start: [instrumentId], end: [instrumentId + 1] }) as [number, number] | undefined;
    return key?.[1] ?? Number.POSITIVE_INFINITY;
  }

  locationOf(orderId: number): OrderLocation | undefined {
    const instrumentId = idToInstrumentId(orderId);
    const found = this.firstValue({ start: [instrumentId, orderId], end: [instrumentId], reverse: true });
    if (found === undefined) return undefined;
    const { rows } = found;
    const view = viewOf(rows);
    for (let at = 0; at < rows.length; at += messageBytes(view, at)) {
      const { orderId: id, accountId, clock, sequence } = decodeShared(view, rows, at) as OrderLocationRecord;
      if (id === orderId) return { accountId, clock, sequence };
    }
    return undefined;
  }
}

interface PlacedOrders {
  /** Ascending. */
  readonly orderIds: number[];
  /** By order: the reference of its location (WriteBatch.encodeRow()), or OPEN. */
  readonly locations: number[];
}

/** Tracks the orders that a batch has placed, and the locations of those that have ended. */
export class ShortLivedOrderWriter {
  private readonly table: ShortLivedOrderTable;
  /** By instrument. */
  private readonly placedOrders = new Map<number, PlacedOrders>();

  constructor(table: ShortLivedOrderTable) {
    this.table = table;
  }

  /** The ids of an instrument's orders must ascend. */
  placed(orderId: number): void {
    const instrumentId = idToInstrumentId(orderId);
    let placed = this.placedOrders.get(instrumentId);
    if (placed === undefined) {
      placed = { orderIds: [], locations: [] };
      this.placedOrders.set(instrumentId, placed);
    }
    placed.orderIds.push(orderId);
    placed.locations.push(OPEN);
  }

  /** Records the location of an order that has ended. Returns false if the batch did not place it. */
  ended(batch: WriteBatch, { orderId, accountId }: OrderRecord, { clock, sequence }: SeriesPosition): boolean {
    const placed = this.placedOrders.get(idToInstrumentId(orderId));
    const i = placed === undefined ? NONE : indexOf(placed.orderIds, orderId);
    if (placed === undefined || i === NONE) return false;
    const row: OrderLocationRecord = { type: OrderLocationRecord.code, orderId, accountId, clock, sequence };
    placed.locations[i] = batch.encodeRow(row);
    return true;
  }

  /** Writes the locations. Forgets the orders. */
  flush(batch: WriteBatch): void {
    for (const [instrumentId, { orderIds, locations }] of this.placedOrders) {
      let chunk: number[] = [];
      let firstOrderId = 0;
      for (let i = 0; i < locations.length; i++) {
        if (locations[i] === OPEN) continue;
        if (chunk.length === 0) firstOrderId = orderIds[i];
        chunk.push(locations[i]);
        if (chunk.length < LOCATIONS_PER_CHUNK) continue;
        batch.putRows(this.table, [instrumentId, firstOrderId], chunk);
        chunk = [];
      }
      if (chunk.length > 0) batch.putRows(this.table, [instrumentId, firstOrderId], chunk);
      orderIds.length = 0;
      locations.length = 0;
    }
  }
}

/** Binary search. Most numbers are near the end. */
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
