import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { flatCandle, openTimeOf } from "../../../src/core/market-data/candles.ts";
import { SPARKLINE_POINTS, Sparkline, sparklineStart } from "../../../src/core/market-data/sparkline.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("sparkline.test");
const START = Date.parse("2026-11-23T10:20:00Z");
const HALF_HOUR = 30 * 60_000;

test("a sparkline has the last price of each half hour of a day, with or without a restart", () => {
  const trade = fc.record({
    afterMs: fc.integer({ min: 0, max: 6 * HALF_HOUR }),
    ticks: fc.integer({ min: 1, max: 99 }),
  });
  fc.assert(
    fc.property(fc.array(trade, { maxLength: 60 }), fc.nat(60), fc.nat(3 * HALF_HOUR), (steps, primed, lateMs) => {
      let time = START;
      const trades = steps.map(({ afterMs, ticks }) => {
        time += afterMs;
        return { time, ticks };
      });
      const live = new Sparkline();
      let restarted = new Sparkline();
      for (const [i, { time, ticks }] of trades.entries()) {
        live.trade(time, ticks);
        restarted.trade(time, ticks);
        if (i !== primed) continue;
        const minutes = new Map(trades.slice(0, i + 1).map((each) => [openTimeOf("1m", each.time), each.ticks]));
        restarted = new Sparkline();
        restarted.prime([...minutes].map(([openTime, closeTicks]) => flatCandle(openTime, closeTicks)));
      }
      const now = time + lateMs;
      const begin = sparklineStart(now);
      const expected = Array.from({ length: SPARKLINE_POINTS }, (_, i) => {
        const end = begin + (i + 1) * HALF_HOUR;
        return trades.filter((each) => each.time >= begin && each.time < end).at(-1)?.ticks ?? 7;
      });
      assert.deepEqual(live.prices(now, 7), expected);
      assert.deepEqual(restarted.prices(now, 7), expected);
      assert.ok(begin <= now - 47 * HALF_HOUR && begin > now - 48 * HALF_HOUR);
    }),
    { seed, numRuns: 100 },
  );
});
