import { ClientIdHash } from "../base/client-id-hash.ts";
import { HashFifo, NO_ROW } from "../base/hash-fifo.ts";

// The numbers of a row.
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

/** How long a used id is remembered, here and by the front, unless there are too many. */
export const CLIENT_ID_RETENTION_MS = 24 * 60 * 60 * 1000;

/** Forgotten in one step, at most. */
const EXPIRE_AT_ONCE = 1000;
/** A busy day of one symbol, 900 MB: whoever sends more of them takes no more memory. */
const MOST_IDS = 2 ** 23;
/** With each one that comes beyond that: so they go sooner than they come, also where one is kept. */
const FORGET_AT_ONCE = 2;

/** One for all symbols of a thread. */
const hashes = new ClientIdHash();

/** A row as snapshots and pages have it. */
export interface ClientId {
  accountId: number;
  clientOrderId: string;
  orderId: number;
  bodyHash: number;
  time: number;
}

/**
 * Client order ids that were used: a request that comes again finds its first order instead of a second one. Kept for
 * `retentionMs` at least, and as long as the order is open. A busy day leaves millions of them, in memory that is no
 * work for the garbage collector. Of more than `most` the oldest are forgotten before, unless their orders are open.
 */
export class ClientIds {
  private readonly retentionMs: number;
  private readonly isOpen: (orderId: number) => boolean;
  private readonly most: number;
  /** In order of time. */
  private readonly rows = new HashFifo(WIDTH);
  /** From this row on they have not been handed over to a snapshot, but for those that are PERSISTED. */
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

  /** A row from a snapshot; rows come in order of their order ids, which is that of time. */
  load({ accountId, clientOrderId, orderId, bodyHash, time }: ClientId): void {
    this.rows.set(this.append(accountId, clientOrderId, orderId, bodyHash, time), PERSISTED, 1);
    this.unsaved = this.rows.end;
  }

  /** What is remembered, oldest first, from the n-th row on. */
  page(from: number, count: number): ClientId[] {
    const start = this.rows.first + from;
    const length = Math.max(0, Math.min(count, this.rows.end - start));
    return Array.from({ length }, (_, i) => this.read(start + i));
  }

  /** Forgets what is past its time and whose order is closed; bounded work per call. */
  expire(now: number): void {
    const { rows } = this;
    const before = now - this.retentionMs;
    for (let steps = 0; steps < EXPIRE_AT_ONCE && rows.length > 0; steps++) {
      if (rows.get(rows.first, TIME) >= before) return;
      if (!this.forgetFirst()) return; // an open order of that age: look again at the next tick
    }
  }

  /** False when its order is open: then it becomes the last. */
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
   * Visits what changed since the last call: rows that are new, and the order ids of persisted ones that are forgotten.
   * All, or a share of about `most`. Returns whether that was all.
   */
  takeChanges(
    added: (row: ClientId) => void,
    removed: (orderId: number) => void,
    most = Number.POSITIVE_INFINITY,
  ): boolean {
    const { rows, expired } = this;
    let left = most;
    // What has come and gone between two calls need not be written.
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
