import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, CROSS, ISOLATED, LEDGER, LIMIT, MODE_CANCEL_ONLY, SELL } from "../../../src/core/base/enums.ts";
import {
  CancelAll,
  HaltSymbol,
  MoveMargin,
  PlaceOrder,
  PrepareWithdrawal,
  ResumeSymbol,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Refused } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, recover } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

/** What opening would need now may not be taken out: by a withdrawal, nor into an isolated position. */

const ALICE = 16;
const BOB = 17;
const GUARDED = { ...PLAIN, maxMovePerSecond: "0.001", indexJumpLimit: "0.06" };
const OTHER = { ...GUARDED, id: 2, symbol: "OTHER-PERP", baseAsset: "OTHER" };

/** Alice has 3000 at 50x, and Bob rests on both sides of both symbols, at 1000. */
class Market extends Exchange {
  constructor() {
    super([instrument(GUARDED), instrument(OTHER)]);
    for (const amountQuanta of [3000e6, 1e12]) this.openAccount(amountQuanta);
    for (const id of [PLAIN.id, OTHER.id]) {
      this.price(1000, id);
      this.ok(make(SetLeverage, { accountId: ALICE, leverage: 50 }), id);
    }
  }

  price(indexTicks: number, id: number = PLAIN.id): void {
    this.carryOut(id, make(SetIndexPrice, { indexTicks }));
  }

  /** The index moves by 5 % and back, so that opening needs 5 %. */
  move(): void {
    this.price(1050);
    this.price(1000);
  }

  order(accountId: number, side: number, quantityLots: number, id: number = PLAIN.id, priceTicks = 1000): Message {
    return this.ask(id, make(PlaceOrder, { accountId, side, orderType: LIMIT, priceTicks, quantityLots }));
  }

  /** Alice buys 40 from Bob: 40,000 USDC, of which the leverage binds 800, and 20 of fees. */
  open(id: number = PLAIN.id): void {
    this.order(BOB, SELL, 40, id);
    const reply = this.order(ALICE, BUY, 40, id);
    assert.notEqual(reply.type, Refused.code, JSON.stringify(reply));
  }

  ok(command: Message, id: number = PLAIN.id): void {
    const reply = this.ask(id, command);
    assert.notEqual(reply.type, Refused.code, JSON.stringify(reply));
  }

  refusal(command: Message, id: number = PLAIN.id): [code: string, required: unknown, available: unknown] {
    const reply = this.ask(id, command) as MessageOf<typeof Refused>;
    assert.equal(reply.type, Refused.code);
    return [reply.code, reply.details?.requiredQuanta, reply.details?.availableQuanta];
  }

  withdrawal(amountQuanta: number): Message {
    return make(Withdraw, { accountId: ALICE, amountQuanta, address: "0x0" });
  }

  get withdrawable(): number {
    return this.marginTable.withdrawable(ALICE);
  }
}

const isolate = make(SetMarginMode, { accountId: ALICE, marginMode: ISOLATED });
const moved = (amountQuanta: number): Message => make(MoveMargin, { accountId: ALICE, amountQuanta });

test("a withdrawal right after opening leaves the margin of opening, not only that of the leverage", () => {
  const market = new Market();
  market.move();
  market.open();
  // 3000 less the fee of 20 and less 5 % of 40,000.
  assert.equal(market.marginTable.available(ALICE), 2180e6);
  assert.deepEqual(market.refusal(market.withdrawal(980e6 + 1), LEDGER), ["INSUFFICIENT_BALANCE", 980e6 + 1, 980e6]);
  market.ok(market.withdrawal(980e6), LEDGER);
  assert.equal(market.withdrawable, 0);
});

test("so does one with a position and orders from before the move, and a calm market gives it back", () => {
  const market = new Market();
  market.open();
  market.order(ALICE, BUY, 10, PLAIN.id, 990);
  const calm = market.withdrawable;
  market.move();
  // 5 % of 49,900, where the leverage asks for 998.
  assert.equal(market.withdrawable, calm - (2495e6 - 998e6));
  market.time += 121_000;
  market.ok(make(PrepareWithdrawal, { accountId: ALICE }));
  assert.equal(market.withdrawable, calm);
  assert.equal(market.marginTable.additional(ALICE), 0);
});

for (const [what, stop] of [
  ["that waits for others to agree", make(SetIndexPrice, { indexTicks: 1000, isGuarded: 1 })],
  ["during a halt", make(HaltSymbol, { mode: MODE_CANCEL_ONLY, reason: 3 })],
] as const)
  test(`a price ${what} keeps back its move at once, so that no money leaves for another symbol before the mark`, () => {
    const market = new Market();
    market.open();
    const other = make(SetMarginMode, { accountId: ALICE, marginMode: ISOLATED });
    market.ok(other, OTHER.id);
    market.order(BOB, SELL, 10, OTHER.id);
    market.order(ALICE, BUY, 1, OTHER.id);
    const calm = market.withdrawable;
    assert.ok(calm > 2000e6);
    market.carryOut(PLAIN.id, stop);
    assert.equal(market.withdrawable, calm);
    const notLess = market.marginTable.equity(ALICE);
    market.carryOut(PLAIN.id, make(SetIndexPrice, { indexTicks: 935, isGuarded: 1 }));
    assert.equal(market.marginTable.equity(ALICE), notLess, "the mark stands still");
    // 6.5 %, and 0.5 % for the mark's distance from the index, of 40,000, where the leverage asks for 800.
    assert.equal(market.withdrawable, calm - (2800e6 - 800e6));
    assert.equal(market.refusal(moved(calm), OTHER.id)[0], "INSUFFICIENT_MARGIN");
    const resting = market.order(ALICE, BUY, 9, OTHER.id, 999);
    assert.equal((resting as MessageOf<typeof Refused>).code, "INSUFFICIENT_MARGIN", "an isolated order, too");
    market.ok(make(ResumeSymbol));
    market.price(1000);
    market.time += 121_000;
    market.price(1000);
    market.ok(make(PrepareWithdrawal, { accountId: ALICE }));
    assert.equal(market.withdrawable, calm);
    market.ok(moved(100e6), OTHER.id);
  });

test("a price that does not come keeps back more and more, and the tick after the next one sets it free", () => {
  const market = new Market();
  market.open();
  const calm = market.withdrawable;
  // 0.5 % and 0.1 % × √400 of the notional, where the leverage asks for 2 %.
  market.time += 400_000;
  market.ok(make(PrepareWithdrawal, { accountId: ALICE }));
  assert.equal(market.withdrawable, calm - 200e6);
  market.price(1000);
  market.do(PLAIN.id, make(Tick));
  assert.equal(market.withdrawable, calm);
});

test("what is closed or canceled keeps nothing back", () => {
  const market = new Market();
  market.open();
  market.order(ALICE, BUY, 10, PLAIN.id, 990);
  market.move();
  market.do(PLAIN.id, make(CancelAll, { accountId: ALICE }));
  assert.equal(market.marginTable.additional(ALICE), 1200e6);
  market.order(BOB, BUY, 40);
  market.order(ALICE, SELL, 30);
  assert.equal(market.marginTable.additional(ALICE), 300e6);
  market.order(ALICE, SELL, 10);
  assert.equal(market.marginTable.additional(ALICE), 0);
});

test("a position takes the margin of opening into isolation, or stays in cross", () => {
  const market = new Market();
  market.move();
  market.open();
  market.ok(market.withdrawal(500e6), LEDGER);
  market.ok(isolate);
  // 3000 − 20 − 500 − 2000.
  assert.equal(market.withdrawable, 480e6);
  assert.deepEqual(market.refusal(moved(-1)), ["INSUFFICIENT_MARGIN", 1, 0]);
  market.ok(make(SetMarginMode, { accountId: ALICE, marginMode: CROSS }));
  assert.equal(market.withdrawable, 480e6);
  const poor = new Market();
  poor.open();
  poor.ok(poor.withdrawal(1500e6), LEDGER);
  poor.move();
  // 3000 − 20 − 1500 are there.
  assert.deepEqual(poor.refusal(isolate).slice(0, 2), ["INSUFFICIENT_MARGIN", 1200e6]);
});

test("isolated margin is taken out down to the margin of opening, whatever the leverage", () => {
  const market = new Market();
  market.ok(isolate);
  market.ok(make(SetLeverage, { accountId: ALICE, leverage: 20 }));
  market.move();
  market.open();
  market.ok(make(SetLeverage, { accountId: ALICE, leverage: 50 }));
  assert.deepEqual(market.refusal(moved(-1)), ["INSUFFICIENT_MARGIN", 1, 0]);
  market.ok(moved(100e6));
  market.ok(moved(-100e6));
  market.time += 121_000;
  market.price(1000);
  market.ok(moved(-1200e6));
  assert.deepEqual(market.refusal(moved(-1)), ["INSUFFICIENT_MARGIN", 1, 0]);
});

test("nothing that another symbol's positions need to open goes into an isolated position", () => {
  const market = new Market();
  market.ok(isolate, OTHER.id);
  market.order(BOB, SELL, 1, OTHER.id);
  market.order(ALICE, BUY, 1, OTHER.id);
  market.open();
  market.move();
  const { withdrawable } = market;
  assert.deepEqual(market.refusal(moved(withdrawable + 1), OTHER.id), [
    "INSUFFICIENT_MARGIN",
    withdrawable + 1,
    withdrawable,
  ]);
  market.order(BOB, SELL, 100, OTHER.id);
  const order = { accountId: ALICE, side: BUY, orderType: LIMIT, priceTicks: 1000 };
  // 20 and 0.5 for each.
  const lots = Math.floor(withdrawable / 20.5e6);
  assert.equal(market.refusal(make(PlaceOrder, { ...order, quantityLots: lots + 1 }), OTHER.id)[2], withdrawable);
  market.ok(make(PlaceOrder, { ...order, quantityLots: lots }), OTHER.id);
  market.ok(moved(market.withdrawable), OTHER.id);
  assert.equal(market.withdrawable, 0);
});

test("a cross position of another symbol may use it, and a lower leverage is not refused for it", () => {
  const market = new Market();
  market.move();
  market.open();
  market.ok(make(SetLeverage, { accountId: ALICE, leverage: 20 }));
  assert.equal(market.marginTable.additional(ALICE), 0);
  market.ok(make(SetLeverage, { accountId: ALICE, leverage: 50 }));
  assert.equal(market.marginTable.additional(ALICE), 1200e6);
  market.order(BOB, SELL, 100, OTHER.id);
  // 2000 and 50 of 2180.
  const reply = market.order(ALICE, BUY, 100, OTHER.id);
  assert.notEqual(reply.type, Refused.code, JSON.stringify(reply));
});

test("an order that is refused keeps nothing back", () => {
  const market = new Market();
  market.open();
  market.move();
  assert.equal(market.marginTable.additional(ALICE), 1200e6);
  market.order(BOB, SELL, 100);
  const order = make(PlaceOrder, {
    accountId: ALICE,
    side: BUY,
    orderType: LIMIT,
    priceTicks: 1000,
    quantityLots: 100,
  });
  assert.equal(market.refusal(order)[0], "INSUFFICIENT_MARGIN");
  assert.equal(market.marginTable.additional(ALICE), 1200e6);
});

test("a restart and a recount of the table know it", () => {
  const market = new Market();
  market.open();
  market.move();
  const kept = market.marginTable.additional(ALICE);
  assert.equal(kept, 1200e6);
  for (const way of ["log", "snapshots"] as const) {
    const again = new Exchange([instrument(GUARDED), instrument(OTHER)]);
    recover(again, market, way);
    assert.equal(again.marginTable.additional(ALICE), kept, way);
  }
  market.marginTable.clear();
  for (const id of [PLAIN.id, OTHER.id]) market.symbol(id).contribute(market.marginTable);
  assert.equal(market.marginTable.additional(ALICE), kept);
});
