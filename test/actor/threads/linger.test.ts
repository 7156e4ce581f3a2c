import assert from "node:assert/strict";
import { test } from "node:test";
import { Linger } from "../../../src/actor/threads/linger.ts";

const NAP_MS = 0.25;
const MAX_MS = 1;

/** Batches in turn. `arrivals`: orders that have come when a batch begins, and after each nap. Returns its naps and orders. */
function run(...batches: number[][]): [naps: number, orders: number][] {
  let nowMs = 0;
  let naps = 0;
  const nap = (): void => {
    nowMs += NAP_MS;
    naps++;
  };
  const linger = new Linger({ maxMs: MAX_MS, clock: () => nowMs, nap });
  return batches.map((arrivals) => {
    naps = 0;
    let orders = 0;
    linger.gather(() => {
      orders = arrivals.slice(0, naps + 1).reduce((sum, more) => sum + more, 0);
      return orders;
    });
    return [naps, orders];
  });
}

test("one order after the other never waits", () => {
  assert.deepEqual(run([1], [1], [1]), [
    [0, 1],
    [0, 1],
    [0, 1],
  ]);
});

test("a batch waits until it has three quarters of the larger one of the last two", () => {
  assert.deepEqual(run([40], [10, 10, 10, 10], [5, 0, 30, 10], [24, 0, 6]), [
    [0, 40],
    [2, 30],
    [2, 35],
    [2, 30],
  ]);
  // Exactly three quarters are enough.
  assert.deepEqual(run([40], [30, 10])[1], [0, 30]);
});

test("a batch waits no longer than the setting says, and less load is noticed after two batches", () => {
  assert.deepEqual(run([64], [1], [1, 0, 0, 0, 0, 63], [1]), [
    [0, 64],
    [MAX_MS / NAP_MS, 1],
    [MAX_MS / NAP_MS, 1],
    [0, 1],
  ]);
});

test("with a setting of 0 nothing waits", () => {
  const linger = new Linger({ maxMs: 0, clock: () => 5, nap: () => assert.fail("it waited") });
  for (const orders of [64, 1, 1]) linger.gather(() => orders);
});
