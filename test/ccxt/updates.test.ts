import assert from "node:assert/strict";
import { test } from "node:test";
import { Updates } from "../../src/ccxt/updates.ts";

test("each version of a row counts as one change, and only the latest is kept", () => {
  const updates = new Updates<string>(0, 10);
  updates.remember("a", "1", "a1");
  assert.equal(updates.changes, 0);
  updates.put("a", "1", "a1");
  assert.equal(updates.changes, 0);
  assert.deepEqual(updates.after(0), []);
  updates.put("b", "1", "b1");
  updates.put("a", "2", "a2");
  updates.put("b", "2", "b2");
  assert.deepEqual(updates.after(0), ["a2", "b2"]);
  assert.deepEqual(updates.after(2), ["b2"]);
  assert.deepEqual(updates.after(updates.changes), []);
  updates.put("c", "1", "c1");
  assert.deepEqual(updates.after(3), ["c1"]);
  assert.deepEqual(updates.known, ["a2", "b2", "c1"]);
});

test("only the latest rows are kept", () => {
  const updates = new Updates<number>(0, 3);
  for (let i = 1; i <= 5; i++) updates.put(String(i), "", i);
  assert.deepEqual(updates.after(0), [3, 4, 5]);
  updates.remember("6", "", 6);
  assert.deepEqual(updates.known, [4, 5, 6]);
  // A row that has just changed is one of the latest.
  updates.put("4", "again", 44);
  updates.put("7", "", 7);
  assert.deepEqual(updates.known, [6, 44, 7]);
});
