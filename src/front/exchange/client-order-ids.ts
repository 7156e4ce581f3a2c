import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { ClientIdHash } from "../../core/base/client-id-hash.ts";
import { idToInstrumentId } from "../../core/base/enums.ts";
import { HashFifo, NO_ROW } from "../../core/base/hash-fifo.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { ReadClientIds } from "../../core/protocol/commands.ts";
import { ConditionalOrderPlaced, type Event, OrderPlaced } from "../../core/protocol/events.ts";
import { blank } from "../../core/protocol/message-schema.ts";
import { ClientIdsPage } from "../../core/protocol/replies.ts";
import { CLIENT_ID_RETENTION_MS } from "../../core/state/client-ids.ts";
import { replyOf, requestPages } from "./request.ts";

/** As many as two symbols remember; takes 800 MB. Beyond that the oldest ids are forgotten early, unless their orders are open. */
const MAX_IDS = 2 ** 24;
/** Forgotten with each new one: more than one, so the memory shrinks, and few, so no order waits long. */
const FORGOTTEN_PER_ADD = 2;

// Columns of a row.
/** A second hash. Together with the key of the row it has 64 bits. */
const CHECK = 0;
/** Above 0: when the id was used. Below 0: not used yet, and -n orders that hold it are on their way. 0: neither. */
const TIME = 1;
/** The latest order with the id. An instrument's id stands for an order of it that has no id yet. */
const ORDER_ID = 2;
const WIDTH = 3;

/** See PastIdReader. */
export interface PastUses {
  find(accountId: number, clientOrderId: string): { readonly orderId: number; readonly time: TimeMs } | null;
}

/** Whether the order that was placed at this time is open. */
type IsOpen = (orderId: number, placedAt: TimeMs) => boolean;

/**
 * Remembers the symbol on which each client order id was used. An id names one order of its account across all symbols. Each
 * symbol remembers its own ids exactly and durably; this class prevents the use of one id on two symbols. A load test uses
 * millions of ids a day, so two hashes stand for account and id.
 */
export class ClientOrderIds {
  /** In the order of their first use. */
  private readonly rows = new HashFifo(WIDTH);
  private readonly hashes = new ClientIdHash();
  private readonly checks = new ClientIdHash();
  private readonly maxIds: number;
  /** Ids that the symbols have left on disk. */
  private readonly past: PastUses;
  /** The last id that `past` did not have. An order asks twice. */
  private unknown = { accountId: 0, clientOrderId: "" };
  private now: TimeMs = 0;
  private readonly isOpen: IsOpen;

  private constructor(engine: Engine, past: PastUses, isOpen: IsOpen, maxIds: number) {
    this.maxIds = maxIds;
    this.past = past;
    this.isOpen = isOpen;
    engine.onReleased((transaction) => this.fold(transaction));
  }

  /** Resolves when the ids were read that symbols have in memory. `isOpen` is asked about the oldest orders only. */
  static async open(engine: Engine, past: PastUses, isOpen: IsOpen, maxIds = MAX_IDS): Promise<ClientOrderIds> {
    const ids = new ClientOrderIds(engine, past, isOpen, maxIds);
    const command = (from: number) => ({ ...blank(ReadClientIds), from });
    for (const { id } of engine.instruments)
      await requestPages(engine, id, command, (transaction) => {
        const { page } = replyOf(transaction, ClientIdsPage);
        for (const [accountId, clientOrderId, orderId, time] of page.ids)
          ids.keep(accountId, clientOrderId, orderId, time);
        return page.next;
      });
    return ids;
  }

  /** Number of remembered ids. */
  get size(): number {
    return this.rows.length;
  }

  /**
   * The id of the instrument on which the account used this id. It counts for 24 hours, while its order is open, and while an
   * order with it is on its way. 0: none.
   */
  ownerOf(accountId: number, clientOrderId: string): number {
    const row = this.find(accountId, clientOrderId);
    return row === NO_ROW || this.isFree(row) ? 0 : idToInstrumentId(this.rows.get(row, ORDER_ID));
  }

  /** An order has used the id. An earlier use is ignored: at the start, symbols report their uses one after the other. */
  keep(accountId: number, clientOrderId: string, orderId: number, time: TimeMs): void {
    const row = this.rowOf(accountId, clientOrderId, time);
    if (time >= this.rows.get(row, TIME)) this.set(row, orderId, time);
  }

  /**
   * Reserves the id for an order that is sent to the symbol, so that no other symbol can use it until release(). Returns false
   * when the id was used before; then there is nothing to release.
   */
  hold(accountId: number, clientOrderId: string, instrumentId: number, time: TimeMs): boolean {
    const row = this.rowOf(accountId, clientOrderId, time);
    const before = this.isFree(row) ? 0 : this.rows.get(row, TIME);
    if (before > 0) return false;
    this.set(row, instrumentId, before - 1);
    return true;
  }

  /** An order that held the id has arrived. An unused id is free when no order holds it any more. */
  release(accountId: number, clientOrderId: string): void {
    const { rows } = this;
    const row = this.findLoaded(accountId, clientOrderId);
    if (row !== NO_ROW && rows.get(row, TIME) < 0) rows.set(row, TIME, rows.get(row, TIME) + 1);
  }

  private set(row: number, orderId: number, time: number): void {
    this.rows.set(row, TIME, time);
    this.rows.set(row, ORDER_ID, orderId);
  }

  private rowOf(accountId: number, clientOrderId: string, now: TimeMs): number {
    this.now = Math.max(this.now, now);
    const known = this.find(accountId, clientOrderId);
    if (known !== NO_ROW) return known;
    this.forget();
    return this.append(accountId, clientOrderId);
  }

  private append(accountId: number, clientOrderId: string): number {
    const row = this.rows.append(this.hashes.of(accountId, clientOrderId));
    this.rows.set(row, CHECK, this.checks.of(accountId, clientOrderId));
    return row;
  }

  private fold(transaction: ReleasedTransaction): void {
    for (let i = 0; i < transaction.eventCount; i++) {
      const event = transaction.messages[i] as Event;
      if ((event.type === OrderPlaced.code || event.type === ConditionalOrderPlaced.code) && event.clientOrderId !== "")
        this.keep(event.accountId, event.clientOrderId, event.orderId, transaction.time);
    }
  }

  private find(accountId: number, clientOrderId: string): number {
    const row = this.findLoaded(accountId, clientOrderId);
    if (row !== NO_ROW) return row;
    const { unknown } = this;
    if (unknown.clientOrderId === clientOrderId && unknown.accountId === accountId) return NO_ROW;
    const found = this.past.find(accountId, clientOrderId);
    if (found === null) {
      unknown.accountId = accountId;
      unknown.clientOrderId = clientOrderId;
      return NO_ROW;
    }
    const loaded = this.append(accountId, clientOrderId);
    this.set(loaded, found.orderId, found.time);
    return loaded;
  }

  private findLoaded(accountId: number, clientOrderId: string): number {
    const { rows } = this;
    let row = rows.find(this.hashes.of(accountId, clientOrderId));
    if (row === NO_ROW) return NO_ROW;
    const check = this.checks.of(accountId, clientOrderId);
    while (row !== NO_ROW && rows.get(row, CHECK) !== check) row = rows.findNext(row);
    return row;
  }

  private isExpired(row: number): boolean {
    const time = this.rows.get(row, TIME);
    return time >= 0 && time < this.now - CLIENT_ID_RETENTION_MS;
  }

  private isFree(row: number): boolean {
    return this.isExpired(row) && !this.isOfOpenOrder(row);
  }

  private isOfOpenOrder(row: number): boolean {
    const time = this.rows.get(row, TIME);
    return time > 0 && this.isOpen(this.rows.get(row, ORDER_ID), time);
  }

  /**
   * Forgets expired ids, oldest first. That of an open order moves to the end instead. An id that was used again keeps the ids
   * after it as long as itself.
   */
  private forget(): void {
    const { rows } = this;
    for (let i = 0; i < FORGOTTEN_PER_ADD && rows.length > 0; i++) {
      if (rows.length < this.maxIds && !this.isExpired(rows.first)) return;
      if (this.isOfOpenOrder(rows.first)) rows.moveFirst();
      else rows.dropFirst();
    }
  }
}
