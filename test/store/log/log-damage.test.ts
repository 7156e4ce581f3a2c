import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { crc32 } from "node:zlib";
import { seal } from "../../../src/store/log/log-record.ts";
import { verifyLog } from "../../../src/store/log/log-scan.ts";
import { LogCorruptError, listSegments, segmentName } from "../../../src/store/log/log-segment.ts";
import {
  AT_DURABLE_THROUGH,
  AT_KIND,
  AT_SEQUENCE,
  AT_VERSION,
  RECORD_HEADER_BYTES,
  viewOf,
} from "../../../src/wire/record.ts";
import { runUntilReached, takeSeed } from "../../core/support/seed.ts";
import {
  append,
  assertReads,
  bytesOf,
  corruptAt,
  flip,
  flipped,
  HEADER_BYTES,
  open,
  randomOf,
  read,
  SEGMENT_BYTES,
  temporary,
} from "../support/log-fixture.ts";

// ---- torn tails and proofs ------------------------------------------------------------------------------------------

test("a tail torn at any byte of the last record is cut off, reported and overwritten", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const written = append(log, 3, 100);
  log.sync();
  const last = append(log, 1, 59)[0] as Buffer;
  log.sync();
  log.close();
  const file = join(dir, segmentName(1));
  const whole = fs.readFileSync(file);
  const start = HEADER_BYTES + bytesOf(written);
  for (let kept = 0; kept <= last.length; kept++) {
    const torn = Buffer.from(whole).fill(0, start + kept);
    fs.writeFileSync(file, torn);
    const summary = verifyLog(dir);
    const again = open(dir);
    if (torn.equals(whole)) {
      assert.equal(again.truncation, null);
      assert.equal(again.nextSequence, 5);
      again.close();
      continue;
    }
    assert.equal(summary.lastSequence, 3);
    assert.equal(summary.tornBytes, again.truncation?.bytes ?? 0);
    if (kept === 0) assert.equal(again.truncation, null);
    else {
      const { segment, offset, sequence, bytes } = again.truncation ?? assert.fail("not cut");
      assert.deepEqual([segment, offset, sequence], [segmentName(1), start, 4]);
      assert.ok(bytes <= kept + 7);
    }
    const more = append(again, 2, 24);
    again.sync();
    again.close();
    assertReads(dir, [...written, ...more]);
    assert.equal(open(dir).truncation, null);
  }
});

test("a bad record is cut off with all that follows, unless a later record proves that it was durable", (t) => {
  for (const proof of ["none", "record", "watermark", "store"] as const) {
    const dir = temporary(t);
    const log = open(dir);
    const written = append(log, 2, 100);
    log.sync();
    append(log, 5, 100);
    if (proof === "record" || proof === "watermark") log.sync();
    if (proof === "record") append(log, 1, 100);
    if (proof === "watermark") log.appendWatermark(1);
    log.close();
    const bad = HEADER_BYTES + bytesOf(written);
    flip(dir, 1, bad + 77);
    const before = fs.readFileSync(join(dir, segmentName(1)));
    if (proof === "none") {
      const again = open(dir, 2);
      assert.equal(again.truncation?.sequence, 3);
      assert.equal(again.truncation?.bytes, 5 * (written[0] as Buffer).length);
      written.push(...append(again, 1, 100));
      again.sync();
      again.close();
      assertReads(dir, written);
      assert.equal(verifyLog(dir).lastSequence, 3);
    } else {
      assert.throws(() => open(dir, proof === "store" ? 3 : 0), corruptAt(1, bad, 3));
      assert.deepEqual(fs.readFileSync(join(dir, segmentName(1))), before, "a refused log is left as it was");
    }
  }
});

test("a log that lacks what the database holds stops the start", (t) => {
  const dir = temporary(t);
  assert.throws(() => open(dir, 1), /there is no log, but the database goes through 1/);
  const log = open(dir);
  append(log, 3, 100);
  log.sync();
  log.close();
  open(dir, 3).close();
  assert.throws(() => open(dir, 4), /the record is missing, but 4 was acknowledged/);
});

test("a power cut that keeps any of the unsynced sectors loses nothing synced and never stops the start", (t) => {
  const seed = takeSeed(t.name);
  const random = randomOf(seed);
  const dir = temporary(t);
  const synced: Buffer[] = [];
  for (let cycle = 0; cycle < 150; cycle++) {
    const log = open(dir, synced.length);
    assert.ok(log.nextSequence > synced.length);
    // Records that were kept without having been synced are part of the log now.
    synced.splice(0, synced.length, ...read(dir, 1, log.durableThrough));
    for (let batch = random(4); batch > 0; batch--) {
      synced.push(...append(log, 1 + random(6), 8 * random(60)));
      log.sync();
      if (random(2) === 0) log.appendWatermark(1);
      if (random(2) === 0) log.sync();
    }
    const files = listSegments(dir);
    const images = files.map((first) => fs.readFileSync(join(dir, segmentName(first))));
    for (let batch = random(3); batch > 0; batch--) append(log, 1 + random(6), 8 * random(60));
    log.close();
    if (listSegments(dir).length > files.length) continue; // the roll has synced
    images.forEach((image, i) => {
      const file = join(dir, segmentName(files[i] as number));
      const after = fs.readFileSync(file);
      for (let at = 0; at < after.length; at += 512) {
        if (random(2) === 0) image.copy(after, at, at, at + 512);
      }
      fs.writeFileSync(file, after);
    });
  }
  const log = open(dir, synced.length);
  assert.deepEqual(read(dir, 1, synced.length), synced);
  verifyLog(dir);
  log.close();
});

// ---- damage ---------------------------------------------------------------------------------------------------------

test("random damage is detected or harmless: no record proven durable is lost, and no byte is wrong", (t) => {
  const outcomes = { detected: 0, harmless: 0, cut: 0 };
  runUntilReached(
    takeSeed(t.name),
    (seed) => damageLog(t, seed, outcomes),
    () => Object.entries(outcomes).flatMap(([outcome, times]) => (times === 0 ? [outcome] : [])),
  );
});

function damageLog(t: TestContext, seed: number, outcomes: { detected: number; harmless: number; cut: number }): void {
  const random = randomOf(seed);
  const dir = temporary(t);
  const log = open(dir);
  const written: Buffer[] = [];
  while (listSegments(dir).length < 3 || random(12) > 0) {
    written.push(...append(log, 1 + random(6), 8 * random(40)));
    log.sync();
    if (random(4) === 0) log.appendWatermark(1);
  }
  log.appendWatermark(2);
  log.sync();
  log.close();
  const segments = listSegments(dir);
  const images = segments.map((first) => fs.readFileSync(join(dir, segmentName(first))));
  const restore = () => images.forEach((image, i) => void fs.writeFileSync(pathOf(i), image));
  const pathOf = (i: number) => join(dir, segmentName(segments[i] as number));
  const lastImage = images.at(-1) as Buffer;
  const places = placesOf(lastImage);

  for (let trial = 0; trial < 3000; trial++) {
    restore();
    const i = random(3) === 0 ? random(images.length) : images.length - 1;
    const damaged = damage(images[i] as Buffer, places.at(-1)?.end ?? 0, random);
    fs.writeFileSync(pathOf(i), damaged);
    const hint = `seed ${seed}, trial ${trial}, segment ${i}`;

    // What is left of the last segment vouches for at least this much.
    let vouched = (segments.at(-1) as number) - 1;
    for (const { offset, end, durableThrough } of places) {
      const intact = i < images.length - 1 || damaged.subarray(offset, end).equals(lastImage.subarray(offset, end));
      if (intact) vouched = Math.max(vouched, durableThrough);
    }
    let verified = -1;
    try {
      verified = verifyLog(dir).lastSequence;
    } catch (error) {
      assert.ok(error instanceof LogCorruptError, `${hint}: ${error}`);
    }
    try {
      const again = open(dir);
      const through = again.nextSequence - 1;
      again.close();
      const found = read(dir, 1, through);
      assert.ok(through >= vouched, `${hint}: ${vouched} was vouched for, ${through} found`);
      found.forEach(
        (bytes, n) => void assert.ok(bytes.equals(written[n] as Buffer), `${hint}: record ${n + 1} differs`),
      );
      if (verified >= 0) assert.equal(verified, through, hint);
      if (through === written.length) outcomes.harmless++;
      else outcomes.cut++;
    } catch (error) {
      assert.ok(error instanceof LogCorruptError, `${hint}: ${error}`);
      assert.equal(verified, -1, `${hint}: verified, and then: ${error}`);
      outcomes.detected++;
    }
  }
  t.diagnostic(`${written.length} records, ${JSON.stringify(outcomes)}`);
}

test("a missing segment stops the start, verification and the reader", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  append(log, 50, 960);
  log.sync();
  log.close();
  fs.unlinkSync(join(dir, segmentName(25)));
  assert.throws(() => open(dir), corruptAt(37, 0, 37));
  assert.throws(() => verifyLog(dir), /log-0+25\.seg, is missing/);
  assert.throws(() => read(dir, 1, 50), corruptAt(13, SEGMENT_BYTES - 288, 25));
});

test("a last segment without records is fine; a file without a header is not", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const written = append(log, 1, SEGMENT_BYTES - HEADER_BYTES - RECORD_HEADER_BYTES);
  log.sync();
  log.appendWatermark(1); // rolls
  log.close();
  const again = open(dir);
  assert.deepEqual([again.nextSequence, again.truncation], [2, null]);
  again.close();
  assertReads(dir, written);
  const file = join(dir, segmentName(2));
  for (const content of [Buffer.alloc(0), Buffer.alloc(SEGMENT_BYTES), Buffer.alloc(10)]) {
    fs.writeFileSync(file, content);
    assert.throws(() => open(dir), corruptAt(2, 0, 2));
  }
});

test("an incomplete next segment is ignored and made again", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const written = append(log, 3, 960);
  log.sync();
  log.close();
  fs.writeFileSync(join(dir, "log-next.tmp"), Buffer.alloc(9000, 0xab));
  const again = open(dir);
  written.push(...append(again, 20, 960));
  again.sync();
  again.close();
  assertReads(dir, written);
  assert.equal(verifyLog(dir).tornBytes, 0);
});

test("an intact record in a wrong place stops the start with a reason", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const [first, second] = append(log, 2, 100) as [Buffer, Buffer];
  log.sync();
  log.close();
  const file = join(dir, segmentName(1));
  const image = fs.readFileSync(file);
  const offset = HEADER_BYTES + first.length;
  const cases: [(bytes: Buffer) => void, durableThrough: number, message: RegExp][] = [
    [(bytes) => bytes.writeUInt8(7, AT_VERSION), 0, /the record has version 7, this program reads 1/],
    [
      (bytes) => bytes.writeUInt8(3, AT_KIND),
      0,
      /a record of sequence 2, kind 3, durableThrough 0 does not belong here/,
    ],
    [(bytes) => bytes.writeDoubleLE(3, AT_SEQUENCE), 0, /a record of sequence 3, kind 1/],
    [(bytes) => bytes.writeDoubleLE(1, AT_SEQUENCE), 0, /a record of sequence 1, kind 1/],
    [() => {}, 2, /a record of sequence 2, kind 1, durableThrough 2 does not belong/],
    [() => {}, Number.NaN, /durableThrough NaN does not belong/],
  ];
  for (const [change, durableThrough, message] of cases) {
    const changed = Buffer.from(second);
    change(changed);
    seal(viewOf(changed), changed, 0, changed.length, durableThrough);
    changed.copy(image, offset);
    fs.writeFileSync(file, image);
    for (const attempt of [() => open(dir), () => verifyLog(dir), () => read(dir, 1, 2)]) {
      assert.throws(attempt, corruptAt(1, offset, 2));
      assert.throws(attempt, message);
    }
  }
});

test("a segment that does not match its header stops the start", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  append(log, 20, 960);
  log.sync();
  log.close();
  const file = join(dir, segmentName(13));
  const image = fs.readFileSync(file);
  const future = Buffer.from(image);
  future.writeUInt32LE(2, 12);
  future.writeUInt32LE(crc32(future.subarray(12, 40)), 8);
  const cases: [Buffer, RegExp][] = [
    [future, /version 2, this program reads 1/],
    [flipped(image, 3), /not a log segment/],
    [flipped(image, 30), /wrong checksum/],
    [image.subarray(0, SEGMENT_BYTES - 1), /the file has 16383 bytes and should have 16384/],
    [Buffer.concat([image, Buffer.alloc(8)]), /the file has 16392 bytes/],
    [fs.readFileSync(join(dir, segmentName(1))), /it begins with sequence 1, not with that of its name/],
  ];
  for (const [content, message] of cases) {
    fs.writeFileSync(file, content);
    assert.throws(() => open(dir), corruptAt(13, 0, 13));
    assert.throws(() => open(dir), message);
    assert.throws(() => read(dir, 1, 20), message);
  }
});

test("bytes after the end of a closed segment do not harm readers, and verification reports them", (t) => {
  const dir = temporary(t);
  const log = open(dir);
  const written = append(log, 20, 960);
  log.sync();
  log.close();
  flip(dir, 1, SEGMENT_BYTES - 10);
  assertReads(dir, written);
  assert.throws(() => verifyLog(dir), /there are bytes after the last record of a closed segment/);
});

// ---- helpers --------------------------------------------------------------------------------------------------------

/** Where the records of an undamaged segment stand. */
function placesOf(image: Buffer): { offset: number; end: number; durableThrough: number }[] {
  const places = [];
  for (let offset = HEADER_BYTES; image.readUInt32LE(offset) > 0; ) {
    const end = offset + image.readUInt32LE(offset);
    places.push({ offset, end, durableThrough: image.readDoubleLE(offset + AT_DURABLE_THROUGH) });
    offset = end;
  }
  return places;
}

/** A copy with a few bits flipped, a page zeroed or replaced by another, cut off, or partly filled with one byte. */
function damage(image: Buffer, usedEnd: number, random: (below: number) => number): Buffer {
  const bytes = Buffer.from(image);
  const page = 512 * 8 ** random(2);
  const at = page * random(bytes.length / page);
  switch (random(5)) {
    case 0:
      return bytes.subarray(0, random(bytes.length));
    case 1:
      return bytes.fill(0, at, at + page);
    case 2: {
      const from = page * random(bytes.length / page);
      image.copy(bytes, at, from, from + page);
      return bytes;
    }
    case 3: {
      const start = HEADER_BYTES + random(usedEnd - HEADER_BYTES);
      return bytes.fill(random(256), start, Math.min(bytes.length, start + 1 + random(400)));
    }
    default:
      for (let flips = 1 + random(3); flips > 0; flips--) {
        const where = random(4) === 0 ? random(bytes.length) : HEADER_BYTES + random(usedEnd - HEADER_BYTES);
        bytes[where] = (bytes[where] as number) ^ (1 << random(8));
      }
      return bytes;
  }
}
