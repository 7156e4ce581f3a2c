import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, SELL } from "../../../src/core/base/enums.ts";
import { PlaceExtended } from "../../../src/core/protocol/commands.ts";
import { KEPT_MS, RecentFills } from "../../../src/core/state/recent-fills.ts";
import { make } from "../support/exchange.ts";
import { FineMarket } from "../support/fine-market.ts";

const START = 1_000_000;
const FIRST_CAPACITY = 1024;
const MAX_CAPACITY = 131_072;

let orders = 0;

/** A trade of an order of its own. */
const add = (fills: RecentFills, time: number, buyer: number, seller: number, lots: number): void =>
  fills.add(time, orders++, buyer, seller, lots);

/** The lots of the trades since `time`, in order. Each test numbers its trades by their lots. */
function since(fills: RecentFills, time = 0): number[] {
  const seen: number[] = [];
  fills.eachSince(time, (_buyer, _seller, lots) => void seen.push(lots));
  return seen;
}

const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first + i);

test("trades are visited from the oldest, with buyer, seller and lots, and those before the time are left out", () => {
  const fills = new RecentFills();
  add(fills, START, 1, 2, 10);
  add(fills, START + 1, 3, 4, 20);
  add(fills, START + 1, 5, 6, 30);
  const seen: number[][] = [];
  fills.eachSince(START + 1, (...trade) => void seen.push(trade));
  assert.deepEqual(seen, [
    [3, 4, 20],
    [5, 6, 30],
  ]);
  assert.deepEqual(since(fills), [10, 20, 30]);
  assert.deepEqual(since(fills, START + 2), []);
});

test("it grows while the oldest trade is to be kept, and keeps every trade in order", () => {
  const fills = new RecentFills();
  const count = 5 * FIRST_CAPACITY + 7;
  for (let i = 0; i < count; i++) add(fills, START + (i % 2 === 0 ? 0 : KEPT_MS), 1, 2, i);
  assert.deepEqual(since(fills), from(0, count));
});

test("without room, an old trade is forgotten, and no room is added", () => {
  const fills = new RecentFills();
  for (let i = 0; i < FIRST_CAPACITY; i++) add(fills, START, 1, 2, i);
  add(fills, START + KEPT_MS, 1, 2, FIRST_CAPACITY);
  assert.equal(since(fills).length, FIRST_CAPACITY + 1, "at the last moment it is kept");
  const other = new RecentFills();
  for (let i = 0; i < 3 * FIRST_CAPACITY; i++) add(other, START + i * (KEPT_MS + 1), 1, 2, i);
  assert.deepEqual(since(other), from(2 * FIRST_CAPACITY, FIRST_CAPACITY));
});

test("it grows in the middle of a turn around its end, and keeps the order", () => {
  const fills = new RecentFills();
  for (let i = 0; i < FIRST_CAPACITY; i++) add(fills, START, 1, 2, i);
  const later = START + KEPT_MS + 1;
  // A third of the old trades give way; the rest of the memory is full of later ones then.
  const third = Math.floor(FIRST_CAPACITY / 3);
  for (let i = 0; i < third; i++) add(fills, later, 1, 2, FIRST_CAPACITY + i);
  assert.deepEqual(since(fills), from(third, FIRST_CAPACITY));
  const rest = 2 * FIRST_CAPACITY;
  for (let i = 0; i < rest; i++) add(fills, later, 1, 2, FIRST_CAPACITY + third + i);
  assert.deepEqual(since(fills, later), from(FIRST_CAPACITY, third + rest));
});

test("at the largest capacity the oldest trades are forgotten, however young they are", () => {
  const fills = new RecentFills();
  const count = MAX_CAPACITY + 1000;
  for (let i = 0; i < count; i++) add(fills, START, 1, 2, i);
  assert.deepEqual(since(fills), from(1000, MAX_CAPACITY));
});

test("trades of one order with one account are one entry, also when they alternate with others", () => {
  const fills = new RecentFills();
  const [order, taker, other] = [7, 32, 1024];
  for (let i = 0; i < MAX_CAPACITY; i++) fills.add(START, order, taker, other + 32 * (i % 3), 2);
  const seen: number[][] = [];
  fills.eachSince(START, (...trade) => void seen.push(trade));
  const third = Math.floor(MAX_CAPACITY / 3);
  assert.deepEqual(seen, [
    [taker, other, 2 * (third + 1)],
    [taker, other + 32, 2 * (third + 1)],
    [taker, other + 64, 2 * third],
  ]);
});

test("trades of another order, or of another time, are entries of their own", () => {
  const fills = new RecentFills();
  fills.add(START, 1, 10, 20, 1);
  fills.add(START, 2, 10, 20, 2);
  fills.add(START, 1, 10, 20, 3);
  fills.add(START + 1, 1, 10, 20, 4);
  fills.add(START + 1, 1, 10, 20, 5);
  assert.deepEqual(since(fills), [1, 2, 3, 9]);
});

test("an entry that was forgotten takes no more lots", () => {
  const fills = new RecentFills();
  for (let seller = 0; seller <= MAX_CAPACITY; seller++) fills.add(START, 1, 0, 32 * seller, 1);
  fills.add(START, 1, 0, 0, 5);
  const seen = since(fills);
  assert.equal(seen.length, MAX_CAPACITY);
  assert.equal(seen.at(-1), 5);
  assert.ok(seen.slice(0, -1).every((lots) => lots === 1));
});

test("the slices of icebergs are an entry for each account and order that takes them", () => {
  const market = FineMarket.open();
  const { A, MARK } = FineMarket;
  const [taker, ...makers] = [market.open(1000), market.open(1000), market.open(1000)];
  for (const accountId of [...makers, ...makers]) {
    const iceberg = { accountId, side: SELL, priceTicks: MARK, quantityLots: 20, displayLots: 1 };
    market.do(A, make(PlaceExtended, iceberg));
  }
  market.order(A, taker, BUY, MARK, 60);
  market.order(A, taker, BUY, MARK, 20);
  assert.deepEqual(since(market.of(A).recentFills), [30, 30, 10, 10]);
});
