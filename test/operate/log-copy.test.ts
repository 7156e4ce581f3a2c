import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { LogGapError, PinnedLog } from "../../src/operate/log-copy.ts";
import { verifyLog } from "../../src/store/log/log-scan.ts";
import { LogCorruptError, listSegments, removeSegmentsBefore, segmentName } from "../../src/store/log/log-segment.ts";
import { append, assertReads, HEADER_BYTES, open, SEGMENT_BYTES, temporary } from "../store/support/log-fixture.ts";

/** So many records of so many bytes fill more than one segment. */
const RECORDS = 60;
const PAYLOAD_BYTES = 400;

test("a log that grows and is trimmed during the copy is copied from its first pinned segment", (t) => {
  const dir = temporary(t);
  const to = join(temporary(t), "copy");
  const log = open(dir);
  const written = append(log, RECORDS, PAYLOAD_BYTES);
  const pinned = new PinnedLog(dir);
  pinned.pin();
  written.push(...append(log, RECORDS, PAYLOAD_BYTES));
  log.sync();
  pinned.pin();
  assert.ok(removeSegmentsBefore(dir, log.nextSequence) >= 2);
  const copy = pinned.copyTo(to, SEGMENT_BYTES, 0);
  pinned.close();
  log.close();
  assert.equal(copy.lastSequence, 2 * RECORDS);
  const { records, firstSequence, segments, tornBytes } = verifyLog(to);
  assert.deepEqual([records, firstSequence, segments, tornBytes], [2 * RECORDS, 1, copy.segments, 0]);
  assertReads(to, written);
});

test("segments that were created and removed between two pins are an error", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  append(log, 1, PAYLOAD_BYTES);
  const pinned = new PinnedLog(dir);
  pinned.pin();
  append(log, 3 * RECORDS, PAYLOAD_BYTES);
  log.sync();
  removeSegmentsBefore(dir, log.nextSequence);
  assert.throws(() => pinned.pin(), LogGapError);
  pinned.close();
  log.close();
});

test("an empty segment that was replaced under the same name is copied in its new form", (t) => {
  const dir = temporary(t);
  const to = join(temporary(t), "copy");
  const log = open(dir);
  const pinned = new PinnedLog(dir);
  pinned.pin();
  const written = append(log, 1, 2 * SEGMENT_BYTES);
  log.sync();
  assert.deepEqual(listSegments(dir), [1]);
  pinned.pin();
  pinned.copyTo(to, SEGMENT_BYTES, 0);
  pinned.close();
  log.close();
  assertReads(to, written);
});

test("a torn tail is not copied, and a watermark proves the end of the copy", (t) => {
  const dir = temporary(t);
  const to = join(temporary(t), "copy");
  const log = open(dir);
  const written = append(log, 3, PAYLOAD_BYTES);
  log.sync();
  append(log, 1, PAYLOAD_BYTES);
  log.close();
  const recordBytes = written[0]?.length ?? 0;
  const file = join(dir, segmentName(1));
  const bytes = fs.readFileSync(file);
  fs.writeFileSync(file, bytes.fill(0, HEADER_BYTES + 3 * recordBytes + 100, HEADER_BYTES + 4 * recordBytes));
  const pinned = new PinnedLog(dir);
  pinned.pin();
  assert.equal(pinned.copyTo(to, SEGMENT_BYTES, 0).lastSequence, 3);
  pinned.close();
  assertReads(to, written);

  const copied = fs.readFileSync(join(to, segmentName(1)));
  copied.writeUInt8(copied.readUInt8(HEADER_BYTES + 2 * recordBytes + 60) ^ 1, HEADER_BYTES + 2 * recordBytes + 60);
  fs.writeFileSync(join(to, segmentName(1)), copied);
  assert.throws(() => verifyLog(to), /the record is damaged.*says that it was on disk/);
});

test("records written during the scan are read again", (t) => {
  const dir = temporary(t);
  const to = join(temporary(t), "copy");
  const log = open(dir);
  const written = [1, 2, 3].flatMap(() => {
    const records = append(log, 1, PAYLOAD_BYTES);
    log.sync();
    return records;
  });
  log.close();
  const recordBytes = written[0]?.length ?? 0;
  const readSync = fs.readSync;
  let holes = 0;
  const reading = t.mock.method(fs, "readSync", (fd: number, buffer: Buffer, ...rest: [number, number, number]) => {
    const count = readSync(fd, buffer, ...rest);
    // The first time that the whole file is read, the second record is not there yet, but the third is.
    if (count === SEGMENT_BYTES && holes++ === 0)
      buffer.fill(0, HEADER_BYTES + recordBytes, HEADER_BYTES + 2 * recordBytes);
    return count;
  });
  syncBuiltinESMExports();
  t.after(() => {
    reading.mock.restore();
    syncBuiltinESMExports();
  });
  const pinned = new PinnedLog(dir);
  pinned.pin();
  assert.equal(pinned.copyTo(to, SEGMENT_BYTES, 0).lastSequence, 3);
  pinned.close();
  assert.ok(holes > 1);
  assertReads(to, written);
});

test("a damaged record in the source is not taken for the end of the log", (t) => {
  const dir = temporary(t);
  const to = join(temporary(t), "copy");
  const log = open(dir);
  for (let i = 0; i < 3; i++) {
    append(log, 1, PAYLOAD_BYTES);
    log.sync();
  }
  log.close();
  const bytes = fs.readFileSync(join(dir, segmentName(1)));
  bytes.writeUInt8(bytes.readUInt8(HEADER_BYTES + 60) ^ 1, HEADER_BYTES + 60);
  fs.writeFileSync(join(dir, segmentName(1)), bytes);
  const pinned = new PinnedLog(dir);
  pinned.pin();
  assert.throws(() => pinned.copyTo(to, SEGMENT_BYTES, 0), LogCorruptError);
  pinned.close();
});
