import assert from "node:assert/strict";
import { test } from "node:test";
import { SequenceWaiters } from "../../src/actor/engine/sequence-waiters.ts";

const MANY = 65_536;
const transaction = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("whoever waits goes on when the sequence has been reached, in the order in which they came", () => {
  const waiters = new SequenceWaiters();
  const gone: number[] = [];
  for (const sequence of [3, 3, 5, 8]) assert.ok(waiters.add(sequence, () => gone.push(sequence)));
  waiters.reach(2);
  assert.deepEqual(gone, []);
  waiters.reach(5);
  assert.deepEqual(gone, [3, 3, 5]);
  assert.ok(!waiters.isEmpty);
  waiters.reach(9);
  assert.deepEqual(gone, [3, 3, 5, 8]);
  assert.ok(waiters.isEmpty);
});

test("only so many wait, and not all of them go on in one turn of the event loop", async () => {
  const waiters = new SequenceWaiters();
  let gone = 0;
  for (let i = 0; i < MANY; i++) assert.ok(waiters.add(i < MANY / 2 ? 1 : 2, () => gone++));
  assert.ok(!waiters.add(2, () => gone++));
  const pass = async (until: number): Promise<void> => {
    while (gone < until) {
      const before = gone;
      await transaction();
      assert.ok(gone > before && gone - before < 1000, `${gone - before} in one turn`);
    }
  };
  waiters.reach(1);
  assert.ok(gone > 0 && gone < 1000);
  await pass(MANY / 2);
  await transaction();
  assert.equal(gone, MANY / 2);
  assert.ok(
    waiters.add(2, () => gone++),
    "there is room again",
  );
  waiters.reach(2);
  // What is reached meanwhile changes nothing.
  waiters.reach(2);
  await pass(MANY + 1);
  assert.ok(waiters.isEmpty);
});
