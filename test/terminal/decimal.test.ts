import assert from "node:assert/strict";
import { test } from "node:test";
import { groupLevels, groupSteps } from "../../src/terminal/book/levels.ts";
import { perSecond, readingOf } from "../../src/terminal/operator/metrics.ts";
import { toCsv } from "../../src/terminal/tables/csv.ts";
import {
  cleanDecimal,
  fromNumber,
  fromUnits,
  isMultiple,
  sum,
  toStep,
  toUnits,
} from "../../src/terminal/text/decimal.ts";

test("a typed number becomes a decimal of the API, or none", () => {
  const rows: [typed: string, decimal: string | null][] = [
    ["1,000.50", "1000.50"],
    [" .5 ", "0.5"],
    ["007", "7"],
    ["5.", "5"],
    ["0", "0"],
    ["-3", "-3"],
    ...["", ".", "-", "1e5", "0x10", "1.2.3", "abc", "Infinity", "9".repeat(40)].map((typed): [string, null] => [
      typed,
      null,
    ]),
  ];
  for (const [typed, decimal] of rows) assert.equal(cleanDecimal(typed), decimal, typed);
});

test("multiples of a step are found without a rounding error", () => {
  assert.ok(isMultiple("0.3", "0.1"));
  assert.ok(!isMultiple("0.35", "0.1"));
  assert.ok(isMultiple("99999999999.9", "0.1"));
  assert.equal(toStep("64000.12", "0.1", "DOWN"), "64000.1");
  assert.equal(toStep("64000.12", "0.1", "UP"), "64000.2");
  assert.equal(toStep("64000.1", "0.1", "UP"), "64000.1");
  assert.equal(toStep("7", "5", "NEAREST"), "5");
  assert.equal(toStep("7.5", "5", "NEAREST"), "10");
  assert.equal(fromUnits(toUnits("-12.340", 3), 3), "-12.34");
});

test("a sum is exact", () => {
  assert.equal(sum([]), "0");
  assert.equal(sum(["0.1", "0.2", "10"]), "10.3");
  assert.equal(sum(["123456789012.1", "0.000001"]), "123456789012.100001");
  assert.equal(sum(["0.1", "-0.3"]), "-0.2");
  assert.equal(sum(["-0.1", "0.1"]), "0");
});

test("a calculated number is cut to the step, and nonsense is nothing", () => {
  assert.equal(fromNumber(0.3 - 0.1, "0.1"), "0.2");
  assert.equal(fromNumber(0.0199, "0.001"), "0.019");
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -1, 0]) assert.equal(fromNumber(value, "0.1"), "0");
});

test("levels are grouped away from the spread, and add up", () => {
  const asks = groupLevels(
    [
      ["100.1", "1"],
      ["100.9", "2"],
      ["101", "3"],
      ["101.1", "4"],
    ],
    1,
    false,
    10,
  );
  assert.deepEqual(asks, [
    { price: 101, quantity: 6, total: 6 },
    { price: 102, quantity: 4, total: 10 },
  ]);
  const bids = groupLevels(
    [
      ["100.1", "1"],
      ["100", "2"],
      ["99.9", "3"],
    ],
    1,
    true,
    1,
  );
  assert.deepEqual(bids, [{ price: 100, quantity: 3, total: 3 }]);
  assert.deepEqual(groupLevels([["0.3", "1"]], 0.1, true, 5)[0]?.price.toFixed(1), "0.3");
  assert.deepEqual(groupSteps(0.1, 650), [0.1, 0.5, 1, 5]);
});

test("a CSV file quotes what must be quoted, and runs no formula", () => {
  const rows = [
    { id: "=1+1", amount: "-1.5", note: 'say "hi", you', none: null },
    { id: "-a", amount: 2, note: "two\nlines", none: undefined },
  ];
  assert.equal(toCsv(rows), 'id,amount,note,none\r\n\'=1+1,-1.5,"say ""hi"", you",\r\n\'-a,2,"two\nlines",\r\n');
});

test("metrics are read from the text of Prometheus, and counters become rates", () => {
  const metrics = (sequence: number): string =>
    `# HELP perpd_sequence of perpd_sequence 7\nperpd_sequence ${sequence}\nperpd_sequence_x 9\nperpd_disk_room 0\nperpd_disk_free_bytes 1.5e9\n` +
    'perpd_trading{symbol="BTC-PERP"} 1\nnodejs_eventloop_lag_p99_seconds 0.0125\nperpd_rebuilds Nan\n';
  const before = readingOf(metrics(1000), 5000, 1);
  const { sequence, hasDiskRoom, diskFreeBytes, loopP99Ms, inFlight } = before;
  assert.deepEqual([sequence, hasDiskRoom, diskFreeBytes, loopP99Ms, inFlight], [1000, false, 1.5e9, 12.5, null]);
  assert.equal(perSecond(before, readingOf(metrics(1500), 7000, 1), "sequence"), 250);
  // The exchange has started anew, or has no such metric.
  assert.equal(perSecond(before, readingOf(metrics(10), 7000, 1), "sequence"), null);
  assert.equal(perSecond(before, readingOf(metrics(1500), 7000, 1), "cpuSeconds"), null);
  assert.equal(perSecond(null, before, "sequence"), null);
});
