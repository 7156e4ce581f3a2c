import assert from "node:assert/strict";
import { test } from "node:test";
import { deleveragingRank } from "../../src/core/deleveraging.ts";
import { SetLeverage } from "../../src/core/messages.ts";
import { blank, type Message } from "../../src/core/shape.ts";
import { BUY, SELL, Universe } from "./support/universe.ts";

/** Longs of one lot each at rising prices, so that the first has won most; all with the same money. */
function longs(universe: Universe, count: number): number[] {
  const [btc] = universe.symbols;
  universe.price(btc, 650_000);
  const seller = universe.open(10_000_000);
  universe.run(btc, { ...blank(SetLeverage), accountId: seller, leverage: 100 } as Message);
  return Array.from({ length: count }, (_, i) => {
    const accountId = universe.open(10_000);
    universe.order(btc, seller, SELL, 640_000 + i * 5, 1);
    universe.order(btc, accountId, BUY, 640_000 + i * 5, 1);
    return accountId;
  });
}

function ranksOf(universe: Universe, accounts: readonly number[]): number[] {
  const [{ state }] = universe.symbols;
  return accounts.map((accountId) => deleveragingRank(state, state.positions.find(accountId)));
}

test("ten longs stand in five fifths, first those who have won most", () => {
  const universe = new Universe();
  const accounts = longs(universe, 10);
  assert.deepEqual(ranksOf(universe, accounts), [5, 5, 4, 4, 3, 3, 2, 2, 1, 1]);
});

test("a side is ranked by itself: the only short comes first, and who holds nothing has no rank", () => {
  const universe = new Universe();
  const [alice] = longs(universe, 3);
  const [btc] = universe.symbols;
  assert.deepEqual(ranksOf(universe, [alice - 1]), [5]);
  const idle = universe.open(1000);
  btc.state.positions.ensure(idle);
  assert.deepEqual(ranksOf(universe, [idle]), [0]);
});

test("of many positions only some are compared: no rank is off by more than one", () => {
  const universe = new Universe();
  const accounts = longs(universe, 1300);
  const ranks = ranksOf(universe, accounts);
  for (const [i, rank] of ranks.entries()) {
    const exact = 5 - Math.floor((5 * i) / accounts.length);
    assert.ok(Math.abs(rank - exact) <= 1, `place ${i}: ${rank}, not ${exact}`);
  }
  assert.deepEqual([ranks[0], ranks.at(-1)], [5, 1]);
});
