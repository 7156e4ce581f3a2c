import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RecentBuffer } from "../../../src/core/market-data/recent-buffer.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("recent-buffer.test");

test("a recent buffer keeps the newest items", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(fc.nat()), fc.nat(12), (capacity, items, limit) => {
      const buffer = new RecentBuffer<number>(capacity);
      for (const item of items) buffer.push(item);
      assert.deepEqual(buffer.newest(limit), items.slice(-capacity).toReversed().slice(0, limit));
    }),
    { seed },
  );
});
