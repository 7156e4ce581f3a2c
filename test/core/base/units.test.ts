import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  configDecimal,
  configPpm,
  divCeil,
  divFloor,
  mulDivCeil,
  mulDivFloor,
  parseFixed,
  parseQuanta,
  printBigQuanta,
  printFixed,
  printQuanta,
  printRatio,
  proportion,
} from "../../../src/core/base/units.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("units.test");
const parameters = { seed, numRuns: 2000 };
const MAX = Number.MAX_SAFE_INTEGER;

/** Texts that a client may send as a number, and that must be refused. */
const MALFORMED = [
  "",
  " ",
  " 1",
  "1 ",
  "1\n",
  "\t1",
  "1e1000000",
  "1e5",
  "1E5",
  "1e-5",
  "0x10",
  "0b1",
  "0o7",
  "00012",
  "00",
  "01.5",
  "+1",
  "-1",
  "-0",
  ".5",
  "5.",
  ".",
  "1..2",
  "1.2.3",
  "1,000",
  "1_000",
  "1 000",
  "NaN",
  "Infinity",
  "-Infinity",
  "null",
  "undefined",
  "true",
  "[1]",
  "1n",
  "١٢",
  "१२",
  "１２",
  "1．5",
  "½",
  "²",
  "1\u0000",
  "\u0000",
  "\uFEFF1",
  "1\u200B",
  "9".repeat(13),
  "9".repeat(40),
  `0.${"1".repeat(13)}`,
  `1.${"0".repeat(13)}`,
  `${"9".repeat(100_000)}`,
  `1.${"0".repeat(100_000)}`,
];

test("every parser refuses a text that is not a plain decimal, quickly", () => {
  for (const text of MALFORMED) {
    const shown = JSON.stringify(text.slice(0, 30));
    for (const decimals of [0, 1, 6, 12]) assert.ok(Number.isNaN(parseFixed(text, decimals)), shown);
    assert.throws(
      () => configDecimal(text, "setting"),
      /^Error: setting: .* is not a decimal; use digits and at most one point, for example "0\.0005"$/s,
      shown,
    );
    assert.throws(() => configPpm(text, "setting"), /is not a decimal/, shown);
  }
});

test("decimals become whole numbers of their last place", () => {
  for (const [text, decimals, expected] of [
    ["0", 0, 0],
    ["0", 6, 0],
    ["0.0", 0, 0],
    ["0.000000", 6, 0],
    ["1", 0, 1],
    ["1", 6, 1_000_000],
    ["1.0", 0, 1],
    ["1.50", 1, 15],
    ["1.5", 0, Number.NaN],
    ["0.1", 6, 100_000],
    ["0.000001", 6, 1],
    ["0.0000010", 6, 1],
    ["0.0000001", 6, Number.NaN],
    ["0.000000100000", 6, Number.NaN],
    ["65000.5", 1, 650_005],
    // where sums like 0.1 + 0.2 would be wrong
    ["0.29", 2, 29],
    ["1.005", 3, 1005],
    ["4.35", 2, 435],
    ["1.1", 6, 1_100_000],
    ["8.2", 1, 82],
    ["999999999999", 0, 999_999_999_999],
    ["999999999999.999999999999", 12, Number.NaN],
    // around 2^53 = 9007199254740992
    ["9007199254.740991", 6, MAX],
    ["9007199254.740992", 6, Number.NaN],
    ["9007199254.740993", 6, Number.NaN],
    ["9007.199254740991", 12, MAX],
    ["9007.199254740992", 12, Number.NaN],
    ["900719925474.0991", 4, MAX],
    ["900719925475", 4, Number.NaN],
  ] as const)
    assert.equal(parseFixed(text, decimals), expected, `${text} with ${decimals} decimals`);
});

test("whole numbers print as decimals without trailing zeros", () => {
  for (const [value, decimals, expected] of [
    [0, 0, "0"],
    [0, 6, "0"],
    [-0, 6, "0"],
    [1, 0, "1"],
    [1, 6, "0.000001"],
    [-1, 6, "-0.000001"],
    [1_000_000, 6, "1"],
    [-1_000_000, 6, "-1"],
    [1_500_000, 6, "1.5"],
    [10, 0, "10"],
    [100, 1, "10"],
    [-123_456_789, 6, "-123.456789"],
    [MAX, 6, "9007199254.740991"],
    [-MAX, 0, "-9007199254740991"],
  ] as const) {
    assert.equal(printFixed(value, decimals), expected);
    if (decimals === 6) {
      assert.equal(printQuanta(value), expected);
      assert.equal(printBigQuanta(BigInt(value)), expected);
    }
  }
  assert.equal(printBigQuanta(2n ** 63n), "9223372036854.775808");
  assert.equal(printBigQuanta(-(10n ** 30n)), `-1${"0".repeat(24)}`);
});

test("every decimal is parsed, and printed again without trailing zeros", () => {
  const written = fc.record({
    decimals: fc.integer({ min: 0, max: 12 }),
    whole: fc.nat(999_999_999),
    fraction: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 12 }),
  });
  fc.assert(
    fc.property(written, ({ decimals, whole, fraction }) => {
      const text = fraction.length === 0 ? String(whole) : `${whole}.${fraction.join("")}`;
      const exact = BigInt(`${whole}${fraction.join("").padEnd(12, "0")}`); // in 10^-12
      const unit = 10n ** BigInt(12 - decimals);
      const fits = exact % unit === 0n && exact / unit <= BigInt(MAX);
      const value = parseFixed(text, decimals);
      assert.equal(value, fits ? Number(exact / unit) : Number.NaN, text);
      if (!fits) return;
      const printed = printFixed(value, decimals);
      assert.equal(printed, text.includes(".") ? text.replace(/\.?0+$/, "") : text);
      assert.equal(parseFixed(printed, decimals), value);
      assert.equal(printFixed(-value, decimals), value === 0 ? "0" : `-${printed}`);
    }),
    parameters,
  );
});

test("any text is either a plain decimal or refused", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.eE+\-_]{0,20}$/)), (text) => {
      const value = parseFixed(text, 6);
      if (!/^(0|[1-9]\d*)(\.\d+)?$/.test(text)) assert.ok(Number.isNaN(value), text);
      else if (!Number.isNaN(value)) assert.equal(value, Math.round(Number(text) * 1e6), text);
      assert.ok(Object.is(parseQuanta(text), value));
    }),
    parameters,
  );
});

const amount = fc.oneof(fc.nat(1000), fc.maxSafeNat(), fc.integer({ min: 2 ** 20, max: 2 ** 40 }));

test("products are divided exactly, also beyond 2^53, rounded up and down", () => {
  fc.assert(
    fc.property(amount, amount, amount, (a, b, divisor) => {
      const c = divisor + 1;
      const product = BigInt(a) * BigInt(b);
      const floor = product / BigInt(c);
      const ceil = (product + BigInt(c) - 1n) / BigInt(c);
      // Results beyond 2^53 cannot occur: limits keep every amount below.
      if (ceil > BigInt(MAX)) return;
      assert.equal(mulDivFloor(a, b, c), Number(floor));
      assert.equal(mulDivCeil(a, b, c), Number(ceil));
      assert.equal(divCeil(a, c), Math.floor(Number((BigInt(a) + BigInt(c) - 1n) / BigInt(c))));
    }),
    { ...parameters, numRuns: 20_000 },
  );
});

test("products beyond 2^53 are divided exactly, also next to whole quotients", () => {
  const anyDivisor = fc.oneof(
    fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    fc.maxSafeInteger().map((n) => Math.abs(n) + 1),
  );
  fc.assert(
    fc.property(amount, amount, anyDivisor, fc.constantFrom(-1n, 0n, 1n, 2n), (a, b, c, beside) => {
      if (a === 0 || b === 0 || c > MAX) return;
      // a × b is close to a multiple of c, where a quotient that is off by one would show.
      const near = (BigInt(b) * BigInt(c)) / BigInt(a) + beside;
      const factor = near > 0n && near <= BigInt(MAX) ? Number(near) : b;
      const product = BigInt(a) * BigInt(factor);
      assert.equal(mulDivFloor(a, factor, c), Number(product / BigInt(c)));
      assert.equal(mulDivCeil(a, factor, c), Number((product + BigInt(c) - 1n) / BigInt(c)));
    }),
    { ...parameters, numRuns: 50_000 },
  );
});

test("whole numbers are divided exactly, also next to whole quotients and at 2^53", () => {
  const divisor = fc.oneof(
    fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    fc.integer({ min: 1, max: MAX }),
    fc.tuple(fc.integer({ min: 1, max: 52 }), fc.integer({ min: -1, max: 1 })).map(([bits, by]) => 2 ** bits + by),
  );
  fc.assert(
    fc.property(amount, divisor, fc.nat(3), fc.integer({ min: -2, max: 2 }), (wanted, b, fromLast, beside) => {
      const last = Math.floor(MAX / b);
      for (const quotient of [Math.floor(wanted / b), last - fromLast]) {
        const a = quotient * b + beside;
        if (!Number.isSafeInteger(a) || a < 0) continue;
        assert.equal(divFloor(a, b), Number(BigInt(a) / BigInt(b)));
        assert.equal(divCeil(a, b), Number((BigInt(a) + BigInt(b) - 1n) / BigInt(b)));
      }
    }),
    { ...parameters, numRuns: 50_000 },
  );
});

test("a proportion is rounded towards zero, and all parts give the whole amount", () => {
  const signed = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -1000, max: 1000 }));
  fc.assert(
    fc.property(signed, amount, amount, (total, a, b) => {
      const [part, whole] = a <= b ? [a, b + 1] : [b, a];
      // BigInt division rounds towards zero, and has no −0.
      assert.equal(proportion(total, part, whole) + 0, Number((BigInt(total) * BigInt(part)) / BigInt(whole)));
      assert.equal(proportion(total, whole, whole), total);
      if (total >= 0) assert.equal(divFloor(total, whole), Number(BigInt(total) / BigInt(whole)));
    }),
    parameters,
  );
});

test("division where a double would round", () => {
  for (const [a, b, c, floor, ceil] of [
    [0, 5, 3, 0, 0],
    [MAX, 1, MAX, 1, 1],
    [MAX, 1, 2, 2 ** 52 - 1, 2 ** 52],
    [MAX, 1_000_000, 1_000_000, MAX, MAX],
    [MAX, 999_999, 1_000_000, 9_007_190_247_541_736, 9_007_190_247_541_737],
    [3, MAX, 3, MAX, MAX],
    [1, 1, MAX, 0, 1],
  ]) {
    assert.equal(mulDivFloor(a, b, c), floor);
    assert.equal(mulDivCeil(a, b, c), ceil);
  }
});

test("ratios are truncated, not rounded", () => {
  for (const [numerator, denominator, decimals, expected] of [
    [1, 3, 4, "0.3333"],
    [2, 3, 4, "0.6666"],
    [-2, 3, 4, "-0.6666"],
    [1, -3, 2, "-0.33"],
    [6, 3, 4, "2"],
    [1, 1000, 2, "0"],
    [-1, 1000, 2, "0"],
    [5, 0, 2, "0"],
    [0, 7, 2, "0"],
    [100, 1, 0, "100"],
    [MAX, 7, 6, "1286742750677284.428571"],
    [10n ** 30n, 3n, 2, `${"3".repeat(30)}.33`],
    [0n, 0n, 2, "0"],
  ] as const)
    assert.equal(printRatio(numerator, denominator, decimals), expected, `${numerator} ÷ ${denominator}`);
});

test("configured rates are whole parts per million", () => {
  assert.equal(configPpm("0.0005", "rate"), 500);
  assert.equal(configPpm("0", "rate"), 0);
  assert.equal(configPpm("0.000001", "rate"), 1);
  assert.equal(configPpm("1", "rate"), 1_000_000);
  assert.throws(() => configPpm("0.0000001", "maker rate"), /maker rate: 0.0000001 is finer/);
});
