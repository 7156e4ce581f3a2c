import assert from "node:assert/strict";
import { test } from "node:test";
import { SequenceWaiters } from "../../../src/actor/engine/sequence-waiters.ts";

const MANY = 65_536;
const iteration = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("callbacks run when their sequence is reached, in the order in which they were added", () => {
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

test("the number of waiters is limited, and a large number runs over several event-loop iterations", async () => {
  const waiters = new SequenceWaiters();
  let gone = 0;
  for (let i = 0; i < MANY; i++) assert.ok(waiters.add(i < MANY / 2 ? 1 : 2, () => gone++));
  assert.ok(!waiters.add(2, () => gone++));
  const pass = async (until: number): Promise<void> => {
    while (gone < until) {
      const before = gone;
      await iteration();
      assert.ok(gone > before && gone - before < 1000, `${gone - before} in one iteration`);
    }
  };
  waiters.reach(1);
  assert.ok(gone > 0 && gone < 1000);
  await pass(MANY / 2);
  await iteration();
  assert.equal(gone, MANY / 2);
  assert.ok(
    waiters.add(2, () => gone++),
    "there is room again",
  );
  waiters.reach(2);
  // Reaching it again in the meantime changes nothing.
  waiters.reach(2);
  await pass(MANY + 1);
  assert.ok(waiters.isEmpty);
});
