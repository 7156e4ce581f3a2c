import assert from "node:assert/strict";
import { test } from "node:test";
import { CircuitBreaker, CONFIRMATIONS, countAgreeing, isJump } from "../../../src/core/pricing/price-guards.ts";

const TEN_PERCENT = 100_000;

/** Each price, or null if it is held back. */
function admitted(prices: readonly number[], limitPpm: number): (number | null)[] {
  let last = 0;
  let pending = { pendingIndexTicks: 0, pendingIndexCount: 0 };
  return prices.map((ticks) => {
    const count = isJump(last, ticks, limitPpm) ? countAgreeing(last, pending, ticks, limitPpm) : CONFIRMATIONS;
    const isAdmitted = count >= CONFIRMATIONS;
    pending = isAdmitted
      ? { pendingIndexTicks: 0, pendingIndexCount: 0 }
      : { pendingIndexTicks: ticks, pendingIndexCount: count };
    if (isAdmitted) last = ticks;
    return isAdmitted ? ticks : null;
  });
}

test("a price that jumps waits until two more agree with it", () => {
  // The price in use, the new prices, and which are admitted.
  const cases: [why: string, prices: number[], used: (number | null)[]][] = [
    ["small steps pass", [1000, 1099, 1000, 910], [1000, 1099, 1000, 910]],
    ["the limit itself passes", [1000, 1100, 990], [1000, 1100, 990]],
    ["one outlier is forgotten", [1000, 1500, 1001, 1500, 1002], [1000, null, 1001, null, 1002]],
    ["three that agree are believed", [1000, 1500, 1510, 1490, 1600], [1000, null, null, 1490, 1600]],
    ["three that do not agree are not", [1000, 1500, 2000, 1500, 2000], [1000, null, null, null, null]],
    ["downwards the same", [1000, 500, 501, 502], [1000, null, null, 502]],
    ["what is near the price in use ends a series", [1000, 1500, 1500, 1001, 1500], [1000, null, null, 1001, null]],
    [
      "each jump is confirmed anew",
      [1000, 1500, 1500, 1500, 2000, 2000, 2000],
      [1000, null, null, 1500, null, null, 2000],
    ],
    ["a slide away from the first is confirmed by its neighbours", [1000, 1200, 1300, 1400], [1000, null, null, 1400]],
  ];
  for (const [why, prices, used] of cases) {
    assert.deepEqual(admitted(prices, TEN_PERCENT), used, why);
  }
  assert.equal(isJump(1000, 9999, 0), false, "no limit");
});

test("a market that goes on falling confirms its own fall, and prices on both sides of the index do not", () => {
  const onePercent = 10_000;
  const cases: [why: string, prices: number[], used: (number | null)[]][] = [
    ["steps above the limit", [1000, 980, 960, 940], [1000, null, null, 940]],
    ["up the same", [1000, 1020, 1040, 1060], [1000, null, null, 1060]],
    ["no further apart than the first jumped", [1000, 980, 950, 930], [1000, null, null, null]],
    ["never by more than a tenth", [1000, 500, 400, 300, 290, 280], [1000, null, null, null, null, 280]],
    ["the other side of the index", [1000, 989, 1011, 989, 1011], [1000, null, null, null, null]],
  ];
  for (const [why, prices, used] of cases) assert.deepEqual(admitted(prices, onePercent), used, why);
});

test("the breaker trips at a jump and at a slide within a minute, not at a slow move", () => {
  const cases: [why: string, steps: [seconds: number, ticks: number][], trips: boolean[]][] = [
    [
      "a jump",
      [
        [0, 1000],
        [1, 1101],
      ],
      [false, true],
    ],
    [
      "the limit itself does not",
      [
        [0, 1000],
        [1, 1100],
        [2, 900],
      ],
      [false, false, false],
    ],
    [
      "a slide in steps",
      [
        [0, 1000],
        [10, 950],
        [20, 910],
        [30, 890],
      ],
      [false, false, false, true],
    ],
    [
      "a jump at the minute's end",
      [
        [0, 1000],
        [60, 1101],
      ],
      [false, true],
    ],
    [
      "the same slide over minutes",
      [
        [0, 1000],
        [61, 950],
        [122, 910],
        [183, 870],
      ],
      [false, false, false, false],
    ],
    [
      "from the new level it counts anew",
      [
        [0, 1000],
        [1, 1200],
        [2, 1210],
        [3, 1400],
      ],
      [false, true, false, true],
    ],
  ];
  for (const [why, steps, trips] of cases) {
    const breaker = new CircuitBreaker();
    assert.deepEqual(
      steps.map(([seconds, ticks]) => breaker.trips(ticks, 1e12 + seconds * 1000, TEN_PERCENT)),
      trips,
      why,
    );
  }
  const off = new CircuitBreaker();
  off.trips(1000, 0, 0);
  assert.equal(off.trips(9000, 1, 0), false);
});
