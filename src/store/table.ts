import { crc32 } from "node:zlib";
import type { Database as LmdbTable } from "lmdb";
import type { Message } from "../core/shape.ts";
import { decodeMessage } from "../wire/codec.ts";
import { DatabaseCorruptError } from "./genesis.ts";

/**
 * A value: u8 version, u32 crc32 of what follows, an encoded row (or nothing, where the key says it all). LMDB has no
 * checksums of its own: without this a flipped bit would be read as data.
 */
export const VALUE_HEADER_BYTES = 5;
const VALUE_VERSION = 1;
const AT_VALUE_CRC = 1;

/** Numbers are safe integers; lists are ordered element by element. */
export type Key = number | string | (number | string)[];

export interface Range {
  /** Included. In reverse the upper end. */
  start?: Key;
  /** Not included. In reverse the lower end. */
  end?: Key;
  reverse?: boolean;
  limit?: number;
}

/** Writes the header of a value whose payload stands behind it. */
export function sealValue(view: DataView, bytes: Uint8Array, from: number, to: number): void {
  view.setUint8(from, VALUE_VERSION);
  view.setUint32(from + AT_VALUE_CRC, crc32(bytes.subarray(from + VALUE_HEADER_BYTES, to)), true);
}

/** One ordered map from keys to rows. Reading only: writes go through a WriteBatch. */
export class Table<Row extends Message = Message> {
  readonly name: string;
  /** For WriteBatch and Database only. */
  readonly lmdb: LmdbTable<Uint8Array, Key>;

  constructor(name: string, lmdb: LmdbTable<Uint8Array, Key>) {
    this.name = name;
    this.lmdb = lmdb;
  }

  /** A fresh object. Throws DatabaseCorruptError when the value is damaged. */
  get(key: Key): Row | undefined {
    const value = this.lmdb.getBinary(key);
    return value === undefined ? undefined : this.decode(key, value);
  }

  /** As get(), where another row says that this one exists. */
  require(key: Key): Row {
    const row = this.get(key);
    if (row === undefined) throw new DatabaseCorruptError(`table ${this.name}, key ${JSON.stringify(key)}: missing`);
    return row;
  }

  /** Visits rows in order until `visit` answers false. Reads one state of the database, whatever is written meanwhile. */
  each(range: Range, visit: (key: Key, row: Row) => boolean): void {
    for (const { key, value } of this.lmdb.getRange(range)) {
      if (!visit(key, this.decode(key, value))) return;
    }
  }

  /** As each(), without the rows: for tables whose keys say it all. */
  eachKey(range: Range, visit: (key: Key) => boolean): void {
    for (const key of this.lmdb.getKeys(range)) if (!visit(key)) return;
  }

  /** Reads every value, and counts. Throws DatabaseCorruptError where a value is damaged or rows are missing. */
  verify(): number {
    let rows = 0;
    for (const { key, value } of this.lmdb.getRange({})) {
      this.check(key, value);
      rows++;
    }
    const { entryCount } = this.lmdb.getStats() as { entryCount: number };
    if (rows !== entryCount) {
      throw new DatabaseCorruptError(`table ${this.name}: ${rows} of ${entryCount} rows can be found`);
    }
    return rows;
  }

  private decode(key: Key, value: Uint8Array): Row {
    this.check(key, value);
    const view = new DataView(value.buffer, value.byteOffset, value.length);
    return decodeMessage(view, value, VALUE_HEADER_BYTES) as Row;
  }

  private check(key: Key, value: Uint8Array): void {
    const corrupt = (why: string): DatabaseCorruptError =>
      new DatabaseCorruptError(`table ${this.name}, key ${JSON.stringify(key)}: ${why}`);
    if (value.length < VALUE_HEADER_BYTES) throw corrupt("the value is too short");
    if (value[0] !== VALUE_VERSION) throw corrupt(`the value has version ${value[0]}, this program reads 1`);
    const view = new DataView(value.buffer, value.byteOffset, VALUE_HEADER_BYTES);
    if (view.getUint32(AT_VALUE_CRC, true) !== crc32(value.subarray(VALUE_HEADER_BYTES)))
      throw corrupt("wrong checksum");
  }
}
