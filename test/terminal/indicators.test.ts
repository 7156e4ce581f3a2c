import assert from "node:assert/strict";
import { test } from "node:test";
import {
  atr,
  type Bar,
  bollinger,
  ema,
  type Formula,
  formulaOf,
  macd,
  Run,
  rsi,
  sma,
  stochastic,
  volumeAverage,
  vwap,
} from "../../src/terminal/chart/formulas.ts";
import { offersAt } from "../../src/terminal/chart/offers.ts";
import { axisLabel, candleTime } from "../../src/terminal/chart/times.ts";
import { cleanSettings, DEFAULTS } from "../../src/terminal/state/choices.ts";
import { DEFAULT_VALUES, INDICATOR_IDS } from "../../src/terminal/state/indicators.ts";
import { timeZone } from "../../src/terminal/text/format.ts";

/** The indicators of the chart against values computed by hand, and the times on its axis. */

const MINUTE_MS = 60_000;
const bar = (close: number, index: number, more: Partial<Bar> = {}): Bar => ({
  openTime: index * MINUTE_MS,
  high: close,
  low: close,
  close,
  volume: 1,
  turnover: close,
  ...more,
});
const closes = (...prices: number[]): Bar[] => prices.map((price, index) => bar(price, index));
/** [high, low, close] of each candle. */
const ranges = (...rows: [high: number, low: number, close: number][]): Bar[] =>
  rows.map(([high, low, close], index) => bar(close, index, { high, low }));

const rounded = (rows: readonly (readonly (number | null)[])[], decimals = 6): (number | null)[][] =>
  rows.map((row) => row.map((value) => (value === null ? null : Number(value.toFixed(decimals)))));
const runOf = (formula: Formula, bars: readonly Bar[]): (number | null)[][] => rounded(new Run(formula, bars).rows);

test("moving averages have the values of a calculation by hand", () => {
  assert.deepEqual(runOf(sma([1, 3]), closes(1, 2, 3, 7)), [
    [1, null],
    [2, null],
    [3, 2],
    [7, 4],
  ]);
  // It begins with the mean of 1, 2, 3; then 2 + 1/2 × (4 − 2) = 3 and 3 + 1/2 × (10 − 3) = 6.5.
  assert.deepEqual(runOf(ema([3]), closes(1, 2, 3, 4, 10)), [[null], [null], [2], [3], [6.5]]);
  assert.deepEqual(runOf(volumeAverage(2), [bar(1, 0, { volume: 4 }), bar(1, 1, { volume: 8 })]), [[null], [6]]);
});

test("Bollinger bands are two deviations of the population away from the mean", () => {
  // The deviation of 2, 4, 6 is √(8 / 3) = 1.632993.
  assert.deepEqual(runOf(bollinger(3, 2), closes(2, 4, 6)).at(-1), [4, 7.265986, 0.734014]);
  // Large prices that differ little: no digits are lost.
  assert.deepEqual(runOf(bollinger(2, 1), closes(65_000.1, 65_000.3)).at(-1), [65_000.2, 65_000.3, 65_000.1]);
});

test("the average price by volume begins anew at midnight UTC, and counts what was traded before the first candle", () => {
  const day = 24 * 60;
  const traded = (index: number, volume: number, turnover: number): Bar => bar(0, index, { volume, turnover });
  const bars = [traded(day - 2, 1, 100), traded(day - 1, 3, 360), traded(day, 0, 0), traded(day + 1, 2, 260)];
  // (140 + 100) / (1 + 1), (240 + 360) / (2 + 3); then nothing, then 260 / 2.
  assert.deepEqual(runOf(vwap({ volume: 1, turnover: 140 }), bars), [[120], [120], [null], [130]]);
  assert.deepEqual(runOf(vwap(null), bars), [[null], [null], [null], [130]]);
});

test("the relative strength index has Wilder's smoothing", () => {
  // Rises 1, 0, 1 and falls 0, 0.5, 0: means 0.5 and 0.25, then (0.5 + 1) / 2 = 0.75 and 0.125.
  assert.deepEqual(runOf(rsi(2), closes(10, 11, 10.5, 11.5)), [[null], [null], [66.666667], [85.714286]]);
  assert.deepEqual(runOf(rsi(2), closes(5, 5, 5)).at(-1), [50]);
  assert.deepEqual(runOf(rsi(2), closes(5, 6, 7)).at(-1), [100]);
  // The example of StockCharts, "Relative Strength Index (RSI)".
  const example = [
    ...[44.3389, 44.0902, 44.1497, 43.6124, 44.3278, 44.8264, 45.0955, 45.4245, 45.8433, 46.0826, 45.8931, 46.0328],
    ...[45.614, 46.282, 46.282, 46.0028, 46.0328, 46.4116],
  ];
  const found = rounded(new Run(rsi(14), closes(...example)).rows, 2);
  assert.deepEqual(found.slice(13), [[null], [70.53], [66.32], [66.55], [69.41]]);
});

test("MACD is the distance of two averages, with its own average as the signal", () => {
  // EMA 1: the price. EMA 2: 1.5, 2.5, 4.833333, 7.611111. Signal of 2: the mean, then weight 2/3.
  assert.deepEqual(runOf(macd(1, 2, 2), closes(1, 2, 3, 6, 9)), [
    [null, null, null],
    [0.5, null, null],
    [0.5, 0.5, 0],
    [1.166667, 0.944444, 0.222222],
    [1.388889, 1.240741, 0.148148],
  ]);
});

test("the average true range counts gaps between candles", () => {
  // Ranges 2, 13 − 10 = 3 (a gap above), 13 − 8 = 5 (below): 2.5, then (2.5 + 5) / 2.
  assert.deepEqual(runOf(atr(2), ranges([11, 9, 10], [13, 12, 13], [9, 8, 8])), [[null], [2.5], [3.75]]);
});

test("the stochastic oscillator tells where the close lies in the range of prices", () => {
  const bars = ranges([10, 0, 5], [10, 5, 10], [10, 0, 0], [20, 0, 5]);
  // Of 2 candles: 10/10, 0/10, 5/20 = 100, 0, 25; means of 2: 50, 12.5; of those: 31.25.
  assert.deepEqual(runOf(stochastic(2, 2, 2), bars), [
    [null, null],
    [null, null],
    [50, null],
    [12.5, 31.25],
  ]);
  assert.deepEqual(runOf(stochastic(2, 1, 1), closes(5, 5)).at(-1), [50, 50]);
});

test("a candle that grows ends with the same values as one that came whole, in every indicator", () => {
  const whole = Array.from({ length: 40 }, (_, index) => {
    const close = 100 + 10 * Math.sin(index);
    return bar(close, index, { high: close + 2, low: close - 1, volume: index + 1, turnover: (index + 1) * close });
  });
  for (const id of INDICATOR_IDS) {
    const make = (): Formula =>
      formulaOf(
        id,
        DEFAULT_VALUES[id].map((value) => Math.min(value, 5)),
        null,
      );
    const grown = new Run(make(), []);
    for (const each of whole) {
      // Prices that the candle has gone through must leave no trace.
      grown.take({ ...each, close: each.close + 50, high: each.high + 50, volume: 0.5, turnover: 7 });
      grown.take(each);
    }
    assert.deepEqual(grown.rows, new Run(make(), whole).rows, id);
    assert.equal(grown.rows.length, whole.length);
  }
});

test("stored indicators that are not valid have their defaults, and unknown ones are dropped", () => {
  const cleaned = cleanSettings({
    indicators: ["rsi", "sma", "none", 7],
    indicatorValues: { sma: [5, 0, 0], rsi: [0], macd: [12, 26], bollinger: [20, 2.3], atr: ["14"], ema: [9, 2.5, 0] },
  });
  assert.deepEqual(cleaned.indicators, ["sma", "rsi"]);
  assert.deepEqual(cleaned.indicatorValues, { ...DEFAULT_VALUES, sma: [5, 0, 0], bollinger: [20, 2.3] });
  for (const nothing of [null, 5, "sma", {}]) {
    const { indicators, indicatorValues } = cleanSettings({ indicators: nothing, indicatorValues: nothing });
    assert.deepEqual({ indicators, indicatorValues }, { indicators: [], indicatorValues: DEFAULTS.indicatorValues });
  }
});

test("the axis names a day where it begins in the zone that is shown", () => {
  const before = process.env.TZ;
  process.env.TZ = "America/New_York";
  const utcMidnight = Date.UTC(2026, 0, 1);
  const localMidnight = utcMidnight + 5 * 3_600_000;
  try {
    assert.deepEqual([axisLabel(utcMidnight, false), axisLabel(localMidnight, false)], ["19:00", "2026"]);
    assert.equal(candleTime(utcMidnight, false), "2025-12-31 19:00");
    // A candle of a day is one of the exchange's days.
    assert.deepEqual([axisLabel(utcMidnight, true), candleTime(utcMidnight, true)], ["2026", "2026-01-01"]);
    timeZone.value = "utc";
    assert.deepEqual([axisLabel(utcMidnight, false), axisLabel(localMidnight, false)], ["2026", "05:00"]);
    assert.equal(axisLabel(localMidnight + 1000, false), "05:00:01");
    assert.equal(candleTime(utcMidnight + 1000, false, true), "2026-01-01 00:00:01");
  } finally {
    timeZone.value = "local";
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
});

test("an order below the market buys at a limit or sells at a stop, and above it the reverse", () => {
  const shown = (price: number): string[] => offersAt(price, 100).map(({ side, kind }) => `${side} ${kind}`);
  assert.deepEqual(shown(99), ["BUY LIMIT", "SELL STOP_MARKET", "BUY TAKE_PROFIT_MARKET"]);
  assert.deepEqual(shown(101), ["SELL LIMIT", "BUY STOP_MARKET", "SELL TAKE_PROFIT_MARKET"]);
});
