import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type LogWriter, openLog } from "../../../src/store/log/log.ts";
import { LogReader } from "../../../src/store/log/log-reader.ts";
import { seal } from "../../../src/store/log/log-record.ts";
import { LogCorruptError, segmentName } from "../../../src/store/log/log-segment.ts";
import {
  AT_KIND,
  AT_LOG_BYTES,
  AT_SEQUENCE,
  AT_TIME,
  AT_VERSION,
  FORMAT_VERSION,
  KIND_TRANSACTION,
  RECORD_HEADER_BYTES,
  viewOf,
} from "../../../src/wire/record.ts";

/** What the tests of the log share: logs in temporary directories, recognisable records, a seeded random. */

export const SEGMENT_BYTES = 16384;
export const HEADER_BYTES = 4096;

export function temporary(t: TestContext): string {
  const dir = fs.mkdtempSync(join(tmpdir(), "perpd-log-"));
  t.after(() => {
    fs.chmodSync(dir, 0o755);
    fs.rmSync(dir, { recursive: true });
  });
  return dir;
}

export const open = (dir: string, protectedThrough = 0): LogWriter =>
  openLog(dir, { segmentBytes: SEGMENT_BYTES, protectedThrough });

/** A sealed turn. Its payload depends on the sequence and holds no zero, so that every byte torn off shows. */
export function record(sequence: number, payloadBytes: number, durableThrough: number): Buffer {
  const logBytes = RECORD_HEADER_BYTES + ((payloadBytes + 7) & ~7);
  const bytes = Buffer.alloc(logBytes);
  bytes.writeUInt32LE(logBytes, AT_LOG_BYTES);
  bytes.writeDoubleLE(sequence, AT_SEQUENCE);
  bytes.writeDoubleLE(1_700_000_000_000 + sequence, AT_TIME);
  bytes.writeUInt8(KIND_TRANSACTION, AT_KIND);
  bytes.writeUInt8(FORMAT_VERSION, AT_VERSION);
  for (let i = 0; i < payloadBytes; i++) bytes[RECORD_HEADER_BYTES + i] = 1 + ((sequence * 31 + i * 7) % 255);
  seal(viewOf(bytes), bytes, 0, logBytes, durableThrough);
  return bytes;
}

export function append(log: LogWriter, count: number, payloadBytes: number): Buffer[] {
  const first = log.nextSequence;
  const records = Array.from({ length: count }, (_, i) => record(first + i, payloadBytes, log.durableThrough));
  log.append(Buffer.concat(records), first, first + count - 1);
  return records;
}

export const collect = (into: Buffer[]) => (buffer: Buffer, _view: DataView, offset: number, logBytes: number) =>
  void into.push(Buffer.from(buffer.subarray(offset, offset + logBytes)));

export function read(dir: string, from: number, through: number): Buffer[] {
  const reader = new LogReader(dir, from);
  const found: Buffer[] = [];
  try {
    reader.read(through, collect(found));
    return found;
  } finally {
    reader.close();
  }
}

export function assertReads(dir: string, expected: Buffer[], from = 1): void {
  assert.deepEqual(read(dir, from, from + expected.length - 1), expected);
}

export const bytesOf = (records: Buffer[]): number => records.reduce((sum, { length }) => sum + length, 0);

export function flipped(bytes: Buffer, offset: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[offset] = (copy[offset] as number) ^ 0x10;
  return copy;
}

export function flip(dir: string, firstSequence: number, offset: number): void {
  const file = join(dir, segmentName(firstSequence));
  fs.writeFileSync(file, flipped(fs.readFileSync(file), offset));
}

export const corruptAt = (firstSequence: number, offset: number, sequence: number) => (error: unknown) => {
  assert.ok(error instanceof LogCorruptError, String(error));
  assert.deepEqual([error.segment, error.offset, error.sequence], [segmentName(firstSequence), offset, sequence]);
  assert.ok(error.message.includes(`${error.segment} at byte ${offset}, expected sequence ${sequence}`));
  return true;
};

/** Whole numbers from 0 to below − 1 (mulberry32). */
export function randomOf(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
