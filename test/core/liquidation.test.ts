import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Deposit,
  FundingPaid,
  FundingSettled,
  PositionTransferred,
  SetLeverage,
  Traded,
} from "../../src/core/messages.ts";
import { blank, type Message } from "../../src/core/shape.ts";
import { EXEC_ADL, EXEC_LIQUIDATION, INSURANCE_ACCOUNT } from "../../src/core/words.ts";
import { make } from "./support/exchange.ts";
import { runMargin } from "./support/margin-run.ts";
import { BUY, HOUR_MS, longOf, moveTo, SELL, Universe } from "./support/universe.ts";

test("below maintenance margin: closed in the book no worse than the bankruptcy price, a fee to the fund, the rest is kept", () => {
  const universe = new Universe();
  const [btc] = universe.symbols;
  const { alice } = longOf(universe, 1000, 100, 1000); // 1 BTC at 65000 with 1000 USDC
  const makers: [number, number] = [universe.open(1_000_000), universe.open(1_000_000)];
  // Equity 1000 − 32.5 fee − loss; maintenance 0.4 % of the notional is about 257: at 64250 equity is 217.5.
  moveTo(universe, 642_500, makers);
  universe.order(btc, makers[1], BUY, 642_400, 2000); // someone buys at 64240
  const before = universe.cells.equity(alice);
  const fund = universe.cells.equity(INSURANCE_ACCOUNT);
  assert.ok(before < universe.cells.maintenance(alice));
  universe.tick();
  assert.equal(universe.size(btc, alice), 1000, "one look is not enough: cells may be half-way");
  const events = universe.tick();
  const trades = events.filter((event) => event.type === Traded.code) as unknown as {
    execType: number;
    takerFeeQuanta: number;
  }[];
  assert.equal(universe.size(btc, alice), 0);
  assert.equal(trades.length, 1);
  assert.equal(trades[0].execType, EXEC_LIQUIDATION);
  // 1 BTC sold 10 USDC below the mark; the fee is 0.5 % of 64240 = 321.2 at most, and what is left above bankruptcy.
  const left = universe.cells.equity(alice);
  assert.equal(before - left, 10_000_000 + trades[0].takerFeeQuanta);
  assert.equal(universe.cells.equity(INSURANCE_ACCOUNT) - fund, trades[0].takerFeeQuanta);
  assert.ok(left >= 0);
  universe.audit();
});

test("an empty book: the fund takes over at the bankruptcy price, to the quantum", () => {
  const universe = new Universe();
  const [btc] = universe.symbols;
  const { alice } = longOf(universe, 1000, 100, 1000);
  const makers: [number, number] = [universe.open(1_000_000), universe.open(1_000_000)];
  moveTo(universe, 642_500, makers);
  const equity = universe.cells.equity(alice);
  assert.ok(equity > 0);
  universe.tick();
  const events = universe.tick();
  const transfers = events.filter((event) => event.type === PositionTransferred.code) as unknown as {
    quanta: number;
    execType: number;
    counterpartyId: number;
  }[];
  assert.equal(transfers.length, 1);
  assert.equal(transfers[0].execType, EXEC_LIQUIDATION);
  assert.equal(transfers[0].counterpartyId, INSURANCE_ACCOUNT);
  // Worth 64250 at mark, handed over for 64250 − equity: the account is left with nothing, the fund with the equity.
  assert.equal(transfers[0].quanta, 64_250_000_000 - equity);
  assert.equal(universe.cells.equity(alice), 0);
  assert.equal(universe.cells.equity(INSURANCE_ACCOUNT), equity);
  assert.equal(universe.size(btc, INSURANCE_ACCOUNT), 1000);
  universe.audit();
});

test("two that are liquidated in one look and trade with each other: each step sees what the one before has made of it", () => {
  const universe = new Universe();
  const [btc] = universe.symbols;
  universe.fund(1000);
  const [alice, carol] = [universe.open(1282), universe.open(690)];
  const bob = universe.open(10_000_000);
  universe.price(btc, 650_000);
  for (const accountId of [alice, carol]) universe.run(btc, make(SetLeverage, { accountId, leverage: 100 }));
  universe.order(btc, bob, SELL, 650_000, 1500);
  universe.order(btc, alice, BUY, 650_000, 1000);
  universe.order(btc, carol, BUY, 650_000, 500);
  universe.order(btc, carol, BUY, 638_000, 500); // what alice is sold into
  moveTo(universe, 639_000, [universe.open(1_000_000), universe.open(1_000_000)]);
  const equity = (accountId: number): number => universe.cells.equity(accountId);
  for (const accountId of [alice, carol]) assert.ok(equity(accountId) < universe.cells.maintenance(accountId));
  const fund = equity(INSURANCE_ACCOUNT);
  for (let i = 0; i < 4; i++) universe.tick();
  assert.deepEqual([universe.size(btc, alice), universe.size(btc, carol)], [0, 0]);
  // At the bankruptcy price of what it had by then, the 50 USDC included that alice's sale below the mark has brought it.
  assert.deepEqual([equity(alice), equity(carol)], [0, 0]);
  assert.ok(equity(INSURANCE_ACCOUNT) > fund);
  universe.audit();
});

test("below zero and no fund: the other side is closed at the bankruptcy price by profit and leverage", () => {
  const universe = new Universe();
  const [btc] = universe.symbols;
  const { alice, bob } = longOf(universe, 1000, 100, 1000);
  const makers: [number, number] = [universe.open(1_000_000), universe.open(1_000_000)];
  moveTo(universe, 600_000, makers); // 5000 USDC lost, 1000 there
  assert.ok(universe.cells.equity(alice) < 0);
  universe.tick();
  const events = universe.tick();
  const transfers = events.filter((event) => event.type === PositionTransferred.code) as unknown as {
    execType: number;
    counterpartyId: number;
  }[];
  assert.deepEqual(
    transfers.map(({ execType, counterpartyId }) => [execType, counterpartyId]),
    [[EXEC_ADL, bob]],
  );
  assert.equal(universe.cells.equity(alice), 0);
  assert.equal(universe.size(btc, alice), 0);
  assert.equal(universe.size(btc, bob), 0);
  universe.audit();
});

test("who has recovered is let go", () => {
  const universe = new Universe();
  const [btc] = universe.symbols;
  const { alice } = longOf(universe, 1000, 100, 1000);
  const makers: [number, number] = [universe.open(1_000_000), universe.open(1_000_000)];
  moveTo(universe, 642_500, makers);
  universe.tick();
  universe.run(universe.ledger, { ...blank(Deposit), accountId: alice, amountQuanta: 5_000_000_000 } as Message);
  for (let i = 0; i < 5; i++) universe.tick();
  assert.equal(universe.size(btc, alice), 1000);
});

test("funding: longs pay shorts, rounded against each, and the remainder is the fund's", () => {
  const universe = new Universe();
  const [btc] = universe.symbols;
  const { alice, bob } = longOf(universe, 333, 10, 100_000);
  universe.time = Math.ceil(universe.time / HOUR_MS) * HOUR_MS + 1;
  const events = universe.price(btc, 650_000);
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
  assert.equal(universe.cells.equity(INSURANCE_ACCOUNT), 1);
  universe.audit();
});

for (const seed of [1, 2, 3, Date.now() % 1_000_000])
  test(`random accounts, orders, crashes of prices, funding and liquidations: seed ${seed}`, () => {
    const seen = runMargin(seed, 4000);
    assert.ok(
      seen.funding > 0 && seen.liquidations > 0 && seen.isolatedEnds > 0,
      `the run was too quiet: ${JSON.stringify(seen)}`,
    );
  });
