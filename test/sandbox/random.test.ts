import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../../src/sandbox/random.ts";

const draws = (random: Random, count: number): number[] => Array.from({ length: count }, () => random.uniform());

test("the same seed and stream give the same numbers, and others give different ones", () => {
  const first = draws(new Random(7, "a"), 50);
  assert.deepEqual(draws(new Random(7, "a"), 50), first);
  assert.notDeepEqual(draws(new Random(8, "a"), 50), first);
  assert.notDeepEqual(draws(new Random(7, "b"), 50), first);
});

test("the numbers of a seed are fixed", () => {
  const random = new Random(1);
  assert.deepEqual(
    [random.uniform(), random.uniform(), random.uniform()],
    [0.7958883817773312, 0.06646296847611666, 0.3035442482214421],
  );
});

test("the distributions have the expected moments", () => {
  const count = 100_000;
  const random = new Random(3);
  const moments = (draw: () => number): { mean: number; variance: number; least: number; most: number } => {
    const values = Array.from({ length: count }, draw);
    const mean = values.reduce((sum, value) => sum + value, 0) / count;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count;
    return { mean, variance, least: Math.min(...values), most: Math.max(...values) };
  };
  const rows: [name: string, draw: () => number, mean: number, variance: number, least: number, most: number][] = [
    ["uniform", () => random.uniform(), 0.5, 1 / 12, 0, 1],
    ["between", () => random.between(-2, 4), 1, 3, -2, 4],
    ["normal", () => random.normal(), 0, 1, -7, 7],
    ["exponential", () => random.exponential(2), 2, 4, 0, 40],
    ["chance", () => Number(random.chance(0.25)), 0.25, 0.1875, 0, 1],
    ["pick", () => random.pick([1, 2, 3]), 2, 2 / 3, 1, 3],
  ];
  for (const [name, draw, mean, variance, least, most] of rows) {
    const found = moments(draw);
    assert.ok(Math.abs(found.mean - mean) < 0.03, `${name}: mean ${found.mean}`);
    assert.ok(
      Math.abs(found.variance - variance) < 0.03 * Math.max(1, variance),
      `${name}: variance ${found.variance}`,
    );
    assert.ok(found.least >= least && found.most <= most, `${name}: ${found.least} to ${found.most}`);
  }
});
