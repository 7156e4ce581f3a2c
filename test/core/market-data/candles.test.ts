import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUY, SELL, type Side } from "../../../src/core/base/enums.ts";
import {
  aggregate,
  applyTrade,
  type Candle,
  closeTimeOf,
  fillGaps,
  flatCandle,
  INTERVALS,
  type Interval,
  openTimeOf,
} from "../../../src/core/market-data/candles.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("candles.test");

const utc = (text: string): number => Date.parse(`${text}Z`);
const text = (time: number): string => new Date(time).toISOString().slice(0, 23);

test("each interval opens and closes where the calendar says", () => {
  const at = "2024-02-29T13:47:38.512"; // a Thursday, of a leap year
  const table: [Interval, string, string][] = [
    ["1s", "2024-02-29T13:47:38.000", "2024-02-29T13:47:38.999"],
    ["1m", "2024-02-29T13:47:00.000", "2024-02-29T13:47:59.999"],
    ["3m", "2024-02-29T13:45:00.000", "2024-02-29T13:47:59.999"],
    ["5m", "2024-02-29T13:45:00.000", "2024-02-29T13:49:59.999"],
    ["15m", "2024-02-29T13:45:00.000", "2024-02-29T13:59:59.999"],
    ["30m", "2024-02-29T13:30:00.000", "2024-02-29T13:59:59.999"],
    ["1h", "2024-02-29T13:00:00.000", "2024-02-29T13:59:59.999"],
    ["2h", "2024-02-29T12:00:00.000", "2024-02-29T13:59:59.999"],
    ["4h", "2024-02-29T12:00:00.000", "2024-02-29T15:59:59.999"],
    ["6h", "2024-02-29T12:00:00.000", "2024-02-29T17:59:59.999"],
    ["8h", "2024-02-29T08:00:00.000", "2024-02-29T15:59:59.999"],
    ["12h", "2024-02-29T12:00:00.000", "2024-02-29T23:59:59.999"],
    ["1d", "2024-02-29T00:00:00.000", "2024-02-29T23:59:59.999"],
    ["3d", "2024-02-29T00:00:00.000", "2024-03-02T23:59:59.999"],
    ["1w", "2024-02-26T00:00:00.000", "2024-03-03T23:59:59.999"],
    ["1M", "2024-02-01T00:00:00.000", "2024-02-29T23:59:59.999"],
  ];
  for (const [interval, opens, closes] of table) {
    const openTime = openTimeOf(interval, utc(at));
    assert.equal(text(openTime), opens, interval);
    assert.equal(text(closeTimeOf(interval, openTime)), closes, interval);
  }
  assert.deepEqual(
    table.map(([interval]) => interval),
    [...INTERVALS],
  );
});

test("a week begins on Monday, a month of December ends with the year", () => {
  assert.equal(text(openTimeOf("1w", utc("2024-02-26T00:00:00.000"))), "2024-02-26T00:00:00.000");
  assert.equal(text(openTimeOf("1w", utc("2024-02-25T23:59:59.999"))), "2024-02-19T00:00:00.000");
  assert.equal(text(closeTimeOf("1M", utc("2024-12-01T00:00:00.000"))), "2024-12-31T23:59:59.999");
});

test("intervals tile time, and each is a whole number of seconds", () => {
  const time = fc.integer({ min: 0, max: utc("2100-01-01T00:00:00.000") });
  fc.assert(
    fc.property(fc.constantFrom(...INTERVALS), time, (interval, time) => {
      const openTime = openTimeOf(interval, time);
      const next = closeTimeOf(interval, openTime) + 1;
      assert.ok(openTime <= time && time < next);
      assert.equal(openTimeOf(interval, openTime), openTime);
      assert.equal(openTimeOf(interval, next), next);
      assert.equal(openTimeOf("1s", openTime), openTime);
    }),
    { seed },
  );
});

/** The slow reference: candles of an interval made directly from the trades. */
function fromTrades(trades: { time: number; ticks: number; lots: number; side: Side }[], interval: Interval): Candle[] {
  const openTimes = new Set(trades.map((trade) => openTimeOf(interval, trade.time)));
  const groups = [...openTimes].map((at) => trades.filter((trade) => openTimeOf(interval, trade.time) === at));
  const bought = groups.map((group) => group.filter(({ side }) => side === BUY));
  return groups.map((group, i) => ({
    openTime: openTimeOf(interval, group[0].time),
    openTicks: group[0].ticks,
    highTicks: Math.max(...group.map((trade) => trade.ticks)),
    lowTicks: Math.min(...group.map((trade) => trade.ticks)),
    closeTicks: group.at(-1)?.ticks ?? 0,
    volumeLots: group.reduce((sum, trade) => sum + trade.lots, 0),
    turnoverQuanta: group.reduce((sum, trade) => sum + BigInt(trade.ticks * trade.lots), 0n),
    trades: group.length,
    takerBuyLots: bought[i].reduce((sum, trade) => sum + trade.lots, 0),
    takerBuyQuanta: bought[i].reduce((sum, trade) => sum + BigInt(trade.ticks * trade.lots), 0n),
  }));
}

test("aggregated candles of seconds equal candles made from the trades", () => {
  const trade = fc.record({
    afterMs: fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.integer({ min: 0, max: 40 * 86_400_000 })),
    ticks: fc.integer({ min: 1, max: 2 ** 24 }),
    lots: fc.integer({ min: 1, max: 2 ** 24 }),
    side: fc.constantFrom<Side>(BUY, SELL),
  });
  fc.assert(
    fc.property(fc.constantFrom(...INTERVALS), fc.array(trade, { maxLength: 40 }), (interval, steps) => {
      let time = utc("2024-01-31T23:59:58.000");
      const trades = steps.map(({ afterMs, ...trade }) => {
        time += afterMs;
        return { ...trade, time };
      });
      const seconds: Candle[] = [];
      for (const { time, ticks, lots, side } of trades) {
        const openTime = openTimeOf("1s", time);
        if (seconds.at(-1)?.openTime !== openTime) seconds.push(flatCandle(openTime, ticks));
        applyTrade(seconds.at(-1) as Candle, ticks, lots, ticks * lots, side);
      }
      const before = structuredClone(seconds);
      assert.deepEqual(aggregate(seconds, interval), fromTrades(trades, interval));
      assert.deepEqual(seconds, before, "the candles of seconds are left as they were");
    }),
    { seed },
  );
});

test("turnover is exact past 2^53", () => {
  const candle = flatCandle(0, 1);
  applyTrade(candle, 1, 1, Number.MAX_SAFE_INTEGER, BUY);
  applyTrade(candle, 1, 1, Number.MAX_SAFE_INTEGER, BUY);
  applyTrade(candle, 1, 1, 1, SELL);
  assert.equal(candle.turnoverQuanta, 2n * BigInt(Number.MAX_SAFE_INTEGER) + 1n);
  assert.equal(candle.takerBuyQuanta, 2n * BigInt(Number.MAX_SAFE_INTEGER));
});

test("gaps are flat at the close before them", () => {
  const minute = 60_000;
  const candle = { ...flatCandle(2 * minute, 50), highTicks: 60, closeTicks: 55, volumeLots: 7, trades: 2 };
  const flat = (index: number, ticks: number): Candle => flatCandle(index * minute, ticks);
  assert.deepEqual(fillGaps([candle], "1m", 0, 4 * minute, 40), [
    flat(0, 40),
    flat(1, 40),
    candle,
    flat(3, 55),
    flat(4, 55),
  ]);
  assert.deepEqual(
    fillGaps([candle], "1m", 0, 3 * minute, null),
    [candle, flat(3, 55)],
    "no price before the first trade",
  );
  assert.deepEqual(
    fillGaps([candle], "1m", minute, 2 * minute, -7),
    [flat(1, -7), candle],
    "a premium may be negative",
  );
  assert.deepEqual(
    fillGaps([candle], "1m", 3 * minute, 3 * minute, 55),
    [flat(3, 55)],
    "candles before the range are not shown",
  );
  assert.deepEqual(
    fillGaps([], "1M", utc("2024-01-15T00:00:00.000"), utc("2024-03-02T00:00:00.000"), 9).map((c) => text(c.openTime)),
    ["2024-01-01T00:00:00.000", "2024-02-01T00:00:00.000", "2024-03-01T00:00:00.000"],
  );
});
