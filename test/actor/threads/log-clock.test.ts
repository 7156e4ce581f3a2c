import assert from "node:assert/strict";
import { test } from "node:test";
import { LogClock } from "../../../src/actor/threads/log-clock.ts";

const NOW = 1_700_000_000_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function start(notBefore = 0) {
  const machine = { time: NOW, monotonicMs: 500.25, monotonicReads: 0 };
  const clock = new LogClock({
    clock: () => machine.time,
    monotonic() {
      machine.monotonicReads++;
      return machine.monotonicMs;
    },
    notBefore,
  });
  const pass = (ms: number): number => {
    machine.time += ms;
    machine.monotonicMs += ms;
    return clock.read();
  };
  return { machine, clock, pass };
}

test("time follows the machine's clock, also when that is set ahead, and then reads no other clock", () => {
  const { machine, clock, pass } = start();
  assert.deepEqual([pass(0), pass(0), pass(7)], [NOW, NOW, NOW + 7]);
  machine.time += HOUR_MS;
  assert.equal(pass(1), NOW + HOUR_MS + 8);
  assert.equal(clock.time, NOW + HOUR_MS + 8);
  assert.equal(machine.monotonicReads, 0);
});

test("while the machine's clock is behind, time goes on at half speed until that has caught up", () => {
  const { machine, pass } = start();
  pass(10);
  machine.time -= HOUR_MS;
  assert.equal(pass(0), NOW + 10);
  // In whole milliseconds, and no fraction is lost in short steps.
  assert.deepEqual(
    [1, 1, 1, 1].map((ms) => pass(ms) - NOW),
    [10, 11, 11, 12],
  );
  machine.time += HOUR_MS;
  assert.equal(pass(0), machine.time);
  machine.time -= HOUR_MS;
  const before = pass(0);
  for (let minutes = 1; minutes < 120; minutes++) assert.equal(pass(MINUTE_MS), before + (minutes * MINUTE_MS) / 2);
  assert.equal(pass(MINUTE_MS), machine.time);
  assert.equal(pass(5), before + HOUR_MS + 5);
  assert.equal(pass(5), machine.time);
});

test("a clock that is set while it is behind neither stops time nor lets it jump", () => {
  const { machine, pass } = start(NOW + HOUR_MS);
  assert.equal(pass(0), NOW + HOUR_MS);
  machine.time -= HOUR_MS;
  assert.equal(pass(1000), NOW + HOUR_MS + 500);
  machine.time += HOUR_MS;
  assert.equal(pass(1000), NOW + HOUR_MS + 1000);
  machine.time = NOW + 2 * HOUR_MS;
  assert.equal(pass(0), NOW + 2 * HOUR_MS);
  // Set back once more: at half speed from there.
  machine.time = NOW;
  assert.deepEqual([pass(0), pass(100)], [NOW + 2 * HOUR_MS, NOW + 2 * HOUR_MS + 50]);
});
