import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CONTRIBUTED_MARK } from "../../../src/core/base/columns.ts";
import { BUY, SELL } from "../../../src/core/base/enums.ts";
import { ReadPosition, SetLeverage, Tick } from "../../../src/core/protocol/commands.ts";
import { PositionTransferred, Traded } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, type PositionView, Refused } from "../../../src/core/protocol/replies.ts";
import { Crowd } from "../support/crowd.ts";
import { make } from "../support/exchange.ts";
import { PLAIN } from "../support/instruments.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("mark-sweep.test");
const CROWD = 3000;

/** Runs transactions until no work is left. More than one per account is a sweep that never ends. */
function finish(crowd: Crowd): number {
  for (let transactions = 0; transactions < 100; transactions++) if (!crowd.proceed(PLAIN.id).more) return transactions;
  throw new Error("the work never ends");
}

/** The margin totals that every account should have, computed from scratch. */
function assertFresh(crowd: Crowd): void {
  const { state } = crowd.plain;
  assert.equal(crowd.stale(), 0);
  state.positions.each((row) => {
    const account = state.positions.numbers[row];
    const { equity, unrealized, initial, maintenance } = state.contributions.of(row);
    const balance = crowd.ledger.state.balance(account);
    const marginTable = crowd.marginTableOf(account);
    assert.deepEqual(
      [marginTable.equity, marginTable.unrealized, marginTable.initial, marginTable.maintenance],
      [balance + equity, unrealized, initial, maintenance],
      `account ${account}`,
    );
  });
}

test("a price beyond the band refreshes the losing side first, then some of the others; the rest follows in later transactions", () => {
  const crowd = Crowd.of(CROWD);
  crowd.price(102);
  assert.equal(crowd.plain.isSettlingMark, false);
  // All shorts, and the longs among the first 1000 rows. One of these is that of the fee account, and 500 are of shorts.
  assert.equal(crowd.stale(), CROWD / 2 - 499);
  assert.equal(crowd.proceed(PLAIN.id).more, true);
  assert.equal(crowd.stale(), CROWD / 2 - 999);
  finish(crowd);
  assertFresh(crowd);
  assert.equal(crowd.proceed(PLAIN.id).more, false);
});

test("prices faster than the sweep do not starve the last rows", () => {
  const crowd = Crowd.of(CROWD);
  const { state } = crowd.plain;
  // A long: rising prices do not check it.
  const last = state.positions.find(crowd.account(CROWD - 1));
  const seen = new Set<number>();
  for (let i = 0; i < 9; i++) {
    crowd.price(101 + i);
    crowd.proceed(PLAIN.id);
    if (!state.contributions.isStale(last)) seen.add(101 + i);
  }
  assert.ok(seen.size >= 2 && seen.size < 9, "the last row is in about every third share");
  finish(crowd);
  assertFresh(crowd);
});

test("an order is checked at the mark, also before the sweep reaches its row", () => {
  for (const [mark, expected] of [
    [103, Refused.code],
    [97, OrderView.code],
  ]) {
    // Short 40 at 100 with 500 USDC, of which 400 are margin: three ticks are worth 120.
    const crowd = Crowd.of(CROWD, 40, 500);
    const { state } = crowd.plain;
    const short = crowd.account(CROWD - 2);
    crowd.price(mark);
    assert.equal(state.contributions.isStale(state.positions.find(short)), mark < 100, "the losing side comes first");
    const reply = crowd.order(short, SELL, mark + 1, 20);
    assert.equal(reply.type, expected, JSON.stringify(reply));
    assert.equal(state.contributions.isStale(state.positions.find(short)), false);
    finish(crowd);
    assertFresh(crowd);
  }
});

test("leverage and positions are at the mark, also before the sweep reaches their row", () => {
  const crowd = Crowd.of(CROWD, 40, 500);
  const short = crowd.account(CROWD - 2);
  crowd.price(103);
  const [view] = crowd.do(PLAIN.id, make(ReadPosition, { accountId: short })).replies as MessageOf<
    typeof PositionView
  >[];
  const { equity } = crowd.marginTableOf(short);
  // A loss of 40 × 3, and a maker fee of 0.8.
  assert.equal(equity, 500e6 - 120e6 - 0.8e6);
  assert.equal(view.markTicks, 103);
  const other = crowd.account(CROWD - 4);
  const lower = make(SetLeverage, { accountId: other, leverage: 9 });
  assert.equal(crowd.do(PLAIN.id, lower).replies[0].type, Refused.code);
  assert.equal(crowd.plain.state.contributions.isStale(crowd.plain.state.positions.find(other)), false);
});

test("a sweep in progress is no fault, and a restart finishes it", () => {
  const crowd = Crowd.of(CROWD);
  crowd.price(104);
  assert.ok(crowd.stale() > 0);
  assert.deepEqual(crowd.audit(PLAIN.id).faults, []);
  const again = Crowd.from(crowd);
  assert.equal(again.stale(), 0);
  finish(crowd);
  assert.equal(again.audit(PLAIN.id).digest, crowd.audit(PLAIN.id).digest);
  assertFresh(crowd);
});

test("accounts below their margin are liquidated at the second scan, wherever they are, a few per transaction", () => {
  const crowd = Crowd.of(12_000, 40, 450);
  crowd.price(110); // shorts lose 400 of 450 and want 44 of margin
  crowd.time += 1000;
  crowd.price(111);
  const closed = () => crowd.plain.state.positions.open.length;
  const tick = () => {
    crowd.time += 250;
    crowd.do(PLAIN.id, make(Tick));
  };
  tick();
  finish(crowd);
  assert.equal(closed(), 12_000, "one scan is not enough");
  tick();
  let most = 0;
  let transactions = 0;
  for (let more = true; more; transactions++) {
    const said = crowd.proceed(PLAIN.id);
    more = said.more;
    most = Math.max(most, said.events.filter(({ type }) => type === PositionTransferred.code).length);
  }
  assert.ok(most > 0 && most <= 10, `${most} in one transaction`);
  assert.ok(transactions >= 600, `${transactions} turns`);
  finish(crowd);
  assertFresh(crowd);
  for (let i = 0; i < 12_000; i++) {
    const { equity, maintenance } = crowd.marginTableOf(crowd.account(i));
    assert.ok(equity >= maintenance, `account ${crowd.account(i)}: ${equity} < ${maintenance}`);
  }
  assert.deepEqual(crowd.audit(PLAIN.id).faults, []);
});

test("a liquidation trades with makers at the mark, also before the sweep reaches their rows", () => {
  const crowd = Crowd.of(1200);
  const { state } = crowd.plain;
  const [victim, maker, whale] = [0, 1199, 1200].map((i) => crowd.account(i));
  crowd.open(1_000_000);
  for (const accountId of [victim, maker]) crowd.do(PLAIN.id, make(SetLeverage, { accountId, leverage: 50 }));
  crowd.order(whale, BUY, 100, 40);
  crowd.order(victim, SELL, 100, 40);
  crowd.price(102);
  crowd.order(whale, SELL, 102, 40);
  crowd.order(maker, BUY, 102, 40);
  crowd.order(whale, SELL, 102, 1);
  crowd.order(maker, SELL, 102, 41);
  finish(crowd);
  crowd.do(PLAIN.id, make(Tick));
  finish(crowd);
  // The sale at 102 loses now, but the maker's position has gained as much by the same price.
  crowd.price(105);
  assert.equal(state.markTicks, 105);
  assert.equal(state.positions.numbers[state.positions.find(maker) + CONTRIBUTED_MARK], 102);
  const fills = (crowd.settleMark(PLAIN.id) as MessageOf<typeof Traded>[])
    .filter(({ type }) => type === Traded.code)
    .map(({ takerAccountId, makerAccountId, quantityLots }) => [takerAccountId, makerAccountId, quantityLots]);
  assert.deepEqual(fills, [
    [victim, whale, 1],
    [victim, maker, 40],
  ]);
  finish(crowd);
  assertFresh(crowd);
  assert.deepEqual(crowd.audit(PLAIN.id).faults, []);
});

const step = fc.oneof(
  fc.record({ kind: fc.constant("price" as const), ticks: fc.integer({ min: 97, max: 103 }) }),
  fc.record({ kind: fc.constant("proceed" as const) }),
  fc.record({ kind: fc.constant("tick" as const) }),
  fc.record({
    kind: fc.constant("order" as const),
    who: fc.nat({ max: CROWD + 10 }),
    side: fc.constantFrom(BUY, SELL),
    lots: fc.integer({ min: 1, max: 5 }),
    away: fc.integer({ min: -2, max: 2 }),
  }),
);

test("with orders, prices and scans between the parts of a sweep, every margin total is right in the end", () => {
  const template = Crowd.of(CROWD, 5, 200);
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
      const crowd = Crowd.from(template);
      for (let i = 0; i < 11; i++) crowd.open(200);
      for (const each of steps) {
        crowd.time += 100;
        const { markTicks } = crowd.plain.state;
        if (each.kind === "price") crowd.price(each.ticks);
        else if (each.kind === "proceed") crowd.proceed(PLAIN.id);
        else if (each.kind === "tick") crowd.do(PLAIN.id, make(Tick));
        else crowd.order(crowd.account(each.who), each.side, markTicks + each.away, each.lots);
      }
      finish(crowd);
      assertFresh(crowd);
      assert.deepEqual(crowd.audit(PLAIN.id).faults, []);
    }),
    { seed, numRuns: 15 },
  );
});
