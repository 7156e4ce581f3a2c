import assert from "node:assert/strict";
import { test } from "node:test";
import { Updates } from "../../src/ccxt/updates.ts";

test("each row is handed out once, a changed one again, the latest version only", () => {
  const updates = new Updates<string>(0, 10);
  updates.remember("a", "1", "a1");
  assert.equal(updates.hasNews, false);
  updates.put("a", "1", "a1");
  assert.equal(updates.hasNews, false);
  updates.put("b", "1", "b1");
  updates.put("a", "2", "a2");
  updates.put("b", "2", "b2");
  assert.deepEqual(updates.take(true), ["a2", "b2"]);
  assert.equal(updates.hasNews, false);
  assert.deepEqual(updates.take(true), []);
  updates.put("c", "1", "c1");
  assert.deepEqual(updates.take(false), ["a2", "b2", "c1"]);
  assert.equal(updates.hasNews, false);
});

test("it keeps the latest only", () => {
  const updates = new Updates<number>(0, 3);
  for (let i = 1; i <= 5; i++) updates.put(String(i), "", i);
  assert.deepEqual(updates.take(true), [3, 4, 5]);
  updates.remember("6", "", 6);
  assert.deepEqual(updates.take(false), [4, 5, 6]);
});
