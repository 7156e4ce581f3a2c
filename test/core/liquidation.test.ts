import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_INSTRUMENTS } from "../../src/config/instruments.ts";
import { AccountCells } from "../../src/core/cells.ts";
import { compileInstrument } from "../../src/core/instrument.ts";
import { LedgerActor } from "../../src/core/ledger.ts";
import {
  type Actor,
  type ActorAudit,
  Audit,
  AuditReport,
  DeficitCovered,
  Deposit,
  EXEC_ADL,
  EXEC_LIQUIDATION,
  FundingPaid,
  FundingSettled,
  INSURANCE_ACCOUNT,
  MARKET,
  OpenSession,
  PlaceOrder,
  PositionTransferred,
  SetIndexPrice,
  SetLeverage,
  Tick,
  Traded,
  type Turn,
  Withdraw,
} from "../../src/core/messages.ts";
import { blank, type Message } from "../../src/core/shape.ts";
import { SymbolActor } from "../../src/core/symbol.ts";
import { Random } from "../../src/sandbox/random.ts";

const HOUR_MS = 3_600_000;

/** Two symbols and the ledger on one set of cells, as their workers would run them, one turn after the other. */
class Universe {
  readonly cells = AccountCells.allocate(2048);
  readonly symbols = DEFAULT_INSTRUMENTS.slice(0, 2).map(
    (config) => new SymbolActor(compileInstrument(config), this.cells),
  );
  readonly ledger = new LedgerActor({ faucetCapQuanta: 1e15, withdrawalDelayMs: 0 }, this.cells);
  readonly log: { actorId: number; time: number; sequence: number; events: Message[] }[] = [];
  time = 1_700_000_000_000;

  run(actor: Actor, command: Message): Message[] {
    const events: Message[] = [];
    const replies: Message[] = [];
    const turn: Turn = {
      time: this.time,
      emit: (event) => void events.push({ ...event }),
      reply: (reply) => void replies.push({ ...reply }),
    };
    actor.decide(command, turn);
    if (events.length > 0) {
      this.log.push({ actorId: actor.actorId, time: this.time, sequence: this.log.length + 1, events });
      actor.settle(this.log.length, this.time);
    }
    this.cells.flush();
    return [...events, ...replies];
  }

  open(usdc: number): number {
    const opened = this.run(this.ledger, {
      ...blank(OpenSession),
      address: `0x${this.log.length}`,
      tokenHash: `${this.log.length}`,
    } as Message);
    const { accountId } = opened.at(-1) as unknown as { accountId: number };
    this.run(this.ledger, { ...blank(Deposit), accountId, amountQuanta: usdc * 1e6 } as Message);
    return accountId;
  }

  fund(usdc: number): void {
    this.run(this.ledger, { ...blank(Deposit), accountId: INSURANCE_ACCOUNT, amountQuanta: usdc * 1e6 } as Message);
  }

  price(symbol: SymbolActor, indexTicks: number): Message[] {
    return this.run(symbol, { type: SetIndexPrice.code, indexTicks } as Message);
  }

  tick(): Message[] {
    this.time += 250;
    return this.symbols.flatMap((symbol) => this.run(symbol, { type: Tick.code }));
  }

  /** A mark that the last trade cannot hold back: the index, and a last price next to it. */
  order(
    symbol: SymbolActor,
    accountId: number,
    side: number,
    priceTicks: number,
    quantityLots: number,
    orderType = 0,
  ): Message[] {
    return this.run(symbol, { ...blank(PlaceOrder), accountId, side, priceTicks, quantityLots, orderType } as Message);
  }

  audit(): ActorAudit[] {
    return [this.ledger, ...this.symbols].map((actor) => {
      const reply = this.run(actor, { type: Audit.code }).at(-1) as unknown as { type: number; report: ActorAudit };
      assert.equal(reply.type, AuditReport.code);
      assert.deepEqual(reply.report.faults, []);
      return reply.report;
    });
  }

  size(symbol: SymbolActor, accountId: number): number {
    const { positions } = symbol.state;
    return positions.numbers[positions.ensure(accountId) + 1];
  }
}

const BUY = 0;
const SELL = 1;

/** The leverage of BTC 10x: alice long 1 BTC at 65000 against bob, who stays out of trouble. */
function longOf(universe: Universe, lots: number, leverage: number, deposit: number): { alice: number; bob: number } {
  const [btc] = universe.symbols;
  const alice = universe.open(deposit);
  const bob = universe.open(10_000_000);
  universe.price(btc, 650_000);
  universe.run(btc, { ...blank(SetLeverage), accountId: alice, leverage } as Message);
  universe.order(btc, bob, SELL, 650_000, lots);
  universe.order(btc, alice, BUY, 650_000, lots);
  assert.equal(universe.size(btc, alice), lots);
  return { alice, bob };
}

/** The price goes there and stays: a maker trades on it with himself's opposite, so that the last price follows. */
function moveTo(universe: Universe, ticks: number, lastAccounts: [number, number]): void {
  const [btc] = universe.symbols;
  for (let i = 0; i < 3; i++) {
    universe.time += 1000;
    universe.price(btc, ticks);
    universe.order(btc, lastAccounts[0], SELL, ticks, 1);
    universe.order(btc, lastAccounts[1], BUY, ticks, 1);
  }
  universe.price(btc, ticks);
}

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
      const which = random.uniform() < 0.5 ? 0 : 1;
      const symbol = universe.symbols[which];
      const accountId = accounts[Math.floor(random.uniform() * accounts.length)];
      const dice = random.uniform();
      let events: Message[];
      if (dice < 0.55) {
        const mark = symbol.state.markTicks;
        const side = random.uniform() < 0.5 ? BUY : SELL;
        const price = Math.round(mark * (1 + (random.uniform() - 0.5) * 0.02));
        const lots = 1 + Math.floor(random.uniform() * 400);
        events = universe.order(symbol, accountId, side, price, lots, random.uniform() < 0.2 ? MARKET : 0);
      } else if (dice < 0.7) {
        const jump = random.uniform() < 0.05 ? (random.uniform() - 0.5) * 0.3 : (random.uniform() - 0.5) * 0.01;
        index[which] = Math.max(10_000, Math.min(5_000_000, Math.round(index[which] * (1 + jump))));
        universe.time += random.uniform() < 0.05 ? HOUR_MS / 2 : 1000;
        events = universe.price(symbol, index[which]);
      } else if (dice < 0.9) events = universe.tick();
      else if (dice < 0.94) {
        const leverage = 1 + Math.floor(random.uniform() * 100);
        events = universe.run(symbol, { ...blank(SetLeverage), accountId, leverage } as Message);
      } else {
        const amountQuanta = Math.floor(random.uniform() * 2e9) + 1;
        const command =
          random.uniform() < 0.5
            ? { ...blank(Deposit), accountId, amountQuanta }
            : { ...blank(Withdraw), accountId, amountQuanta, address: "0x0" };
        events = universe.run(universe.ledger, command as Message);
      }
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
