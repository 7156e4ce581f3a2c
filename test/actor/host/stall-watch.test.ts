import assert from "node:assert/strict";
import { test } from "node:test";
import { StallWatch } from "../../../src/actor/host/stall-watch.ts";
import { Control } from "../../../src/actor/threads/control.ts";

const LOOKS = 8;
const looks = (watch: StallWatch, count: number): boolean[] => Array.from({ length: count }, () => watch.check());

test("a log that takes nothing of what waits for it stands still, until it goes on", () => {
  const control = new Control();
  control.startAt(7);
  const watch = new StallWatch(control);
  assert.ok(!looks(watch, 3 * LOOKS).includes(true), "nothing waits");

  const ticket = control.nextSequence();
  assert.deepEqual(looks(watch, LOOKS + 1), [...new Array<boolean>(LOOKS - 1).fill(false), true, true]);
  control.nextSequence();
  assert.ok(watch.check(), "more that waits is no progress");
  control.durable = ticket;
  assert.ok(!watch.check());
  control.durable = ticket + 1;
  assert.ok(!looks(watch, 3 * LOOKS).includes(true), "nothing waits");
});

test("a log that falls behind but gets on does not stand still", () => {
  const control = new Control();
  const watch = new StallWatch(control);
  for (let i = 0; i < 5 * LOOKS; i++) {
    control.nextSequence();
    control.durable = control.nextSequence() - 1 - i;
    assert.ok(!watch.check());
  }
});
