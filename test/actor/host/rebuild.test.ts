import assert from "node:assert/strict";
import { test } from "node:test";
import { Rebuild } from "../../../src/actor/host/rebuild.ts";
import { Control } from "../../../src/actor/threads/control.ts";
import { CONTRIBUTION_FIELDS } from "../../../src/core/accounts/contribution.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../../src/wire/ring.ts";

const RING_BYTES = 4096;
const ACCOUNT = 16;
const WORKERS = [0, 1];

function start() {
  const [control, marginTable, sums] = [new Control(), MarginTable.allocate(32), MarginTable.allocate(32)];
  const up: number[] = [];
  const started: number[] = [];
  const calls: string[] = [];
  const ring = () => allocateRing(RING_BYTES);
  const [front, store] = [ring(), ring()];
  const outs = WORKERS.map(ring);
  const rebuild = new Rebuild({
    ...{ control, marginTable, sums, front, store },
    engine: {
      markDown: (worker) => calls.push(`${worker} is down`),
      failPending: (worker) => calls.push(`${worker} fails its requests`),
      markUp: (worker) => up.push(worker),
    },
    workers: WORKERS.map((worker) => ({ actorIds: [worker], out: outs[worker], doorbell: new Doorbell() })),
    start(worker) {
      started.push(worker);
      return new RingProducer(ring(), new Doorbell());
    },
  });
  /** As a worker does in a recount: adds its actors' contributions, an equity of 5. */
  const count = (worker: number): void => {
    sums.addAll(ACCOUNT, new Float64Array(CONTRIBUTION_FIELDS).fill(5, 0, 1), 0);
    control.setRecountedBy(worker, control.recountRound);
  };
  return { rebuild, control, marginTable, up, started, calls, count, rings: { out: outs[0], front, store } };
}

test("a recount during which another thread dies is not applied, and the next one includes both", () => {
  const { rebuild, control, marginTable, up, started, count } = start();
  rebuild.died(0);
  rebuild.step();
  rebuild.recovered(0);
  rebuild.step();
  assert.equal(control.recountRound, 1);
  count(0);
  rebuild.died(1);
  rebuild.step();
  assert.deepEqual([control.recountRound, control.appliedRecount, marginTable.equity(ACCOUNT)], [0, 0, 0]);
  assert.deepEqual([started, up], [[0, 1], []]);
  rebuild.recovered(1);
  rebuild.step();
  assert.equal(control.recountRound, 2);
  for (const worker of WORKERS) count(worker);
  rebuild.step();
  assert.deepEqual([control.recountRound, control.appliedRecount, marginTable.equity(ACCOUNT)], [0, 2, 10]);
  assert.deepEqual(up, WORKERS);
  assert.ok(rebuild.isDone);
});

/** Puts a record into a ring. Returns a function that takes it out. */
function fill(ring: SharedArrayBuffer): () => void {
  const producer = new RingProducer(ring, new Doorbell());
  assert.ok(producer.reserve(8) >= 0);
  producer.commit(8);
  return () => {
    const consumer = new RingConsumer(ring);
    assert.ok(consumer.peek() >= 0);
    consumer.next();
    consumer.release();
  };
}

test("requests fail and the replacement starts only after everything that the dead thread committed is through", () => {
  for (const missing of ["read", "on disk", "handed out", "received", "stored"] as const) {
    const { rebuild, control, started, calls, rings } = start();
    const sequence = control.nextSequence();
    control.setReceivedSnapshotOf(0, sequence);
    const steps = {
      read: fill(rings.out),
      "on disk": () => {
        control.durable = sequence;
      },
      "handed out": fill(rings.front),
      received: fill(rings.store),
      stored: () => control.setStoredSnapshotOf(0, sequence),
    };
    rebuild.died(0);
    for (const [name, come] of Object.entries(steps)) if (name !== missing) come();
    rebuild.step();
    assert.deepEqual([started, calls, rebuild.isDraining(0)], [[], ["0 is down"], true], `it is not ${missing}`);
    steps[missing]();
    rebuild.step();
    assert.deepEqual([started, calls, rebuild.isDraining(0)], [[0], ["0 is down", "0 fails its requests"], false]);
  }
});
