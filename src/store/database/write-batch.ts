import { assert } from "../../assert.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { AT_PAYLOAD_BYTES, encodeMessage, MESSAGE_HEADER_BYTES } from "../../wire/codec.ts";
import { pad8 } from "../../wire/record.ts";
import { maxPackedBytes, packRow, RowBuffer } from "./packing.ts";
import { type Key, type RowTable, sealValue, type Table, VALUE_HEADER_BYTES } from "./table.ts";

/** No row is larger: requests have at most 64 KiB, and parts of a snapshot 256 KiB. */
const MAX_ROW_BYTES = 512 * 1024;
const MAX_PACKED_BYTES = VALUE_HEADER_BYTES + maxPackedBytes(MAX_ROW_BYTES);
const FIRST_BYTES = 2 * 1024 * 1024;
/** A larger buffer, as of a whole snapshot, is given back. */
const KEEP_BYTES = 16 * 1024 * 1024;
/** Stands for no row. */
const NONE = -1;

export const noYield = (): void => {};

interface Write {
  table: Table;
  key: Key;
  from: number;
  /** 0 = remove. */
  to: number;
}

/**
 * Writes that belong together. Rows are encoded when they are added, so that only LMDB works while its transaction is open. A
 * thread that died within a transaction would freeze the whole process.
 */
export class WriteBatch {
  /** See IndexerOptions. Called for each value when it is packed and when it is written. */
  private readonly yieldNow: () => void;
  /** Encoded rows, and after them the row that is being added. */
  private rows = new RowBuffer(FIRST_BYTES);
  private rowsEnd = 0;
  private values = new Uint8Array(FIRST_BYTES);
  private view = new DataView(this.values.buffer);
  private end = 0;
  /** The first `count` belong to this batch. The objects after them are reused. */
  private readonly writes: Write[] = [];
  private count = 0;

  constructor(yieldNow = noYield) {
    this.yieldNow = yieldNow;
  }

  put<Row extends Message>(table: RowTable<Row>, key: Key, row: Row): void {
    this.encode(row);
    this.putLast(table, key);
  }

  /** Encodes a row for putRows(). Returns a reference to it. */
  encodeRow(row: Message): number {
    const at = this.rowsEnd;
    this.rowsEnd = this.encode(row);
    return at;
  }

  /** Copies encoded rows, which stand back to back, for putRows(). Returns references to those at these offsets. */
  addRows(rows: Uint8Array, offsets: readonly number[]): number[] {
    assert(rows.length <= MAX_ROW_BYTES, `rows of ${rows.length} bytes under one key`);
    this.makeRowRoom();
    const from = this.rowsEnd;
    this.rows.bytes.set(rows, from);
    this.rowsEnd += rows.length;
    return offsets.map((at) => from + at);
  }

  /** Writes rows of encodeRow() or addRows() under one key, back to back. */
  putRows(table: Table, key: Key, rows: readonly number[]): void {
    const from = this.end;
    let end = from + VALUE_HEADER_BYTES;
    let before = NONE;
    for (const at of rows) {
      this.makeRoom(end);
      end = packRow(this.rows, at, before, this.values, end);
      before = at;
    }
    this.close(table, key, from, end);
  }

  /** Writes a row that is encoded already. Copies it. */
  putEncoded(table: Table, key: Key, row: Uint8Array): void {
    assert(row.length <= MAX_ROW_BYTES, `table ${table.name}: a row of ${row.length} bytes`);
    this.makeRowRoom();
    const { bytes, view } = this.rows;
    const at = this.rowsEnd;
    // It was encoded at another offset, and its text may end within a word.
    const length = pad8(row.length);
    bytes.fill(0, at, at + length).set(row, at);
    view.setUint32(at + AT_PAYLOAD_BYTES, length - MESSAGE_HEADER_BYTES, true);
    this.putLast(table, key);
  }

  remove(table: Table, key: Key): void {
    this.add(table, key, 0, 0);
  }

  get isEmpty(): boolean {
    return this.count === 0;
  }

  /** Does the writes in order. Database.commit() calls it within its transaction. */
  write(): void {
    for (let i = 0; i < this.count; i++) {
      this.yieldNow();
      const { table, key, from, to } = this.writes[i];
      if (to === 0) table.lmdb.remove(key);
      else table.lmdb.put(key, this.values.subarray(from, to));
    }
  }

  clear(): void {
    this.count = 0;
    this.end = 0;
    this.rowsEnd = 0;
    if (this.values.length > KEEP_BYTES) this.resize(FIRST_BYTES);
    if (this.rows.bytes.length > KEEP_BYTES) this.rows = new RowBuffer(FIRST_BYTES);
  }

  /** Encodes a row after the others. Returns its end. */
  private encode(row: Message): number {
    this.makeRowRoom();
    const end = encodeMessage(this.rows.view, this.rows.bytes, this.rowsEnd, row);
    // Writes beyond the end of an array are ignored silently. This check would find them.
    assert(end - this.rowsEnd <= MAX_ROW_BYTES, "a row is larger than any can be");
    return end;
  }

  private putLast(table: Table, key: Key): void {
    this.makeRoom(this.end);
    const end = packRow(this.rows, this.rowsEnd, NONE, this.values, this.end + VALUE_HEADER_BYTES);
    this.close(table, key, this.end, end);
  }

  private close(table: Table, key: Key, from: number, to: number): void {
    this.yieldNow();
    sealValue(table, key, this.view, this.values, from, to);
    this.add(table, key, from, to);
    this.end = to;
  }

  private add(table: Table, key: Key, from: number, to: number): void {
    const write = this.writes[this.count++];
    if (write === undefined) {
      this.writes.push({ table, key, from, to });
      return;
    }
    write.table = table;
    write.key = key;
    write.from = from;
    write.to = to;
  }

  /** Makes room for another encoded row. */
  private makeRowRoom(): void {
    const bytes = this.rowsEnd + MAX_ROW_BYTES;
    if (bytes > this.rows.bytes.length) this.rows = this.rows.enlarged(bytes);
  }

  /** Makes room for another packed row, with the header of a value, after `end`. */
  private makeRoom(end: number): void {
    if (this.values.length - end < MAX_PACKED_BYTES) this.resize(this.values.length * 2);
  }

  private resize(length: number): void {
    const values = new Uint8Array(length);
    values.set(this.values.subarray(0, Math.min(length, this.values.length)));
    this.values = values;
    this.view = new DataView(values.buffer);
  }
}
