import { ClientIdHash } from "../base/client-id-hash.ts";
import { HashFifo, NO_ROW } from "../base/hash-fifo.ts";
import type { TimeMs } from "../base/units.ts";

// Columns of a row.
const ACCOUNT = 0;
const ORDER_ID = 1;
const BODY_HASH = 2;
const TIME = 3;
/** Not 0: handed over to a snapshot. */
const PERSISTED = 4;
const HANDED_OVER = 1;
/** The start left it in the snapshot, and a search has found it. */
const FOUND_IN_PAST = 2;
const TEXT = 5;
/** A client order id has 36 characters at most. */
const TEXT_NUMBERS = 5;
const WIDTH = TEXT + TEXT_NUMBERS;

/** How long the symbol and the gateway remember a used id, unless there are too many. */
export const CLIENT_ID_RETENTION_MS = 24 * 60 * 60 * 1000;

/** Bounds the work of one expire(). */
const EXPIRE_AT_ONCE = 1000;
/** These are read from the disk: about a millisecond. */
const EXPIRE_PAST_AT_ONCE = 200;
/** A busy day of one symbol, 900 MB. Bounds the memory that clients can take. */
const MOST_IDS = 2 ** 23;
/** Above that, each new id makes room by two: so the number falls even when one of the two must be kept. */
const FORGET_AT_ONCE = 2;

/** One for all symbols of a thread. */
const hashes = new ClientIdHash();

/** A row in a snapshot or a page. */
export interface ClientId {
  accountId: number;
  clientOrderId: string;
  orderId: number;
  bodyHash: number;
  time: number;
}

/** The ids of a snapshot that were not loaded into memory. */
export interface PastClientIds {
  /** The latest use of the id, at whatever time; null = there is none. */
  find(accountId: number, clientOrderId: string): ClientId | null;
  /** Null if the order's id was loaded, and if it has none. */
  read(orderId: number): ClientId | null;
  /** The orders of ids from before this time, at most `most`, the oldest first. Each is returned once. */
  takeExpired(before: TimeMs, most: number): readonly number[];
}

/**
 * Used client order ids, so that a retry finds the first order instead of placing a second one. An id is kept for
 * `retentionMs`, and as long as its order is open. Above `most` ids the oldest ones go earlier, unless their orders are
 * open. A busy day leaves millions, so they are in flat memory, which is no work for the garbage collector. Those from before
 * the start stay on disk.
 */
export class ClientIds {
  private readonly retentionMs: number;
  private readonly isOpen: (orderId: number) => boolean;
  private readonly most: number;
  /** In order of time. */
  private readonly rows = new HashFifo(WIDTH);
  /** From this row on, rows are not in a snapshot unless they are PERSISTED. */
  private unsaved = 0;
  private readonly expired: number[] = [];
  /** Ids from before this time are forgotten, unless their orders are open. */
  private keptFrom: TimeMs = 0;
  /** Null = all ids were loaded. */
  past: PastClientIds | null = null;

  constructor(retentionMs: number, isOpen: (orderId: number) => boolean, most = MOST_IDS) {
    this.retentionMs = retentionMs;
    this.isOpen = isOpen;
    this.most = most;
  }

  /** The row of an id, for orderId() and bodyHash(), or NO_ROW. */
  find(accountId: number, clientOrderId: string): number {
    let row = this.findLoaded(accountId, clientOrderId);
    if (row === NO_ROW && this.past !== null)
      row = this.loadPast(this.past.find(accountId, clientOrderId), FOUND_IN_PAST);
    return row === NO_ROW || this.isKept(row) ? row : NO_ROW;
  }

  private findLoaded(accountId: number, clientOrderId: string): number {
    const { rows } = this;
    let row = rows.find(hashes.of(accountId, clientOrderId));
    while (row !== NO_ROW && !(rows.get(row, ACCOUNT) === accountId && rows.hasText(row, TEXT, clientOrderId)))
      row = rows.findNext(row);
    return row;
  }

  orderId(row: number): number {
    return this.rows.get(row, ORDER_ID);
  }

  bodyHash(row: number): number {
    return this.rows.get(row, BODY_HASH);
  }

  add(accountId: number, clientOrderId: string, orderId: number, bodyHash: number, time: number): void {
    for (let i = 0; i < FORGET_AT_ONCE && this.rows.length >= this.most; i++) this.forgetFirst();
    this.append(accountId, clientOrderId, orderId, bodyHash, time);
  }

  /** Returns its row. */
  private append(accountId: number, clientOrderId: string, orderId: number, bodyHash: number, time: number): number {
    const { rows } = this;
    const row = rows.append(hashes.of(accountId, clientOrderId));
    rows.set(row, ACCOUNT, accountId);
    rows.set(row, ORDER_ID, orderId);
    rows.set(row, BODY_HASH, bodyHash);
    rows.set(row, TIME, time);
    rows.setText(row, TEXT, clientOrderId);
    return row;
  }

  /** A row from a snapshot. Rows come in the order of their order ids, which is the order of time. */
  load(id: ClientId): void {
    this.loadPast(id, HANDED_OVER);
    this.unsaved = this.rows.end;
  }

  /** The id of an open order. It is loaded even if it is one of `past`: the same id may have a later use elsewhere. */
  loadOpen(orderId: number): void {
    this.loadPast(this.past?.read(orderId) ?? null, HANDED_OVER);
  }

  /** Returns its row. */
  private loadPast(id: ClientId | null, persisted: number): number {
    if (id === null) return NO_ROW;
    const row = this.append(id.accountId, id.clientOrderId, id.orderId, id.bodyHash, id.time);
    this.rows.set(row, PERSISTED, persisted);
    return row;
  }

  /** A row that was found in the past stands behind younger ones, which are forgotten later. */
  private isKept(row: number): boolean {
    const { rows } = this;
    if (rows.get(row, PERSISTED) !== FOUND_IN_PAST) return true;
    return rows.get(row, TIME) >= this.keptFrom || this.isOpen(this.orderId(row));
  }

  /** Remembered ids, oldest first, from the n-th on. */
  page(from: number, count: number): ClientId[] {
    const start = this.rows.first + from;
    const length = Math.max(0, Math.min(count, this.rows.end - start));
    return Array.from({ length }, (_, i) => this.read(start + i));
  }

  /** Forgets ids that are too old and whose orders are closed. Bounded work per call. */
  expire(now: number): void {
    const { rows } = this;
    const before = now - this.retentionMs;
    this.keptFrom = before;
    if (this.past !== null)
      for (const orderId of this.past.takeExpired(before, EXPIRE_PAST_AT_ONCE))
        if (!this.isOpen(orderId)) this.expired.push(orderId);
    for (let steps = 0; steps < EXPIRE_AT_ONCE && rows.length > 0; steps++) {
      if (rows.get(rows.first, TIME) >= before) return;
      if (!this.forgetFirst()) return; // an open order of that age: look again at the next tick
    }
  }

  /** Returns false when its order is open: then the row moves to the end instead. */
  private forgetFirst(): boolean {
    const { rows } = this;
    const row = rows.first;
    const persisted = rows.get(row, PERSISTED);
    const { accountId, clientOrderId, orderId, bodyHash, time } = this.read(row);
    rows.dropFirst();
    this.unsaved = Math.max(this.unsaved, rows.first);
    if (this.isOpen(orderId)) {
      const again = this.append(accountId, clientOrderId, orderId, bodyHash, time);
      rows.set(again, PERSISTED, persisted);
      return false;
    }
    if (persisted !== 0) this.expired.push(orderId);
    return true;
  }

  /**
   * Visits new rows, and the order ids of persisted rows that are forgotten, since the last call. All, or about `most` of
   * them. Returns whether that was all.
   */
  takeChanges(
    added: (row: ClientId) => void,
    removed: (orderId: number) => void,
    most = Number.POSITIVE_INFINITY,
  ): boolean {
    const { rows, expired } = this;
    let left = most;
    // A row that was added and forgotten between two calls is not visited.
    for (; this.unsaved < rows.end && left > 0; this.unsaved++, left--) {
      if (rows.get(this.unsaved, PERSISTED) !== 0) continue;
      rows.set(this.unsaved, PERSISTED, HANDED_OVER);
      added(this.read(this.unsaved));
    }
    while (left-- > 0 && expired.length > 0) removed(expired.pop() as number);
    return this.unsaved === rows.end && expired.length === 0;
  }

  private read(row: number): ClientId {
    const { rows } = this;
    return {
      accountId: rows.get(row, ACCOUNT),
      clientOrderId: rows.text(row, TEXT),
      orderId: rows.get(row, ORDER_ID),
      bodyHash: rows.get(row, BODY_HASH),
      time: rows.get(row, TIME),
    };
  }
}
