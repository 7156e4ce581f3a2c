import { crc32 } from "node:zlib";
import { seal } from "../../../src/store/log/log-record.ts";
import {
  AT_ACTOR_ID,
  AT_KIND,
  AT_LOG_BYTES,
  AT_SEQUENCE,
  AT_TIME,
  AT_VERSION,
  FORMAT_VERSION,
  KIND_TRANSACTION,
  pad8,
  RECORD_HEADER_BYTES,
  viewOf,
} from "../../../src/wire/record.ts";

/** The simulated exchange: a transaction says which command it carries out, and on which history it was decided. */
export interface Transaction {
  readonly sequence: number;
  readonly timeMs: number;
  /** The command's number; 0 = a leader began. */
  readonly command: number;
  /** digestAfter() of the transaction before, as its leader knew it. */
  readonly base: number;
}

const ACTOR_ID = 7;
const AT_COMMAND = RECORD_HEADER_BYTES;
const AT_BASE = RECORD_HEADER_BYTES + 8;
const PAYLOAD_BYTES = 16;

/** `extraBytes` make it larger. Not sealed yet. */
export function encodeTransaction(transaction: Transaction, extraBytes: number): Buffer {
  const bytes = Buffer.alloc(RECORD_HEADER_BYTES + PAYLOAD_BYTES + pad8(extraBytes), 1 + (transaction.command % 250));
  bytes.fill(0, 0, RECORD_HEADER_BYTES);
  bytes.writeUInt32LE(bytes.length, AT_LOG_BYTES);
  bytes.writeDoubleLE(transaction.sequence, AT_SEQUENCE);
  bytes.writeDoubleLE(transaction.timeMs, AT_TIME);
  bytes.writeUInt16LE(ACTOR_ID, AT_ACTOR_ID);
  bytes.writeUInt8(KIND_TRANSACTION, AT_KIND);
  bytes.writeUInt8(FORMAT_VERSION, AT_VERSION);
  bytes.writeDoubleLE(transaction.command, AT_COMMAND);
  bytes.writeDoubleLE(transaction.base, AT_BASE);
  return bytes;
}

/** Seals a record as the journal does: everything through `durableThrough` had counted when it was written. */
export function sealRecord(bytes: Uint8Array, durableThrough: number): void {
  seal(viewOf(bytes), bytes, 0, bytes.length, durableThrough);
}

/** `digestBefore`: the base of a transaction that does not say it, such as LeaderBegan. */
export function decodeTransaction(bytes: Uint8Array, digestBefore: number): Transaction {
  const view = viewOf(bytes);
  const isOwn = view.getUint16(AT_ACTOR_ID, true) === ACTOR_ID;
  return {
    sequence: view.getFloat64(AT_SEQUENCE, true),
    timeMs: view.getFloat64(AT_TIME, true),
    command: isOwn ? view.getFloat64(AT_COMMAND, true) : 0,
    base: isOwn ? view.getFloat64(AT_BASE, true) : digestBefore,
  };
}

/** A digest of the history through this record. */
export function digestAfter(bytes: Uint8Array, digestBefore: number): number {
  const header = crc32(bytes.subarray(AT_SEQUENCE, AT_TIME + 8), digestBefore);
  return crc32(bytes.subarray(RECORD_HEADER_BYTES), header);
}

/** Visits records that lie back to back. */
export function eachRecord(bytes: Uint8Array, visit: (record: Uint8Array) => void): void {
  const view = viewOf(bytes);
  for (let offset = 0; offset < bytes.length; ) {
    const length = view.getUint32(offset + AT_LOG_BYTES, true);
    visit(bytes.subarray(offset, offset + length));
    offset += length;
  }
}
