import assert from "node:assert/strict";
import { test } from "node:test";
import { orderVersion, Updates } from "../../src/ccxt/updates.ts";
import type { Order } from "../../src/client/types.ts";

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

test("each field that an amendment changes makes another version of an order, even in the same millisecond", () => {
  const leg = { triggerPrice: "66000", triggerBy: "MARK", price: null, maxSlippage: null } as const;
  const waiting = { status: "UNTRIGGERED", triggerPrice: "64000", callbackRate: null, updatedAt: 1 } as Order;
  const changes: Partial<Order>[] = [
    { price: "1" },
    { quantity: "2" },
    { displayQuantity: "1" },
    { triggerPrice: "64001" },
    { callbackRate: "0.01" },
    { activationPrice: "65000" },
    { maxSlippage: "0.02" },
    { goodTillDate: 5 },
    { takeProfit: leg },
    { takeProfit: { ...leg, maxSlippage: "0.01" } },
    { stopLoss: leg },
  ];
  const versions = changes.map((change) => orderVersion({ ...waiting, ...change }));
  assert.equal(new Set([orderVersion(waiting), ...versions]).size, changes.length + 1);
  const trailing: Order = { ...waiting, callbackRate: "0.01" };
  assert.equal(orderVersion({ ...trailing, triggerPrice: "63000" }), orderVersion(trailing));
});
