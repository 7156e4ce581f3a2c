import { crc32 } from "node:zlib";
import type { Database as LmdbTable } from "lmdb";
import type { Message } from "../../core/protocol/message-schema.ts";
import { decodeMessage } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import { DatabaseCorruptError } from "../files/genesis.ts";
import { delayingExit, delayingExitEach } from "../files/process-exit.ts";
import { Unpacker } from "./packing.ts";

/**
 * A value is a u8 version, a u32 crc32, and one or more packed rows (packing.ts). LMDB has no checksums, so without this one a
 * flipped bit would be read as data. The checksum covers the table's name, the key and the rows, because a row under a wrong
 * key is an error too. Older versions can still be read: in version 2 the rows are not packed, and in version 1 the checksum
 * also covers only the rows.
 */
export const VALUE_HEADER_BYTES = 5;
const VALUE_VERSION = 3;
const VALUE_VERSION_UNPACKED = 2;
const VALUE_VERSION_WITHOUT_KEY = 1;
const AT_VALUE_CRC = 1;
const unpacker = new Unpacker();

/** Numbers are safe integers. Lists are ordered element by element. */
export type Key = number | string | (number | string)[];

/** The order of keys in a table. Text is ordered by code units, as LMDB orders ASCII. */
function isBefore(a: Key, b: Key): boolean {
  const left = Array.isArray(a) ? a : [a];
  const right = Array.isArray(b) ? b : [b];
  for (let i = 0; i < left.length && i < right.length; i++) {
    const x = left[i];
    const y = right[i];
    if (x === y) continue;
    return typeof x === typeof y ? x < y : typeof x === "number";
  }
  return left.length < right.length;
}

export interface Range {
  /** Included. The upper end if `reverse` is set. */
  start?: Key;
  /** Not included. The lower end if `reverse` is set. */
  end?: Key;
  reverse?: boolean;
  limit?: number;
}

interface TableStats {
  readonly entryCount: number;
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

/** Writes the header of a value. Its packed rows are already in `bytes`, after the header. */
export function sealValue(table: Table, key: Key, view: DataView, bytes: Uint8Array, from: number, to: number): void {
  view.setUint8(from, VALUE_VERSION);
  view.setUint32(from + AT_VALUE_CRC, crc32(bytes.subarray(from + VALUE_HEADER_BYTES, to), table.crcOf(key)), true);
}

/** An ordered map from keys to values. For reading only: writes go through a WriteBatch. */
export class Table {
  readonly name: string;
  /** For WriteBatch only. */
  readonly lmdb: LmdbTable<Uint8Array, Key>;
  private readonly crcOfName: number;

  constructor(name: string, lmdb: LmdbTable<Uint8Array, Key>) {
    this.name = name;
    this.lmdb = lmdb;
    this.crcOfName = crc32(`${name} `);
  }

  /** False in a database that is open for reading, if only older versions have written to it. */
  get exists(): boolean {
    return this.lmdb !== undefined;
  }

  /** The checksum of the table's name and the key as JSON, with which that of the rows begins. */
  crcOf(key: Key): number {
    return crc32(typeof key === "number" ? String(key) : JSON.stringify(key), this.crcOfName);
  }

  /**
   * Visits values in order until `visit` returns false. `rows` holds the encoded rows of a value, back to back. Reads one
   * consistent state of the database, whatever is written meanwhile. Throws DatabaseCorruptError for a damaged value.
   */
  eachValue(range: Range, visit: (key: Key, rows: Uint8Array) => boolean): void {
    for (const { key, value } of this.entries(range)) if (!visit(key, this.rowsOf(key, value))) return;
  }

  /** The first value of the range, as eachValue() visits it. */
  firstValue(range: Range): { readonly key: Key; readonly rows: Uint8Array } | undefined {
    for (const { key, value } of this.entries({ ...range, limit: 1 })) return { key, rows: this.rowsOf(key, value) };
    return undefined;
  }

  has(key: Key): boolean {
    return delayingExit(() => this.lmdb.doesExist(key));
  }

  firstKey(range: Range): Key | undefined {
    const [key] = this.keys({ ...range, limit: 1 });
    return key;
  }

  /** The keys, one with each step. End it with return() unless it has ended. */
  keys(range: Range): Generator<Key, void> {
    return delayingExitEach(this.lmdb.getKeys(range));
  }

  /** Of the pages that are in use, without those of deleted values. */
  usedBytes(): number {
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = this.stats();
    return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
  }

  /** How many values LMDB has noted. */
  get valueCount(): number {
    return this.stats().entryCount;
  }

  private stats(): TableStats {
    return delayingExit(() => this.lmdb.getStats() as TableStats);
  }

  private entries(range: Range): Iterable<{ key: Key; value: Uint8Array }> {
    return delayingExitEach(this.lmdb.getRange(range));
  }

  /** As eachValue(), one value with each step. End it with return() unless it has ended. */
  *values(range: Range): Generator<{ key: Key; rows: Uint8Array }> {
    for (const { key, value } of this.entries(range)) yield { key, rows: this.rowsOf(key, value) };
  }

  /**
   * Reads every value and returns the number of values. Throws DatabaseCorruptError if a value is damaged, if keys are missing
   * or out of order, or if a value is not found by its key. LMDB's inner pages hold copies of keys without checksums, so a
   * search may fail although a walk finds the value. `onValue` is called for each value.
   */
  verify(onValue: () => void = () => {}): number {
    let rows = 0;
    this.verifyAfter(null, Number.POSITIVE_INFINITY, () => {
      rows++;
      onValue();
    });
    this.requireAll(rows);
    return rows;
  }

  /**
   * As verify(), for the next `most` values after a key; null = from the first on. Returns the key of the last value; null = there
   * is none. A long check calls it again and again, each time with a new read transaction: an old one keeps pages from being
   * reused.
   */
  verifyAfter(after: Key | null, most: number, visit: (key: Key, rows: Uint8Array) => void): Key | null {
    let last: Key | null = null;
    let before = after;
    let left = most;
    this.eachValue(after === null ? {} : { start: after }, (key, rows) => {
      // The range begins with `after`, unless it was removed meanwhile.
      if (last === null && after !== null && !isBefore(after, key) && !isBefore(key, after)) return true;
      if (before !== null && !isBefore(before, key))
        throw this.corrupt(key, `out of order, after ${JSON.stringify(before)}`);
      before = key;
      last = key;
      if (!this.has(key)) throw this.corrupt(key, "the value exists but is not found by its key");
      visit(key, rows);
      return --left > 0;
    });
    return last;
  }

  /** Counts the keys that a walk finds. Throws DatabaseCorruptError unless they are as many as LMDB has noted. */
  requireAllKeys(): void {
    this.requireAll(delayingExit(() => this.lmdb.getKeysCount({})));
  }

  private requireAll(values: number): void {
    const { valueCount } = this;
    if (values !== valueCount)
      throw new DatabaseCorruptError(`table ${this.name}: ${values} of ${valueCount} rows can be found`);
  }

  /** Whether all values were written by older versions of the program. */
  isOlder(): boolean {
    for (const { value } of this.entries({})) if (value[0] >= VALUE_VERSION) return false;
    return true;
  }

  /** The encoded rows of a value. Throws DatabaseCorruptError. */
  protected rowsOf(key: Key, value: Uint8Array): Uint8Array {
    if (value.length < VALUE_HEADER_BYTES) throw this.corrupt(key, "the value is too short");
    const version = value[0];
    if (version < VALUE_VERSION_WITHOUT_KEY || version > VALUE_VERSION)
      throw this.corrupt(key, `version ${version}, this program reads up to ${VALUE_VERSION}`);
    const before = version === VALUE_VERSION_WITHOUT_KEY ? 0 : this.crcOf(key);
    const checksum = viewOf(value).getUint32(AT_VALUE_CRC, true);
    const rows = value.subarray(VALUE_HEADER_BYTES);
    if (checksum !== crc32(rows, before)) throw this.corrupt(key, "wrong checksum");
    return version <= VALUE_VERSION_UNPACKED ? rows : unpacker.unpack(rows);
  }

  protected corrupt(key: Key, why: string): DatabaseCorruptError {
    return new DatabaseCorruptError(`table ${this.name}, key ${JSON.stringify(key)}: ${why}`);
  }
}

/** A table with one row under each key. */
export class RowTable<Row extends Message = Message> extends Table {
  /** Returns a new object. Throws DatabaseCorruptError if the value is damaged. */
  get(key: Key): Row | undefined {
    const value = delayingExit(() => this.lmdb.getBinary(key));
    if (value === undefined) return undefined;
    return this.rowOf(this.rowsOf(key, value));
  }

  /** As get(). Throws DatabaseCorruptError also if the row is missing. For rows that another row refers to. */
  require(key: Key): Row {
    const row = this.get(key);
    if (row === undefined) throw this.corrupt(key, "missing");
    return row;
  }

  /** As eachValue(), with decoded rows. */
  each(range: Range, visit: (key: Key, row: Row) => void): void {
    this.eachValue(range, (key, rows) => {
      visit(key, this.rowOf(rows));
      return true;
    });
  }

  /** The first row of the range. */
  first(range: Range): Row | undefined {
    const first = this.firstValue(range);
    return first && this.rowOf(first.rows);
  }

  private rowOf(rows: Uint8Array): Row {
    return decodeMessage(viewOf(rows), rows, 0) as Row;
  }
}
