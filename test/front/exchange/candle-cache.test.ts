import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Candle, type CandleSeries, flatCandle, openTimeOf } from "../../../src/core/market-data/candles.ts";
import { CandleCache } from "../../../src/front/exchange/candle-cache.ts";
import type { CandleQuery } from "../../../src/store/history/history.ts";

const MINUTE = 60_000;
const MINUTES = { instrumentId: 1, priceType: "LAST", interval: "1m" } as const;
const HOURS = { ...MINUTES, interval: "1h" } as const;

/** A history that grows, loses its beginning and counts its reads, and the candles that were read. */
class GrowingHistory {
  readonly rows: Candle[] = [];
  keptSince = 0;
  read = 0;
  reads = 0;

  /** A trade at this time. */
  trade(time: number): void {
    const openTime = openTimeOf("1m", time);
    const last = this.rows.at(-1);
    if (last?.openTime === openTime) last.trades++;
    else this.rows.push({ ...flatCandle(openTime, 1), trades: 1 });
  }

  candles(series: CandleSeries, { startTime, endTime = Number.MAX_SAFE_INTEGER, limit }: CandleQuery): Candle[] {
    const since = Math.max(startTime ?? 0, series.interval === "1m" ? this.keptSince : 0);
    const found = this.rows.filter(({ openTime }) => openTime >= since && openTime <= endTime);
    const page = startTime === undefined ? found.slice(-limit) : found.slice(0, limit);
    this.read += page.length;
    this.reads++;
    return page.map((candle) => ({ ...candle }));
  }
}

/** `traded`: the minutes with a trade. */
function open(...traded: number[]) {
  const history = new GrowingHistory();
  for (const minute of traded) history.trade(minute * MINUTE);
  const cache = new CandleCache(history, () => history.keptSince);
  const minutes = (now: number, start: number | undefined, end: number, limit = 100): number[] => {
    const query = { startTime: start === undefined ? undefined : start * MINUTE, endTime: end * MINUTE, limit };
    return cache
      .at(now * MINUTE)
      .candles(MINUTES, query)
      .map(({ openTime }) => openTime / MINUTE);
  };
  return { history, cache, minutes };
}

test("closed candles are read once, and the current one each time", () => {
  const { history, minutes } = open(1, 2, 4, 5);
  assert.deepEqual(minutes(5.5, 1, 9), [1, 2, 4, 5]);
  assert.equal(history.read, 4);
  assert.deepEqual(minutes(5.5, 1, 9), [1, 2, 4, 5]);
  assert.equal(history.read, 5);
  history.trade(7 * MINUTE);
  assert.deepEqual(minutes(7.5, 2, 9), [2, 4, 5, 7]);
  assert.equal(history.read, 7, "5 has closed, and 7 is new");
  assert.deepEqual(minutes(7.5, 2, 5), [2, 4, 5]);
  assert.deepEqual(minutes(7.5, undefined, 6, 1), [5], "the last one before a time");
  assert.equal(history.read, 7);
});

test("older pages go before those that are held, and pages elsewhere are not held", () => {
  const { history, minutes } = open(1, 2, 3, 4, 5, 6);
  minutes(9, 5, 8);
  minutes(9, 3, 4);
  history.read = 0;
  assert.deepEqual(minutes(9, 3, 8), [3, 4, 5, 6]);
  assert.equal(history.read, 0);
  assert.deepEqual(minutes(9, 1, 1), [1]);
  assert.deepEqual(minutes(9, 1, 1), [1]);
  assert.equal(history.read, 2, "2 lies between");
});

test("a young market is asked once whether it has older candles", () => {
  const { history, minutes } = open(50, 51, 53);
  assert.deepEqual(minutes(54.5, undefined, 40, 1), []);
  assert.deepEqual(minutes(54.5, 41, 54), [50, 51, 53]);
  history.reads = 0;
  assert.deepEqual(minutes(54.5, undefined, 41, 1), []);
  assert.deepEqual(minutes(54.5, undefined, 53, 9), [50, 51, 53]);
  assert.equal(history.reads, 0);
  history.trade(54.9 * MINUTE);
  assert.deepEqual(minutes(55, undefined, 54, 9), [50, 51, 53, 54], "54 was not closed");
  assert.deepEqual(minutes(55, undefined, 54, 2), [53, 54]);
  assert.equal(history.reads, 1);
  history.keptSince = 51 * MINUTE;
  assert.deepEqual(minutes(55, undefined, 54, 9), [51, 53, 54]);
  assert.equal(history.reads, 1, "nothing is kept before them");
});

test("candles that the history no longer keeps are not shown", () => {
  const { history, minutes, cache } = open(1, 2, 3, 4);
  assert.deepEqual(minutes(9, 1, 8), [1, 2, 3, 4]);
  history.keptSince = 3 * MINUTE;
  assert.deepEqual(minutes(9, 1, 8), [3, 4]);
  assert.deepEqual(minutes(9, undefined, 2, 1), []);
  history.keptSince = 99 * MINUTE;
  assert.deepEqual(minutes(9, 1, 8), []);
  const query = { startTime: 0, endTime: 9 * MINUTE, limit: 9 };
  assert.equal(cache.at(9 * MINUTE).candles(HOURS, query).length, 4, "long candles are kept for ever");
});

test("the memory of a series, and the number of series, are bounded", () => {
  const { history, minutes, cache } = open();
  for (let minute = 1; minute <= 2500; minute++) history.trade(minute * MINUTE);
  for (let from = 1; from < 2500; from += 100) minutes(9999, from, from + 99);
  history.read = 0;
  assert.equal(minutes(9999, 501, 2500, 1999).length, 1999);
  assert.equal(history.read, 0);
  minutes(9999, 400, 450);
  assert.equal(history.read, 51, "the oldest ones were forgotten");
  const query = { startTime: 2400 * MINUTE, endTime: 2499 * MINUTE, limit: 100 };
  const readAs = (instrumentId: number) => cache.at(9999 * MINUTE).candles({ ...MINUTES, instrumentId }, query).length;
  for (let id = 2; id <= 32; id++) readAs(id);
  minutes(9999, 2400, 2499);
  readAs(33);
  history.read = 0;
  minutes(9999, 2400, 2499);
  readAs(33);
  assert.equal(history.read, 0, "the one used last");
  readAs(2);
  assert.equal(history.read, 100, "the one used least recently");
});

test("any reads, while the history grows and loses its beginning, give what the history gives", () => {
  const step = fc.record({
    passed: fc.integer({ min: 0, max: 3 * MINUTE }),
    trades: fc.boolean(),
    prune: fc.integer({ min: 0, max: 20 }),
    back: fc.option(fc.integer({ min: -2, max: 30 }), { nil: undefined }),
    length: fc.integer({ min: 0, max: 12 }),
    offset: fc.integer({ min: 0, max: MINUTE - 1 }),
    limit: fc.integer({ min: 1, max: 8 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
      const history = new GrowingHistory();
      const cache = new CandleCache(history, () => history.keptSince);
      let now = 100 * MINUTE;
      for (const { passed, trades, prune, back, length, offset, limit } of steps) {
        now += passed;
        if (trades) history.trade(now);
        if (prune === 0) history.keptSince = Math.max(0, now - 15 * MINUTE);
        const startTime = back === undefined ? undefined : now - back * MINUTE;
        const endTime = (startTime ?? now - 5 * MINUTE) + length * MINUTE + offset;
        const query = { startTime, endTime, limit };
        assert.deepEqual(cache.at(now).candles(MINUTES, query), history.candles(MINUTES, query));
      }
    }),
    { numRuns: 300 },
  );
});
