import assert from "node:assert/strict";
import { test } from "node:test";
import { Control } from "../../src/actor/control.ts";
import { Rebuild } from "../../src/actor/rebuild.ts";
import { AccountCells, CONTRIBUTION_FIELDS } from "../../src/core/cells.ts";
import { allocateRing, Bell, RingProducer } from "../../src/wire/ring.ts";

const RING_BYTES = 4096;
const ACCOUNT = 16;
const WORKERS = [0, 1];

function start() {
  const [control, cells, sums] = [new Control(), AccountCells.allocate(32), AccountCells.allocate(32)];
  const up: number[] = [];
  const started: number[] = [];
  const ring = () => allocateRing(RING_BYTES);
  const rebuild = new Rebuild({
    ...{ control, cells, sums, front: ring(), store: ring() },
    road: { takeDown: () => {}, giveUp: () => {}, bringUp: (worker) => up.push(worker) },
    workers: WORKERS.map((worker) => ({ actorIds: [worker], out: ring(), bell: new Bell() })),
    start(worker) {
      started.push(worker);
      return new RingProducer(ring(), new Bell());
    },
  });
  /** As a worker does when a recount is called: it adds what its actors have given, an equity of 5. */
  const count = (worker: number): void => {
    sums.addAll(ACCOUNT, new Float64Array(CONTRIBUTION_FIELDS).fill(5, 0, 1), 0);
    control.setCountedBy(worker, control.recount);
  };
  return { rebuild, control, cells, up, started, count };
}

test("a recount in which another thread dies has no effect: its share may be missing; the next one takes both in", () => {
  const { rebuild, control, cells, up, started, count } = start();
  rebuild.died(0);
  rebuild.step();
  rebuild.recovered(0);
  rebuild.step();
  assert.equal(control.recount, 1);
  count(0);
  rebuild.died(1);
  rebuild.step();
  assert.deepEqual([control.recount, control.recounted, cells.equity(ACCOUNT)], [0, 0, 0]);
  assert.deepEqual([started, up], [[0, 1], []]);
  rebuild.recovered(1);
  rebuild.step();
  assert.equal(control.recount, 2);
  for (const worker of WORKERS) count(worker);
  rebuild.step();
  assert.deepEqual([control.recount, control.recounted, cells.equity(ACCOUNT)], [0, 2, 10]);
  assert.deepEqual(up, WORKERS);
  assert.ok(rebuild.isDone);
});
