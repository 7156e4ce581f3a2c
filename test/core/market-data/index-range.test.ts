import assert from "node:assert/strict";
import { test } from "node:test";
import { IndexRange } from "../../../src/core/market-data/index-range.ts";

const START = 1e12;

/** The rate after each price, in percent, at the time of the price. */
function ratesOf(prices: readonly [seconds: number, ticks: number][], readAt = 0): number[] {
  const range = new IndexRange();
  let last = 0;
  const rates = prices.map(([seconds, ticks]) => {
    range.note(last, ticks, START + seconds * 1000);
    last = ticks;
    return range.movePpm(START + seconds * 1000) / 1e4;
  });
  return readAt === 0 ? rates : [...rates, range.movePpm(START + readAt * 1000) / 1e4];
}

test("a move counts for at least a minute, in either direction, and ends within two", () => {
  const rows: [why: string, prices: [number, number][], readAt: number, rates: number[]][] = [
    ["the first price is no move", [[0, 100]], 0, [0]],
    [
      "a rise, and a return",
      [
        [0, 100],
        [1, 105],
        [2, 100],
      ],
      0,
      [0, 5, 5],
    ],
    [
      "a fall in steps, from the lowest price",
      [
        [0, 1000],
        [10, 980],
        [20, 950],
      ],
      0,
      [0, 2.0409, 5.2632],
    ],
    [
      "the window before still counts",
      [
        [0, 100],
        [59, 102],
        [61, 102],
        [119, 102],
        [121, 102],
      ],
      0,
      [0, 2, 2, 2, 0],
    ],
    [
      "without new prices it ends, too",
      [
        [0, 100],
        [1, 103],
      ],
      121,
      [0, 3, 0],
    ],
    [
      "a price after a long pause is a move from the last one",
      [
        [0, 100],
        [600, 110],
        [601, 110],
      ],
      0,
      [0, 10, 10],
    ],
  ];
  for (const [why, prices, readAt, rates] of rows) assert.deepEqual(ratesOf(prices, readAt), rates, why);
});

test("it is the same from its figures", () => {
  const range = new IndexRange();
  for (const [i, ticks] of [100, 104, 99, 101].entries()) range.note(i, ticks, START + i * 40_000);
  const again = new IndexRange();
  again.load(JSON.parse(JSON.stringify(range.figures)));
  assert.deepEqual(again, range);
  assert.ok(again.movePpm(START + 130_000) > 0);
});
