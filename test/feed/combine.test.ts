import assert from "node:assert/strict";
import { test } from "node:test";
import { type CombineRules, combine, type Quote, weightedMedian } from "../../src/feed/combine.ts";

const NOW = 1_700_000_000_000;
const RULES: CombineRules = { maxAgeMs: 5000, maxDeviation: 0.01, minSources: 2 };

/** `name weight price age`, separated by commas. */
const quotes = (text: string): Quote[] =>
  text.split(",").flatMap((each) => {
    const [source = "", weight, price, ageMs = "0"] = each.trim().split(" ");
    return source === "" ? [] : [{ source, weight: Number(weight), price: Number(price), time: NOW - Number(ageMs) }];
  });

const CASES: [why: string, given: string, price: number | null, stale: string, outliers: string, rules?: object][] = [
  ["nobody says anything", "", null, "", ""],
  ["one is fewer than two", "a 1 100", null, "", ""],
  ["one is enough where one is", "a 1 100", 100, "", "", { minSources: 1 }],
  ["equal weights: the mean", "a 1 100, b 1 101", 100.5, "", ""],
  ["weights count", "a 3 100, b 1 100.4", 100.1, "", ""],
  ["the last moment of a quote", "a 1 100 5000, b 1 100", 100, "", ""],
  ["an older one is left out", "a 1 100 5001, b 1 100.2, c 1 100.4", 100.3, "a", ""],
  ["then too few may be left", "a 1 100 5001, b 1 100", null, "a", ""],
  ["a liar is left out", "a 1 100, b 1 100.2, c 1 150", 100.1, "", "c"],
  ["a liar below, too", "a 1 100, b 1 100.2, c 1 0.01", 100.1, "", "c"],
  ["the limit itself is near enough", "a 1 100, b 2 100, c 1 101", 100.25, "", ""],
  ["a heavy liar moves the median, and the honest are fewer", "a 1 100, b 1 100, c 5 150", null, "", "a,b"],
  ["two that contradict each other are no price", "a 1 100, b 1 150", null, "", "a,b"],
  ["a stale liar is only stale", "a 1 100, b 1 100, c 9 150 9999", 100, "c", ""],
  ["three against three by weight", "a 2 100, b 1 100, c 1 100.5, d 2 100.5", 100.25, "", ""],
];

for (const [why, given, price, stale, outliers, rules = {}] of CASES)
  test(why, () => {
    const combined = combine(quotes(given), NOW, { ...RULES, ...rules });
    assert.deepEqual(
      [
        combined.price === null ? null : Number(combined.price.toFixed(9)),
        combined.stale.join(),
        combined.outliers.join(),
      ],
      [price, stale, outliers],
    );
  });

test("the weighted median", () => {
  const cases: [string, number][] = [
    ["a 1 5", 5],
    ["a 1 1, b 1 2, c 1 9", 2],
    ["a 1 9, b 1 1, c 1 2", 2],
    ["a 1 1, b 1 3", 2],
    ["a 3 1, b 1 3, c 1 4", 1],
    ["", 0],
  ];
  for (const [given, median] of cases) assert.equal(weightedMedian(quotes(given)), median, given);
});
