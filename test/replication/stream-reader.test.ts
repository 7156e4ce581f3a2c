import assert from "node:assert/strict";
import { test } from "node:test";
import type { Batch } from "../../src/replication/batch.ts";
import { purgeOld } from "../../src/replication/retention.ts";
import { UnknownOutcomeError } from "../../src/replication/stream.ts";
import { StreamReader } from "../../src/replication/stream-reader.ts";
import { batchOf, EXCHANGE, inParts, MemoryStream } from "./support.ts";

async function readAll(batches: readonly Batch[] | MemoryStream, from = 1): Promise<number[]> {
  const stream = batches instanceof MemoryStream ? batches : new MemoryStream(batches);
  const reader = new StreamReader(stream, EXCHANGE, from);
  const found: number[] = [];
  await reader.seek();
  while (await reader.read((_bytes, sequence) => void found.push(sequence)));
  assert.equal(reader.place, (await stream.bounds()).last);
  return found;
}

const upTo = (from: number, last: number) => Array.from({ length: last - from + 1 }, (_, i) => from + i);
/** Messages of 1, 2, 3 … records, some of them in parts. */
const LONG = upTo(1, 40).flatMap((size) => {
  const first = 1 + (size * (size - 1)) / 2;
  return inParts(batchOf(first, first + size - 1), size % 3 === 0 ? 100 : 1e6);
});
const LAST = 820;

test("records are visited once and in order, from any sequence on, also when the front was purged", async () => {
  for (const from of [1, 2, 3, 4, 6, 50, 51, 400, LAST, LAST + 1])
    for (const neededFrom of [1, Math.ceil(from / 2), from]) {
      const stream = new MemoryStream(LONG);
      await purgeOld(stream, neededFrom, Number.POSITIVE_INFINITY);
      assert.deepEqual(await readAll(stream, from), upTo(from, LAST), `${from}, purged before ${neededFrom}`);
    }
});

test("a purge keeps what is needed, what is young, and the last message", async () => {
  const young = 1_700_000_000_000;
  const firstAfter = async (neededFrom: number, keepSinceMs: number) => {
    const stream = new MemoryStream(LONG);
    await purgeOld(stream, neededFrom, keepSinceMs);
    return (await stream.get((await stream.bounds()).first)) as Batch;
  };
  assert.equal((await firstAfter(1e9, Number.POSITIVE_INFINITY)).last, LAST);
  assert.equal((await firstAfter(1e9, young)).first, 1);
  for (const kept of [3, 5, 100, 500]) {
    const byTime = await firstAfter(1e9, young + kept);
    const byNeed = await firstAfter(kept, Number.POSITIVE_INFINITY);
    assert.ok(byNeed.first <= kept && kept <= byNeed.last && byNeed.part === 1, `${kept}`);
    // A batch goes when its first record is old enough.
    assert.ok(byTime.first >= kept && byTime.part === 1, `${kept}: ${byTime.first}`);
  }
});

test("a seek says where the stream begins", async () => {
  const stream = new MemoryStream(LONG);
  await stream.purgeThrough(20);
  const { first } = (await stream.get(21)) as Batch;
  assert.equal(await new StreamReader(stream, EXCHANGE, 3).seek(), first);
});

test("a gap, a damaged record and a missing part stop the reader", async () => {
  await assert.rejects(readAll([batchOf(1, 2), batchOf(4, 5)]), /message 2 .* begins with transaction 4 instead of 3/);
  const damaged = batchOf(1, 3);
  damaged.bytes[150] ^= 1;
  await assert.rejects(readAll([damaged]), /message 1 of the stream: the record of transaction 3 is damaged/);
  const [one, , three] = inParts(batchOf(3, 8), 150);
  await assert.rejects(readAll([batchOf(1, 2), one, three]), /a part is missing/);
});

test("transactions that come a second time stop the reader: the stream was cut and went on", async () => {
  const again = [batchOf(1, 2), batchOf(3, 4), batchOf(4, 6, { epoch: 2 })];
  await assert.rejects(readAll(again), /begins with transaction 4 instead of 5: the stream was cut/);
});

test("a batch whose leader ended between its parts is dropped", async () => {
  const [one, two] = inParts(batchOf(3, 8), 150);
  const claim = batchOf(3, 3, { epoch: 2, node: "b" });
  assert.deepEqual(await readAll([batchOf(1, 2), one, two, claim, batchOf(4, 4, { epoch: 2 })]), [1, 2, 3, 4]);
});

test("messages of an earlier epoch are dropped, and do not mislead the search", async () => {
  const begun = [batchOf(1, 4), batchOf(5, 9), batchOf(10, 10, { epoch: 2 }), batchOf(11, 20, { epoch: 2 })];
  const late = [batchOf(10, 12), batchOf(21, 23, { epoch: 2 }), batchOf(24, 24, { epoch: 2 })];
  for (let from = 1; from <= 25; from++)
    assert.deepEqual(await readAll([...begun, ...late], from), upTo(from, 24), `from ${from}`);
  for (let from = 1; from <= 21; from++)
    assert.deepEqual(await readAll([...begun, late[0]], from), upTo(from, 20), `from ${from}, and it is the last one`);
});

test("the stream of another exchange is refused", async () => {
  await assert.rejects(readAll([batchOf(1, 1, { exchangeId: "another" })]), /holds the log of the exchange another/);
});

test("a replica that lags is no lost message", async () => {
  const stream = new MemoryStream(LONG);
  stream.readableThrough = 10;
  await assert.rejects(new StreamReader(stream, EXCHANGE, 500).seek(), UnknownOutcomeError);
});
