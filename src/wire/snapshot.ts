import { assert } from "../assert.ts";
import type { SnapshotWriter } from "../core/protocol/actor.ts";
import type { Message } from "../core/protocol/message-schema.ts";
import { encodeMessage, maxMessageBytes } from "./codec.ts";
import {
  AT_ACTOR_ID,
  AT_KIND,
  AT_SEQUENCE,
  AT_TIME,
  AT_VERSION,
  FORMAT_VERSION,
  KIND_SNAPSHOT,
  pad8,
  RECORD_HEADER_BYTES,
  viewOf,
} from "./record.ts";

/**
 * A snapshot travels from an actor to the store as a series of records of kind SNAPSHOT, its parts. In the header of the
 * record, logBytes is 0, because a snapshot is not logged. The sequence of the last part is that of the snapshot. Then come:
 *
 *     40  u32  part, from 0
 *     44  u32  last: 1 in the last part
 *     48  u32  bytes of entries
 *     52  u32  0
 *     56       entries, each padded to 8 bytes
 *
 * An entry: u8 op, u8 kind of key, u16 bytes of key, u32 bytes of row; key; row (an encoded message). An entry with op TABLE
 * has the name of a table as its key; the entries after it belong to that table. Each part begins with one.
 */
const AT_PART = RECORD_HEADER_BYTES;
const AT_LAST = AT_PART + 4;
const AT_ENTRIES_BYTES = AT_PART + 8;
const ENTRIES = AT_PART + 16;
const ENTRY_HEADER_BYTES = 8;

const PUT = 1;
const REMOVE = 2;
const TABLE = 3;
const NUMBER_KEY = 0;
const STRING_KEY = 1;

const DEFAULT_PART_BYTES = 256 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Fills parts with the changed rows of an actor. Call stamp() before any number of put() and remove(), and end() last. Full
 * parts are emitted at once, so the first ones may leave long before end().
 */
export class SnapshotPartWriter implements SnapshotWriter {
  private readonly emitPart: (record: Uint8Array) => void;
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private at = 0;
  private part = 0;
  private table = "";

  /**
   * `emitPart` gets each part as a whole record, valid only during the call. `partBytes`: the largest size of a part. A row that
   * does not fit into a part fails an assertion.
   */
  constructor(actorId: number, emitPart: (record: Uint8Array) => void, partBytes: number = DEFAULT_PART_BYTES) {
    this.emitPart = emitPart;
    this.bytes = new Uint8Array(partBytes);
    this.view = new DataView(this.bytes.buffer);
    this.view.setUint16(AT_ACTOR_ID, actorId, true);
    this.view.setUint8(AT_KIND, KIND_SNAPSHOT);
    this.view.setUint8(AT_VERSION, FORMAT_VERSION);
    this.clear();
  }

  /** The next rows are the actor's state through `sequence`, which never decreases. The last stamp is the snapshot's. */
  stamp(sequence: number, timeMs: number): void {
    this.view.setFloat64(AT_SEQUENCE, sequence, true);
    this.view.setFloat64(AT_TIME, timeMs, true);
  }

  put(table: string, key: number | string, row: Message): void {
    const from = this.openEntry(table, key, maxMessageBytes(row));
    const rowAt = this.at;
    this.at = encodeMessage(this.view, this.bytes, rowAt, row);
    this.closeEntry(from, PUT, this.at - rowAt);
  }

  remove(table: string, key: number | string): void {
    this.closeEntry(this.openEntry(table, key, 0), REMOVE, 0);
  }

  /** Emits the last part, even if no row changed: it carries the sequence. */
  end(): void {
    this.flush(1);
    this.part = 0;
  }

  /** Makes room and writes the entry's key. Returns the entry's offset. */
  private openEntry(table: string, key: number | string, rowBytes: number): number {
    const text = typeof key === "string" ? encoder.encode(key) : null;
    const keyBytes = text === null ? 8 : text.length;
    if (!this.hasRoom(table, keyBytes, rowBytes)) {
      this.flush(0);
      assert(this.hasRoom(table, keyBytes, rowBytes), `snapshot: a row of ${table} is larger than a part`);
    }
    if (table !== this.table) this.putTable(table);
    const from = this.at;
    const { view, bytes } = this;
    view.setUint8(from + 1, text === null ? NUMBER_KEY : STRING_KEY);
    view.setUint16(from + 2, keyBytes, true);
    if (text === null) view.setFloat64(from + ENTRY_HEADER_BYTES, key as number, true);
    else bytes.set(text, from + ENTRY_HEADER_BYTES);
    this.at = from + ENTRY_HEADER_BYTES + keyBytes;
    return from;
  }

  private closeEntry(from: number, op: number, rowBytes: number): void {
    this.view.setUint8(from, op);
    this.view.setUint32(from + 4, rowBytes, true);
    this.at = pad8(this.at);
  }

  private hasRoom(table: string, keyBytes: number, rowBytes: number): boolean {
    const tableBytes = table === this.table ? 0 : ENTRY_HEADER_BYTES + pad8(3 * table.length);
    return this.at + tableBytes + ENTRY_HEADER_BYTES + pad8(keyBytes + rowBytes) <= this.bytes.length;
  }

  private putTable(table: string): void {
    const name = encoder.encode(table);
    this.view.setUint8(this.at, TABLE);
    this.view.setUint8(this.at + 1, STRING_KEY);
    this.view.setUint16(this.at + 2, name.length, true);
    this.view.setUint32(this.at + 4, 0, true);
    this.bytes.set(name, this.at + ENTRY_HEADER_BYTES);
    this.at = pad8(this.at + ENTRY_HEADER_BYTES + name.length);
    this.table = table;
  }

  private flush(last: 0 | 1): void {
    this.view.setUint32(AT_PART, this.part, true);
    this.view.setUint32(AT_LAST, last, true);
    this.view.setUint32(AT_ENTRIES_BYTES, this.at - ENTRIES, true);
    this.emitPart(this.bytes.subarray(0, this.at));
    this.part++;
    this.clear();
  }

  private clear(): void {
    this.at = ENTRIES;
    this.table = "";
  }
}

/** The header of a part. */
export interface SnapshotPart {
  readonly actorId: number;
  readonly sequence: number;
  /** Time of the last transaction in it, in ms since the epoch. */
  readonly time: number;
  readonly part: number;
  readonly last: boolean;
}

interface SnapshotEntries {
  /** `row`: an encoded message, valid only during the call. */
  put(table: string, key: number | string, row: Uint8Array): void;
  remove(table: string, key: number | string): void;
}

/** Reads the header of a part. `record`: a whole record of kind SNAPSHOT. */
export function readSnapshotPart(record: Uint8Array): SnapshotPart {
  const view = viewOf(record);
  return {
    actorId: view.getUint16(AT_ACTOR_ID, true),
    sequence: view.getFloat64(AT_SEQUENCE, true),
    time: view.getFloat64(AT_TIME, true),
    part: view.getUint32(AT_PART, true),
    last: view.getUint32(AT_LAST, true) === 1,
  };
}

/** Visits the entries of a part in the order in which they were written. */
export function eachSnapshotEntry(record: Uint8Array, entries: SnapshotEntries): void {
  const view = viewOf(record);
  const end = ENTRIES + view.getUint32(AT_ENTRIES_BYTES, true);
  assert(end <= record.length, "snapshot: a part is shorter than its header says");
  let table = "";
  for (let at = ENTRIES; at < end; ) {
    const op = view.getUint8(at);
    const keyAt = at + ENTRY_HEADER_BYTES;
    const rowAt = keyAt + view.getUint16(at + 2, true);
    const rowEnd = rowAt + view.getUint32(at + 4, true);
    const isNumber = view.getUint8(at + 1) === NUMBER_KEY;
    // slice, not subarray: TextDecoder refuses shared memory.
    const key = isNumber ? view.getFloat64(keyAt, true) : decoder.decode(record.slice(keyAt, rowAt));
    if (op === TABLE) table = key as string;
    else if (op === PUT) entries.put(table, key, record.subarray(rowAt, rowEnd));
    else {
      assert(op === REMOVE, `snapshot: unknown op ${op}`);
      entries.remove(table, key);
    }
    at = pad8(rowEnd);
  }
}
