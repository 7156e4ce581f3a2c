import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BASIS_UNIT, markPrice, nextBasis1024 } from "../../src/core/mark.ts";
import { markOf } from "./support/reference-formulas.ts";
import { takeSeed } from "./support/seed.ts";

const seed = takeSeed("mark.test");
const NONE = -1;

test("the mark is the middle one of index, index with basis, and last price", () => {
  for (const [index, basisTicks, last, expected] of [
    [100, 0, 0, 100], // nothing has traded
    [100, 7, 0, 100],
    [100, 0, 90, 100],
    [100, 5, 103, 103],
    [100, 5, 110, 105],
    [100, 5, 90, 100],
    [100, -5, 97, 97],
    [100, -5, 90, 95],
    [100, -5, 120, 100],
    [3, -50, 1, 1], // never below the first tick
  ])
    assert.equal(markPrice(index, 0, basisTicks * BASIS_UNIT, last), expected, `${index} ${basisTicks} ${last}`);
});

test("the basis moves a thirtieth of its way towards mid − index, and fades without a two-sided book", () => {
  assert.equal(nextBasis1024(0, 100, 109, 111), Math.trunc((10 * BASIS_UNIT) / 30));
  assert.equal(nextBasis1024(0, 100, 110, 111), Math.trunc((10.5 * BASIS_UNIT) / 30));
  assert.equal(nextBasis1024(0, 100, 89, 91), -Math.trunc((10 * BASIS_UNIT) / 30));
  for (const [bid, ask] of [
    [NONE, NONE],
    [90, NONE],
    [NONE, 110],
  ])
    assert.equal(nextBasis1024(3000, 100, bid, ask), 2900);
  let basis = 0;
  for (let i = 0; i < 500; i++) basis = nextBasis1024(basis, 1000, 1099, 1101);
  // Whole thirtieths only: it stops short by less than 30 of 1024.
  assert.ok(basis > 100 * BASIS_UNIT - 30 && basis <= 100 * BASIS_UNIT, String(basis));
  for (let i = 0; i < 500; i++) basis = nextBasis1024(basis, 1000, NONE, NONE);
  assert.ok(basis >= 0 && basis < 30, String(basis));
  assert.equal(markPrice(1000, 0, basis, 1001), 1000);
});

test("mark and basis are whole numbers in range, and those of the exact formula", () => {
  const price = fc.oneof(fc.integer({ min: 1, max: 2 ** 24 }), fc.integer({ min: 1, max: 200 }));
  const steps = fc.array(
    fc.record({ index: price, book: fc.option(fc.tuple(price, price)), last: fc.oneof(fc.constant(0), price) }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(steps, (steps) => {
      let basis = 0;
      for (const { index, book, last } of steps) {
        const [bid, ask] = book === null ? [NONE, NONE] : [Math.min(...book), Math.max(...book)];
        const expected = markOf(index, basis, book === null ? undefined : bid, book === null ? undefined : ask, last);
        basis = nextBasis1024(basis, index, bid, ask);
        const mark = markPrice(index, 0, basis, last);
        assert.deepEqual({ markTicks: mark, basis1024: basis }, expected);
        assert.ok(Number.isSafeInteger(mark) && mark >= 1 && mark <= 2 ** 24, String(mark));
      }
    }),
    { seed, numRuns: 1000 },
  );
});
