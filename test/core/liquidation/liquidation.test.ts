import assert from "node:assert/strict";
import { test } from "node:test";
import { SIZE } from "../../../src/core/base/columns.ts";
import {
  EXEC_ADL,
  EXEC_LIQUIDATION,
  INSURANCE_ACCOUNT,
  ISOLATED,
  LEDGER,
  STATUS_EXPIRED,
} from "../../../src/core/base/enums.ts";
import { owedFunding } from "../../../src/core/margin/funding-payment.ts";
import { isolatedEquity } from "../../../src/core/margin/isolated.ts";
import {
  CancelAll,
  ClosePosition,
  Deposit,
  MoveMargin,
  PlaceOrder,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import {
  FundingPaid,
  FundingSettled,
  PositionTransferred,
  type PriceUpdated,
  Traded,
} from "../../../src/core/protocol/events.ts";
import { blank, type Message, type MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { OrderView, Refused } from "../../../src/core/protocol/replies.ts";
import { Crowd } from "../support/crowd.ts";
import { Exchange, make } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { runMargin } from "../support/margin-run.ts";
import { BUY, forgetTrades, HOUR_MS, longOf, Markets, moveTo, SELL, takeFromFund } from "../support/random-markets.ts";
import { takeSeed } from "../support/seed.ts";

test("below maintenance margin: closed in the book no worse than the bankruptcy price, a fee to the fund, the rest is kept", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const { alice } = longOf(markets, 1000, 100, 1000); // 1 BTC at 65000 with 1000 USDC
  const makers: [number, number] = [markets.open(1_000_000), markets.open(1_000_000)];
  // Equity 1000 − 32.5 fee − loss; maintenance 0.4 % of the notional is about 257: at 64250 equity is 217.5.
  moveTo(markets, 642_500, makers);
  markets.order(btc, makers[1], BUY, 642_400, 2000); // someone buys at 64240
  const before = markets.marginTable.equity(alice);
  const fund = markets.marginTable.equity(INSURANCE_ACCOUNT);
  assert.ok(before < markets.marginTable.maintenance(alice));
  markets.tick();
  assert.equal(
    markets.size(btc, alice),
    1000,
    "one scan is not enough: another actor may be in the middle of a change",
  );
  const events = markets.tick();
  const trades = events.filter((event) => event.type === Traded.code) as unknown as {
    execType: number;
    takerFeeQuanta: number;
  }[];
  assert.equal(markets.size(btc, alice), 0);
  assert.equal(trades.length, 1);
  assert.equal(trades[0].execType, EXEC_LIQUIDATION);
  // 1 BTC sold 10 USDC below the mark. The fee is 0.5 % of 64240 = 321.2, at most what is left above bankruptcy.
  const left = markets.marginTable.equity(alice);
  assert.equal(before - left, 10_000_000 + trades[0].takerFeeQuanta);
  assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT) - fund, trades[0].takerFeeQuanta);
  assert.ok(left >= 0);
  markets.audit();
});

test("with an empty book, the fund takes over at the bankruptcy price, to the quantum", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  markets.fund(1_000_000);
  const { alice } = longOf(markets, 1000, 100, 1000);
  const makers: [number, number] = [markets.open(1_000_000), markets.open(1_000_000)];
  moveTo(markets, 642_500, makers);
  const equity = markets.marginTable.equity(alice);
  assert.ok(equity > 0);
  markets.tick();
  const events = markets.tick();
  const transfers = events.filter((event) => event.type === PositionTransferred.code) as unknown as {
    quanta: number;
    execType: number;
    counterpartyId: number;
  }[];
  assert.equal(transfers.length, 1);
  assert.equal(transfers[0].execType, EXEC_LIQUIDATION);
  assert.equal(transfers[0].counterpartyId, INSURANCE_ACCOUNT);
  // Worth 64250 at mark, transferred for 64250 − equity: the account has nothing left, the fund has the equity.
  assert.equal(transfers[0].quanta, 64_250_000_000 - equity);
  assert.equal(markets.marginTable.equity(alice), 0);
  assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT), 1_000_000e6 + equity);
  assert.equal(markets.size(btc, INSURANCE_ACCOUNT), 1000);
  markets.audit();
});

test("two accounts liquidated in one scan trade with each other: each step sees the result of the one before", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  markets.fund(1000);
  const [alice, carol] = [markets.open(1282), markets.open(690)];
  const bob = markets.open(10_000_000);
  markets.price(btc, 650_000);
  for (const accountId of [alice, carol]) markets.run(btc, make(SetLeverage, { accountId, leverage: 100 }));
  markets.order(btc, bob, SELL, 650_000, 1500);
  markets.order(btc, alice, BUY, 650_000, 1000);
  markets.order(btc, carol, BUY, 650_000, 500);
  markets.order(btc, carol, BUY, 638_000, 500); // what alice is sold into
  moveTo(markets, 639_000, [markets.open(1_000_000), markets.open(1_000_000)]);
  const equity = (accountId: number): number => markets.marginTable.equity(accountId);
  for (const accountId of [alice, carol]) assert.ok(equity(accountId) < markets.marginTable.maintenance(accountId));
  const fund = equity(INSURANCE_ACCOUNT);
  for (let i = 0; i < 4; i++) markets.tick();
  assert.deepEqual([markets.size(btc, alice), markets.size(btc, carol)], [0, 0]);
  // At the bankruptcy price of its equity by then, with the 50 USDC that alice's sale below the mark gave it.
  assert.deepEqual([equity(alice), equity(carol)], [0, 0]);
  assert.ok(equity(INSURANCE_ACCOUNT) > fund);
  markets.audit();
});

test("without a fund, the other side is closed at the bankruptcy price, by profit and leverage", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const { alice, bob } = longOf(markets, 1000, 100, 1000);
  const carol = markets.open(100_000);
  const makers: [number, number] = [markets.open(1_000_000), markets.open(1_000_000)];
  // Carol is short at a higher leverage than bob, so she ranks first.
  markets.order(btc, carol, SELL, 650_000, 1000);
  markets.order(btc, makers[1], BUY, 650_000, 1000);
  forgetTrades(markets);
  const equity = (accountId: number): number => markets.marginTable.equity(accountId);
  const before = { alice: equity(alice), carol: equity(carol), bob: equity(bob) };
  const events = moveTo(markets, 600_000, makers); // 5000 USDC lost, 1000 there
  const transfers = events.filter(({ type }) => type === PositionTransferred.code) as MessageOf<
    typeof PositionTransferred
  >[];
  assert.deepEqual(
    transfers.map(({ execType, counterpartyId, quanta }) => [execType, counterpartyId, quanta]),
    [[EXEC_ADL, carol, 65_000e6 - before.alice]],
  );
  assert.deepEqual([equity(alice), markets.size(btc, alice), markets.size(btc, carol)], [0, 0, 0]);
  // She keeps what alice could pay of the step's gain. Bob, who lost nothing to alice, has all of his.
  assert.equal(equity(carol), before.carol + before.alice);
  assert.deepEqual([markets.size(btc, bob), equity(bob)], [-1000, before.bob + 5000e6]);
  markets.audit();
});

test("equity that one account leaves to the fund is margin for the next account of the same scan", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  markets.fund(200);
  const { alice, bob } = longOf(markets, 1000, 100, 1000);
  const carol = markets.open(882.5);
  markets.run(btc, make(SetLeverage, { accountId: carol, leverage: 100 }));
  markets.order(btc, bob, SELL, 650_000, 1000);
  markets.order(btc, carol, BUY, 650_000, 1000);
  moveTo(markets, 642_500, [markets.open(1_000_000), markets.open(1_000_000)]);
  assert.deepEqual(
    [alice, carol].map((accountId) => markets.marginTable.equity(accountId)),
    [217_500_000, 100_000_000],
  );
  // Each position needs 257 USDC. Without alice's 217.5 the fund would have 300 for both.
  const fund = markets.marginTable.equity(INSURANCE_ACCOUNT);
  markets.tick();
  markets.tick();
  assert.deepEqual(
    [alice, carol].map((accountId) => markets.marginTable.equity(accountId)),
    [0, 0],
  );
  assert.deepEqual([markets.size(btc, INSURANCE_ACCOUNT), markets.size(btc, bob)], [2000, -2000]);
  assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT) - fund, 317_500_000);
  markets.audit();
});

/**
 * Alice is short 100 at 1, the lowest possible price, where carol offers them. In another symbol she loses more than she has,
 * and is settled there, at a price between the old mark and the new one.
 */
function emptyAtTheLowestPrice(): { exchange: Exchange; alice: number; sizeOfAlice: (symbol?: number) => number } {
  const exchange = new Exchange([
    instrument(PLAIN, { breakerLimit: "0" }),
    instrument({ ...PLAIN, id: 2, symbol: "OTHER-PERP" }),
  ]);
  const [alice, bob, carol] = [115e6, 1e9, 1e9].map((amountQuanta) => exchange.openAccount(amountQuanta)) as [
    number,
    number,
    number,
  ];
  const price = (symbol: number, indexTicks: number): void =>
    void exchange.carryOut(symbol, make(SetIndexPrice, { indexTicks }));
  const trade = (symbol: number, seller: number, buyer: number, priceTicks: number, quantityLots: number): void => {
    exchange.do(symbol, make(PlaceOrder, { accountId: seller, side: SELL, priceTicks, quantityLots }));
    exchange.do(symbol, make(PlaceOrder, { accountId: buyer, side: BUY, priceTicks, quantityLots }));
  };
  price(1, 1);
  price(2, 100);
  trade(1, alice, bob, 1, 100);
  trade(2, bob, alice, 100, 10);
  exchange.do(1, make(PlaceOrder, { accountId: carol, side: SELL, priceTicks: 1, quantityLots: 100 }));
  price(2, 85);
  const sizeOfAlice = (symbol = 1): number => {
    const { positions } = exchange.symbol(symbol).state;
    return positions.numbers[positions.find(alice) + SIZE];
  };
  assert.deepEqual([exchange.marginTable.equity(alice), sizeOfAlice(1), sizeOfAlice(2)], [0, -100, 0]);
  return { exchange, alice, sizeOfAlice };
}

test("an account with nothing left, at the lowest possible price, is closed there at the mark, and costs nobody anything", () => {
  const { exchange, alice, sizeOfAlice } = emptyAtTheLowestPrice();
  const others = [17, 18].map((accountId) => exchange.marginTable.equity(accountId));
  for (let i = 0; i < 3; i++) for (const symbol of [2, 1]) exchange.carryOut(symbol, make(Tick));
  assert.deepEqual([sizeOfAlice(), exchange.marginTable.equity(alice)], [0, 0]);
  assert.deepEqual(
    [17, 18].map((accountId, i) => exchange.marginTable.equity(accountId) >= others[i] - 100e6 * 0.0002),
    [true, true],
    "at most a maker's fee",
  );
  assert.ok(exchange.marginTable.equity(INSURANCE_ACCOUNT) >= 0);
});

test("an account with nothing left does not close there by its own order, for which it cannot pay the fee", () => {
  const { exchange, alice, sizeOfAlice } = emptyAtTheLowestPrice();
  const limit = make(ClosePosition, { accountId: alice, priceTicks: 1 });
  const refused = exchange.ask(1, limit) as MessageOf<typeof Refused>;
  assert.deepEqual([refused.code, refused.details], ["PRICE_OUT_OF_BAND", { limitTicks: 0, markTicks: 1 }]);
  const order = exchange.ask(1, make(ClosePosition, { accountId: alice })) as MessageOf<typeof OrderView>;
  assert.deepEqual([order.status, sizeOfAlice()], [STATUS_EXPIRED, -100]);
});

/**
 * Alice, long half a BTC, cannot pay what a step of the mark takes, and there is no fund. Carol and dave are short as much. In
 * ETH carol has lost nearly all she has, so she ranks first by leverage; dave has lost with `daveLots`. `giver`: who has
 * sold to alice. Returns which of the two were deleveraged.
 */
function deleveragedBetween(markets: Markets, daveLots: number, giver: "carol" | "dave", isTraced: boolean) {
  const [btc, eth] = markets.symbols;
  const [alice, carol, dave, maker, last] = [1000, 10_000, 10_000, 10_000_000, 10_000_000].map((usdc) =>
    markets.open(usdc),
  );
  markets.price(btc, 650_000);
  markets.price(eth, 320_000);
  for (const accountId of [alice, carol, dave]) markets.run(btc, make(SetLeverage, { accountId, leverage: 100 }));
  markets.order(eth, maker, SELL, 320_000, 1000 + daveLots);
  markets.order(eth, carol, BUY, 320_000, 950);
  if (daveLots > 0) markets.order(eth, dave, BUY, 320_000, daveLots);
  for (const [seller, buyer] of [
    [giver === "carol" ? carol : dave, alice],
    [giver === "carol" ? dave : carol, maker],
  ]) {
    markets.order(btc, seller, SELL, 650_000, 500);
    markets.order(btc, buyer, BUY, 650_000, 500);
  }
  markets.price(eth, 220_000);
  if (!isTraced) forgetTrades(markets);
  const before = { alice: markets.marginTable.equity(alice), carol: markets.marginTable.equity(carol) };
  assert.ok(before.carol > markets.marginTable.maintenance(carol) && before.carol < 600e6, String(before.carol));
  const events = moveTo(markets, 600_000, [last, maker]);
  const transfers = events.filter(({ type }) => type === PositionTransferred.code);
  assert.deepEqual([markets.size(btc, alice), markets.marginTable.equity(alice)], [0, 0]);
  markets.audit();
  return {
    ...{ alice, carol, dave, before },
    chosen: (transfers as MessageOf<typeof PositionTransferred>[])
      .map(({ counterpartyId }) => counterpartyId)
      .filter((accountId) => accountId === carol || accountId === dave),
  };
}

for (const daveLots of [0, 940])
  test(`the first by rank is deleveraged, however little it has: it loses only gains of the step (dave has lost with ${daveLots})`, () => {
    const markets = new Markets();
    const { carol, chosen, before } = deleveragedBetween(markets, daveLots, "carol", false);
    assert.deepEqual(chosen, [carol]);
    // The step gives her 2500 USDC, of which alice could pay what she had.
    assert.equal(markets.marginTable.equity(carol), before.carol + before.alice);
    assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT), 0);
  });

test("the account from which the position was just taken is deleveraged before the first by rank, and before the fund", () => {
  for (const fund of [0, 1_000_000]) {
    const markets = new Markets();
    if (fund > 0) markets.fund(fund);
    const { carol, dave, chosen } = deleveragedBetween(markets, 0, "dave", true);
    assert.deepEqual(chosen, [dave]);
    assert.equal(markets.size(markets.symbols[0], carol), -500);
    assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT), fund * 1e6);
  }
});

for (const percent of [-0.65, -0.8, -0.99, 0.65, 0.8, 0.99])
  test(`after an index move of ${percent} %, an owner buys back from the fund for more than the failed accounts lost`, () => {
    const markets = new Markets();
    const [btc] = markets.symbols;
    markets.fund(1_000_000);
    markets.price(btc, 650_000);
    const winner = markets.open(1_000_000);
    markets.run(btc, make(SetLeverage, { accountId: winner, leverage: 20 }));
    const losers = Array.from({ length: 10 }, () => markets.open(1050));
    for (const accountId of losers) {
      markets.run(btc, make(SetLeverage, { accountId, leverage: 100 }));
      markets.order(btc, winner, percent < 0 ? SELL : BUY, 650_000, 1523);
      markets.order(btc, accountId, percent < 0 ? BUY : SELL, 650_000, 1523); // 99,000 USDC each
    }
    markets.time += 1000;
    markets.price(btc, Math.round(650_000 * (1 + percent / 100)));
    for (let i = 0; i < 4; i++) markets.tick();
    // At most 300,000 USDC: the other seven are closed against the winner.
    assert.equal(Math.abs(markets.size(btc, INSURANCE_ACCOUNT)), 3 * 1523);
    assert.deepEqual(
      losers.map((accountId) => markets.size(btc, accountId)),
      losers.map(() => 0),
    );
    takeFromFund(markets, winner);
    const owned = [winner, ...losers].reduce((sum, accountId) => sum + markets.marginTable.equity(accountId), 0);
    assert.ok(owned < 1_010_500e6, String(owned));
    markets.audit();
  });

test("the fund sells near the mark where it gets back its cost, and a step beyond its cost goes to the other side", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  markets.fund(1_000_000);
  longOf(markets, 1000, 100, 1000);
  const [buyer, seller] = [markets.open(1_000_000), markets.open(1_000_000)];
  moveTo(markets, 642_500, [seller, buyer]);
  // Maintenance is 0.4 %, and the position brings 217.5 USDC: the fund pays 64032.5, 0.34 % below the mark.
  for (let i = 0; i < 3; i++) markets.tick();
  assert.equal(markets.size(btc, INSURANCE_ACCOUNT), 1000);
  const bid = (priceTicks: number): number => {
    markets.order(btc, buyer, BUY, priceTicks, 100);
    const had = markets.size(btc, INSURANCE_ACCOUNT);
    for (let i = 0; i < 3; i++) markets.tick();
    markets.run(btc, make(CancelAll, { accountId: buyer, side: -1 }));
    return had - markets.size(btc, INSURANCE_ACCOUNT);
  };
  // With the fee of 0.05 % it breaks even at 64064.6.
  assert.equal(bid(640_645), 0);
  assert.equal(bid(640_646), 100);
  // The price is above that: it sells up to a tenth of the 5 % band from the mark.
  moveTo(markets, 660_000, [seller, buyer]);
  assert.equal(bid(656_699), 0);
  assert.equal(bid(656_700), 100);
  // The price falls below its cost: the other side closes the rest at the cost, and the fund has lost nothing.
  const fund = markets.marginTable.equity(INSURANCE_ACCOUNT);
  moveTo(markets, 638_000, [seller, buyer]);
  assert.equal(markets.size(btc, INSURANCE_ACCOUNT), 0);
  assert.ok(markets.marginTable.equity(INSURANCE_ACCOUNT) >= 1_000_000e6, "all that it had before");
  assert.ok(markets.marginTable.equity(INSURANCE_ACCOUNT) < fund, "and not what the position had gained since");
  markets.audit();
});

for (const side of [BUY, SELL])
  test(`a ${side === BUY ? "long" : "short"} that would bankrupt the fund is deleveraged with what it has lost beyond the allowance, and the fund keeps its own`, () => {
    const markets = new Markets();
    const [btc] = markets.symbols;
    markets.fund(100);
    const [alice, bob, ...makers] = [1000, 10_000_000, 1_000_000, 1_000_000].map((usdc) => markets.open(usdc));
    markets.price(btc, 650_000);
    markets.run(btc, make(SetLeverage, { accountId: alice, leverage: 100 }));
    markets.order(btc, bob, 1 - side, 650_000, 1000);
    markets.order(btc, alice, side, 650_000, 1000);
    const sign = side === BUY ? 1 : -1;
    moveTo(markets, 650_000 - sign * 7500, makers as [number, number]);
    for (let i = 0; i < 2; i++) markets.tick();
    assert.equal(markets.size(btc, INSURANCE_ACCOUNT), sign * 1000);
    const had = markets.marginTable.equity(INSURANCE_ACCOUNT);
    // It paid about 0.35 % less than the mark, and the price moves on by more than a percent: it loses 750 of 317.
    const transfers = moveTo(markets, 650_000 - sign * 15_000, makers as [number, number]).filter(
      ({ type }) => type === PositionTransferred.code,
    ) as MessageOf<typeof PositionTransferred>[];
    assert.ok(transfers.length > 0 && had < 400e6);
    for (const { execType } of transfers) assert.equal(execType, EXEC_ADL);
    const value = 650_000 - sign * 7500;
    assert.equal(
      transfers.reduce((sum, { quanta }) => sum + quanta, 0),
      value * 1e5 - sign * (had - 100e6),
      "as much below the mark before the step as the position had brought along",
    );
    assert.equal(markets.size(btc, INSURANCE_ACCOUNT), 0);
    assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT), 100e6);
    markets.audit();
  });

test("an account that has recovered is not liquidated", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const { alice } = longOf(markets, 1000, 100, 1000);
  const makers: [number, number] = [markets.open(1_000_000), markets.open(1_000_000)];
  moveTo(markets, 642_500, makers);
  markets.tick();
  markets.run(markets.ledger, { ...blank(Deposit), accountId: alice, amountQuanta: 5_000_000_000 } as Message);
  for (let i = 0; i < 5; i++) markets.tick();
  assert.equal(markets.size(btc, alice), 1000);
});

test("funding: longs pay shorts, rounded against each, and the fund keeps the remainder", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const { alice, bob } = longOf(markets, 333, 10, 100_000);
  markets.time = Math.ceil(markets.time / HOUR_MS) * HOUR_MS + 1;
  const events = markets.price(btc, 650_000);
  const settled = events.find((event) => event.type === FundingSettled.code) as unknown as { ratePpb: number };
  // No premium (one-sided book): interest 0.01 % per 8 hours, so 12.5 ppm for one hour.
  assert.equal(settled.ratePpb, 12_500);
  const paid = events.filter((event) => event.type === FundingPaid.code) as unknown as {
    accountId: number;
    amountQuanta: number;
  }[];
  // 0.333 × 65000 = 21645 USDC × 0.0000125 = 0.2705625
  assert.deepEqual(Object.fromEntries(paid.map(({ accountId, amountQuanta }) => [accountId, amountQuanta])), {
    [alice]: -270_563,
    [bob]: 270_562,
  });
  assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT), 1);
  markets.audit();
});

test("the rate of an interval is the average of its premiums, each by the time that it stood", () => {
  const exchange = new Exchange([instrument({ ...PLAIN, tickSize: "0.01" })]);
  const price = (): Message[] => exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 10_000 })).events;
  const accountId = 16;
  exchange.do(LEDGER, make(Deposit, { accountId, amountQuanta: 1e11 }));
  price();
  exchange.do(PLAIN.id, make(PlaceOrder, { accountId, side: BUY, priceTicks: 10_050, quantityLots: 200 }));
  exchange.time += 5000;
  const [updated] = price() as MessageOf<typeof PriceUpdated>[];
  // The second sample has stood for no time yet: the interest only.
  assert.equal(updated.fundingRatePpb, 100_000);
  exchange.time += 8 * HOUR_MS;
  const settled = price().find(({ type }) => type === FundingSettled.code) as MessageOf<typeof FundingSettled>;
  // (5 s × 0 + 10 s × 0.5 %) ÷ 15 s, less 0.05 % by the interest.
  assert.deepEqual([settled.premiumPpb, settled.ratePpb], [3_333_333, 2_833_333]);
});

test("owed funding counts for the closing price, and for isolated margin set aside and taken out", () => {
  // More positions than pay at once: the first ones pay last.
  const crowd = Crowd.of(602);
  const [, alice, , bob] = [0, 1, 2, 3].map((i) => crowd.account(i));
  const { state } = crowd.plain;
  crowd.do(PLAIN.id, make(SetLeverage, { accountId: alice, leverage: 50 }));
  crowd.do(LEDGER, make(Withdraw, { accountId: alice, amountQuanta: 97_895_000, address: "0x0" }));
  assert.equal(crowd.marginTable.equity(alice), 2_055_000);
  crowd.time += 8 * HOUR_MS;
  crowd.price(100);
  assert.equal(state.funding.owingCount, 102);
  for (const accountId of [alice, bob]) assert.equal(owedFunding(state, state.positions.find(accountId)), -10_000);
  // Two ticks and the fee of 0.049 leave 0.006, less than the 0.01 that she owes.
  const sold = crowd.order(alice, SELL, 98, 1) as MessageOf<typeof Refused>;
  assert.deepEqual([sold.code, sold.details], ["PRICE_OUT_OF_BAND", { limitTicks: 99, markTicks: 100 }]);
  crowd.do(PLAIN.id, make(SetMarginMode, { accountId: bob, marginMode: ISOLATED }));
  assert.equal(isolatedEquity(state, state.positions.find(bob)), 10_000_000);
  const removed = crowd.ask(PLAIN.id, make(MoveMargin, { accountId: bob, amountQuanta: -1 })) as MessageOf<
    typeof Refused
  >;
  assert.deepEqual(removed.details, { requiredQuanta: 1, availableQuanta: 0 });
  crowd.do(PLAIN.id, make(Tick));
  assert.equal(state.funding.owingCount, 0);
  assert.equal(isolatedEquity(state, state.positions.find(bob)), 10_000_000);
});

test("a liquidation pays owed funding first, and divides the equity that is left", () => {
  const crowd = Crowd.of(1702);
  const alice = crowd.account(1);
  // It takes over what is closed, and owes no funding, as another account would.
  crowd.do(LEDGER, make(Deposit, { accountId: INSURANCE_ACCOUNT, amountQuanta: 1000e6 }));
  const { state } = crowd.plain;
  crowd.do(PLAIN.id, make(SetLeverage, { accountId: alice, leverage: 50 }));
  crowd.do(LEDGER, make(Withdraw, { accountId: alice, amountQuanta: 97_895_000, address: "0x0" }));
  crowd.time += 8 * HOUR_MS;
  crowd.price(100);
  crowd.price(98);
  assert.deepEqual(crowd.settleMark(PLAIN.id), [], "she is not bankrupt");
  assert.equal(crowd.marginTable.equity(alice), 55_000);
  crowd.carryOut(PLAIN.id, make(Tick));
  const { events } = crowd.carryOut(PLAIN.id, make(Tick));
  assert.equal(state.funding.owingCount, 201);
  const [transfer] = events.filter(({ type }) => type === PositionTransferred.code);
  // A lot at 98, less 0.055, less the 0.01 that she owed.
  assert.equal((transfer as MessageOf<typeof PositionTransferred>).quanta, 97_955_000);
  assert.equal(state.positions.numbers[state.positions.find(alice) + SIZE], 0);
  assert.equal(crowd.marginTable.equity(alice), 0);
});

const first = takeSeed("liquidation.test");
for (const seed of [first, first + 1, first + 2, first + 3])
  test(`random accounts, orders, crashes of prices, funding and liquidations: seed ${seed}`, () => {
    const seen = runMargin(seed, 4000);
    assert.ok(
      seen.funding > 0 && seen.liquidations > 0 && seen.isolatedEnds > 0,
      `the run was too quiet: ${JSON.stringify(seen)}`,
    );
  });
