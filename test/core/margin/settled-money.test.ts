import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUY,
  FOK,
  IOC,
  REASON_FOK_UNFILLABLE,
  REASON_INSUFFICIENT_MARGIN,
  REDUCE_ONLY,
  SELL,
} from "../../../src/core/base/enums.ts";
import { AmendOrder, DryRunOrder, PlaceOrder } from "../../../src/core/protocol/commands.ts";
import { OrderClosed, OrderPlaced, Traded } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { DryRunResult, Refused } from "../../../src/core/protocol/replies.ts";
import { make, type Said } from "../support/exchange.ts";
import { FineMarket } from "../support/fine-market.ts";

const { A, B, MARK } = FineMarket;
const RISE = 5000;

/** The winner has 200 USDC, and an unrealised gain of 500 on a coin of A. */
function gained() {
  const market = FineMarket.open();
  market.fund(1_000_000);
  const [winner, loser, accomplice] = [market.open(200), market.open(10_000), market.open(10_000)];
  market.deal(A, loser, winner, 1000);
  market.price(A, MARK + RISE);
  market.settleMark(A);
  market.finish(A);
  assert.equal(market.usdc(winner), 700);
  return { market, winner, accomplice, loser };
}

const refusalOf = ({ replies }: Said): MessageOf<typeof Refused> | undefined =>
  replies.find(({ type }) => type === Refused.code) as MessageOf<typeof Refused> | undefined;

const of = <T extends { code: number }>(events: readonly Message[], shape: T): MessageOf<T>[] =>
  events.filter((event) => event.type === shape.code) as MessageOf<T>[];

test("a taker loses no more against the mark than its settled money, in the dry run and in earnest", () => {
  for (const [side, sign] of [
    [BUY, 1],
    [SELL, -1],
  ] as const) {
    const { market, winner, accomplice } = gained();
    // Two hundred are settled: a coin at 200 from the mark loses just that.
    for (const [ticks, isAllowed] of [
      [2001, false],
      [2000, true],
    ] as const) {
      const priceTicks = MARK + sign * ticks;
      market.order(B, accomplice, 1 - side, priceTicks, 1000);
      const order = make(PlaceOrder, { accountId: winner, side, priceTicks, quantityLots: 1000, timeInForce: IOC });
      for (const command of [make(DryRunOrder, { order }), order]) {
        const refused = refusalOf(market.do(B, command));
        assert.equal(refused?.code, isAllowed ? undefined : "LOSS_NOT_SETTLED");
        if (isAllowed) continue;
        assert.deepEqual(
          [refused?.field, refused?.details],
          ["price", { requiredQuanta: 200.1e6, availableQuanta: 200e6 }],
        );
      }
    }
    assert.equal(market.usdc(winner), 500);
  }
});

test("an amendment is an order like another", () => {
  const { market, winner, accomplice } = gained();
  market.order(B, accomplice, SELL, MARK + 2500, 1000);
  const placed = of(market.order(B, winner, BUY, MARK - 100, 1000).events, OrderPlaced)[0];
  const amend = make(AmendOrder, { accountId: winner, orderId: placed?.orderId ?? 0, priceTicks: MARK + 2500 });
  assert.equal(refusalOf(market.do(B, amend))?.code, "LOSS_NOT_SETTLED");
});

test("a resting order that was covered is canceled at its turn, when only unrealised gains are left to pay for it", () => {
  const { market, winner, accomplice } = gained();
  // It loses 150, and so does the next one: 200 are enough for one of them.
  for (let i = 0; i < 2; i++) market.order(B, winner, BUY, MARK + 1500, 1000);
  const { events } = market.order(B, accomplice, SELL, MARK + 1500, 2000);
  assert.deepEqual(
    of(events, Traded).map(({ quantityLots }) => quantityLots),
    [1000],
  );
  assert.deepEqual(
    of(events, OrderClosed)
      .filter(({ accountId }) => accountId === winner)
      .map(({ reason }) => reason)
      .at(-1),
    REASON_INSUFFICIENT_MARGIN,
  );
  assert.equal(market.usdc(winner), 550);
});

test("a fill-or-kill order that meets such an order fills whole or not at all, and the dry run says which", () => {
  const { market, winner, accomplice, loser } = gained();
  const seller = market.open(10_000);
  market.order(B, winner, BUY, MARK + 10, 500);
  market.order(B, loser, BUY, MARK + 10, 500);
  // The 200 that were settled are lost. The order near the mark would lose 5 more.
  market.order(B, accomplice, SELL, MARK + 2000, 1000);
  market.order(B, winner, BUY, MARK + 2000, 1000);
  assert.equal(market.usdc(winner), 500);
  const order = make(PlaceOrder, {
    accountId: seller,
    side: SELL,
    priceTicks: MARK + 10,
    quantityLots: 1000,
    timeInForce: FOK,
  });
  const [dryRun] = of(market.do(B, make(DryRunOrder, { order })).replies, DryRunResult);
  assert.deepEqual(dryRun?.fills, []);
  const { events } = market.do(B, order);
  assert.equal(of(events, Traded).length, 0);
  assert.equal(of(events, OrderClosed)[0]?.reason, REASON_FOK_UNFILLABLE);
});

test("a close may lose the gain that it settles, and what is settled, but no gain of another position", () => {
  const { market, winner, accomplice } = gained();
  market.deal(B, accomplice, winner, 500);
  const close = (symbol: number, priceTicks: number, quantityLots: number): Said =>
    market.do(
      symbol,
      make(PlaceOrder, { accountId: winner, side: SELL, priceTicks, quantityLots, flags: REDUCE_ONLY }),
    );
  // B has no gain: closing half a coin at 450 from the mark loses 225, and 200 are settled.
  market.order(B, accomplice, BUY, MARK - 4500, 500);
  assert.equal(refusalOf(close(B, MARK - 4500, 500))?.code, "LOSS_NOT_SETTLED");
  // Half of A's gain is settled by closing half of A at 400 from the mark, where it loses 200.
  market.order(A, accomplice, BUY, MARK + RISE - 4000, 500);
  assert.equal(of(close(A, MARK + RISE - 4000, 500).events, Traded).length, 1);
  assert.equal(market.usdc(winner), 500);
});

test("an account without settled money still trades at the mark and better, and a loss counts only beyond it", () => {
  const { market, winner, accomplice } = gained();
  market.order(B, accomplice, SELL, MARK + 2000, 1000);
  market.order(B, winner, BUY, MARK + 2000, 1000);
  assert.equal(market.usdc(winner), 500);
  market.order(B, accomplice, BUY, MARK, 500);
  market.order(B, accomplice, BUY, MARK - 1, 500);
  const sell = (priceTicks: number): Said =>
    market.do(B, make(PlaceOrder, { accountId: winner, side: SELL, priceTicks, quantityLots: 500, timeInForce: IOC }));
  assert.equal(of(sell(MARK).events, Traded).length, 1);
  assert.equal(refusalOf(sell(MARK - 1))?.code, "LOSS_NOT_SETTLED");
});

test("a loss that is left open in one symbol does not make the same money settled for another, or for a withdrawal", () => {
  const { market, winner, accomplice } = gained();
  market.order(B, accomplice, SELL, MARK + 2000, 1000);
  market.order(B, winner, BUY, MARK + 2000, 1000);
  // The gain of 500 and the loss of 200 are open. The 200 of the first deposit are lost.
  assert.equal(market.usdc(winner), 500);
  assert.equal(market.marginTable.withdrawable(winner), 0);
  market.order(B, accomplice, SELL, MARK + 1, 1000);
  assert.equal(refusalOf(market.order(B, winner, BUY, MARK + 1, 1000))?.code, "LOSS_NOT_SETTLED");
});
