import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUY, SELL, type Side } from "../../../src/core/base/enums.ts";
import { PriceBitmap } from "../../../src/core/base/price-bitmap.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("ladder.test");

/** The slow reference: a set that is searched completely. */
class Model {
  private readonly ticks = new Set<number>();
  private readonly side: Side;
  constructor(side: Side) {
    this.side = side;
  }
  set(tick: number): void {
    this.ticks.add(tick);
  }
  clear(tick: number): void {
    this.ticks.delete(tick);
  }
  next(from: number): number {
    const worse = [...this.ticks].filter((tick) => (this.side === BUY ? tick < from : tick > from));
    if (worse.length === 0) return -1;
    return this.side === BUY ? Math.max(...worse) : Math.min(...worse);
  }
  best(): number {
    return this.next(this.side === BUY ? Number.POSITIVE_INFINITY : -1);
  }
}

for (const max of [0, 31, 32, 1023, 1024, 40_000, 2 ** 24]) {
  test(`a bitmap of ${max + 1} ticks gives the same answers as a plain set`, () => {
    // Faults of a bitmap show at the ends of its words and of the range.
    const edges = [0, 1, 31, 32, 1023, 1024, 32767, 32768, max - 1, max].filter((tick) => tick >= 0 && tick <= max);
    const tick = fc.oneof(
      fc.constantFrom(...edges),
      fc.integer({ min: 0, max }),
      fc.integer({ min: 0, max: Math.min(max, 80) }),
    );
    const step = fc.record({ set: fc.boolean(), tick, probe: tick });
    fc.assert(
      fc.property(fc.constantFrom<Side>(BUY, SELL), fc.array(step, { maxLength: 60 }), (side, steps) => {
        const bitmap = new PriceBitmap(max, side);
        const model = new Model(side);
        for (const { set, tick, probe } of steps) {
          bitmap[set ? "set" : "clear"](tick);
          model[set ? "set" : "clear"](tick);
          assert.equal(bitmap.best(), model.best());
          assert.equal(bitmap.next(probe), model.next(probe));
        }
      }),
      { seed, numRuns: max > 2 ** 20 ? 30 : 200 },
    );
  });
}

test("next() walks from the best level to the worst", () => {
  const ticks = [5, 64, 65, 100_000, 2 ** 24];
  const bids = new PriceBitmap(2 ** 24, BUY);
  const asks = new PriceBitmap(2 ** 24, SELL);
  for (const tick of ticks) {
    bids.set(tick);
    asks.set(tick);
  }
  const walk = (bitmap: PriceBitmap): number[] => {
    const seen: number[] = [];
    for (let tick = bitmap.best(); tick >= 0; tick = bitmap.next(tick)) seen.push(tick);
    return seen;
  };
  assert.deepEqual(walk(asks), ticks);
  assert.deepEqual(walk(bids), ticks.toReversed());
});
