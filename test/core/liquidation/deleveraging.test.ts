import assert from "node:assert/strict";
import { test } from "node:test";
import { ACCOUNT, NONE, SIZE } from "../../../src/core/base/columns.ts";
import { ISOLATED } from "../../../src/core/base/enums.ts";
import { DeleveragingQueue, deleveragingRank } from "../../../src/core/liquidation/deleveraging.ts";
import { SetLeverage, SetMarginMode } from "../../../src/core/protocol/commands.ts";
import { blank, type Message } from "../../../src/core/protocol/message-schema.ts";
import { Crowd } from "../support/crowd.ts";
import { BUY, Markets, SELL } from "../support/random-markets.ts";

/** Longs of one lot each at rising prices, with equal money: the first has the highest profit. */
function longs(markets: Markets, count: number, step = 5): number[] {
  const [btc] = markets.symbols;
  markets.price(btc, 650_000);
  const seller = markets.open(10_000_000);
  markets.run(btc, { ...blank(SetLeverage), accountId: seller, leverage: 100 } as Message);
  return Array.from({ length: count }, (_, i) => {
    const accountId = markets.open(10_000);
    markets.order(btc, seller, SELL, 640_000 + i * step, 1);
    markets.order(btc, accountId, BUY, 640_000 + i * step, 1);
    return accountId;
  });
}

function ranksOf(markets: Markets, accounts: readonly number[]): number[] {
  const [{ state }] = markets.symbols;
  return accounts.map((accountId) => deleveragingRank(state, state.positions.find(accountId)));
}

test("ten longs have five ranks, the highest profits first", () => {
  const markets = new Markets();
  const accounts = longs(markets, 10);
  assert.deepEqual(ranksOf(markets, accounts), [5, 5, 4, 4, 3, 3, 2, 2, 1, 1]);
});

test("each side is ranked by itself: the only short is first, and no position means no rank", () => {
  const markets = new Markets();
  const [alice] = longs(markets, 3);
  const [btc] = markets.symbols;
  assert.deepEqual(ranksOf(markets, [alice - 1]), [5]);
  const idle = markets.open(1000);
  btc.state.positions.ensure(idle);
  assert.deepEqual(ranksOf(markets, [idle]), [0]);
});

test("in a large market a rank is off by at most one", () => {
  const markets = new Markets();
  const accounts = longs(markets, 1300);
  const ranks = ranksOf(markets, accounts);
  for (const [i, rank] of ranks.entries()) {
    const exact = 5 - Math.floor((5 * i) / accounts.length);
    assert.ok(Math.abs(rank - exact) <= 1, `place ${i}: ${rank}, not ${exact}`);
  }
  assert.deepEqual([ranks[0], ranks.at(-1)], [5, 1]);
});

test("the highest profits are closed first, each once, in whatever order they were opened", () => {
  for (const step of [5, -5]) {
    const markets = new Markets();
    const [btc] = markets.symbols;
    const accounts = longs(markets, 5, step);
    const [seller] = [accounts[0] - 1];
    const queue = new DeleveragingQueue();
    const { positions } = btc.state;
    const closed = accounts.map(() => {
      const accountId = positions.numbers[queue.next(btc.state, true) + ACCOUNT];
      markets.order(btc, seller, BUY, 650_000, 1);
      markets.order(btc, accountId, SELL, 650_000, 1);
      return accountId;
    });
    assert.deepEqual(closed, step > 0 ? accounts : accounts.toReversed());
    assert.equal(queue.next(btc.state, true), NONE);
  }
});

test("profit counts relative to the cost of the position, whatever its size", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const [small] = longs(markets, 1);
  const seller = small - 1;
  // Equal money per lot, so equal leverage: eight lots with half the profit each.
  const large = markets.open(80_000);
  markets.order(btc, seller, SELL, 645_000, 8);
  markets.order(btc, large, BUY, 645_000, 8);
  assert.deepEqual(ranksOf(markets, [small, large]), [5, 3]);
});

test("the highest profits are found among more positions than are ranked at once", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const accounts = longs(markets, 300, -5);
  const row = new DeleveragingQueue().next(btc.state, true);
  assert.equal(btc.state.positions.numbers[row + ACCOUNT], accounts.at(-1));
});

test("an isolated position is ranked by its own leverage, not by its account's", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const [first, second] = longs(markets, 2);
  markets.run(btc, { ...blank(SetMarginMode), accountId: second, marginMode: ISOLATED } as Message);
  assert.deepEqual(ranksOf(markets, [first, second]), [3, 5]);
  const row = new DeleveragingQueue().next(btc.state, true);
  assert.equal(btc.state.positions.numbers[row + ACCOUNT], second);
});

test("positions of a side that the sample missed are found", () => {
  // Longs and shorts alternate.
  const { state } = Crowd.of(8200).plain;
  for (const isLong of [true, false]) {
    const row = new DeleveragingQueue().next(state, isLong);
    assert.notEqual(row, NONE);
    assert.equal(state.positions.numbers[row + SIZE] > 0, isLong);
  }
});
