import assert from "node:assert/strict";
import { test } from "node:test";
import { Compile } from "typebox/compile";
import { type Candle, flatCandle } from "../../../src/core/market-data/candles.ts";
import { findKlines, klineJson, klineParts, readKlines } from "../../../src/front/json/klines.ts";
import { Kline } from "../../../src/wire/schema/market.ts";
import { historyOf, traded } from "../support/candle-history.ts";
import { instrument } from "../support/scripted-engine.ts";

const MINUTE = 60_000;
const BTC = instrument(1, "BTC-PERP");
const LAST_1M = { instrumentId: 1, priceType: "LAST", interval: "1m" } as const;

/** Minute candles that opened at these minutes. Each has its minute as its price: minute 7 closed at 7 ticks. */
const minutesOf = (...minutes: number[]) => historyOf(minutes.map((minute) => traded(minute * MINUTE, minute)));

interface Asked {
  limit?: number;
  start?: number;
  end?: number;
  now?: number;
}

/** Candles as `minute:close`, with a star for no trades, and the minute at which the next page begins. */
function read(
  history: ReturnType<typeof minutesOf>,
  { limit = 100, start, end, now = 10.5 }: Asked,
): [string, number | null] {
  const times = {
    startTime: start === undefined ? undefined : start * MINUTE,
    endTime: end === undefined ? undefined : end * MINUTE,
  };
  const query = { limit, ...times };
  const nextOpenTime = findKlines(history, LAST_1M, query, now * MINUTE)?.nextOpenTime ?? null;
  const shown = readKlines(history, LAST_1M, query, now * MINUTE).map(
    ({ openTime, closeTicks, trades }) => `${openTime / MINUTE}:${closeTicks}${trades === 0 ? "*" : ""}`,
  );
  return [shown.join(" "), nextOpenTime === null ? null : nextOpenTime / MINUTE];
}

test("without startTime: the latest candles, the running one included, without gaps", () => {
  const history = minutesOf(3, 5, 9);
  assert.deepEqual(read(history, {}), ["3:3 4:3* 5:5 6:5* 7:5* 8:5* 9:9 10:9*", null]);
  assert.deepEqual(read(history, { limit: 3 }), ["8:5* 9:9 10:9*", null]);
  assert.deepEqual(read(history, { limit: 2, end: 6.5 }), ["5:5 6:5*", null]);
});

test("with startTime: page after page, beginning with the first trade of the series", () => {
  const history = minutesOf(3, 5, 9);
  assert.deepEqual(read(history, { start: 4, limit: 3 }), ["4:3* 5:5 6:5*", 7]);
  assert.deepEqual(read(history, { start: 7, limit: 3 }), ["7:5* 8:5* 9:9", 10]);
  assert.deepEqual(read(history, { start: 10, limit: 3 }), ["10:9*", null]);
  assert.deepEqual(read(history, { start: 0, limit: 2 }), ["3:3 4:3*", 5]);
  assert.deepEqual(read(history, { start: 3.5, end: 5, limit: 9 }), ["4:3* 5:5", null]);
});

test("a long range is read in parts, and gaps between parts are filled", () => {
  const history = minutesOf(3, 95, 102, 260);
  const at = (minute: number): string => {
    const close = [260, 102, 95, 3].find((each) => each <= minute);
    return `${minute}:${close}${close === minute ? "" : "*"}`;
  };
  const minutes = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => at(from + i)).join(" ");
  assert.deepEqual(read(history, { start: 0, limit: 1000, now: 300 }), [minutes(3, 300), null]);
  assert.deepEqual(read(history, { limit: 100, now: 300 }), [minutes(201, 300), null]);
  assert.deepEqual(read(history, { start: 3, limit: 101, now: 300 }), [minutes(3, 103), 104]);
  const range = findKlines(history, LAST_1M, { limit: 250, startTime: 0, endTime: undefined }, 300 * MINUTE);
  assert.ok(range !== null);
  assert.deepEqual(
    [...klineParts(history, LAST_1M, range)].map(({ length }) => length),
    [100, 100, 50],
  );
});

test("a series without trades has no candles, and none lie in the future", () => {
  assert.deepEqual(read(minutesOf(), {}), ["", null]);
  assert.deepEqual(read(minutesOf(), { start: 0 }), ["", null]);
  assert.deepEqual(read(minutesOf(3), { start: 11 }), ["", null]);
  assert.deepEqual(read(minutesOf(3), { start: 0, end: 2 }), ["", null]);
  assert.deepEqual(read(minutesOf(3), { start: 9, end: 99 }), ["9:3* 10:3*", null]);
});

test("a candle is printed as JSON", () => {
  const candle: Candle = {
    openTime: 5 * MINUTE,
    openTicks: 10,
    highTicks: 12,
    lowTicks: 9,
    closeTicks: 11,
    volumeLots: 1500,
    turnoverQuanta: 1_650_000n,
    trades: 3,
    takerBuyLots: 1200,
    takerBuyQuanta: 1_320_000n,
  };
  const ofTrades = { priceType: "LAST", interval: "1m" } as const;
  const shown = JSON.parse(klineJson(BTC, ofTrades, candle, 6 * MINUTE)) as Record<string, unknown>;
  assert.ok(Compile(Kline).Check(shown));
  assert.deepEqual(
    [shown.open, shown.high, shown.low, shown.close, shown.volume, shown.turnover, shown.closed],
    ["1", "1.2", "0.9", "1.1", "1.5", "1.65", true],
  );
  assert.deepEqual([shown.trades, shown.takerBuyVolume, shown.takerBuyTurnover], [3, "1.2", "1.32"]);
  assert.match(klineJson(BTC, ofTrades, candle, 6 * MINUTE - 1), /"closed":false/);
  const premium = { ...flatCandle(0, -12_500), highTicks: 0 };
  const printed = JSON.parse(klineJson(BTC, { priceType: "PREMIUM", interval: "1m" }, premium, 0)) as typeof shown;
  assert.deepEqual([printed.open, printed.high, printed.low], ["-0.0000125", "0", "-0.0000125"]);
});
