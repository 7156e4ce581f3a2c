import assert from "node:assert/strict";
import { test } from "node:test";
import { INSURANCE_ACCOUNT, ISOLATED, LEDGER } from "../../../src/core/base/enums.ts";
import { SetMarginMode } from "../../../src/core/protocol/commands.ts";
import { PositionTransferred } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { make } from "../support/exchange.ts";
import { FineMarket } from "../support/fine-market.ts";

const { A, B, MARK } = FineMarket;
/** An account that no symbol knows. */
const NOBODY = 2000;

const transfersIn = (events: readonly Message[]): MessageOf<typeof PositionTransferred>[] =>
  events.filter(({ type }) => type === PositionTransferred.code) as MessageOf<typeof PositionTransferred>[];

/** So many rows of A that the transaction of a price does not sweep the rows behind them. */
function crowd(market: FineMarket): void {
  for (let i = 0; i < 550; i++) {
    const [seller, buyer] = [market.open(1000), market.open(1000)];
    market.deal(A, seller, buyer, 1);
  }
}

/** An account long in both symbols against a winner in each, with so much money. Its row in A comes before the crowd, or behind it. */
function inBoth(usdc: number, isFirst = false, marginModeOfA = 0) {
  const market = FineMarket.open();
  if (!isFirst) crowd(market);
  const [loser, winnerA, winnerB] = [market.open(usdc), market.open(10_000), market.open(10_000)];
  if (marginModeOfA !== 0) market.do(A, make(SetMarginMode, { accountId: loser, marginMode: marginModeOfA }));
  market.deal(A, winnerA, loser, 1000);
  market.deal(B, winnerB, loser, 1000);
  if (isFirst) crowd(market);
  return { market, loser, winnerA, winnerB };
}

const isSettling = (market: FineMarket): boolean[] => [A, B].map((symbol) => market.symbol(symbol).isSettlingMark);

function assertSound(market: FineMarket): void {
  for (const symbol of [A, B]) market.finish(symbol);
  assert.deepEqual(isSettling(market), [false, false]);
  for (const actorId of [LEDGER, A, B]) assert.deepEqual(market.audit(actorId).faults, []);
  assert.equal(market.usdc(INSURANCE_ACCOUNT), 0);
}

test("a small step that an account cannot bear, since another symbol took its money, is settled before the next command", () => {
  const { market, loser, winnerA, winnerB } = inBoth(300);
  market.price(A, MARK - 200); // 20 lost, which the sweep has not counted yet
  market.price(B, MARK - 5000); // 500 lost
  market.settleMark(B);
  assert.deepEqual([market.usdc(loser), market.size(A, loser), market.size(B, loser)], [0, 1000, 0]);
  assert.equal(market.symbol(A).isSettlingMark, true);
  const [seller, buyer] = [market.open(1000), market.open(1000)];
  const { events } = market.order(A, seller, 1, MARK - 200, 1000);
  assert.deepEqual(transfersIn(events), [], "it was settled before");
  assert.deepEqual([market.usdc(loser), market.size(A, loser)], [0, 0]);
  market.order(A, buyer, 0, MARK - 200, 1000);
  assertSound(market);
  assert.deepEqual(
    [winnerA, winnerB].map((account) => market.usdc(account)),
    [10_000, 10_300],
  );
  assert.deepEqual(
    [seller, buyer].map((account) => market.usdc(account)),
    [1000, 1000],
  );
});

test("an account that another symbol has left with little is looked at with each price from then on", () => {
  const { market, loser, winnerA } = inBoth(520);
  market.price(A, MARK - 100);
  market.price(B, MARK - 5000);
  assert.deepEqual(transfersIn(market.settleMark(B)), []);
  assert.deepEqual(transfersIn(market.settleMark(A)), []);
  assert.equal(market.usdc(loser), 10);
  market.price(A, MARK - 240);
  assert.equal(market.usdc(loser), -4);
  const [transfer, ...more] = transfersIn(market.settleMark(A));
  assert.deepEqual([transfer?.counterpartyId, transfer?.quanta, more.length], [winnerA, 9980e6, 0]);
  assertSound(market);
});

test("a symbol whose step the account has borne already leaves its deficit to the other one", () => {
  const { market, loser, winnerA, winnerB } = inBoth(300, true);
  market.price(A, MARK - 200);
  assert.equal(market.usdc(loser), 280);
  market.price(B, MARK - 5000);
  assert.deepEqual(transfersIn(market.settleMark(A)), []);
  const [transfer] = transfersIn(market.settleMark(B));
  assert.deepEqual([transfer?.counterpartyId, market.usdc(loser), market.size(A, loser)], [winnerB, 0, 1000]);
  assertSound(market);
  assert.deepEqual(
    [winnerA, winnerB].map((account) => market.usdc(account)),
    [10_020, 10_280],
  );
});

test("if more accounts were noted than are kept, all positions are looked at", () => {
  const { market, loser } = inBoth(300);
  market.price(A, MARK - 200);
  market.price(B, MARK - 5000);
  market.settleMark(B);
  for (let i = 0; i < 20_000; i++) market.marginTable.weakAccounts.note(NOBODY);
  assert.equal(transfersIn(market.settleMark(A)).length, 1);
  assert.equal(market.size(A, loser), 0);
  assertSound(market);
});

test("an isolated position does not pay for another symbol, and nobody is told of it", () => {
  const { market, loser } = inBoth(300, false, ISOLATED);
  const { weakAccounts } = market.marginTable;
  market.price(A, MARK - 200);
  market.price(B, MARK - 5000);
  market.settleMark(B);
  assert.deepEqual(transfersIn(market.settleMark(A)), []);
  assert.equal(market.size(A, loser), 1000);
  const { total } = weakAccounts;
  market.price(A, MARK - 990);
  assert.deepEqual(transfersIn(market.settleMark(A)), []);
  assert.equal(weakAccounts.total, total);
});
