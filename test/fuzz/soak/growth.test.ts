import assert from "node:assert/strict";
import { test } from "node:test";
import { growthOf, HOUR_MS, type Point, type Rule } from "./growth.ts";

const MINUTES = 54;
const MIB = 2 ** 20;
const FLAT: Rule = { kind: "FLAT", slack: MIB };
const PER_OPERATION: Rule = { kind: "PER_OPERATION", most: 400, slack: 0 };
const PER_MINUTE = 6000;

/** One point for each minute. */
const points = (valueAt: (minute: number) => number): Point[] =>
  Array.from({ length: MINUTES }, (_, minute) => ({ at: (minute * HOUR_MS) / 60, value: valueAt(minute) }));
const operations = points((minute) => minute * PER_MINUTE);
const fault = (rule: Rule, valueAt: (minute: number) => number) => growthOf(points(valueAt), operations, rule).fault;

test("a leak of a kilobyte for each of five requests a second is found, a cache that fills at first is not", () => {
  assert.match(String(fault(FLAT, (minute) => 30 * MIB + minute * 60 * 5 * 1024)), /grew by/);
  assert.equal(
    fault(FLAT, (minute) => 30 * MIB + Math.min(minute, 15) * MIB),
    null,
  );
});

test("a figure that goes up and down is flat", () => {
  assert.equal(
    fault(FLAT, (minute) => 30 * MIB + (minute % 2) * 8 * MIB),
    null,
  );
});

test("what is kept for each operation may grow evenly up to its bound, not faster and faster", () => {
  assert.equal(
    fault(PER_OPERATION, (minute) => minute * PER_MINUTE * 399),
    null,
  );
  assert.match(String(fault(PER_OPERATION, (minute) => minute * PER_MINUTE * 401)), /401\.0 for each operation, 400/);
  assert.match(String(fault(PER_OPERATION, (minute) => minute ** 3 * 350)), /for each operation, after/);
});

test("the slope is that of the last two thirds", () => {
  const { start, early, middle, end, perHour } = growthOf(
    points((minute) => (minute < 18 ? 1000 * minute : 18_000 + minute - 18)),
    operations,
    FLAT,
  );
  assert.deepEqual([start, early, middle, end], [0, 10_000, 18_008, 18_035]);
  assert.ok(Math.abs(perHour - 60) < 1e-6);
});
