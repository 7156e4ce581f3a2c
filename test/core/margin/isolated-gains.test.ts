import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, IOC, ISOLATED, LEDGER, REASON_INSUFFICIENT_MARGIN, SELL } from "../../../src/core/base/enums.ts";
import { isolatedEquity } from "../../../src/core/margin/isolated.ts";
import {
  AmendOrder,
  DryRunOrder,
  MoveMargin,
  PlaceOrder,
  SetLeverage,
  SetMarginMode,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import { OrderClosed, OrderPlaced, Traded } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Refused } from "../../../src/core/protocol/replies.ts";
import { make, type Said } from "../support/exchange.ts";
import { FineMarket } from "../support/fine-market.ts";

/** Unrealized gains of cross positions do not come into an isolated position: nobody has paid them yet. */

const { A, B, MARK } = FineMarket;
const RISE = 5000;
/** A gain of 150. The winner can sell its coin for less than it has paid: that is still within the price band. */
const SMALL_RISE = 1500;

/** The winner has 200 USDC, and an unrealized gain on a coin of A: 500 if it rises so far. B is isolated, a coin there binds 100. */
class Market extends FineMarket {
  readonly winner: number;
  readonly accomplice: number;

  constructor(rise = RISE) {
    super();
    for (const symbol of [A, B]) this.price(symbol, MARK);
    this.fund(1_000_000);
    this.winner = this.open(200);
    this.accomplice = this.open(10_000);
    this.deal(A, this.accomplice, this.winner, 1000);
    this.price(A, MARK + rise);
    this.finish(A);
    assert.equal(refusalOf(this.do(B, make(SetMarginMode, { accountId: this.winner, marginMode: ISOLATED }))), null);
  }

  buy(priceTicks: number, lots: number, symbol: number = B): Said {
    return this.order(symbol, this.winner, BUY, priceTicks, lots);
  }

  withdraw(usdc: number): Said {
    return this.do(LEDGER, make(Withdraw, { accountId: this.winner, amountQuanta: usdc * 1e6, address: "0x0" }));
  }

  leverage(leverage: number): Said {
    return this.do(B, make(SetLeverage, { accountId: this.winner, leverage }));
  }

  /** The winner loses settled money to the accomplice: it sells a part of its coin below the price at which it bought it. */
  lose(usdc: number, lots = 500): void {
    const priceTicks = MARK - (usdc * 10_000) / lots;
    this.order(A, this.accomplice, BUY, priceTicks, lots);
    assert.equal(tradesOf(this.order(A, this.winner, SELL, priceTicks, lots)), 1);
  }

  /** USDC of the account's equity that are no unrealized gains. */
  get settled(): number {
    return (this.marginTable.equity(this.winner) - this.marginTable.usableGains(this.winner)) / 1e6;
  }

  /** USDC in the isolated position. */
  get isolated(): number {
    return isolatedEquity(this.of(B), this.row(B, this.winner)) / 1e6;
  }
}

const of = <T extends { code: number }>(events: readonly Message[], shape: T): MessageOf<T>[] =>
  events.filter((event) => event.type === shape.code) as MessageOf<T>[];

const tradesOf = ({ events }: Said): number => of(events, Traded).length;

/** Code, and what is required and available in USDC. */
function refusalOf({ replies }: Said): [string, number, number] | null {
  const [refused] = of(replies, Refused);
  if (refused === undefined) return null;
  const { requiredQuanta, availableQuanta } = refused.details as Record<string, number>;
  return [refused.code, requiredQuanta / 1e6, availableQuanta / 1e6];
}

test("the margin of a resting isolated order is left beside the gains by a withdrawal", () => {
  const market = new Market();
  assert.equal(refusalOf(market.buy(MARK, 1500)), null);
  assert.deepEqual(refusalOf(market.withdraw(51)), ["INSUFFICIENT_BALANCE", 51, 50]);
  assert.equal(refusalOf(market.withdraw(50)), null);
  market.order(B, market.accomplice, SELL, MARK, 1500);
  assert.equal(market.size(B, market.winner), 1500);
  assert.equal(market.isolated, 150);
  assert.equal(market.settled, 0);
});

test("isolated orders together reserve no more than the account could withdraw", () => {
  const market = new Market();
  assert.equal(refusalOf(market.buy(MARK, 1500)), null);
  assert.deepEqual(refusalOf(market.buy(MARK, 501)), ["INSUFFICIENT_MARGIN", 50.1, 50]);
  assert.equal(refusalOf(market.buy(MARK, 500)), null);
  market.order(B, market.accomplice, SELL, MARK, 2000);
  assert.equal(market.isolated, 200);
  assert.equal(market.settled, 0);
});

test("a canceled order and a filled one free what they have reserved", () => {
  const market = new Market();
  const [placed] = of(market.buy(MARK - 10, 2000).events, OrderPlaced);
  assert.equal(market.marginTable.withdrawable(market.winner), 0.02e6);
  const orderId = placed.orderId;
  const amend = make(AmendOrder, { accountId: market.winner, orderId, priceTicks: MARK, quantityLots: 500 });
  assert.equal(refusalOf(market.do(B, amend)), null);
  assert.equal(market.marginTable.withdrawable(market.winner), 150e6);
  market.order(B, market.accomplice, SELL, MARK, 500);
  assert.equal(market.marginTable.withdrawable(market.winner), 150e6);
});

test("added margin leaves what isolated orders have reserved", () => {
  const market = new Market();
  market.deal(B, market.accomplice, market.winner, 500);
  assert.equal(refusalOf(market.buy(MARK, 1000)), null);
  const move = (usdc: number): Said =>
    market.do(B, make(MoveMargin, { accountId: market.winner, amountQuanta: usdc * 1e6 }));
  assert.deepEqual(refusalOf(move(51)), ["INSUFFICIENT_MARGIN", 51, 50]);
  assert.equal(refusalOf(move(50)), null);
});

for (const [what, openLots] of [
  ["without a position", 0],
  ["with an open position", 100],
] as const) {
  test(`a lower leverage of isolated orders ${what} reserves no gains`, () => {
    const market = new Market();
    if (openLots > 0) market.deal(B, market.accomplice, market.winner, openLots);
    assert.equal(refusalOf(market.buy(MARK, 1000)), null);
    const needed = 100 + openLots / 10;
    assert.deepEqual(refusalOf(market.leverage(40)), ["INSUFFICIENT_MARGIN", needed * 1.5, 200 - needed]);
    assert.equal(refusalOf(market.leverage(60)), null);
    assert.ok(market.settled >= 0);
  });

  test(`an isolated order ${what}, whose margin is lost elsewhere, takes no gains when it fills`, () => {
    const market = new Market(SMALL_RISE);
    if (openLots > 0) market.deal(B, market.accomplice, market.winner, openLots);
    // Its maintenance margin is 90.
    market.buy(MARK, 1800);
    market.lose(90);
    assert.equal(market.settled, 110 - openLots / 10);
    market.order(B, market.accomplice, SELL, MARK, 1800);
    assert.equal(market.size(B, market.winner), openLots + 1800);
    assert.equal(market.isolated, 110);
    assert.equal(market.settled, 0);
  });

  test(`such an order ${what} is canceled at its turn if the settled money is less than its maintenance margin`, () => {
    const market = new Market(SMALL_RISE);
    if (openLots > 0) market.deal(B, market.accomplice, market.winner, openLots);
    // The maintenance margin is 90. The equity beyond that of A would be enough for it.
    market.buy(MARK, 1800 - openLots);
    market.lose(120, 750);
    assert.equal(market.settled, 80 - openLots / 10);
    const said = market.order(B, market.accomplice, SELL, MARK, 1800 - openLots);
    assert.equal(tradesOf(said), 0);
    assert.equal(of(said.events, OrderClosed)[0]?.reason, REASON_INSUFFICIENT_MARGIN);
  });
}

test("an amendment that trades at once takes no gains, even if it needs no more margin than before", () => {
  const market = new Market(SMALL_RISE);
  const [{ orderId }] = of(market.buy(MARK - 10, 1200).events, OrderPlaced);
  market.lose(90);
  assert.equal(market.settled, 110);
  market.order(B, market.accomplice, SELL, MARK - 5, 1200);
  const amend = (quantityLots: number): Said =>
    market.do(B, make(AmendOrder, { accountId: market.winner, orderId, priceTicks: MARK - 5, quantityLots }));
  assert.deepEqual(refusalOf(amend(1190)), ["INSUFFICIENT_MARGIN", 0, -9.988]);
  assert.equal(refusalOf(amend(1090)), null);
  assert.equal(market.size(B, market.winner), 1090);
  assert.ok(market.settled >= 0);
});

test("a market taker pays isolated margin from settled money only, in the dry run and in earnest", () => {
  const market = new Market();
  market.order(B, market.accomplice, SELL, MARK, 3000);
  for (const [quantityLots, expected] of [
    [2001, ["INSUFFICIENT_MARGIN", 200.1, 200]],
    [2000, null],
  ] as const) {
    const order = make(PlaceOrder, {
      accountId: market.winner,
      side: BUY,
      priceTicks: MARK,
      quantityLots,
      timeInForce: IOC,
    });
    for (const command of [make(DryRunOrder, { order }), order])
      assert.deepEqual(refusalOf(market.do(B, command)), expected);
  }
  assert.equal(market.isolated, 200);
});

test("without gains the same orders, withdrawals and leverages are bound by the initial margin alone", () => {
  const market = new Market(0);
  assert.equal(refusalOf(market.buy(MARK, 500)), null);
  assert.equal(refusalOf(market.withdraw(25)), null);
  assert.deepEqual(refusalOf(market.withdraw(26)), ["INSUFFICIENT_BALANCE", 26, 25]);
  assert.equal(refusalOf(market.leverage(80)), null);
  assert.deepEqual(refusalOf(market.leverage(50)), ["INSUFFICIENT_MARGIN", 37.5, 12.5]);
  market.order(B, market.accomplice, SELL, MARK, 500);
  assert.equal(market.isolated, 62.5);
});
