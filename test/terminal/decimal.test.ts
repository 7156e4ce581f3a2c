import assert from "node:assert/strict";
import { test } from "node:test";
import { groupLevels, groupSteps } from "../../src/terminal/book/levels.ts";
import { toCsv } from "../../src/terminal/tables/csv.ts";
import { cleanDecimal, fromNumber, fromUnits, isMultiple, toStep, toUnits } from "../../src/terminal/text/decimal.ts";

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
