import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogWriter, openLog } from "../../../src/store/log/log.ts";
import { LogReader } from "../../../src/store/log/log-reader.ts";
import { RECORD_HEADER_BYTES } from "../../../src/wire/record.ts";
import { Random } from "../../e2e/support/random.ts";
import { failure, SimDisk } from "../../simulation/disk.ts";
import { append, HEADER_BYTES, SEGMENT_BYTES } from "../support/log-fixture.ts";

/** What the log does on a disk that fails: see test/simulation/disk.ts. */

const SECTOR_BYTES = 512;
const open = (files: SimDisk, protectedThrough = 0) =>
  openLog("/log", { segmentBytes: SEGMENT_BYTES, protectedThrough, files });

function count(files: SimDisk, through: number): number {
  const reader = new LogReader("/log", 1, files);
  const found = reader.read(through, () => {});
  reader.close();
  return found;
}

test("a failed sync ends the writer, and its records reach the disk at the next start", () => {
  // At any place relative to sectors: what the kernel calls clean is lost a sector at a time.
  for (let payloadBytes = 8; payloadBytes <= 2 * SECTOR_BYTES; payloadBytes += 8)
    for (const withWatermark of [false, true]) {
      // A disk that loses all that it may.
      const disk = new SimDisk(Object.assign(new Random(1), { pick: () => 0, next: () => 0.5 }));
      const log = open(disk);
      append(log, 3, payloadBytes);
      log.sync();
      if (withWatermark) log.appendWatermark(1);
      else append(log, 1, payloadBytes);
      disk.fault = (call) => (call === "fdatasyncSync" ? failure("EIO", "sync") : null);
      assert.throws(() => log.sync(), { code: "EIO" });
      assert.throws(() => log.sync(), /log writer stopped: log-0+1\.seg: EIO/);
      disk.fault = () => null;
      disk.kill();

      const again = open(disk, 3);
      append(again, 4, payloadBytes);
      again.sync();
      const last = again.nextSequence - 1;
      disk.cutPower();
      const third = open(disk, last);
      assert.equal(third.nextSequence - 1, last, `${payloadBytes} bytes, watermark ${withWatermark}`);
      assert.equal(count(disk, last), last);
    }
});

test("after a failure of any disk call synced records are there, and the next start continues", () => {
  for (const code of ["EIO", "ENOSPC"])
    for (let nth = 1; ; nth++) {
      const disk = new SimDisk(new Random(nth));
      disk.writesShort = nth % 2 === 0;
      let calls = 0;
      disk.fault = (_call, path) => (path.startsWith("/log") && ++calls === nth ? failure(code, path) : null);
      let synced = 0;
      try {
        const log = open(disk);
        for (let batch = 0; batch < 12; batch++) {
          append(log, 5, 20 * RECORD_HEADER_BYTES);
          log.sync();
          synced = log.nextSequence - 1;
          if (batch % 3 === 0) log.appendWatermark(batch);
          if (batch % 4 === 0) log.prepare(HEADER_BYTES);
        }
        log.close();
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, code);
      }
      const failed = calls >= nth;
      disk.fault = () => null;
      if (nth % 3 === 0) disk.kill();
      else disk.cutPower();
      const again = open(disk, synced);
      assert.ok(again.nextSequence > synced, `call ${nth}: ${again.nextSequence - 1} of ${synced}`);
      append(again, 5, 100);
      again.sync();
      assert.equal(count(disk, again.nextSequence - 1), again.nextSequence - 1);
      if (!failed) break;
    }
});

test("an error names the file that could not be written or read", () => {
  const disk = new SimDisk(new Random(5));
  const failing = (failed: string, file: RegExp): void => {
    disk.fault = (call, path) =>
      call === failed && file.test(path) ? Object.assign(new Error("EIO: i/o error"), { code: "EIO" }) : null;
  };
  const trials: [failed: string, file: RegExp, work: (log: LogWriter) => void, says: RegExp][] = [
    ["writeSync", /seg$/, (log) => append(log, 1, 100), /^Error: log-0+1\.seg: EIO/],
    ["fdatasyncSync", /seg$/, (log) => log.sync(), /^Error: log-0+1\.seg: EIO/],
    ["writeSync", /tmp$/, (log) => log.prepare(SEGMENT_BYTES), /^Error: log-next\.tmp: EIO/],
    ["fdatasyncSync", /tmp$/, (log) => log.prepare(SEGMENT_BYTES), /^Error: log-next\.tmp: EIO/],
    ["readSync", /seg$/, () => count(disk, 1), /^Error: log-0+1\.seg: EIO/],
  ];
  for (const [failed, file, work, says] of trials) {
    const log = open(disk);
    append(log, 1, 100);
    failing(failed, file);
    assert.throws(() => work(log), says, failed);
    log.close();
    disk.fault = () => null;
  }
  failing("fdatasyncSync", /seg$/);
  assert.throws(() => open(disk), /^Error: log-0+1\.seg: EIO/);
});

test("on a disk too full for the next segment the current one continues, and the next is made once there is room", () => {
  const disk = new SimDisk(new Random(7));
  const log = open(disk);
  append(log, 3, 100);
  disk.fault = (call, path) => (call === "writeSync" && path.includes("next") ? failure("ENOSPC", path) : null);
  assert.equal(log.prepare(SEGMENT_BYTES), false);
  assert.ok(!disk.readdirSync("/log").some((name) => name.includes("next")), "its room is given back");
  append(log, 3, 100);
  log.sync();
  disk.fault = () => null;
  assert.equal(log.prepare(SEGMENT_BYTES), true);
  while (log.nextSequence < 500) append(log, 5, 100);
  log.sync();
  assert.equal(count(disk, log.nextSequence - 1), log.nextSequence - 1);
});

test("a writer closes each file that it opens, and no file twice", () => {
  const disk = new SimDisk(new Random(3));
  const log = open(disk);
  append(log, 100, 1000);
  log.sync();
  assert.equal(log.prepare(HEADER_BYTES), false);
  assert.equal(disk.openCount, 2, "the segment in use and the next one");
  log.close();
  assert.equal(disk.openCount, 0);
  // A number that was given back may be another file's by now.
  const reader = new LogReader("/log", 1, disk);
  assert.equal(
    reader.read(10, () => {}),
    10,
  );
  log.close();
  assert.equal(disk.openCount, 1);
  reader.close();
  const again = open(disk, 100);
  assert.equal(disk.openCount, 1);
  again.close();
  assert.equal(disk.openCount, 0);
});
