import assert from "node:assert/strict";
import { test } from "node:test";
import { Linger } from "../../../src/actor/threads/linger.ts";
import { SequenceBell } from "../../../src/wire/sequence-bell.ts";

const MAX_MS = 1;
const FIRST = 100;

/** Records come while the journal waits: `arrive` is called for each wait. */
class ArrivalBell extends SequenceBell {
  sequence = 0;
  waits: number[] = [];
  arrive = (): void => {};

  override prepareWait(sequence: number): void {
    this.sequence = sequence;
    super.prepareWait(sequence);
  }

  override wait(timeoutMs: number): void {
    this.waits.push(timeoutMs);
    this.arrive();
  }
}

/** `soon`: orders that have come when a batch begins. `later`: those that come while it waits. Returns what it waits for, and its orders. */
function run(...batches: [soon: number, later?: number][]): [awaited: number | null, orders: number][] {
  const bell = new ArrivalBell();
  const linger = new Linger({ maxMs: MAX_MS, bell });
  return batches.map(([soon, later = 0]) => {
    let orders = soon;
    bell.waits = [];
    bell.arrive = () => {
      orders += later;
    };
    let collected = 0;
    linger.gather(FIRST, () => {
      collected = orders;
      return collected;
    });
    assert.ok(bell.waits.length <= 1, "it waits once at most");
    assert.ok(bell.waits.every((ms) => ms === MAX_MS));
    return [bell.waits.length === 0 ? null : bell.sequence - FIRST + 1, collected];
  });
}

test("one order after the other never waits", () => {
  assert.deepEqual(run([1], [1], [1]), [
    [null, 1],
    [null, 1],
    [null, 1],
  ]);
});

test("a batch waits until it has three quarters of the larger one of the last two", () => {
  assert.deepEqual(run([40], [10, 20], [5, 30], [24, 6]), [
    [null, 40],
    [30, 30],
    [30, 35],
    [27, 30],
  ]);
  // Exactly three quarters are enough.
  assert.deepEqual(run([40], [30, 10])[1], [null, 30]);
});

test("a batch that got less than it waited for goes on, and less load is noticed after two batches", () => {
  assert.deepEqual(run([64], [1], [1, 2], [1]), [
    [null, 64],
    [48, 1],
    [48, 3],
    [3, 1],
  ]);
});

test("what comes between the first look and the wait is not waited for", () => {
  const bell = new ArrivalBell();
  const linger = new Linger({ maxMs: MAX_MS, bell });
  linger.gather(FIRST, () => 4);
  const counts = [2, 3];
  linger.gather(FIRST, () => counts.shift() ?? assert.fail("it looked once more"));
  assert.deepEqual(bell.waits, []);
  bell.reached(FIRST + 2);
  linger.gather(FIRST, () => 1);
  assert.deepEqual(bell.waits, [MAX_MS]);
});

test("with a setting of 0 nothing waits", () => {
  const bell = new ArrivalBell();
  bell.arrive = () => assert.fail("it waited");
  const linger = new Linger({ maxMs: 0, bell });
  for (const orders of [64, 1, 1]) linger.gather(FIRST, () => orders);
});
