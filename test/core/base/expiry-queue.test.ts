import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ExpiryQueue } from "../../../src/core/base/expiry-queue.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("deadlines.test");

test("ids expire in the order of a sorted list, also when most are removed", () => {
  const step = fc.record({
    kind: fc.constantFrom("add", "add", "remove", "remove", "take"),
    id: fc.nat(150),
    time: fc.nat(50),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600, size: "max" }), (steps) => {
      const deadlines = new ExpiryQueue();
      const naive = new Map<number, number>();
      const first = (): [number, number] | undefined => [...naive].sort(([a, s], [b, t]) => s - t || a - b)[0];
      for (const { kind, id, time } of steps) {
        if (kind === "add") {
          deadlines.add(id, time);
          naive.set(id, time);
        } else if (kind === "remove") {
          deadlines.remove(id);
          naive.delete(id);
        } else {
          const next = first();
          const due = next !== undefined && next[1] <= time ? next[0] : undefined;
          assert.equal(deadlines.takeDue(time), due);
          if (due !== undefined) naive.delete(due);
        }
        assert.equal(deadlines.earliest, first()?.[1] ?? Number.POSITIVE_INFINITY);
        assert.equal(deadlines.size, naive.size);
      }
    }),
    { seed, numRuns: 300 },
  );
});

test("an id that is set again and again takes the memory of one entry", () => {
  const deadlines = new ExpiryQueue();
  deadlines.add(1, 1000);
  for (let time = 1001; time < 2000; time++) deadlines.add(2, time);
  assert.equal((Reflect.get(deadlines, "times") as number[]).length, 2);
  assert.deepEqual([deadlines.takeDue(5000), deadlines.takeDue(5000), deadlines.takeDue(5000)], [1, 2, undefined]);
});
