import assert from "node:assert/strict";
import { test } from "node:test";
import { AccountCells } from "../../src/core/cells.ts";
import { LedgerActor } from "../../src/core/ledger.ts";
import {
  type Actor,
  DeficitCovered,
  Deposit,
  EXEC_ADL,
  EXEC_LIQUIDATION,
  FundingPaid,
  FundingSettled,
  INSURANCE_ACCOUNT,
  PositionTransferred,
  Traded,
} from "../../src/core/messages.ts";
import { blank, type Message } from "../../src/core/shape.ts";
import { SymbolActor } from "../../src/core/symbol.ts";
import { Random } from "../../src/sandbox/random.ts";
import { BUY, HOUR_MS, longOf, moveTo, randomStep, Universe } from "./support/universe.ts";

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

for (const seed of [1, 2, 3, Date.now() % 1_000_000]) {
  test(`random accounts, orders, crashes of prices, funding and liquidations: seed ${seed}`, () => {
    const random = new Random(seed, "liquidation");
    const universe = new Universe();
    if (seed % 2 === 0) universe.fund(200_000);
    const accounts = Array.from({ length: 12 }, () => universe.open(500 + Math.floor(random.uniform() * 20_000)));
    const index = [650_000, 320_000];
    const seen = { liquidations: 0, adl: 0, funding: 0, covered: 0 };
    universe.symbols.forEach((symbol, i) => void universe.price(symbol, index[i]));
    for (let step = 0; step < 4000; step++) {
      const events = randomStep(universe, random, accounts, index);
      for (const event of events as unknown as { type: number; execType?: number }[]) {
        if (event.type === Traded.code && event.execType === EXEC_LIQUIDATION) seen.liquidations++;
        if (event.type === PositionTransferred.code && event.execType === EXEC_ADL) seen.adl++;
        if (event.type === PositionTransferred.code && event.execType === EXEC_LIQUIDATION) seen.liquidations++;
        if (event.type === FundingPaid.code) seen.funding++;
        if (event.type === DeficitCovered.code) seen.covered++;
      }
      if (step % 100 === 0) universe.audit();
    }
    // The prices stand still: whoever is below has to be closed, and nobody may stay below zero.
    for (let i = 0; i < 40; i++) {
      universe.symbols.forEach((symbol, which) => void universe.price(symbol, index[which]));
      for (let look = 0; look < 4; look++) universe.tick();
    }
    for (const accountId of accounts) {
      assert.ok(universe.cells.equity(accountId) >= 0, `account ${accountId} is below zero`);
      assert.ok(
        universe.cells.equity(accountId) >= universe.cells.maintenance(accountId),
        `account ${accountId} is below its margin`,
      );
    }
    const reports = universe.audit();
    assert.ok(seen.funding > 0 && seen.liquidations > 0, `the run was too quiet: ${JSON.stringify(seen)}`);

    // The log alone brings back the same state.
    const cells = AccountCells.allocate(2048);
    const twins = universe.symbols.map((symbol) => new SymbolActor(symbol.state.instrument, cells));
    const ledger = new LedgerActor({ faucetCapQuanta: 1e15, withdrawalDelayMs: 0 }, cells);
    const all: Actor[] = [ledger, ...twins];
    for (const { actorId, time, sequence, events } of universe.log) {
      const actor = all.find((each) => each.actorId === actorId) as Actor;
      for (const event of events) actor.apply(event, time);
      actor.settle(sequence, time);
    }
    for (const actor of all) actor.restored();
    const twin = new Universe();
    Object.assign(twin, { cells, symbols: twins, ledger, time: universe.time });
    assert.deepEqual(
      twin.audit().map((report) => report.digest),
      reports.map((report) => report.digest),
    );
    for (const accountId of accounts) assert.equal(cells.equity(accountId), universe.cells.equity(accountId));
  });
}
