import { assert } from "../assert.ts";
import type { Message } from "../core/shape.ts";
import { encodeMessage, messageBytes } from "../wire/codec.ts";
import { type Key, type RowTable, sealValue, type Table, VALUE_HEADER_BYTES } from "./table.ts";

/** No row is larger: requests are cut at 64 KiB, a snapshot's part at 256 KiB. */
const MAX_ROW_BYTES = 512 * 1024;
const FIRST_BYTES = 1024 * 1024;
/** A batch of a whole snapshot should not keep its memory. */
const KEEP_BYTES = 16 * 1024 * 1024;

export const noBreath = (): void => {};

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
  private bytes = new Uint8Array(FIRST_BYTES);
  private view = new DataView(this.bytes.buffer);
  private end = 0;
  /** The first `count` are of this batch; the others are used again. */
  private readonly writes: Write[] = [];
  private count = 0;

  put<Row extends Message>(table: RowTable<Row>, key: Key, row: Row): void {
    const from = this.open();
    this.close(table, key, from, encodeMessage(this.view, this.bytes, from + VALUE_HEADER_BYTES, row));
  }

  /** Encodes a row that will be written by putHeld(). Returns what it is known by there. */
  hold(row: Message): number {
    const at = this.open();
    this.end = encodeMessage(this.view, this.bytes, at, row);
    return at;
  }

  /** Rows that hold() has encoded under one key, back to back. */
  putHeld(table: Table, key: Key, held: readonly number[]): void {
    const from = this.open();
    let end = from + VALUE_HEADER_BYTES;
    for (const at of held) {
      const to = at + messageBytes(this.view, at);
      this.bytes.copyWithin(end, at, to);
      end += to - at;
    }
    this.close(table, key, from, end);
  }

  /** A row that is encoded already. Copied. */
  putEncoded(table: Table, key: Key, row: Uint8Array): void {
    assert(row.length <= MAX_ROW_BYTES - VALUE_HEADER_BYTES, `table ${table.name}: a row of ${row.length} bytes`);
    const from = this.open();
    this.bytes.set(row, from + VALUE_HEADER_BYTES);
    this.close(table, key, from, from + VALUE_HEADER_BYTES + row.length);
  }

  remove(table: Table, key: Key): void {
    this.add(table, key, 0, 0);
  }

  /** Does the writes, in order. Called by Database.commit() inside its transaction. */
  write(breathe: () => void): void {
    for (let i = 0; i < this.count; i++) {
      breathe();
      const { table, key, from, to } = this.writes[i] as Write;
      if (to === 0) table.lmdb.remove(key);
      else table.lmdb.put(key, this.bytes.subarray(from, to));
    }
  }

  clear(): void {
    this.count = 0;
    this.end = 0;
    if (this.bytes.length > KEEP_BYTES) this.resize(FIRST_BYTES);
  }

  private open(): number {
    if (this.bytes.length - this.end < MAX_ROW_BYTES) this.resize(this.bytes.length * 2);
    return this.end;
  }

  private close(table: Table, key: Key, from: number, to: number): void {
    // Bytes beyond the end of an array are dropped in silence: this is where that would show.
    assert(to - from <= MAX_ROW_BYTES, `table ${table.name}: a row of ${to - from} bytes`);
    sealValue(table, key, this.view, this.bytes, from, to);
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

  private resize(length: number): void {
    const bytes = new Uint8Array(length);
    bytes.set(this.bytes.subarray(0, this.end));
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
  }
}
