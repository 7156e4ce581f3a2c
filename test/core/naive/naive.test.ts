import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../../../src/sandbox/random.ts";
import { randomStep, setRandomTerms } from "../support/random-markets.ts";
import { takeSeed } from "../support/seed.ts";
import { NaiveMarkets } from "./naive-markets.ts";

const SEQUENCES = 870;
const STEPS = 45;
const ACCOUNTS = 5;
const LARGEST_JUMP = 0.2;
const CASES = [
  "traded",
  "funding",
  "liquidation orders",
  "liquidated",
  "bankrupt",
  "settled cross",
  "settled isolated",
  "kept by the fund",
];

/** A few accounts in two symbols, rich or poor, with or without an insurance fund. Returns how often each case came up. */
function runSequence(seed: number): Record<string, number> {
  const random = new Random(seed, "naive");
  const markets = new NaiveMarkets();
  if (seed % 2 === 0) markets.fund(200_000);
  const richest = random.pick([1500, 5000, 20_000]);
  const accounts = Array.from({ length: ACCOUNTS }, () => markets.open(300 + Math.floor(random.uniform() * richest)));
  const index = [650_000, 320_000];
  markets.symbols.forEach((symbol, i) => void markets.price(symbol, index[i]));
  setRandomTerms(markets, random, accounts);
  for (let step = 0; step < STEPS; step++) {
    randomStep(markets, random, accounts, index);
    markets.compare(accounts);
    if (!random.chance(0.02)) continue;
    const which = random.chance(0.5) ? 0 : 1;
    index[which] = Math.max(
      100_000,
      Math.min(2_000_000, Math.round(index[which] * (1 + (random.uniform() * 2 - 1) * LARGEST_JUMP))),
    );
    markets.time += 1000;
    markets.price(markets.symbols[which], index[which]);
    markets.compare(accounts);
  }
  return markets.seen;
}

const first = takeSeed("naive.test");

test("870 random sequences have the money, margins and prices that the documents give", () => {
  const seen: Record<string, number> = {};
  for (let seed = first; seed < first + SEQUENCES; seed++)
    try {
      for (const [name, count] of Object.entries(runSequence(seed))) seen[name] = (seen[name] ?? 0) + count;
    } catch (error) {
      throw new Error(`SEED=${seed}: ${(error as Error).message}`, { cause: error });
    }
  for (const name of CASES) assert.ok(seen[name] > 0, `never came up: ${name}`);
});
