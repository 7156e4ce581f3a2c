import assert from "node:assert/strict";
import { test } from "node:test";
import { TimeSlicer } from "../../../src/front/common/time-slicer.ts";
import { nextTurn } from "../support/scripted-exchange.ts";

/** How many items each of the first iterations has done. */
async function progress(slicer: TimeSlicer<number>, items: number, done: readonly number[]): Promise<number[]> {
  for (let i = 0; i < items; i++) slicer.add(i);
  const counts: number[] = [];
  for (slicer.run(); done.length < items; await nextTurn()) counts.push(done.length);
  counts.push(done.length);
  assert.deepEqual(
    done,
    Array.from({ length: items }, (_, i) => i),
  );
  return counts;
}

test("an event-loop iteration does a number of items, in their order", async () => {
  const done: number[] = [];
  const slicer = new TimeSlicer<number>(3, (each) => done.push(each));
  assert.deepEqual(await progress(slicer, 8, done), [3, 6, 8]);
});

test("with a clock it ends after a millisecond, and does at least one item", async () => {
  for (const [ms, perIteration] of [
    [0.4, 3],
    [0.6, 2],
    [7, 1],
  ] as const) {
    let nowMs = 1000;
    const done: number[] = [];
    const work = (each: number): void => {
      nowMs += ms;
      done.push(each);
    };
    const counts = await progress(new TimeSlicer<number>(100, work, () => nowMs), 6, done);
    assert.equal(counts[0], perIteration);
    assert.equal(counts.length, Math.ceil(6 / perIteration));
  }
});

test("time that passes beside the work does not count", async () => {
  let nowMs = 0;
  const done: number[] = [];
  const slicer = new TimeSlicer<number>(
    100,
    (each) => done.push(each),
    () => nowMs,
  );
  for (let i = 0; i < 5; i++) {
    nowMs += 10;
    slicer.add(i);
    slicer.run();
  }
  assert.deepEqual(done, [0, 1, 2, 3, 4]);
});
