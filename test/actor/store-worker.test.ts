import assert from "node:assert/strict";
import { test } from "node:test";
import { Control } from "../../src/actor/control.ts";
import { RingRoad } from "../../src/actor/ring-road.ts";
import { StoreWorker } from "../../src/actor/store-worker.ts";
import { AccountCells } from "../../src/core/cells.ts";
import type { Keeper } from "../../src/store/keeper.ts";
import { allocateRing, Bell, RingConsumer } from "../../src/wire/ring.ts";

const RING_BYTES = 4096;

/** The store between its last step and its sleep: it looks once more. */
function openStore() {
  const control = new Control();
  const [indexBell, storeBell] = [new Bell(), new Bell()];
  const ring = (): RingConsumer => new RingConsumer(allocateRing(RING_BYTES));
  const keeper = {
    indexedSequence: 0,
    step(durable: number): boolean {
      this.indexedSequence = durable;
      return false;
    },
  };
  let hasRoom = true;
  const store = new StoreWorker({
    ...{ control, input: ring(), frontBell: indexBell, hasRoom: () => hasRoom },
    keeper: keeper as unknown as Keeper,
  });
  const cells = AccountCells.allocate(32);
  const front = { instruments: [], cells, control, front: ring(), frontBell: new Bell(), indexBell, storeBell };
  const road = new RingRoad(front);
  return {
    ...{ store, control, storeBell, road },
    /** Turns get to disk, and are released. */
    release(sequence: number): void {
      control.durable = sequence;
      road.startAt(sequence);
    },
    fillDisk(): void {
      hasRoom = false;
    },
  };
}

test("the store does not fall asleep over a read that has come behind its last step", () => {
  const { store, storeBell, road, release } = openStore();
  store.step();
  release(1);
  void road.historyCaughtUp();
  storeBell.announce();
  assert.equal(store.mayRest, false);
  store.step();
  assert.equal(store.mayRest, true);
});

test("but over turns that nobody waits for, and over reads that it cannot help for want of room", () => {
  const { store, control, road, release, fillDisk } = openStore();
  store.step();
  release(1);
  assert.equal(store.mayRest, true, "they may gather");
  fillDisk();
  void road.historyCaughtUp();
  assert.equal(store.step(), false);
  assert.equal(control.indexed, 0, "it has written nothing");
  assert.equal(store.mayRest, true, "it has looked");
});
