import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, ISOLATED, LEDGER, LIMIT, REDUCE_ONLY, SELL } from "../../../src/core/base/enums.ts";
import { openingRatePpm } from "../../../src/core/formulas/opening-rate.ts";
import {
  AmendOrder,
  Deposit,
  DryRunOrder,
  PlaceOrder,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
} from "../../../src/core/protocol/commands.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Refused } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, recover, type Said } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

const ALICE = 16;
const BOB = 17;
/** Up to 50x, so the first tier asks for 2 %. The mark is at most 0.5 % from the index. */
const GUARDED = { maxMovePerSecond: "0.001", openInterestCap: "300000", openInterestLowerCap: "100000" };

/** Alice has 1000 at 50x, and Bob any amount at 10x. */
class Market extends Exchange {
  constructor(changes: Partial<typeof PLAIN> = GUARDED) {
    super([instrument(PLAIN, changes)]);
    for (const amountQuanta of [1000e6, 1e12]) this.openAccount(amountQuanta);
    this.price(1000);
    this.say(make(SetLeverage, { accountId: ALICE, leverage: 50 }));
  }
  price(indexTicks: number): Said {
    return this.say(make(SetIndexPrice, { indexTicks }));
  }
  say(command: Message): Said {
    return this.do(PLAIN.id, command);
  }
  order(accountId: number, side: number, priceTicks: number, quantityLots: number, flags = 0): Said {
    return this.say(make(PlaceOrder, { accountId, side, orderType: LIMIT, priceTicks, quantityLots, flags }));
  }
  dry(accountId: number, side: number, priceTicks: number, quantityLots: number): Said {
    const order = make(PlaceOrder, { accountId, side, orderType: LIMIT, priceTicks, quantityLots });
    return this.say(make(DryRunOrder, { order }));
  }
  get ratePpm(): number {
    return openingRatePpm(this.symbol(PLAIN.id).state, this.time, 0);
  }
}

const codeOf = ({ replies }: Said): string =>
  replies[0].type === Refused.code ? (replies[0] as MessageOf<typeof Refused>).code : "ok";
const refusalOf = ({ replies }: Said): MessageOf<typeof Refused> => {
  assert.equal(replies[0].type, Refused.code);
  return replies[0] as MessageOf<typeof Refused>;
};

test("without a recent move and with a fresh index the leverage decides alone", () => {
  const market = new Market();
  market.order(BOB, SELL, 1000, 40);
  // 40,000 at 2 %, and 20 of fees.
  assert.equal(codeOf(market.order(ALICE, BUY, 1000, 40)), "ok");
  assert.equal(market.ratePpm, 0);
});

test("opening needs what the index has moved within the last minute, also in a dry run, and no more is reserved", () => {
  const market = new Market();
  market.price(1050);
  market.price(1000);
  assert.equal(market.ratePpm, 50_000);
  for (const said of [market.dry(ALICE, BUY, 1000, 40), market.order(ALICE, BUY, 1000, 40)]) {
    const { code, field, details } = refusalOf(said);
    assert.deepEqual([code, field], ["INSUFFICIENT_MARGIN", "quantity"]);
    // 40,000 at 5 %, and 20 of fees.
    assert.deepEqual(details, { requiredQuanta: 2020e6, availableQuanta: 1000e6, openingRate: "0.05" });
  }
  assert.equal(codeOf(market.order(ALICE, BUY, 1000, 19)), "ok");
  assert.equal(market.marginTableOf(ALICE).initial, 389.5e6, "2 % and fees");
  assert.equal(codeOf(market.order(ALICE, BUY, 1000, 1)), "INSUFFICIENT_MARGIN", "with the order that rests");
  market.time += 121_000;
  market.price(1000);
  assert.equal(market.ratePpm, 0);
  assert.equal(codeOf(market.order(ALICE, BUY, 1000, 20)), "ok");
});

test("the rate does not stand against closing, nor against the smaller side", () => {
  const market = new Market();
  market.order(BOB, SELL, 1000, 40);
  market.order(ALICE, BUY, 1000, 40);
  market.price(1100);
  market.price(1000);
  market.order(BOB, BUY, 1000, 40);
  assert.equal(codeOf(market.order(ALICE, BUY, 990, 1)), "INSUFFICIENT_MARGIN");
  assert.equal(codeOf(market.order(ALICE, SELL, 1010, 10)), "ok", "rests, and would close");
  assert.equal(codeOf(market.order(ALICE, SELL, 1000, 10, REDUCE_ONLY)), "ok");
  assert.equal(codeOf(market.order(ALICE, SELL, 1000, 20)), "ok");
});

test("an amendment that increases an order needs the rate, one that decreases it does not", () => {
  const market = new Market();
  market.order(ALICE, BUY, 990, 30);
  market.price(1050);
  market.price(1000);
  const amend = (quantityLots: number) =>
    codeOf(market.say(make(AmendOrder, { accountId: ALICE, orderId: 256 + PLAIN.id, quantityLots })));
  assert.equal(amend(31), "INSUFFICIENT_MARGIN");
  assert.equal(amend(25), "ok");
});

test("the rate rises with the root of the age of the index, beyond what the highest leverage covers", () => {
  const market = new Market();
  const rates = [225, 226, 400, 900].map((seconds) => {
    market.time += seconds * 1000;
    const rate = market.ratePpm;
    market.time -= seconds * 1000;
    return rate;
  });
  // 0.5 % and 0.1 % × √225 are the 2 % of the first tier.
  assert.deepEqual(rates, [0, 20_034, 25_000, 35_000]);
});

test("the rate rises with the open interest between its caps, and an order counts what it adds", () => {
  const market = new Market();
  const rateAt = (lots: number) => openingRatePpm(market.symbol(PLAIN.id).state, market.time, lots);
  assert.deepEqual([100, 150, 200, 300, 400].map(rateAt), [0, 265_000, 510_000, 1_000_000, 1_000_000]);
  market.order(BOB, SELL, 1000, 250);
  const { details } = refusalOf(market.order(ALICE, BUY, 1000, 120));
  assert.equal(details?.openingRate, "0.118");
});

test("an isolated position must have the margin itself, whatever else the account has", () => {
  const market = new Market();
  market.do(LEDGER, make(Deposit, { accountId: ALICE, amountQuanta: 1e12 }));
  market.say(make(SetMarginMode, { accountId: ALICE, marginMode: ISOLATED }));
  market.price(1050);
  market.price(1000);
  market.order(BOB, SELL, 1000, 100);
  const { details } = refusalOf(market.order(ALICE, BUY, 1000, 10));
  assert.deepEqual(details, { requiredQuanta: 505e6, availableQuanta: 205e6, openingRate: "0.05" });
  market.say(make(SetLeverage, { accountId: ALICE, leverage: 20 }));
  assert.equal(codeOf(market.order(ALICE, BUY, 1000, 10)), "ok");
  assert.equal(codeOf(market.order(ALICE, BUY, 1000, 10)), "ok");
});

test("the recent move is known after a restart from the log or from a snapshot", () => {
  const market = new Market();
  for (const ticks of [1050, 1000]) market.price(ticks);
  market.time += 61_000;
  market.price(1000);
  for (const way of ["log", "snapshots"] as const) {
    const again = new Exchange([instrument(PLAIN, GUARDED)]);
    recover(again, market, way);
    assert.equal(openingRatePpm(again.symbol(PLAIN.id).state, market.time, 0), 50_000, way);
  }
});

test("open interest may not pass its cap: orders that would open beyond it are refused with the nearest quantity", () => {
  const market = new Market({ openInterestCap: "300000" });
  market.do(LEDGER, make(Deposit, { accountId: ALICE, amountQuanta: 1e12 }));
  market.say(make(SetLeverage, { accountId: ALICE, leverage: 5 }));
  const cap = (said: Said) => {
    const { code, field, details } = refusalOf(said);
    assert.deepEqual([code, field], ["OPEN_INTEREST_CAP", "quantity"]);
    return details;
  };
  const over = { limitLots: 300, openInterestLots: 0, nearestLots: 300 };
  assert.deepEqual(cap(market.order(ALICE, BUY, 1000, 301)), over, "the order alone, though it would rest");
  assert.deepEqual(cap(market.dry(ALICE, BUY, 1000, 301)), over);
  market.order(BOB, SELL, 1000, 300);
  assert.equal(codeOf(market.order(ALICE, BUY, 1000, 200)), "ok");
  assert.deepEqual(cap(market.order(ALICE, BUY, 1000, 101)), {
    limitLots: 300,
    openInterestLots: 200,
    nearestLots: 100,
  });
  assert.equal(codeOf(market.order(ALICE, BUY, 1000, 100)), "ok");
  assert.equal(market.symbol(PLAIN.id).state.openInterestLots, 300);

  // At the cap: orders that close have someone to trade with, and positions may change hands.
  const [CAROL, DAVE] = [market.openAccount(1e12), market.openAccount(1e12)];
  assert.equal(codeOf(market.order(CAROL, BUY, 1000, 50)), "ok", "rests");
  assert.equal(codeOf(market.order(ALICE, SELL, 1000, 50)), "ok", "closes against it");
  assert.equal(market.symbol(PLAIN.id).state.openInterestLots, 300);
  market.order(DAVE, SELL, 1001, 10);
  assert.equal(cap(market.order(CAROL, BUY, 1001, 10))?.nearestLots, 0);
  assert.equal(cap(market.order(CAROL, BUY, 1001, 25))?.nearestLots, 0, "does not tell how much would fill");
  // A reversal may close all of the position, and open what there is room for.
  market.order(CAROL, BUY, 1000, 20);
  assert.equal(codeOf(market.order(ALICE, SELL, 1000, 20)), "ok");
  market.order(CAROL, BUY, 1000, 230);
  market.order(BOB, BUY, 1000, 10);
  assert.deepEqual(cap(market.order(ALICE, SELL, 1000, 240)), {
    limitLots: 300,
    openInterestLots: 300,
    nearestLots: 230,
  });
  assert.equal(codeOf(market.order(ALICE, SELL, 1000, 230)), "ok");
  assert.equal(market.symbol(PLAIN.id).state.openInterestLots, 300);
});
