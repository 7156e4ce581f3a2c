import { idToInstrumentId } from "../core/messages.ts";
import { decodeShared, messageBytes } from "../wire/codec.ts";
import { OrderPlaceRecord, type OrderRecord } from "./rows.ts";
import type { Place } from "./series.ts";
import { Table, viewOf } from "./table.ts";
import type { WriteBatch } from "./write-batch.ts";

const PLACES_PER_CHUNK = 64;

/** Where an order stands: a row of its account's closed orders. */
export interface OrderPlace extends Place {
  accountId: number;
}

/**
 * Brief orders end in the turn that places them. They are written once, into the list of their account's closed orders,
 * and have no row of their own. They end in the order of their ids, so this table, which leads from an id to the list,
 * only grows at its end, many under one key.
 *
 *     [instrumentId, orderId of the first]
 */
export class BriefOrderTable extends Table {
  placeOf(orderId: number): OrderPlace | undefined {
    const instrumentId = idToInstrumentId(orderId);
    let place: OrderPlace | undefined;
    const range = { start: [instrumentId, orderId], end: [instrumentId], reverse: true, limit: 1 };
    this.eachValue(range, (_key, rows) => {
      const view = viewOf(rows);
      for (let at = 0; at < rows.length && place === undefined; at += messageBytes(view, at)) {
        const row = decodeShared(view, rows, at) as OrderPlaceRecord;
        if (row.orderId === orderId) place = { accountId: row.accountId, clock: row.clock, sequence: row.sequence };
      }
      return false;
    });
    return place;
  }
}

interface Chunk {
  firstOrderId: number;
  /** Of WriteBatch.hold(). */
  readonly held: number[];
}

/** Gathers what a batch adds to the table. */
export class BriefOrderWriter {
  private readonly table: BriefOrderTable;
  /** By instrument. */
  private readonly chunks = new Map<number, Chunk>();

  constructor(table: BriefOrderTable) {
    this.table = table;
  }

  /** An instrument's come in the order of their ids. */
  append(batch: WriteBatch, { orderId, accountId }: OrderRecord, { clock, sequence }: Place): void {
    const instrumentId = idToInstrumentId(orderId);
    let chunk = this.chunks.get(instrumentId);
    if (chunk === undefined) {
      chunk = { firstOrderId: 0, held: [] };
      this.chunks.set(instrumentId, chunk);
    }
    if (chunk.held.length === 0) chunk.firstOrderId = orderId;
    chunk.held.push(
      batch.hold({ type: OrderPlaceRecord.code, orderId, accountId, clock, sequence } as OrderPlaceRecord),
    );
    if (chunk.held.length === PLACES_PER_CHUNK) this.write(batch, instrumentId, chunk);
  }

  /** Writes what is left. */
  flush(batch: WriteBatch): void {
    for (const [instrumentId, chunk] of this.chunks) if (chunk.held.length > 0) this.write(batch, instrumentId, chunk);
  }

  private write(batch: WriteBatch, instrumentId: number, { firstOrderId, held }: Chunk): void {
    batch.putHeld(this.table, [instrumentId, firstOrderId], held);
    held.length = 0;
  }
}
