import assert from "node:assert/strict";
import { test } from "node:test";
import { readFully } from "../../../src/store/files/files.ts";
import { openLog } from "../../../src/store/log/log.ts";
import { cutLog, readLogEnd } from "../../../src/store/log/log-cut.ts";
import { LogReader } from "../../../src/store/log/log-reader.ts";
import { listSegments } from "../../../src/store/log/log-segment.ts";
import { Random } from "../../e2e/support/random.ts";
import { SimDisk } from "../../simulation/disk.ts";
import { append, collect, SEGMENT_BYTES } from "../support/log-fixture.ts";

const DIR = "/log";
const open = (files: SimDisk) => openLog(DIR, { segmentBytes: SEGMENT_BYTES, protectedThrough: 0, files });

/** A log of three segments. Its records through 30 counted. */
function longLog(seed: number): { disk: SimDisk; records: Buffer[] } {
  const disk = new SimDisk(new Random(seed));
  const log = open(disk);
  const records = append(log, 30, 400);
  log.sync();
  records.push(...append(log, 50, 400));
  log.sync();
  log.close();
  disk.kill();
  assert.equal(listSegments(DIR, disk).length, 3);
  return { disk, records };
}

function readAll(disk: SimDisk, last: number): Buffer[] {
  const found: Buffer[] = [];
  const reader = new LogReader(DIR, 1, disk);
  reader.read(last, collect(found));
  reader.close();
  return found;
}

function readFile(disk: SimDisk, path: string): Buffer {
  const fd = disk.openSync(path, "r");
  const bytes = Buffer.alloc(disk.fstatSync(fd).size);
  readFully(fd, bytes, bytes.length, 0, disk);
  disk.closeSync(fd);
  return bytes;
}

test("the end of a log is its last record, and what a record or watermark says to have counted", () => {
  const { disk } = longLog(1);
  assert.deepEqual(readLogEnd(DIR, disk), { last: 80, provenThrough: 30 });
  const log = open(disk);
  log.appendWatermark(1);
  log.sync();
  assert.deepEqual(readLogEnd(DIR, disk), { last: 80, provenThrough: 80 });
  assert.deepEqual(readLogEnd("/missing", disk), { last: 0, provenThrough: 0 });
});

test("a log is cut at any record of any segment, and goes on from there", () => {
  for (const sequence of [1, 2, 25, 29, 30, 31, 55, 56, 57, 58, 59, 60, 80]) {
    const { disk, records } = longLog(sequence);
    assert.equal(cutLog(DIR, sequence, "/", disk), `/log-cut-${sequence}.bin`);
    assert.equal(readLogEnd(DIR, disk).last, sequence - 1);
    const log = open(disk);
    assert.equal(log.truncation, null);
    const more = append(log, 40, 400);
    log.sync();
    assert.deepEqual(readAll(disk, sequence + 39), [...records.slice(0, sequence - 1), ...more], `${sequence}`);
  }
});

test("a cut that a crash stops is done by the next one", () => {
  for (let call = 1, isDone = false; !isDone; call++) {
    const { disk, records } = longLog(call);
    let calls = 0;
    disk.onCall = () => {
      if (++calls === call) throw new Error("crash");
    };
    try {
      cutLog(DIR, 20, "/", disk);
      isDone = true;
    } catch (error) {
      assert.match(String(error), /crash/);
    }
    disk.onCall = () => {};
    disk.cutPower();
    const { last } = readLogEnd(DIR, disk);
    assert.ok(last >= 19 && last <= 80, `call ${call}: ${last}`);
    if (last >= 20) cutLog(DIR, 20, "/", disk);
    // No crash has replaced the records that were kept by a shorter tail.
    const kept = disk.readdirSync("/").filter((name) => name.startsWith("log-cut-20"));
    const tail = Buffer.concat(records.slice(19));
    assert.ok(
      kept.some((name) => readFile(disk, `/${name}`).equals(tail)),
      `call ${call}: ${kept}`,
    );
    const log = open(disk);
    assert.equal(log.nextSequence, 20, `call ${call}`);
    log.close();
    assert.deepEqual(readAll(disk, 19), records.slice(0, 19));
  }
});
