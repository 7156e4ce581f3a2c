import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type ReconcileOptions, reconcile } from "../../src/replication/reconcile.ts";
import { UnknownOutcomeError } from "../../src/replication/stream.ts";
import { listSegments, removeSegmentsBefore, segmentName } from "../../src/store/log/log-segment.ts";
import { append, open, read, record, temporary } from "../store/support/log-fixture.ts";
import { batchOf, EXCHANGE, MemoryStream } from "./support.ts";

/** The payload of batchOf(). */
const PAYLOAD_BYTES = 24;

/** A folder whose log has records through `last`; all through `proven` counted before the last one was written. */
function folder(t: TestContext, last: number, proven: number, payloadBytes = PAYLOAD_BYTES): string {
  const dir = temporary(t);
  const log = open(join(dir, "log"));
  if (proven > 0) append(log, proven, PAYLOAD_BYTES);
  log.sync();
  if (proven < last) append(log, last - proven, payloadBytes);
  else log.appendWatermark(1);
  log.close();
  return dir;
}

const compareAll = (dataDir: string, stream: MemoryStream, changes: Partial<ReconcileOptions> = {}) =>
  reconcile({ dataDir, exchangeId: EXCHANGE, stream, storedThrough: 0, wasReplicated: true, mode: "sync", ...changes });
const compare = async (...[dir, stream, changes]: Parameters<typeof compareAll>) =>
  (await compareAll(dir, stream, changes)).cut;
const lengthOf = (dir: string, last: number): number => read(join(dir, "log"), 1, last).length;

test("a log that ends as the stream does, or before, stays", async (t) => {
  const dir = folder(t, 30, 20);
  assert.equal(await compare(dir, new MemoryStream([batchOf(1, 30)])), null);
  assert.equal(await compare(dir, new MemoryStream([batchOf(1, 25), batchOf(26, 60)])), null);
  assert.equal(lengthOf(dir, 30), 30);
});

test("a tail that the stream does not hold is cut off and kept in a file", async (t) => {
  const dir = folder(t, 30, 20);
  const tail = Buffer.concat(read(join(dir, "log"), 26, 30));
  const cut = await compare(dir, new MemoryStream([batchOf(1, 25)]));
  assert.deepEqual(cut, { first: 26, last: 30, answeredThrough: 0, file: join(dir, "log-cut-26.bin") });
  assert.deepEqual(fs.readFileSync(join(dir, "log-cut-26.bin")), tail);
  const log = open(join(dir, "log"), 20);
  assert.equal(log.nextSequence, 26);
  log.close();
});

test("a tail that differs from the stream is cut off where it begins to differ", async (t) => {
  const dir = folder(t, 30, 20, 40);
  const cut = await compare(dir, new MemoryStream([batchOf(1, 22), batchOf(23, 40)]));
  assert.deepEqual([cut?.first, cut?.last], [21, 30]);
});

test("a stream without a transaction that this folder proves is refused", async (t) => {
  const dir = folder(t, 30, 30);
  const lost = /ends with transaction 25, but this folder proves that transaction 30 was acknowledged/;
  await assert.rejects(compare(dir, new MemoryStream([batchOf(1, 25)])), lost);
  await assert.rejects(compare(dir, new MemoryStream()), /ends with transaction 0, but .* 30 was acknowledged/);
  const tail = folder(t, 30, 20);
  await assert.rejects(compare(tail, new MemoryStream([batchOf(1, 25)]), { storedThrough: 28 }), /28 was acknowledged/);
  assert.equal(lengthOf(dir, 30), 30);
  assert.equal(lengthOf(tail, 30), 30);
});

test("a folder that went on without the stream is refused", async (t) => {
  const dir = folder(t, 30, 30);
  const other = batchOf(1, 40);
  const differing = new MemoryStream([batchOf(1, 29), batchOf(30, 40, { epoch: 2 })]);
  assert.equal(await compare(dir, new MemoryStream([other])), null);
  const changed = folder(t, 30, 0, 40);
  await assert.rejects(compare(changed, differing, { storedThrough: 30 }), /30 in this folder is another one/);
});

test("a new stream takes a folder that was never replicated as it is", async (t) => {
  const dir = folder(t, 30, 30);
  assert.equal(await compare(dir, new MemoryStream(), { wasReplicated: false }), null);
  assert.equal(lengthOf(dir, 30), 30);
});

test("a log whose front was replaced by snapshots is compared from where it begins", async (t) => {
  const dir = temporary(t);
  const log = open(join(dir, "log"));
  append(log, 400, PAYLOAD_BYTES);
  log.sync();
  log.close();
  removeSegmentsBefore(join(dir, "log"), 400);
  assert.equal(await compare(dir, new MemoryStream([batchOf(1, 400)]), { storedThrough: 3 }), null);
});

test("a tail that the stream has purged cannot be compared, and is cut off", async (t) => {
  const dir = folder(t, 30, 20);
  const stream = new MemoryStream([batchOf(1, 25), batchOf(26, 30), batchOf(31, 40)]);
  await stream.purgeThrough(2);
  assert.deepEqual((await compare(dir, stream))?.first, 21);
});

/** Other transactions than those of batchOf(). */
const rivalOf = (first: number, last: number) =>
  batchOf(first, last, {
    ...{ epoch: 2, node: "rival" },
    bytes: Buffer.concat(Array.from({ length: last - first + 1 }, (_, i) => record(first + i, 40, 0))),
  });

test("in mode async a tail that was answered stays, until another leader has gone on without it", async (t) => {
  const async = { mode: "async" } as const;
  const dir = folder(t, 30, 30);
  for (const storedThrough of [0, 25, 28])
    assert.deepEqual(await compareAll(dir, new MemoryStream([batchOf(1, 25)]), { ...async, storedThrough }), {
      cut: null,
      streamedThrough: 25,
    });
  await assert.rejects(compareAll(dir, new MemoryStream(), async), /the stream has lost acknowledged transactions/);
  const rivals = () => new MemoryStream([batchOf(1, 25), rivalOf(26, 40)]);
  await assert.rejects(
    compareAll(dir, rivals(), { ...async, storedThrough: 27 }),
    /another process leads since transaction 26, and the database in this folder holds others through 27/,
  );
  assert.equal(lengthOf(dir, 30), 30);
  assert.deepEqual(await compare(dir, rivals(), { ...async, storedThrough: 25 }), {
    ...{ first: 26, last: 30, answeredThrough: 30 },
    file: join(dir, "log-cut-26.bin"),
  });
  const other = folder(t, 30, 30, 40);
  await assert.rejects(compareAll(other, new MemoryStream([rivalOf(1, 40)]), async), /went on without the stream/);
});

test("a damaged end of the log that nothing proves is read again from the stream", async (t) => {
  const dir = folder(t, 30, 20);
  const [first = 0] = listSegments(join(dir, "log"));
  const path = join(dir, "log", segmentName(first));
  const bytes = fs.readFileSync(path);
  const at = bytes.indexOf(read(join(dir, "log"), 29, 29)[0] as Buffer);
  bytes[at + 60] ^= 1;
  fs.writeFileSync(path, bytes);
  assert.equal(await compare(dir, new MemoryStream([batchOf(1, 40)])), null);
  const log = open(join(dir, "log"), 20);
  assert.equal(log.nextSequence, 29);
  log.close();
});

test("a replica that lags cuts nothing", async (t) => {
  const dir = folder(t, 30, 20);
  const stream = new MemoryStream([batchOf(1, 20), batchOf(21, 25), batchOf(26, 30)]);
  for (stream.readableThrough = 0; stream.readableThrough < 3; stream.readableThrough++)
    await assert.rejects(compare(dir, stream), UnknownOutcomeError);
  assert.equal(await compare(dir, stream), null);
  assert.equal(lengthOf(dir, 30), 30);
});
