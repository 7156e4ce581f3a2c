import assert from "node:assert/strict";
import { test } from "node:test";
import { CooperativeYield } from "../../../src/actor/threads/cooperative-yield.ts";

test("long work yields while orders come, unless it is far behind the log", () => {
  const log = { durable: 1000 };
  let now = 0;
  let sleeps = 0;
  const cooperativeYield = new CooperativeYield(
    log,
    () => now,
    () => sleeps++,
  );
  /** A hundred milliseconds of work, a microsecond a call. */
  const work = (doneThrough: number, durablePerMs: number): number => {
    const before = sleeps;
    for (let us = 1; us <= 100_000; us++) {
      now += 0.001;
      if (us % 1000 === 0) log.durable += durablePerMs;
      cooperativeYield.yieldIfDue(doneThrough);
    }
    return sleeps - before;
  };
  assert.equal(work(0, 0), 0, "nobody is there");
  const often = work(log.durable, 1);
  assert.ok(often > 300 && often <= 500, `${often} breaths in 500 shares of work`);
  const stalled = work(log.durable, 0);
  assert.ok(stalled > 10 && stalled <= 50, `${stalled} breaths: for a while whoever stands still may wait for us`);
  assert.equal(work(log.durable - 100_000, 1), 0, "far behind");
});
