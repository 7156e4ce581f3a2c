import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { allocateRing, Doorbell, RingConsumer, RingGauge, RingProducer } from "../../src/wire/ring.ts";
import { takeSeed } from "../core/support/seed.ts";
import type { RingPeerReport, RingPeerTask } from "./support/ring-peer.ts";

const seed = takeSeed("ring.test");
const CAPACITY = 4096;
/** Indices of the counters: see src/wire/ring.ts. */
const HEAD_WORD = 0;
const TAIL_WORD = 16;

/** An empty ring that has carried `bytes` before. */
function ringAfter(bytes: number): SharedArrayBuffer {
  const buffer = allocateRing(CAPACITY);
  const words = new Int32Array(buffer);
  words[HEAD_WORD] = bytes | 0;
  words[TAIL_WORD] = bytes | 0;
  return buffer;
}

function ends(buffer: SharedArrayBuffer): { producer: RingProducer; consumer: RingConsumer } {
  return { producer: new RingProducer(buffer, new Doorbell()), consumer: new RingConsumer(buffer) };
}

/** Writes one record whose bytes are all `value`. */
function put(producer: RingProducer, length: number, value: number): boolean {
  const at = producer.reserve(length);
  if (at < 0) return false;
  producer.bytes.fill(value, at, at + length);
  producer.commit(length);
  return true;
}

function get(consumer: RingConsumer): { length: number; value: number } | null {
  const at = consumer.peek();
  if (at < 0) return null;
  const { length } = consumer;
  const value = length === 0 ? 0 : consumer.bytes[at];
  assert.ok(consumer.bytes.subarray(at, at + length).every((byte) => byte === value));
  consumer.next();
  return { length, value };
}

test("records come out as written, and none before its commit", () => {
  const { producer, consumer } = ends(ringAfter(0));
  assert.equal(consumer.peek(), -1);
  const at = producer.reserve(100);
  assert.ok(at >= 0 && at % 8 === 0);
  assert.equal(consumer.peek(), -1, "reserved is not there yet");
  producer.bytes.fill(7, at, at + 60);
  producer.commit(60);
  assert.ok(put(producer, 0, 0));
  assert.ok(put(producer, 13, 9));
  assert.deepEqual(get(consumer), { length: 60, value: 7 });
  assert.deepEqual(get(consumer), { length: 0, value: 0 });
  assert.deepEqual(get(consumer), { length: 13, value: 9 });
  assert.equal(consumer.peek(), -1);
});

test("a reservation without a commit has no effect, also at the end of the buffer", () => {
  for (const start of [0, CAPACITY - 64, CAPACITY - 8]) {
    const { producer, consumer } = ends(ringAfter(start));
    for (let i = 0; i < 10; i++) assert.ok(producer.reserve(500) >= 0);
    assert.ok(put(producer, 20, 3));
    assert.ok(producer.reserve(1000) >= 0);
    assert.ok(put(producer, 30, 4));
    assert.deepEqual(get(consumer), { length: 20, value: 3 });
    assert.deepEqual(get(consumer), { length: 30, value: 4 });
    assert.equal(get(consumer), null);
  }
});

test("a full ring takes nothing until room is released, and then exactly that much", () => {
  const { producer, consumer } = ends(ringAfter(0));
  // 64 of 64 bytes each, the length's 8 included, fill it to the last byte.
  for (let i = 0; i < CAPACITY / 64; i++) assert.ok(put(producer, 56, i));
  assert.equal(put(producer, 0, 0), false);
  assert.deepEqual(get(consumer), { length: 56, value: 0 });
  assert.equal(put(producer, 56, 64), false, "read, but not released");
  consumer.release();
  assert.ok(put(producer, 56, 64), "as much as there is");
  assert.equal(put(producer, 0, 0), false);
  assert.deepEqual(get(consumer), { length: 56, value: 1 });
  consumer.release();
  assert.equal(put(producer, 57, 65), false, "a byte more than there is");
  assert.ok(put(producer, 56, 65));
  for (let i = 2; i <= 65; i++) assert.deepEqual(get(consumer), { length: 56, value: i });
  assert.equal(get(consumer), null);
  consumer.release();
  consumer.release();
  for (let i = 0; i < CAPACITY / 64; i++) assert.ok(put(producer, 56, i));
});

test("the largest record fits into an empty ring at any position, and a larger one fails an assertion", () => {
  for (let start = 0; start < CAPACITY; start += 8) {
    const { producer, consumer } = ends(ringAfter(start));
    for (let round = 0; round < 3; round++) {
      assert.ok(put(producer, producer.maxRecordBytes, round), `at ${start}`);
      assert.deepEqual(get(consumer), { length: producer.maxRecordBytes, value: round });
      consumer.release();
    }
  }
  const { producer } = ends(ringAfter(0));
  assert.throws(() => producer.reserve(producer.maxRecordBytes + 1), /larger than the ring allows/);
});

test("capacities must be powers of two", () => {
  for (const capacity of [0, 2048, 4095, 4097, 6000, 12_288])
    assert.throws(() => allocateRing(capacity), /power of two/);
  assert.equal(new RingProducer(allocateRing(8192), new Doorbell()).maxRecordBytes, 4088);
});

test("a ring is a queue at any value of its counters", () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ op: fc.constant("put"), length: fc.nat(300) }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant("put"), length: fc.integer({ min: 1500, max: 2040 }) }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant("drop"), length: fc.nat(2040) }) },
    { weight: 4, arbitrary: fc.record({ op: fc.constant("get"), length: fc.constant(0) }) },
    { weight: 2, arbitrary: fc.record({ op: fc.constant("release"), length: fc.constant(0) }) },
    // The other end is created again, as after a restart of its thread: commits and releases persist.
    { weight: 1, arbitrary: fc.record({ op: fc.constant("new producer"), length: fc.constant(0) }) },
  );
  const start = fc.constantFrom(0, 8, CAPACITY - 8, 2 ** 31 - 64, 2 ** 32 - 8, 2 ** 32 - CAPACITY - 24, 2 ** 32 - 512);
  fc.assert(
    fc.property(start, fc.array(step, { maxLength: 300, size: "max" }), (start, steps) => {
      const buffer = ringAfter(start);
      let { producer, consumer } = ends(buffer);
      const gauge = new RingGauge(buffer);
      const queue: { length: number; value: number }[] = [];
      let unreleased = 0;
      let value = 0;
      for (const { op, length } of steps) {
        if (op === "put") {
          value = (value + 1) & 255;
          if (put(producer, length, value)) queue.push({ length, value: length === 0 ? 0 : value });
          else assert.ok(queue.length + unreleased > 0, "an empty ring takes any record");
        } else if (op === "drop") producer.reserve(length);
        else if (op === "get") {
          const got = get(consumer);
          assert.deepEqual(got, queue.shift() ?? null);
          if (got !== null) unreleased++;
        } else if (op === "release") {
          consumer.release();
          unreleased = 0;
        } else producer = new RingProducer(buffer, new Doorbell());
        assert.equal(gauge.hasRead(gauge.written), queue.length + unreleased === 0, "what has been read, from outside");
      }
      for (const expected of queue) assert.deepEqual(get(consumer), expected);
      assert.equal(get(consumer), null);
    }),
    { seed, numRuns: 500, includeErrorInReport: true },
  );
});

test("a doorbell wakes an announced sleeper once", () => {
  let knocks = 0;
  const doorbell = new Doorbell(undefined, () => knocks++);
  doorbell.wake();
  assert.equal(knocks, 0, "awake");
  doorbell.prepareSleep();
  doorbell.wake();
  doorbell.wake();
  assert.equal(knocks, 1);
  doorbell.prepareSleep();
  doorbell.cancelSleep();
  doorbell.wake();
  assert.equal(knocks, 1, "has found something by itself");
  // wake() between prepareSleep() and wait(): the wait ends at once.
  const other = new Doorbell(doorbell.buffer);
  doorbell.prepareSleep();
  other.wake();
  doorbell.wait(60_000);
});

const runPeer = (task: RingPeerTask): Promise<RingPeerReport> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./support/ring-peer.js", import.meta.url), { workerData: task });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`a peer ended with ${code}`)));
  });

for (const [name, start, records] of [
  ["a small ring carries many megabytes from one thread to another, in order and whole", 0, 60_000],
  ["also while its counters pass 2^32", 2 ** 32 - 3_000_000, 40_000],
] as const) {
  test(name, async () => {
    const shared = {
      ring: ringAfter(start - (start % 8)),
      consumerDoorbell: new Doorbell().buffer,
      producerDoorbell: new Doorbell().buffer,
      seed,
      records,
    };
    const [produced, consumed] = await Promise.all([
      runPeer({ ...shared, role: "producer" }),
      runPeer({ ...shared, role: "consumer" }),
    ]);
    assert.equal(consumed.fault, "");
    assert.deepEqual(consumed, produced);
    assert.equal(produced.lostDoorbells, 0);
    assert.ok(consumed.bytes > 4_000_000, `${consumed.bytes} bytes`);
  });
}
