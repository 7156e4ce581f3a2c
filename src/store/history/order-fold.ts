import { must } from "../../assert.ts";
import { idToInstrumentId, isCustomer } from "../../core/base/enums.ts";
import type { Event } from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Database } from "../database/database.ts";
import {
  type FillRecord,
  type IndexRecord,
  isOpen,
  type OrderRecord,
  type ReferenceRecord,
  referenceTo,
} from "../database/history-schema.ts";
import { type SeriesPosition, SeriesWriter } from "../database/series.ts";
import { ShortLivedOrderWriter } from "../database/short-lived-orders.ts";
import type { WriteBatch } from "../database/write-batch.ts";
import { ClientIdRuns } from "./client-id-runs.ts";
import { applyToOrders, type OrderStore } from "./order-records.ts";

/** Beyond this many, open orders leave the cache and are read from the database when an event names them. */
const MAX_CACHED_ORDERS = 200_000;

// The largest chunks stay below 4 KB.
const CLOSED_ORDERS_PER_CHUNK = 16;
const FILLS_PER_CHUNK = 12;

/** Orders, their client order ids and the fills of customers. Within a batch an order is written once. */
export class OrderFold implements OrderStore {
  time = 0;
  private readonly database: Database;
  private readonly batch: WriteBatch;
  private readonly instruments: ReadonlyMap<number, Instrument>;
  private readonly shortLived: ShortLivedOrderWriter;
  private readonly closedOrders: SeriesWriter<ReferenceRecord | OrderRecord>;
  private readonly fills: SeriesWriter<FillRecord>;
  private readonly clientIds: ClientIdRuns;
  /** Orders that earlier transactions left open: those that an event has named since the last start. */
  private readonly openOrders = new Map<number, OrderRecord>();
  /** Orders that this batch has changed. Some may have ended since. */
  private readonly changedOrders: OrderRecord[] = [];
  // Of the transaction under way.
  private readonly placedOrders: OrderRecord[] = [];
  private readonly endedOrders: OrderRecord[] = [];
  private readonly position: SeriesPosition;
  /** As of the last commit. */
  private readonly index: IndexRecord;

  /** Reads `position` and `index`, and keeps the list of client order ids' runs in `index`. */
  constructor(
    database: Database,
    batch: WriteBatch,
    instruments: ReadonlyMap<number, Instrument>,
    position: SeriesPosition,
    index: IndexRecord,
  ) {
    this.database = database;
    this.batch = batch;
    this.instruments = instruments;
    this.position = position;
    this.index = index;
    this.shortLived = new ShortLivedOrderWriter(database.shortLivedOrders);
    this.closedOrders = new SeriesWriter(database.closedOrders, CLOSED_ORDERS_PER_CHUNK);
    this.fills = new SeriesWriter(database.fills, FILLS_PER_CHUNK);
    this.clientIds = new ClientIdRuns(database, index);
  }

  apply(event: Event): void {
    applyToOrders(event, this);
  }

  /**
   * Writes orders that have ended at once, since nothing changes them any more: so they are garbage while young. An order
   * that this batch has placed too goes into its account's list itself: see short-lived-orders.ts.
   */
  endTransaction(): void {
    const { database, batch, placedOrders, endedOrders, position } = this;
    for (const order of endedOrders) {
      this.openOrders.delete(order.orderId);
      const isShortLived = this.shortLived.ended(batch, order, position);
      if (!isShortLived) batch.put(database.orders, order.orderId, order);
      const entry = isShortLived ? order : referenceTo(order.orderId, this.time, order.status);
      this.closedOrders.append(batch, order.accountId, position, entry);
    }
    endedOrders.length = 0;
    for (const order of placedOrders) {
      if (!isOpen(order)) continue;
      this.openOrders.set(order.orderId, order);
      this.changedOrders.push(order);
    }
    placedOrders.length = 0;
  }

  /** Puts everything that is not written yet into the batch. */
  flush(): void {
    const { database, batch } = this;
    for (const order of this.changedOrders) if (isOpen(order)) batch.put(database.orders, order.orderId, order);
    this.changedOrders.length = 0;
    this.shortLived.flush(batch);
    this.fills.flush(batch);
    this.closedOrders.flush(batch);
    this.clientIds.flush(batch);
  }

  /** Call it when the batch is in the database. */
  trimCache(): void {
    if (this.openOrders.size > MAX_CACHED_ORDERS) this.openOrders.clear();
  }

  get sequence(): number {
    return this.position.sequence;
  }

  /** Accounts of the house leave no rows: nobody reads them. */
  follows(accountId: number): boolean {
    return isCustomer(accountId);
  }

  instrumentOf(tradeId: number): Instrument {
    const instrumentId = idToInstrumentId(tradeId);
    return must(this.instruments.get(instrumentId), `instrument ${instrumentId} in the configuration`);
  }

  add(order: OrderRecord): void {
    this.placedOrders.push(order);
    this.shortLived.placed(order.orderId);
    if (order.clientOrderId !== "") this.clientIds.add(order.accountId, order.clientOrderId, order.orderId);
  }

  change(orderId: number): OrderRecord {
    // Open orders first: a transaction that fills very many of them may have placed as many.
    const known = this.openOrders.get(orderId) ?? this.placedOrders.findLast((placed) => placed.orderId === orderId);
    const order = known ?? this.read(orderId);
    if (order.sequence <= this.index.sequence) this.changedOrders.push(order);
    return order;
  }

  end(order: OrderRecord): void {
    this.endedOrders.push(order);
  }

  addFill(accountId: number, fill: FillRecord): void {
    this.fills.append(this.batch, accountId, this.position, fill);
  }

  private read(orderId: number): OrderRecord {
    const order = must(this.database.orders.get(orderId), `order ${orderId} in the history index`);
    this.openOrders.set(orderId, order);
    return order;
  }
}
