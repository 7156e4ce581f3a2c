import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { EngineClient } from "../../../src/actor/engine/engine-client.ts";
import { Control, STOP_STORE } from "../../../src/actor/threads/control.ts";
import { runStore } from "../../../src/actor/threads/store-main.ts";
import { StoreWorker } from "../../../src/actor/threads/store-worker.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { openDatabase } from "../../../src/store/database/database.ts";
import { SnapshotRecord } from "../../../src/store/database/history-schema.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import { KEEP_ALL } from "../../../src/store/history/history-pruner.ts";
import type { Indexer } from "../../../src/store/indexer/indexer.ts";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../../src/wire/ring.ts";

const RING_BYTES = 4096;

/** A store worker between its last step and its sleep. */
function openStore() {
  const control = new Control();
  /** How far the index was at each wake of the gateway. */
  const wokenAt: number[] = [];
  const [indexDoorbell, storeDoorbell] = [new Doorbell(undefined, () => wokenAt.push(control.indexed)), new Doorbell()];
  const ring = (): RingConsumer => new RingConsumer(allocateRing(RING_BYTES));
  const indexer = {
    indexedSequence: 0,
    historySince: 0,
    step(durable: number): boolean {
      this.indexedSequence = durable;
      return false;
    },
  };
  let hasRoom = true;
  const store = new StoreWorker({
    ...{ control, input: ring(), frontDoorbell: indexDoorbell, hasRoom: () => hasRoom },
    indexer: indexer as unknown as Indexer,
  });
  const marginTable = MarginTable.allocate(32);
  const front = {
    instruments: [],
    marginTable,
    control,
    front: ring(),
    frontDoorbell: new Doorbell(),
    indexDoorbell,
    storeDoorbell,
  };
  const engine = new EngineClient(front);
  return {
    ...{ store, control, storeDoorbell, engine, wokenAt },
    /** Transactions through this sequence are durable and released. */
    release(sequence: number): void {
      control.durable = sequence;
      engine.startAt(sequence);
    },
    fillDisk(): void {
      hasRoom = false;
    },
  };
}

test("the store does not sleep if a read began to wait after its last step", () => {
  const { store, storeDoorbell, engine, release, wokenAt } = openStore();
  store.step();
  release(1);
  void engine.historyCaughtUp();
  storeDoorbell.prepareSleep();
  assert.equal(store.maySleep, false);
  store.step();
  assert.equal(store.maySleep, true);
  assert.deepEqual(wokenAt, [1], "the gateway is woken when the index has advanced");
});

test("the store sleeps if nobody waits for the index, or if the disk has no room", () => {
  const { store, control, engine, release, fillDisk } = openStore();
  store.step();
  release(1);
  assert.equal(store.maySleep, true, "a larger batch costs less");
  fillDisk();
  void engine.historyCaughtUp();
  assert.equal(store.step(), false);
  assert.equal(control.indexed, 0, "nothing was written");
  assert.equal(store.maySleep, true, "it has tried");
});

test("snapshots that arrive during a long step find room in the ring", () => {
  const storeRing = allocateRing(RING_BYTES);
  const producer = new RingProducer(storeRing, new Doorbell());
  const record = new Uint8Array(1000);
  const push = (): boolean => {
    const at = producer.reserve(record.length);
    if (at >= 0) producer.commit(record.length);
    return at >= 0;
  };
  const ROUNDS = 10;
  let records = 0;
  let pushed = 0;
  const indexer = {
    indexedSequence: 0,
    historySince: 0,
    onSnapshotRecord: () => records++,
    step(): boolean {
      for (let round = 0; round < ROUNDS; round++) {
        while (push()) pushed++;
        store.yieldNow();
        assert.ok(push(), `round ${round}: the ring is full`);
        pushed++;
      }
      return false;
    },
  };
  const store: StoreWorker = new StoreWorker({
    ...{ control: new Control(), input: new RingConsumer(storeRing), frontDoorbell: new Doorbell() },
    indexer: indexer as unknown as Indexer,
  });
  store.step();
  assert.equal(records, pushed - 1);
  assert.equal(store.maySleep, false, "the last record is left for the next step");
});

test("the store rests for as long as it worked, however often clients ring, and until a stop", () => {
  const RING_EVERY_MS = 8;
  /** The times at which it slept, and how many records it had received by then. */
  const restOf = (ms: number, stopAtMs = Number.POSITIVE_INFINITY): { waits: number[]; records: number } => {
    const storeRing = allocateRing(RING_BYTES);
    const producer = new RingProducer(storeRing, new Doorbell());
    const control = new Control();
    let records = 0;
    const store = new StoreWorker({
      ...{ control, input: new RingConsumer(storeRing), frontDoorbell: new Doorbell() },
      indexer: { onSnapshotRecord: () => records++ } as unknown as Indexer,
    });
    let nowMs = 1000;
    const waits: number[] = [];
    class Rung extends Doorbell {
      override wait(timeoutMs: number): void {
        waits.push(timeoutMs);
        nowMs += Math.min(timeoutMs, RING_EVERY_MS);
        if (nowMs - 1000 >= stopAtMs) control.phase = STOP_STORE;
        assert.ok(producer.reserve(1000) >= 0, "the ring of snapshots is full");
        producer.commit(1000);
      }
    }
    store.rest(new Rung(), ms, () => nowMs);
    return { waits, records };
  };
  assert.deepEqual(restOf(0), { waits: [], records: 0 });
  assert.deepEqual(restOf(20), { waits: [20, 12, 4], records: 2 });
  assert.deepEqual(restOf(100).records, 12);
  assert.deepEqual(restOf(100, 10).waits, [100, 92]);
});

test("a stop finishes a short backlog and leaves the rest of a long one to the next start", () => {
  const STEPS = 1000;
  const stepsWithin = (stepMs: number): number => {
    let now = 0;
    let steps = 0;
    const indexer = {
      indexedSequence: 0,
      historySince: 0,
      step(): boolean {
        now += stepMs;
        return ++steps < STEPS;
      },
    };
    const store = new StoreWorker({
      ...{ control: new Control(), input: new RingConsumer(allocateRing(RING_BYTES)), frontDoorbell: new Doorbell() },
      indexer: indexer as unknown as Indexer,
    });
    store.finish(() => now);
    return steps;
  };
  assert.equal(stepsWithin(1), STEPS);
  assert.equal(stepsWithin(100), 50);
  assert.equal(stepsWithin(100_000), 1);
});

test("the stored snapshots are known when the store is ready, so the progress line starts with the right total", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "perpd-store-"));
  const database = openDatabase(dataDir);
  const batch = new WriteBatch();
  for (const [actorId, sequence] of [
    [0, 70],
    [1, 90],
  ] as const)
    batch.put(database.snapshotHeads, actorId, { type: SnapshotRecord.code, sequence, time: 0 });
  database.commit(batch);
  await database.close();

  const control = new Control();
  control.phase = STOP_STORE;
  const { port1, port2 } = new MessageChannel();
  await runStore({
    ...{ port: port2, control: control.buffer, doorbell: new Doorbell().buffer, dataDir },
    ...{ input: allocateRing(RING_BYTES), frontDoorbell: new Doorbell().buffer, actorIds: [0, 1, 2], instruments: [] },
    ...{ keepSegments: true, retention: KEEP_ALL, minFreeBytes: 0 },
    isReplicated: false,
  });
  port1.close();
  assert.deepEqual(
    [0, 1, 2].map((actorId) => control.storedSnapshotOf(actorId)),
    [70, 90, 0],
  );
  rmSync(dataDir, { recursive: true });
});
