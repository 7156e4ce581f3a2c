import assert from "node:assert/strict";
import { test } from "node:test";
import { KEPT_MS, RecentFills } from "../../../src/core/state/recent-fills.ts";

const START = 1_000_000;
const FIRST_CAPACITY = 1024;
const MAX_CAPACITY = 131_072;

/** The lots of the trades since `time`, in order. Each test numbers its trades by their lots. */
function since(fills: RecentFills, time = 0): number[] {
  const seen: number[] = [];
  fills.eachSince(time, (_buyer, _seller, lots) => void seen.push(lots));
  return seen;
}

const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first + i);

test("trades are visited from the oldest, with buyer, seller and lots, and those before the time are left out", () => {
  const fills = new RecentFills();
  fills.add(START, 1, 2, 10);
  fills.add(START + 1, 3, 4, 20);
  fills.add(START + 1, 5, 6, 30);
  const seen: number[][] = [];
  fills.eachSince(START + 1, (...trade) => void seen.push(trade));
  assert.deepEqual(seen, [
    [3, 4, 20],
    [5, 6, 30],
  ]);
  assert.deepEqual(since(fills), [10, 20, 30]);
  assert.deepEqual(since(fills, START + 2), []);
});

test("it grows while the oldest trade is to be kept, and keeps every trade in order", () => {
  const fills = new RecentFills();
  const count = 5 * FIRST_CAPACITY + 7;
  for (let i = 0; i < count; i++) fills.add(START + (i % 2 === 0 ? 0 : KEPT_MS), 1, 2, i);
  assert.deepEqual(since(fills), from(0, count));
});

test("without room, an old trade is forgotten, and no room is added", () => {
  const fills = new RecentFills();
  for (let i = 0; i < FIRST_CAPACITY; i++) fills.add(START, 1, 2, i);
  fills.add(START + KEPT_MS, 1, 2, FIRST_CAPACITY);
  assert.equal(since(fills).length, FIRST_CAPACITY + 1, "at the last moment it is kept");
  const other = new RecentFills();
  for (let i = 0; i < 3 * FIRST_CAPACITY; i++) other.add(START + i * (KEPT_MS + 1), 1, 2, i);
  assert.deepEqual(since(other), from(2 * FIRST_CAPACITY, FIRST_CAPACITY));
});

test("it grows in the middle of a turn around its end, and keeps the order", () => {
  const fills = new RecentFills();
  for (let i = 0; i < FIRST_CAPACITY; i++) fills.add(START, 1, 2, i);
  const later = START + KEPT_MS + 1;
  // A third of the old trades give way; the rest of the memory is full of later ones then.
  const third = Math.floor(FIRST_CAPACITY / 3);
  for (let i = 0; i < third; i++) fills.add(later, 1, 2, FIRST_CAPACITY + i);
  assert.deepEqual(since(fills), from(third, FIRST_CAPACITY));
  const rest = 2 * FIRST_CAPACITY;
  for (let i = 0; i < rest; i++) fills.add(later, 1, 2, FIRST_CAPACITY + third + i);
  assert.deepEqual(since(fills, later), from(FIRST_CAPACITY, third + rest));
});

test("at the largest capacity the oldest trades are forgotten, however young they are", () => {
  const fills = new RecentFills();
  const count = MAX_CAPACITY + 1000;
  for (let i = 0; i < count; i++) fills.add(START, 1, 2, i);
  assert.deepEqual(since(fills), from(1000, MAX_CAPACITY));
});
