import assert from "node:assert/strict";
import { test } from "node:test";
import { NONE } from "../../../src/core/base/columns.ts";
import { BUY, CROSS, ISOLATED, LEDGER, SELL } from "../../../src/core/base/enums.ts";
import {
  AmendOrder,
  MoveMargin,
  PlaceOrder,
  PrepareWithdrawal,
  SetLeverage,
  SetMarginMode,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, Refused } from "../../../src/core/protocol/replies.ts";
import { TRACED_MS } from "../../../src/core/state/recent-fills.ts";
import { make } from "../support/exchange.ts";
import { FineMarket } from "../support/fine-market.ts";

/** Money that is taken out leaves a tenth of the notional behind, be the leverage higher than that. */

const { A, B, MARK } = FineMarket;
const RATE = { transferMarginRate: "0.1" };

/** A long of 1 coin at 10,000 with so much money, and the short of it. */
function pair(usdc: number, leverage: number, marginMode = CROSS) {
  const market = FineMarket.open(RATE);
  const [long, short] = [market.open(usdc, leverage, marginMode), market.open(10_000, 10)];
  market.deal(A, short, long, 1000);
  return { market, long, short };
}

const withdrawal = (accountId: number, usdc: number): Message =>
  make(Withdraw, { accountId, amountQuanta: usdc * 1e6, address: "0x0" });
const removal = (accountId: number, usdc: number): Message =>
  make(MoveMargin, { accountId, amountQuanta: -usdc * 1e6 });

function refusal(market: FineMarket, actorId: number, command: Message): [code: string, available: unknown] | null {
  const reply = market.ask(actorId, command) as MessageOf<typeof Refused>;
  return reply.type === Refused.code ? [reply.code, reply.details?.availableQuanta] : null;
}

test("a withdrawal leaves a tenth of the notional of cross positions, at the mark", () => {
  const { market, long } = pair(3000, 100);
  assert.equal(market.marginTable.withdrawable(long), 2000e6);
  market.price(A, MARK + 1000);
  market.finish(A);
  assert.equal(market.marginTable.additional(long), 1010e6 - 101e6);
  assert.deepEqual(refusal(market, LEDGER, withdrawal(long, 2091)), ["INSUFFICIENT_BALANCE", 2090e6]);
  assert.equal(refusal(market, LEDGER, withdrawal(long, 2090)), null);
  market.deal(A, long, market.open(10_000), 1000);
  assert.deepEqual([market.marginTable.additional(long), market.marginTable.withdrawable(long)], [0, 1010e6]);
});

test("the rate does not matter at a lower leverage, nor for what opens a position", () => {
  const { market, long } = pair(3000, 10);
  assert.deepEqual([market.marginTable.additional(long), market.marginTable.withdrawable(long)], [0, 2000e6]);
  const thin = market.open(101, 100);
  market.deal(A, market.open(10_000), thin, 1000);
  assert.deepEqual([market.size(A, thin), market.marginTable.withdrawable(thin)], [1000, 0]);
  // It may use all of its money for another cross position.
  market.deposit(thin, 100);
  market.deal(B, market.open(10_000), thin, 1000);
  assert.equal(market.size(B, thin), 1000);
});

test("an isolated position keeps as much, and a cross position takes as much into isolation", () => {
  const { market, long } = pair(3000, 4, ISOLATED);
  assert.equal(market.usdc(long), 500);
  market.ask(A, make(SetLeverage, { accountId: long, leverage: 100 }));
  assert.deepEqual(refusal(market, A, removal(long, 1501)), ["INSUFFICIENT_MARGIN", 1500e6]);
  assert.equal(refusal(market, A, removal(long, 1500)), null);
  assert.equal(market.usdc(long), 2000);
  const isolate = make(SetMarginMode, { accountId: long, marginMode: ISOLATED });
  market.ask(A, make(SetMarginMode, { accountId: long, marginMode: CROSS }));
  assert.equal(market.usdc(long), 3000);
  assert.equal(refusal(market, A, isolate), null);
  assert.equal(market.usdc(long), 2000);
  const thin = market.open(900, 100);
  market.deal(A, market.open(10_000), thin, 1000);
  const [code] = refusal(market, A, make(SetMarginMode, { accountId: thin, marginMode: ISOLATED })) ?? [];
  assert.equal(code, "INSUFFICIENT_MARGIN");
});

test("an old position cannot be left without its margin before a step that its owner knows", () => {
  for (const [what, marginMode, strip] of [
    ["a withdrawal", CROSS, (market, long) => refusal(market, LEDGER, withdrawal(long, 1))],
    [
      "isolation",
      CROSS,
      (market, long) => {
        assert.equal(refusal(market, A, make(SetMarginMode, { accountId: long, marginMode: ISOLATED })), null);
        return market.usdc(long) === 0 ? ["nothing is left", 0] : null;
      },
    ],
    [
      "an isolated order in another symbol",
      CROSS,
      (market, long) => {
        market.do(B, make(SetMarginMode, { accountId: long, marginMode: ISOLATED }));
        return refusal(market, B, make(PlaceOrder, { accountId: long, side: BUY, priceTicks: MARK, quantityLots: 10 }));
      },
    ],
    ["margin out of isolation", ISOLATED, (market, long) => refusal(market, A, removal(long, 1))],
  ] satisfies [string, number, (market: FineMarket, long: number) => [string, unknown] | null][]) {
    const { market, long, short } = pair(1000, 10, marginMode);
    const [honestLong, honestShort] = [market.open(10_000, 10), market.open(10_000, 10)];
    market.deal(A, honestShort, honestLong, 1000);
    market.time += TRACED_MS + 1;
    market.price(A, MARK);
    assert.equal(refusal(market, A, make(SetLeverage, { accountId: long, leverage: 100 })), null);
    assert.notEqual(strip(market, long), null, what);
    market.ask(A, make(PrepareWithdrawal, { accountId: long }));
    market.price(A, MARK - 5000);
    market.finish(A);
    assert.deepEqual([market.wealth(honestShort), market.wealth(short)], [10_500, 10_500], what);
    assert.equal(market.wealth(long), 500, what);
  }
});

/** Flat, it rests an isolated bid in B that reserves 890 of 1000. Then it opens a long at 100x, which needs 100. */
function reservedBefore(priceTicks: number, quantityLots: number) {
  const market = FineMarket.open(RATE);
  const [long, short, seller] = [market.open(1000, 100), market.open(10_000, 10), market.open(100_000, 10)];
  market.ask(B, make(SetMarginMode, { accountId: long, marginMode: ISOLATED }));
  market.ask(B, make(SetLeverage, { accountId: long, leverage: 1 }));
  const bid = market.ask(B, make(PlaceOrder, { accountId: long, side: BUY, priceTicks, quantityLots }));
  assert.equal(bid.type, OrderView.code);
  market.deal(A, short, long, 1000);
  assert.equal(market.size(A, long), 1000);
  return { market, long, seller, orderId: (bid as MessageOf<typeof OrderView>).orderId };
}

test("an isolated order that has reserved its margin before does not carry it away: taken after an amendment", () => {
  const { market, long, seller, orderId } = reservedBefore(MARK - 4000, 92);
  market.order(B, seller, SELL, MARK, 1000);
  const amended = make(AmendOrder, { accountId: long, orderId, priceTicks: MARK, quantityLots: 89 });
  assert.equal(refusal(market, B, amended)?.[0], "INSUFFICIENT_MARGIN");
  assert.deepEqual([market.size(B, long), market.usdc(long)], [0, 1000]);
  // Where nothing of it is needed elsewhere, it may.
  market.deposit(long, 1000);
  assert.equal(refusal(market, B, amended), null);
  assert.deepEqual([market.size(B, long), market.usdc(long)], [89, 1110]);
});

test("an isolated order that has reserved its margin before does not carry it away: filled as a maker", () => {
  const { market, long, seller } = reservedBefore(MARK, 89);
  market.order(B, seller, SELL, MARK, 89);
  assert.deepEqual([market.size(B, long), market.usdc(long)], [0, 1000]);
  assert.equal(market.of(B).book.best(BUY), NONE, "the order is canceled at its turn");
});
