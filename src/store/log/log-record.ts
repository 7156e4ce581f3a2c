import { crc32 } from "node:zlib";
import { assert } from "../../assert.ts";
import {
  AT_CRC,
  AT_DURABLE_THROUGH,
  AT_KIND,
  AT_LOG_BYTES,
  AT_SEQUENCE,
  AT_TIME,
  AT_VERSION,
  FORMAT_VERSION,
  KIND_TRANSACTION,
  KIND_WATERMARK,
  RECORD_HEADER_BYTES,
} from "../../wire/record.ts";

/** Sealing and checking of log records. `bytes` and `view` always cover the same memory. */

/** The verdict on the bytes at an offset of a segment. */
export type Verdict =
  | typeof TRANSACTION
  | typeof WATERMARK
  /** Nothing was written here: the length is 0, or there is no room for a record. */
  | typeof END
  /** The length or the checksum is wrong: the record is torn or damaged. */
  | typeof DAMAGED
  /** The checksum is right, so it was written like this, but it does not belong here. */
  | typeof FOREIGN;
export const TRANSACTION = 0;
export const WATERMARK = 1;
export const END = 2;
export const DAMAGED = 3;
const FOREIGN = 4;

/** Sets durableThrough and then the checksum of a record: the last step before append(). */
export function seal(
  view: DataView,
  bytes: Uint8Array,
  offset: number,
  logBytes: number,
  durableThrough: number,
): void {
  view.setFloat64(offset + AT_DURABLE_THROUGH, durableThrough, true);
  view.setUint32(offset + AT_CRC, checksum(bytes, offset, logBytes), true);
}

/** Writes and seals a watermark: everything through `durableThrough` is durable, and `sequence` is the last one written. */
export function encodeWatermark(
  view: DataView,
  bytes: Uint8Array,
  sequence: number,
  timeMs: number,
  durableThrough: number,
): void {
  bytes.fill(0, 0, RECORD_HEADER_BYTES);
  view.setUint32(AT_LOG_BYTES, RECORD_HEADER_BYTES, true);
  view.setFloat64(AT_SEQUENCE, sequence, true);
  view.setFloat64(AT_TIME, timeMs, true);
  view.setUint8(AT_KIND, KIND_WATERMARK);
  view.setUint8(AT_VERSION, FORMAT_VERSION);
  seal(view, bytes, 0, RECORD_HEADER_BYTES, durableThrough);
}

/** Checks the bytes at `offset`. Valid are the transaction `expected` and a watermark after `expected − 1`. */
export function inspect(
  view: DataView,
  bytes: Uint8Array,
  offset: number,
  endOffset: number,
  expected: number,
): Verdict {
  if (offset + RECORD_HEADER_BYTES > endOffset || view.getUint32(offset + AT_LOG_BYTES, true) === 0) return END;
  if (!isIntact(view, bytes, offset, endOffset)) return DAMAGED;
  if (view.getUint8(offset + AT_VERSION) !== FORMAT_VERSION) return FOREIGN;
  const kind = view.getUint8(offset + AT_KIND);
  if (kind !== KIND_TRANSACTION && kind !== KIND_WATERMARK) return FOREIGN;
  const sequence = view.getFloat64(offset + AT_SEQUENCE, true);
  if (sequence !== (kind === KIND_TRANSACTION ? expected : expected - 1)) return FOREIGN;
  const durableThrough = view.getFloat64(offset + AT_DURABLE_THROUGH, true);
  if (!(durableThrough >= 0 && durableThrough < expected)) return FOREIGN;
  return kind === KIND_TRANSACTION ? TRANSACTION : WATERMARK;
}

/** Explains why inspect() did not find the record, for an error message. */
export function describe(verdict: Verdict, view: DataView, offset: number): string {
  if (verdict === END) return "the record is missing";
  if (verdict === DAMAGED) return "the record is damaged (length or checksum)";
  const version = view.getUint8(offset + AT_VERSION);
  if (version !== FORMAT_VERSION) return `the record has version ${version}, this program reads ${FORMAT_VERSION}`;
  const sequence = view.getFloat64(offset + AT_SEQUENCE, true);
  const kind = view.getUint8(offset + AT_KIND);
  const durableThrough = view.getFloat64(offset + AT_DURABLE_THROUGH, true);
  return `a record of sequence ${sequence}, kind ${kind}, durableThrough ${durableThrough} does not belong here`;
}

/**
 * The offset of an intact record at or after `offset` that proves that `sequence` was durable; −1 if there is none. Tries
 * every place where a record may begin, since the length of a damaged record cannot be trusted.
 */
export function findProof(
  view: DataView,
  bytes: Uint8Array,
  offset: number,
  endOffset: number,
  sequence: number,
): number {
  for (let at = offset; at + RECORD_HEADER_BYTES <= endOffset; at += 8) {
    if (view.getUint32(at + AT_LOG_BYTES, true) === 0) continue;
    const durableThrough = view.getFloat64(at + AT_DURABLE_THROUGH, true);
    const plausible = durableThrough >= sequence && durableThrough <= view.getFloat64(at + AT_SEQUENCE, true);
    if (plausible && isIntact(view, bytes, at, endOffset)) return at;
  }
  return -1;
}

/** Throws AssertionError for records that inspect() would not accept. Does not check the checksum, which seal() sets. */
export function checkBatch(view: DataView, firstSequence: number, lastSequence: number, nextSequence: number): void {
  assert(firstSequence === nextSequence, `log: append of ${firstSequence} where ${nextSequence} is next`);
  let offset = 0;
  let sequence = firstSequence;
  for (; offset < view.byteLength; sequence++) {
    const logBytes = view.getUint32(offset + AT_LOG_BYTES, true);
    assert(isLength(logBytes, view.byteLength - offset), `log: append of a record of ${logBytes} bytes`);
    assert(view.getFloat64(offset + AT_SEQUENCE, true) === sequence, `log: append without ${sequence}`);
    assert(view.getUint8(offset + AT_KIND) === KIND_TRANSACTION, "log: append of a record that is not a transaction");
    assert(view.getUint8(offset + AT_VERSION) === FORMAT_VERSION, "log: append of another version");
    const durableThrough = view.getFloat64(offset + AT_DURABLE_THROUGH, true);
    assert(
      durableThrough >= 0 && durableThrough < nextSequence,
      "log: append of a record that claims to be durable itself",
    );
    offset += logBytes;
  }
  assert(
    sequence === lastSequence + 1,
    `log: append of ${firstSequence} to ${sequence - 1}, announced ${lastSequence}`,
  );
}

function isIntact(view: DataView, bytes: Uint8Array, offset: number, endOffset: number): boolean {
  const logBytes = view.getUint32(offset + AT_LOG_BYTES, true);
  if (!isLength(logBytes, endOffset - offset)) return false;
  return view.getUint32(offset + AT_CRC, true) === checksum(bytes, offset, logBytes);
}

const isLength = (logBytes: number, room: number): boolean =>
  logBytes >= RECORD_HEADER_BYTES && logBytes % 8 === 0 && logBytes <= room;

const checksum = (bytes: Uint8Array, offset: number, logBytes: number): number =>
  crc32(new Uint8Array(bytes.buffer, bytes.byteOffset + offset + AT_SEQUENCE, logBytes - AT_SEQUENCE));
