import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUY } from "../../../src/core/base/enums.ts";
import { applyTrade, type Candle, flatCandle, openTimeOf } from "../../../src/core/market-data/candles.ts";
import { Ticker24h } from "../../../src/core/market-data/ticker.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("ticker.test");

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const START = Date.parse("2024-03-01T10:00:30Z");

interface Trade {
  time: number;
  ticks: number;
  lots: number;
}

/** The slow reference: scans every trade of the current minute and the 1440 before it. */
function expected(trades: Trade[], now: number): unknown {
  const from = openTimeOf("1m", now) - DAY;
  const recent = trades.filter((trade) => trade.time >= from);
  const ticks = recent.map((trade) => trade.ticks);
  return {
    open: ticks[0] ?? 0,
    high: ticks.length > 0 ? Math.max(...ticks) : 0,
    low: ticks.length > 0 ? Math.min(...ticks) : 0,
    volume: recent.reduce((sum, trade) => sum + trade.lots, 0),
    turnover: recent.reduce((sum, trade) => sum + BigInt(trade.ticks * trade.lots), 0n),
  };
}

const actual = (ticker: Ticker24h): unknown => ({
  open: ticker.openTicks,
  high: ticker.highTicks,
  low: ticker.lowTicks,
  volume: ticker.volumeLots,
  turnover: ticker.turnoverQuanta,
});

const step = fc.record({
  afterMs: fc.oneof(
    fc.integer({ min: 0, max: 2 * MINUTE }),
    fc.integer({ min: 0, max: DAY / 4 }),
    fc.integer({ min: DAY - 2 * MINUTE, max: DAY + 2 * MINUTE }),
    fc.integer({ min: 0, max: 3 * DAY }),
  ),
  trades: fc.boolean(),
  looks: fc.boolean(),
  ticks: fc.integer({ min: 1, max: 2 ** 24 }),
  lots: fc.integer({ min: 1, max: 2 ** 26 }),
});

test("the rolling day equals a scan of all its trades, primed from candles or not", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(60), (steps, primed) => {
      const live = new Ticker24h();
      const trades: Trade[] = [];
      let restarted: Ticker24h | undefined;
      let now = START;
      for (const [index, { afterMs, trades: tradesNow, looks, ticks, lots }] of steps.entries()) {
        now += afterMs;
        if (index === primed) {
          restarted = new Ticker24h();
          restarted.prime(minuteCandles(trades));
        }
        for (const ticker of restarted === undefined ? [live] : [live, restarted]) {
          if (tradesNow) ticker.trade(now, ticks, lots, ticks * lots);
          else ticker.advance(now);
        }
        if (tradesNow) trades.push({ time: now, ticks, lots });
        if (!looks) continue;
        assert.deepEqual(actual(live), expected(trades, now));
        if (restarted !== undefined) assert.deepEqual(actual(restarted), expected(trades, now));
      }
    }),
    { seed, numRuns: 300 },
  );
});

function minuteCandles(trades: Trade[]): Candle[] {
  const candles: Candle[] = [];
  for (const { time, ticks, lots } of trades) {
    const openTime = openTimeOf("1m", time);
    if (candles.at(-1)?.openTime !== openTime) candles.push(flatCandle(openTime, ticks));
    applyTrade(candles.at(-1) as Candle, ticks, lots, ticks * lots, BUY);
  }
  return candles;
}

test("a clock that steps back drops no trade", () => {
  const ticker = new Ticker24h();
  ticker.trade(START, 10, 1, 10);
  ticker.trade(START - 5 * MINUTE, 20, 1, 20);
  ticker.advance(START - DAY);
  assert.deepEqual(actual(ticker), { open: 10, high: 20, low: 10, volume: 2, turnover: 30n });
});
