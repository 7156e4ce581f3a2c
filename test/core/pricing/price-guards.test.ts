import assert from "node:assert/strict";
import { test } from "node:test";
import { CircuitBreaker, JumpGuard } from "../../../src/core/pricing/price-guards.ts";

const TEN_PERCENT = 100_000;

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
    const guard = new JumpGuard();
    let last = 0;
    const seen = prices.map((ticks) => {
      if (!guard.admits(last, ticks, TEN_PERCENT)) return null;
      last = ticks;
      return ticks;
    });
    assert.deepEqual(seen, used, why);
  }
  assert.equal(new JumpGuard().admits(1000, 9999, 0), true, "no limit");
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
