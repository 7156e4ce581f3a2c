import assert from "node:assert/strict";
import { test } from "node:test";
import { Compile } from "typebox/compile";
import { type Candle, flatCandle, type Interval } from "../../src/core/candles.ts";
import { type Context, Symbols } from "../../src/front/context.ts";
import { klineJson, readKlines } from "../../src/front/klines.ts";
import { marketRoutes } from "../../src/front/routes/market.ts";
import type { CandleQuery } from "../../src/store/history.ts";
import { Kline } from "../../src/wire/schema/market.ts";
import { fakeCall } from "./fake-call.ts";
import { BTC as BTC_ID, bid, open } from "./scripted-exchange.ts";
import { instrument } from "./scripted-road.ts";

const MINUTE = 60_000;
const BTC = instrument(1, "BTC-PERP");

/** Minute candles that opened at these minutes, each at a price of its own: minute 7 closed at 7 ticks. */
function historyOf(...minutes: number[]) {
  const candles = minutes.map(
    (minute): Candle => ({ ...flatCandle(minute * MINUTE, minute), volumeLots: 1, trades: 1 }),
  );
  return {
    candles(_instrumentId: number, _interval: Interval, query: CandleQuery): Candle[] {
      const { startTime, endTime = Number.MAX_SAFE_INTEGER, limit } = query;
      const found = candles.filter(({ openTime }) => openTime >= (startTime ?? 0) && openTime <= endTime);
      return startTime === undefined ? found.slice(-limit) : found.slice(0, limit);
    },
  };
}

interface Asked {
  limit?: number;
  start?: number;
  end?: number;
  now?: number;
}

/** In minutes: `minute:close`, with a star where nothing traded; and where the next page begins. */
function read(
  history: ReturnType<typeof historyOf>,
  { limit = 100, start, end, now = 10.5 }: Asked,
): [string, number | null] {
  const times = {
    startTime: start === undefined ? undefined : start * MINUTE,
    endTime: end === undefined ? undefined : end * MINUTE,
  };
  const { candles, nextOpenTime } = readKlines(history, 1, { interval: "1m", limit, ...times }, now * MINUTE);
  const shown = candles.map(
    ({ openTime, closeTicks, trades }) => `${openTime / MINUTE}:${closeTicks}${trades === 0 ? "*" : ""}`,
  );
  return [shown.join(" "), nextOpenTime === null ? null : nextOpenTime / MINUTE];
}

test("without a start the latest, the running one included, without gaps", () => {
  const history = historyOf(3, 5, 9);
  assert.deepEqual(read(history, {}), ["3:3 4:3* 5:5 6:5* 7:5* 8:5* 9:9 10:9*", null]);
  assert.deepEqual(read(history, { limit: 3 }), ["8:5* 9:9 10:9*", null]);
  assert.deepEqual(read(history, { limit: 2, end: 6.5 }), ["5:5 6:5*", null]);
});

test("from a start page after page, beginning with the first trade of all", () => {
  const history = historyOf(3, 5, 9);
  assert.deepEqual(read(history, { start: 4, limit: 3 }), ["4:3* 5:5 6:5*", 7]);
  assert.deepEqual(read(history, { start: 7, limit: 3 }), ["7:5* 8:5* 9:9", 10]);
  assert.deepEqual(read(history, { start: 10, limit: 3 }), ["10:9*", null]);
  assert.deepEqual(read(history, { start: 0, limit: 2 }), ["3:3 4:3*", 5]);
  assert.deepEqual(read(history, { start: 3.5, end: 5, limit: 9 }), ["4:3* 5:5", null]);
});

test("where nothing has traded there is nothing, and nothing of the future", () => {
  assert.deepEqual(read(historyOf(), {}), ["", null]);
  assert.deepEqual(read(historyOf(), { start: 0 }), ["", null]);
  assert.deepEqual(read(historyOf(3), { start: 11 }), ["", null]);
  assert.deepEqual(read(historyOf(3), { start: 0, end: 2 }), ["", null]);
  assert.deepEqual(read(historyOf(3), { start: 9, end: 99 }), ["9:3* 10:3*", null]);
});

test("a candle as text", () => {
  const candle: Candle = {
    openTime: 5 * MINUTE,
    openTicks: 10,
    highTicks: 12,
    lowTicks: 9,
    closeTicks: 11,
    volumeLots: 1500,
    turnoverQuanta: 1_650_000n,
    trades: 3,
  };
  const shown = JSON.parse(klineJson(BTC, "1m", candle, 6 * MINUTE)) as Record<string, unknown>;
  assert.ok(Compile(Kline).Check(shown));
  assert.deepEqual(
    [shown.open, shown.high, shown.low, shown.close, shown.volume, shown.turnover, shown.closed],
    ["1", "1.2", "0.9", "1.1", "1.5", "1.65", true],
  );
  assert.match(klineJson(BTC, "1m", candle, 6 * MINUTE - 1), /"closed":false/);
});

test("a candle ahead of the machine's clock is shown once its symbol is at that time", async () => {
  const { road, market } = await open();
  road.time = 4_000_000_000_000;
  const minute = Math.floor(road.time / MINUTE);
  road.turn(BTC_ID, bid(100, 1));
  const history = historyOf(minute);
  const symbols = new Symbols(road.instruments);
  const routes = marketRoutes({ road, market, history, symbols } as unknown as Context);
  const klines = routes.find(({ path }) => path === "/market/klines");
  const { call, response } = fakeCall("GET", "/v1/market/klines");
  const principal = { accountId: 0, permissions: [], credential: "", expiresAt: 0, record: null };
  const query = { symbol: "BTC-PERP", interval: "1m" };
  await klines?.handle({ call, principal, parameter: "", query, body: {} });
  const [{ openTime, closed }] = response.json.data as { openTime: number; closed: boolean }[];
  assert.deepEqual([openTime, closed], [minute * MINUTE, false]);
});
