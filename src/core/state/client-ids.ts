import { ClientIdHash } from "../base/client-id-hash.ts";
import { HashFifo, NO_ROW } from "../base/hash-fifo.ts";

// Columns of a row.
const ACCOUNT = 0;
const ORDER_ID = 1;
const BODY_HASH = 2;
const TIME = 3;
/** 1: handed over to a snapshot. */
const PERSISTED = 4;
const TEXT = 5;
/** A client order id has 36 characters at most. */
const TEXT_NUMBERS = 5;
const WIDTH = TEXT + TEXT_NUMBERS;

/** How long the symbol and the gateway remember a used id, unless there are too many. */
export const CLIENT_ID_RETENTION_MS = 24 * 60 * 60 * 1000;

/** Bounds the work of one expire(). */
const EXPIRE_AT_ONCE = 1000;
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

/**
 * Used client order ids, so that a retry finds the first order instead of placing a second one. An id is kept for
 * `retentionMs`, and as long as its order is open. Above `most` ids the oldest ones go earlier, unless their orders are
 * open. A busy day leaves millions, so they are in flat memory, which is no work for the garbage collector.
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

  constructor(retentionMs: number, isOpen: (orderId: number) => boolean, most = MOST_IDS) {
    this.retentionMs = retentionMs;
    this.isOpen = isOpen;
    this.most = most;
  }

  /** The row of an id, for orderId() and bodyHash(), or NO_ROW. */
  find(accountId: number, clientOrderId: string): number {
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
  load({ accountId, clientOrderId, orderId, bodyHash, time }: ClientId): void {
    this.rows.set(this.append(accountId, clientOrderId, orderId, bodyHash, time), PERSISTED, 1);
    this.unsaved = this.rows.end;
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
    for (let steps = 0; steps < EXPIRE_AT_ONCE && rows.length > 0; steps++) {
      if (rows.get(rows.first, TIME) >= before) return;
      if (!this.forgetFirst()) return; // an open order of that age: look again at the next tick
    }
  }

  /** Returns false when its order is open: then the row moves to the end instead. */
  private forgetFirst(): boolean {
    const { rows } = this;
    const row = rows.first;
    const wasPersisted = rows.get(row, PERSISTED) === 1;
    const { accountId, clientOrderId, orderId, bodyHash, time } = this.read(row);
    rows.dropFirst();
    this.unsaved = Math.max(this.unsaved, rows.first);
    if (this.isOpen(orderId)) {
      const again = this.append(accountId, clientOrderId, orderId, bodyHash, time);
      if (wasPersisted) rows.set(again, PERSISTED, 1);
      return false;
    }
    if (wasPersisted) this.expired.push(orderId);
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
      if (rows.get(this.unsaved, PERSISTED) === 1) continue;
      rows.set(this.unsaved, PERSISTED, 1);
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
