import { crc32 } from "node:zlib";
import type { Database as LmdbTable } from "lmdb";
import type { Message } from "../core/shape.ts";
import { decodeMessage } from "../wire/codec.ts";
import { DatabaseCorruptError } from "./genesis.ts";

/**
 * A value: u8 version, u32 crc32 of what follows, one encoded row or several. LMDB has no checksums of its own: without
 * this a flipped bit would be read as data.
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

/** One ordered map from keys to values. Reading only: writes go through a WriteBatch. */
export class Table {
  readonly name: string;
  /** For WriteBatch only. */
  readonly lmdb: LmdbTable<Uint8Array, Key>;

  constructor(name: string, lmdb: LmdbTable<Uint8Array, Key>) {
    this.name = name;
    this.lmdb = lmdb;
  }

  /**
   * Visits values in order, their payload behind VALUE_HEADER_BYTES, until `visit` answers false. Reads one state of the
   * database, whatever is written meanwhile. Throws DatabaseCorruptError where a value is damaged.
   */
  eachValue(range: Range, visit: (key: Key, value: Uint8Array) => boolean): void {
    for (const { key, value } of this.lmdb.getRange(range)) {
      this.check(key, value);
      if (!visit(key, value)) return;
    }
  }

  /** Reads every value, and counts. Throws DatabaseCorruptError where a value is damaged or rows are missing. */
  verify(): number {
    let rows = 0;
    this.eachValue({}, () => {
      rows++;
      return true;
    });
    const { entryCount } = this.lmdb.getStats() as { entryCount: number };
    if (rows !== entryCount) {
      throw new DatabaseCorruptError(`table ${this.name}: ${rows} of ${entryCount} rows can be found`);
    }
    return rows;
  }

  protected check(key: Key, value: Uint8Array): void {
    if (value.length < VALUE_HEADER_BYTES) throw this.corrupt(key, "the value is too short");
    if (value[0] !== VALUE_VERSION) throw this.corrupt(key, `version ${value[0]}, this program reads ${VALUE_VERSION}`);
    const checksum = viewOf(value).getUint32(AT_VALUE_CRC, true);
    if (checksum !== crc32(value.subarray(VALUE_HEADER_BYTES))) throw this.corrupt(key, "wrong checksum");
  }

  protected corrupt(key: Key, why: string): DatabaseCorruptError {
    return new DatabaseCorruptError(`table ${this.name}, key ${JSON.stringify(key)}: ${why}`);
  }
}

/** A table with a row under each key. */
export class RowTable<Row extends Message = Message> extends Table {
  /** A fresh object. Throws DatabaseCorruptError when the value is damaged. */
  get(key: Key): Row | undefined {
    const value = this.lmdb.getBinary(key);
    if (value === undefined) return undefined;
    this.check(key, value);
    return decodeMessage(viewOf(value), value, VALUE_HEADER_BYTES) as Row;
  }

  /** As get(), where another row says that this one exists. */
  require(key: Key): Row {
    const row = this.get(key);
    if (row === undefined) throw this.corrupt(key, "missing");
    return row;
  }

  /** As eachValue(), decoded. */
  each(range: Range, visit: (key: Key, row: Row) => void): void {
    this.eachValue(range, (key, value) => {
      visit(key, decodeMessage(viewOf(value), value, VALUE_HEADER_BYTES) as Row);
      return true;
    });
  }
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
