import assert from "node:assert/strict";
import { test } from "node:test";
import { SamplePremium } from "../../src/core/protocol/commands.ts";
import type { Message } from "../../src/core/protocol/message-schema.ts";
import { PremiumSampler } from "../../src/feed/premium-sampler.ts";
import { FINE, instrument, ODD } from "../core/support/instruments.ts";

function samplerOf(random: () => number) {
  const asked: [actorId: number, type: number][] = [];
  const request = (actorId: number, { type }: Message): boolean => {
    asked.push([actorId, type]);
    return true;
  };
  return { asked, sampler: new PremiumSampler({ instruments: [instrument(FINE), instrument(ODD)], request }, random) };
}

test("each symbol is sampled after a wait, and then again, until it is stopped", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { asked, sampler } = samplerOf(() => 1 - 1 / Math.E);
  sampler.start();
  t.mock.timers.tick(499);
  assert.deepEqual(asked, []);
  t.mock.timers.tick(1);
  const once = [
    [FINE.id, SamplePremium.code],
    [ODD.id, SamplePremium.code],
  ];
  assert.deepEqual(asked, once);
  t.mock.timers.tick(500);
  assert.deepEqual(asked, [...once, ...once]);
  sampler.stop();
  t.mock.timers.tick(60_000);
  assert.equal(asked.length, 4);
});

test("how long the next sample is still away does not depend on how long it has been away", () => {
  const steps = 100_000;
  let step = 0;
  const { sampler } = samplerOf(() => (step + 0.5) / steps);
  const waits: number[] = [];
  for (; step < steps; step++) waits.push(sampler.waitMs());
  assert.equal(Math.max(...waits), 5000);
  for (const past of [0, 200, 500, 1000]) {
    const left = waits.filter((ms) => ms > past).map((ms) => ms - past);
    const mean = left.reduce((sum, ms) => sum + ms, 0) / left.length;
    assert.ok(Math.abs(mean - 500) < 2, `${mean} after ${past} ms`);
  }
});
