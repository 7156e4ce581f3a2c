import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { mock, test } from "node:test";
import { type LogWriter, openLog } from "../../../src/store/log/log.ts";
import { LogReader } from "../../../src/store/log/log-reader.ts";
import { verifyLog } from "../../../src/store/log/log-scan.ts";
import {
  encodeHeader,
  LogCorruptError,
  listSegments,
  openSegment,
  readSegmentChain,
  removeSegmentsBefore,
  segmentName,
} from "../../../src/store/log/log-segment.ts";
import {
  AT_DURABLE_THROUGH,
  AT_KIND,
  AT_LOG_BYTES,
  AT_VERSION,
  RECORD_HEADER_BYTES,
} from "../../../src/wire/record.ts";
import { takeSeed } from "../../core/support/seed.ts";
import {
  append,
  assertReads,
  bytesOf,
  collect,
  corruptAt,
  flip,
  HEADER_BYTES,
  open,
  randomOf,
  read,
  record,
  SEGMENT_BYTES,
  temporary,
} from "../support/log-fixture.ts";

// ---- append and read ------------------------------------------------------------------------------------------------

test("appended and synced records are read back unchanged, over several segments and restarts", (t) => {
  const dir = temporary(t);
  const written: Buffer[] = [];
  for (let round = 0; round < 4; round++) {
    const log = open(dir);
    assert.equal(log.truncation, null);
    assert.equal(log.nextSequence, written.length + 1);
    assert.equal(log.durableThrough, written.length);
    for (let batch = 0; batch < 10; batch++) written.push(...append(log, 1 + (batch % 7), 40 + round * 56));
    assert.ok(log.durableThrough < log.nextSequence - 1);
    log.sync();
    assert.equal(log.durableThrough, log.nextSequence - 1);
    log.close();
  }
  assert.ok(listSegments(dir).length > 1);
  assertReads(dir, written);
  const bytes = written.reduce((sum, record) => sum + record.length, 0);
  assert.deepEqual(verifyLog(dir), {
    records: written.length,
    firstSequence: 1,
    lastSequence: written.length,
    bytes,
    segments: listSegments(dir).length,
    tornBytes: 0,
  });
});

test("one batch is split over segments at records; a record that exactly fills a segment fits", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const room = SEGMENT_BYTES - HEADER_BYTES;
  const sizes = [room, room - 40, 40, room - 48, 48, 64];
  const records = sizes.map((size, i) => record(1 + i, size - RECORD_HEADER_BYTES, 0));
  log.append(Buffer.concat(records), 1, records.length);
  assert.equal(log.durableThrough, 5, "a new segment vouches for those before it");
  log.sync();
  log.close();
  assert.deepEqual(listSegments(dir), [1, 2, 4, 6]);
  assertReads(dir, records);
  verifyLog(dir);
});

test("a record larger than a segment gets a segment of its own size, even as the first of the log", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const records = [...append(log, 1, 50_000), ...append(log, 2, 100), ...append(log, 1, 3_000_000)];
  log.sync();
  log.appendWatermark(1); // finds no room: an empty segment 5, too small for its first record
  assert.deepEqual(listSegments(dir), [1, 2, 4, 5]);
  records.push(...append(log, 1, 50_000), ...append(log, 1, 8));
  log.sync();
  log.close();
  assert.deepEqual(listSegments(dir), [1, 2, 4, 5, 6]);
  assertReads(dir, records);
  open(dir).close();
  assert.equal(verifyLog(dir).records, 6);
});

test("prepare() makes the next segment in bounded steps, and it is used when the current one is full", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const spare = join(dir, "log-next.tmp");
  let steps = 1;
  while (!log.prepare(5000)) {
    assert.equal(fs.statSync(spare).size, 5000 * steps);
    steps++;
  }
  assert.equal(steps, 4);
  assert.ok(log.prepare(5000));
  const { ino } = fs.statSync(spare);
  const records = append(log, 20, 1000);
  log.sync();
  assert.equal(fs.statSync(join(dir, segmentName(listSegments(dir)[1] as number))).ino, ino);
  log.close();
  assertReads(dir, records);
});

test("append() refuses records that could not be read again, and then stays stopped", (t) => {
  const sound = record(1, 16, 0);
  const altered = (change: (bytes: Buffer) => void): Buffer => {
    const bytes = Buffer.from(sound);
    change(bytes);
    return bytes;
  };
  const cases: [Buffer, number, number][] = [
    [record(2, 16, 0), 2, 2],
    [sound, 1, 2],
    [record(2, 16, 0), 1, 1],
    [sound.subarray(0, 48), 1, 1],
    [altered((bytes) => bytes.writeUInt32LE(0, AT_LOG_BYTES)), 1, 1],
    [altered((bytes) => bytes.writeUInt8(2, AT_KIND)), 1, 1],
    [altered((bytes) => bytes.writeUInt8(9, AT_VERSION)), 1, 1],
    [altered((bytes) => bytes.writeDoubleLE(1, AT_DURABLE_THROUGH)), 1, 1],
  ];
  for (const [bytes, first, last] of cases) {
    const log = open(temporary(t));
    assert.throws(() => log.append(bytes, first, last), /log: append/);
    assert.throws(() => log.append(sound, 1, 1), /log writer stopped: log: append/);
    assert.match(log.failed?.message ?? "", /log: append/);
    log.close();
  }
});

test("a reader follows a growing log and never reads past the durable sequence", (t) => {
  const seed = takeSeed(t.name);
  const random = randomOf(seed);
  const dir = temporary(t);
  const log = open(dir);
  const reader = new LogReader(dir, 1);
  const late = new LogReader(dir, 150);
  const written: Buffer[] = [];
  const read: Buffer[] = [];
  const readLate: Buffer[] = [];
  while (written.length < 400) {
    written.push(...append(log, 1 + random(5), 8 * random(100)));
    if (random(3) === 0) log.sync();
    if (random(3) === 0) log.appendWatermark(1);
    const through = random(4) === 0 ? Math.max(0, log.durableThrough - random(3)) : log.durableThrough;
    const limit = random(2) === 0 ? Number.POSITIVE_INFINITY : random(6);
    const count = reader.read(through, collect(read), limit);
    assert.ok(count <= limit);
    assert.ok(read.length <= Math.max(through, read.length - count));
    if (limit > 6) assert.equal(read.length, Math.max(through, read.length - count));
    late.read(log.durableThrough, collect(readLate));
    assert.equal(readLate.length, Math.max(0, log.durableThrough - 149));
  }
  log.sync();
  reader.read(log.durableThrough, collect(read));
  late.read(log.durableThrough, collect(readLate));
  assert.deepEqual(read, written);
  assert.deepEqual(readLate, written.slice(149));
  assert.equal(reader.read(log.durableThrough, collect(read)), 0);
  assert.throws(() => reader.read(log.durableThrough + 1, collect(read)), LogCorruptError);
  for (const closable of [reader, late, log]) closable.close();
});

test("a reader that was closed, or whose visit threw, continues with the same record", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const written = append(log, 30, 1000);
  log.sync();
  const reader = new LogReader(dir, 3);
  const read: Buffer[] = [];
  reader.read(30, collect(read), 20);
  assert.throws(() => reader.read(30, () => assert.fail("visit")), /visit/);
  reader.close();
  reader.read(30, collect(read));
  assert.deepEqual(read, written.slice(2));
  reader.close();
  log.close();
});

test("removeSegmentsBefore removes whole segments, never the last; a reader from before them is refused", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const written = append(log, 50, 960); // 12 records of 1000 bytes a segment
  log.sync();
  assert.deepEqual(listSegments(dir), [1, 13, 25, 37, 49]);
  assert.equal(removeSegmentsBefore(dir, 12), 0);
  assert.equal(removeSegmentsBefore(dir, 13), 1);
  assert.equal(removeSegmentsBefore(dir, 48), 2);
  assert.deepEqual(listSegments(dir), [37, 49]);
  assertReads(dir, written.slice(36), 37);
  assert.throws(() => new LogReader(dir, 36).read(50, () => {}), /the log begins with 37/);
  assert.equal(removeSegmentsBefore(dir, 1000), 1);
  assert.equal(removeSegmentsBefore(dir, 1000), 0);
  written.push(...append(log, 20, 960));
  log.sync();
  log.close();
  open(dir).close();
  assertReads(dir, written.slice(48), 49);
  const { firstSequence, lastSequence } = verifyLog(dir);
  assert.deepEqual([firstSequence, lastSequence], [49, 70]);
});

test("a segment in use that was renamed, replaced or removed ends the writer, and an older one does not", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  for (let batch = 0; batch < 3; batch++) {
    append(log, 20, 960);
    log.requireSegment();
  }
  log.close();
  const last = join(dir, segmentName(listSegments(dir).at(-1) ?? 0));
  fs.copyFileSync(last, `${last}-copy`);
  fs.rmSync(join(dir, segmentName(1)));
  const rows: [change: () => void, message: RegExp][] = [
    [() => fs.renameSync(last, `${last}-aside`), /log-\d+\.seg: this file was removed or renamed/],
    [() => fs.renameSync(`${last}-copy`, last), /log-\d+\.seg: another file has replaced this one/],
    [() => fs.rmSync(last), /log-\d+\.seg: this file was removed or renamed/],
  ];
  for (const [change, message] of rows) {
    if (!fs.existsSync(last)) fs.renameSync(`${last}-aside`, last);
    const again = open(dir);
    again.requireSegment();
    change();
    assert.throws(() => again.requireSegment(), { message });
    assert.throws(() => append(again, 1, 40), /log writer stopped/);
    again.close();
  }
});

test("new segments record the exchange, also after those of an earlier version, and another exchange's are refused", (t) => {
  const dir = temporary(t);
  const [own, other] = [randomUUID(), randomUUID()];
  const openAs = (exchangeId: string) => openLog(dir, { segmentBytes: SEGMENT_BYTES, protectedThrough: 0, exchangeId });
  const grow = (log: LogWriter): void => {
    append(log, 20, 960);
    log.sync();
    log.close();
  };
  grow(open(dir));
  assert.deepEqual(
    readSegmentChain(dir, own).map(({ exchangeId }) => exchangeId),
    ["", ""],
  );
  grow(openAs(own));
  grow(open(dir));
  assert.deepEqual(
    readSegmentChain(dir, own).map(({ exchangeId }) => exchangeId),
    ["", "", own, own, own],
  );
  for (const attempt of [() => openAs(other), () => verifyLog(dir, other)])
    assert.throws(attempt, { message: new RegExp(`log-0+25\\.seg.*belongs to the exchange ${own}, not to ${other}$`) });
  assert.equal(verifyLog(dir, own).records, 60);
  const { fd, segment } = openSegment(dir, 37, "r+");
  fs.writeSync(fd, encodeHeader({ ...segment, exchangeId: other }), 0, undefined, 0);
  fs.closeSync(fd);
  for (const attempt of [() => open(dir), () => openAs(own), () => verifyLog(dir)])
    assert.throws(attempt, { message: new RegExp(`log-0+37\\.seg.*belongs to the exchange ${other}, not to ${own}$`) });
});

// ---- watermarks -----------------------------------------------------------------------------------------------------

test("a watermark proves once what was synced, takes no sequence and is skipped by readers", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const endOf = () => verifyLog(dir).bytes;
  log.appendWatermark(1);
  assert.equal(endOf(), 0); // nothing to vouch for
  const written = append(log, 3, 100);
  log.appendWatermark(1);
  assert.equal(endOf(), bytesOf(written)); // nothing synced yet
  log.sync();
  log.appendWatermark(1);
  log.appendWatermark(2);
  assert.equal(endOf(), bytesOf(written) + RECORD_HEADER_BYTES);
  assert.equal(log.nextSequence, 4);
  written.push(...append(log, 2, 100));
  log.sync();
  log.close();
  const again = open(dir); // vouched through 3, on disk through 5
  again.appendWatermark(1);
  assert.equal(endOf(), bytesOf(written) + 2 * RECORD_HEADER_BYTES);
  again.close();
  assertReads(dir, written);
});

test("a watermark without room opens the next segment, which proves the same", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const written = append(log, 1, SEGMENT_BYTES - HEADER_BYTES - RECORD_HEADER_BYTES);
  log.sync();
  log.appendWatermark(1);
  log.appendWatermark(1);
  log.close();
  assert.deepEqual(listSegments(dir), [1, 2]);
  flip(dir, 1, HEADER_BYTES + 100);
  assert.throws(() => read(dir, 1, 1), corruptAt(1, HEADER_BYTES, 1));
  flip(dir, 1, HEADER_BYTES + 100);
  assertReads(dir, written);
});

// ---- errors of the file system --------------------------------------------------------------------------------------

test("a directory or file without write permission is an error that says so", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  append(log, 1, 100);
  log.sync();
  log.close();
  const empty = join(dir, "empty");
  fs.mkdirSync(empty);
  fs.chmodSync(empty, 0o555);
  fs.chmodSync(join(dir, segmentName(1)), 0o444);
  fs.chmodSync(dir, 0o555);
  asOrdinaryUser(() => {
    assert.throws(() => open(dir), { code: "EACCES" });
    assert.throws(() => open(empty), { code: "EACCES" });
    assert.equal(verifyLog(dir).records, 1);
    assert.equal(read(dir, 1, 1).length, 1);
  });
});

test("a full disk stops the writer, and synced records are there at the next start", { skip: noDevFull() }, (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const written = append(log, 10, 960);
  log.sync();
  fs.symlinkSync("/dev/full", join(dir, "log-next.tmp"));
  assert.throws(() => append(log, 10, 960), { code: "ENOSPC" });
  assert.match(log.failed?.message ?? "", /ENOSPC/);
  assert.throws(() => log.sync(), /log writer stopped: .*ENOSPC/);
  assert.throws(() => log.prepare(1), /log writer stopped/);
  log.close();
  fs.unlinkSync(join(dir, "log-next.tmp"));
  const again = open(dir);
  const kept = read(dir, 1, again.nextSequence - 1);
  assert.deepEqual(kept.slice(0, 10), written);
  again.close();
});

test("a failed sync stops the writer and proves nothing, and the next start writes the tail again", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const written = append(log, 2, 100);
  log.sync();
  written.push(...append(log, 2, 100));
  const broken = () => {
    throw Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
  };
  withMock("fdatasyncSync", broken, () => assert.throws(() => log.sync(), { code: "EIO" }));
  assert.equal(log.durableThrough, 2);
  assert.throws(() => log.appendWatermark(1), /log writer stopped: .*EIO/);
  log.close();

  const writes: number[][] = [];
  const { writeSync } = fs;
  const spy = (fd: number, bytes: Buffer, from: number, length: number, position: number): number => {
    writes.push([position, length]);
    return writeSync(fd, bytes, from, length, position);
  };
  withMock("writeSync", spy, () => open(dir).close());
  assert.deepEqual(writes, [[HEADER_BYTES + bytesOf(written.slice(0, 2)), bytesOf(written.slice(2))]]);
  assertReads(dir, written);
});

// ---- helpers --------------------------------------------------------------------------------------------------------

/** Root may write everywhere: gives the rights up for a while. */
function asOrdinaryUser(work: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

function withMock(name: "fdatasyncSync" | "writeSync", implementation: unknown, work: () => void): void {
  const mocked = mock.method(fs, name, implementation as typeof fs.fdatasyncSync);
  syncBuiltinESMExports();
  try {
    work();
  } finally {
    mocked.mock.restore();
    syncBuiltinESMExports();
  }
}

function noDevFull(): string | false {
  return fs.existsSync("/dev/full") ? false : "no /dev/full here";
}
