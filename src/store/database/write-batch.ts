import { assert } from "../../assert.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { AT_PAYLOAD_BYTES, encodeMessage, MESSAGE_HEADER_BYTES } from "../../wire/codec.ts";
import { pad8 } from "../../wire/record.ts";
import { maxPackedBytes, packRow, RowBuffer } from "./packing.ts";
import { type Key, type RowTable, sealValue, type Table, VALUE_HEADER_BYTES } from "./table.ts";

/** No row is larger: requests are cut at 64 KiB, a snapshot's part at 256 KiB. */
const MAX_ROW_BYTES = 512 * 1024;
const MAX_PACKED_BYTES = VALUE_HEADER_BYTES + maxPackedBytes(MAX_ROW_BYTES);
const FIRST_BYTES = 2 * 1024 * 1024;
/** A batch of a whole snapshot should not keep its memory. */
const KEEP_BYTES = 16 * 1024 * 1024;
/** In the place of a row. */
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
 * Writes that belong together. Encode first, write second: rows become bytes here, so that nothing but LMDB's own work
 * is done while the transaction is open (a thread that dies inside one would freeze the whole process).
 */
export class WriteBatch {
  /** See KeeperOptions: called for each value, as it is packed and as it is written. */
  private readonly yieldNow: () => void;
  /** Rows that are held, and behind them the one in hand. */
  private rows = new RowBuffer(FIRST_BYTES);
  private rowsEnd = 0;
  private values = new Uint8Array(FIRST_BYTES);
  private view = new DataView(this.values.buffer);
  private end = 0;
  /** The first `count` are of this batch; the others are used again. */
  private readonly writes: Write[] = [];
  private count = 0;

  constructor(yieldNow = noYield) {
    this.yieldNow = yieldNow;
  }

  put<Row extends Message>(table: RowTable<Row>, key: Key, row: Row): void {
    this.encode(row);
    this.putInHand(table, key);
  }

  /** Encodes a row that will be written by putHeld(). Returns what it is known by there. */
  encodeRow(row: Message): number {
    const at = this.rowsEnd;
    this.rowsEnd = this.encode(row);
    return at;
  }

  /** Rows that hold() has encoded under one key, back to back. */
  putRows(table: Table, key: Key, held: readonly number[]): void {
    const from = this.end;
    let end = from + VALUE_HEADER_BYTES;
    let before = NONE;
    for (const at of held) {
      this.makeRoom(end);
      end = packRow(this.rows, at, before, this.values, end);
      before = at;
    }
    this.close(table, key, from, end);
  }

  /** A row that is encoded already. Copied. */
  putEncoded(table: Table, key: Key, row: Uint8Array): void {
    assert(row.length <= MAX_ROW_BYTES, `table ${table.name}: a row of ${row.length} bytes`);
    this.makeRowRoom();
    const { bytes, view } = this.rows;
    const at = this.rowsEnd;
    // It was encoded at any offset, and its text may end between two words.
    const length = pad8(row.length);
    bytes.fill(0, at, at + length).set(row, at);
    view.setUint32(at + AT_PAYLOAD_BYTES, length - MESSAGE_HEADER_BYTES, true);
    this.putInHand(table, key);
  }

  remove(table: Table, key: Key): void {
    this.add(table, key, 0, 0);
  }

  /** Does the writes, in order. Called by Database.commit() inside its transaction. */
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

  /** The row in hand is encoded. Returns where it ends. */
  private encode(row: Message): number {
    this.makeRowRoom();
    const end = encodeMessage(this.rows.view, this.rows.bytes, this.rowsEnd, row);
    // Bytes beyond the end of an array are dropped in silence: this is where that would show.
    assert(end - this.rowsEnd <= MAX_ROW_BYTES, "a row is larger than any can be");
    return end;
  }

  private putInHand(table: Table, key: Key): void {
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

  /** For another row in the codec's bytes. */
  private makeRowRoom(): void {
    const bytes = this.rowsEnd + MAX_ROW_BYTES;
    if (bytes > this.rows.bytes.length) this.rows = this.rows.enlarged(bytes);
  }

  /** For another packed row, and the head of a value, behind `end`. */
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
