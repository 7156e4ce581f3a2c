import assert from "node:assert/strict";
import { test } from "node:test";
import { StallWatch } from "../../../src/actor/host/stall-watch.ts";
import { Control } from "../../../src/actor/threads/control.ts";

const CHECKS = 8;
const watchOf = (control: Control) => {
  const watch = new StallWatch(CHECKS);
  return { check: () => watch.check(control.durable, control.lastSequence) };
};
const checks = (watch: { check(): boolean }, count: number): boolean[] =>
  Array.from({ length: count }, () => watch.check());

test("the log is stalled while transactions wait and none becomes durable", () => {
  const control = new Control();
  control.startAt(7);
  const watch = watchOf(control);
  assert.ok(!checks(watch, 3 * CHECKS).includes(true), "nothing waits");

  const sequence = control.nextSequence();
  assert.deepEqual(checks(watch, CHECKS + 1), [...new Array<boolean>(CHECKS - 1).fill(false), true, true]);
  control.nextSequence();
  assert.ok(watch.check(), "more waiting transactions are no progress");
  control.durable = sequence;
  assert.ok(!watch.check());
  control.durable = sequence + 1;
  assert.ok(!checks(watch, 3 * CHECKS).includes(true), "nothing waits");
});

test("a log that falls behind but advances is not stalled", () => {
  const control = new Control();
  const watch = watchOf(control);
  for (let i = 0; i < 5 * CHECKS; i++) {
    control.nextSequence();
    control.durable = control.nextSequence() - 1 - i;
    assert.ok(!watch.check());
  }
});
