import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
import { DEFAULT_INSTRUMENTS } from "../../src/config/instruments.ts";
import { BUY, INSURANCE_ACCOUNT, IOC, LEDGER, MARKET, type Side } from "../../src/core/base/enums.ts";
import type { Quanta } from "../../src/core/base/units.ts";
import { CancelAll, Deposit, Describe, PlaceOrder, SetIndexPrice, Withdraw } from "../../src/core/protocol/commands.ts";
import { Traded } from "../../src/core/protocol/events.ts";
import type { InstrumentConfig } from "../../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../src/core/protocol/message-schema.ts";
import type { SymbolSummary } from "../../src/core/protocol/payloads.ts";
import { SymbolDescription, TransferView } from "../../src/core/protocol/replies.ts";
import { deposit, openAccount, openDemoAccount } from "../../src/sandbox/accounts.ts";
import { STEP_MS } from "../../src/sandbox/bot-account.ts";
import { Sandbox, type SandboxOptions } from "../../src/sandbox/sandbox.ts";
import { hashToken } from "../../src/wire/token.ts";
import { OneThreadEngine } from "./one-thread-engine.ts";

const STEPS_PER_SECOND = 1000 / STEP_MS;
const BTC = 1;
/** Of 500,000 USDC at a time: three times for a maker, a fifth for a taker, and room for a move of the price. */
const POSITION_LIMIT_USDC = 3 * 500_000 * 1.1;
const forever = new AbortController().signal;

afterEach(() => mock.timers.reset());

async function startSandbox(engine: OneThreadEngine, options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setInterval"] });
  const sandbox = new Sandbox(engine, {
    seed: 1,
    bots: true,
    priceSource: "simulated",
    faucetCapQuanta: 1e12,
    minDepositQuanta: 0,
    insuranceSeedQuanta: 0,
    warn: (message) => assert.fail(message),
    ...options,
  });
  await sandbox.start();
  engine.drain();
  return sandbox;
}

function run(engine: OneThreadEngine, seconds: number, each: () => void = () => {}): void {
  for (let step = 0; step < seconds * STEPS_PER_SECOND; step++) {
    engine.time += STEP_MS;
    mock.timers.tick(STEP_MS);
    engine.drain();
    each();
  }
}

function describe(engine: OneThreadEngine, actorId: number): SymbolSummary {
  const [reply] = engine.replies(actorId, { type: Describe.code, from: 0 } as Message);
  assert.equal(reply?.type, SymbolDescription.code);
  return (reply as MessageOf<typeof SymbolDescription>).state;
}

/** Gathers all trades of the run, and every account's position as they leave it. */
function watchTrades(engine: OneThreadEngine): { trades: MessageOf<typeof Traded>[]; positions: Map<number, number> } {
  const trades: MessageOf<typeof Traded>[] = [];
  const positions = new Map<number, number>();
  engine.onReleased((transaction) => {
    for (const message of transaction.messages.slice(0, transaction.eventCount)) {
      if (message.type !== Traded.code) continue;
      const trade = message as MessageOf<typeof Traded>;
      trades.push(trade);
      positions.set(trade.takerAccountId, trade.takerSizeLots);
      positions.set(trade.makerAccountId, trade.makerSizeLots);
    }
  });
  return { trades, positions };
}

function assertTwoSided(engine: OneThreadEngine, least = 8): void {
  for (const { id, symbol } of engine.instruments) {
    const { bids, asks } = describe(engine, id);
    assert.ok(bids.length >= least && asks.length >= least, `${symbol}: ${bids.length} bids, ${asks.length} asks`);
  }
}

/** A narrow spread, and an order of 250,000 USDC moves the price by less than a thousandth. */
function assertDeep(engine: OneThreadEngine): void {
  for (const { id, symbol, quantaPerTickLot } of engine.instruments) {
    const { bids, asks } = describe(engine, id);
    const middle = (bids[0]![0] + asks[0]![0]) / 2;
    assert.ok((asks[0]![0] - bids[0]![0]) / middle < 0.0003, `${symbol}: ${bids[0]![0]} to ${asks[0]![0]}`);
    for (const levels of [bids, asks]) {
      const near = levels.filter(([ticks]) => Math.abs(ticks / middle - 1) < 0.001);
      const quanta = near.reduce((sum, [ticks, lots]) => sum + ticks * lots * quantaPerTickLot, 0);
      assert.ok(quanta > 250_000e6, `${symbol}: ${quanta / 1e6} USDC`);
    }
  }
}

function place(engine: OneThreadEngine, order: { accountId: number; side: Side; quantityLots: number }): Message {
  const command = { ...blank(PlaceOrder), orderType: MARKET, timeInForce: IOC, ...order };
  return engine.replies(BTC, command)[0] as Message;
}

test("within three seconds of the start every book has two sides and trades happen", async () => {
  const engine = new OneThreadEngine();
  const { trades } = watchTrades(engine);
  await startSandbox(engine);
  run(engine, 3);
  assertTwoSided(engine);
  for (const { id, symbol } of engine.instruments)
    assert.ok(trades.filter((trade) => trade.tradeId % 256 === id).length >= 2, symbol);
});

test("the same seed gives the same run, and another seed a different one", async () => {
  const runOf = async (seed: number): Promise<unknown> => {
    const engine = new OneThreadEngine();
    await startSandbox(engine, { seed });
    run(engine, 20);
    return engine.instruments.map(({ id }) => engine.audit(id).digest);
  };
  const first = await runOf(1);
  assert.deepEqual(await runOf(1), first);
  assert.notDeepEqual(await runOf(2), first);
});

test("over half an hour positions stay bounded, without refusals or self-trades, and the books add up", async () => {
  const engine = new OneThreadEngine();
  const { trades, positions } = watchTrades(engine);
  await startSandbox(engine, { seed: 11 });
  const seconds = 1800;
  let steps = 0;
  run(engine, seconds, () => {
    // Once a minute.
    if (++steps % (60 * STEPS_PER_SECOND) === 0) assertDeep(engine);
    for (const [accountId, lots] of positions)
      assert.ok(Math.abs(lots) * 65 < POSITION_LIMIT_USDC, `account ${accountId}: ${lots} lots`);
  });
  assert.deepEqual(engine.refusals, []);
  for (const trade of trades) assert.notEqual(trade.takerAccountId, trade.makerAccountId);
  assert.ok(trades.length > seconds, `${trades.length} trades`);
  assert.ok(engine.asked.length < 100 * seconds, `${engine.asked.length} commands`);
  for (const actorId of [LEDGER, ...engine.instruments.map(({ id }) => id)])
    assert.deepEqual(engine.audit(actorId).faults, []);
  assertTwoSided(engine);
});

test("bots pause while the rings are full", async () => {
  const engine = new OneThreadEngine();
  await startSandbox(engine);
  run(engine, 5);
  engine.full = true;
  const asked = engine.asked.length;
  run(engine, 10);
  assert.equal(engine.asked.length, asked);
  engine.full = false;
  run(engine, 2);
  assertTwoSided(engine);
  assert.deepEqual(engine.refusals, []);
});

test("a maker that lost replies cancels everything and quotes again", async () => {
  const engine = new OneThreadEngine();
  await startSandbox(engine);
  run(engine, 5);
  const cancelAlls = (): number => engine.asked.filter(({ command }) => command.type === CancelAll.code).length;
  const before = cancelAlls();
  engine.deaf = true;
  run(engine, 5);
  engine.deaf = false;
  run(engine, 45);
  assert.ok(cancelAlls() > before);
  for (const { id } of engine.instruments) {
    const { bids, asks, indexTicks } = describe(engine, id);
    assert.ok(bids[0]![0] > indexTicks * 0.9997 && asks[0]![0] < indexTicks * 1.0003, `symbol ${id}: old quotes`);
    // Two makers with eighteen levels each: more would be orders that nobody remembers.
    assert.ok((engine.audit(id).openOrders ?? 0) <= 48, `symbol ${id}`);
  }
});

test("after a restart bots keep positions, money and prices, and their old quotes are canceled", async () => {
  const engine = new OneThreadEngine();
  const { positions } = watchTrades(engine);
  const first = await startSandbox(engine);
  run(engine, 60);
  first.stop();
  const before = { ledger: engine.audit(LEDGER), btc: describe(engine, BTC), positions: new Map(positions) };
  assert.ok(before.positions.size >= 12);
  await startSandbox(engine, { seed: 2 });
  run(engine, 2);
  const after = { ledger: engine.audit(LEDGER), btc: describe(engine, BTC) };
  assert.equal(after.ledger.accounts, before.ledger.accounts);
  assert.equal(after.ledger.depositsMinusWithdrawalsQuanta, before.ledger.depositsMinusWithdrawalsQuanta);
  assert.ok(Math.abs(after.btc.indexTicks / before.btc.indexTicks - 1) < 0.002);
  for (const { id } of engine.instruments) assert.ok((engine.audit(id).openOrders ?? 0) <= 48, `symbol ${id}`);
  const cancels = engine.asked.filter(({ command }) => command.type === CancelAll.code);
  assert.equal(cancels.length, 2 * 2 * engine.instruments.length);
});

test("after stop() nothing is sent", async () => {
  const engine = new OneThreadEngine();
  const sandbox = await startSandbox(engine);
  run(engine, 2);
  sandbox.stop();
  const asked = engine.asked.length;
  run(engine, 5);
  assert.equal(engine.asked.length, asked);
});

test("stop() during the start rejects it, and nothing is sent", async () => {
  const engine = new OneThreadEngine();
  engine.full = true;
  const sandbox = new Sandbox(engine, {
    seed: 1,
    bots: true,
    priceSource: "simulated",
    faucetCapQuanta: 1e12,
    minDepositQuanta: 0,
    insuranceSeedQuanta: 0,
    warn: assert.fail,
  });
  const started = sandbox.start();
  sandbox.stop();
  await assert.rejects(started, /stopped/);
  assert.equal(engine.asked.length, 0);
});

test("without bots prices move and nothing trades", async () => {
  const engine = new OneThreadEngine();
  const { trades } = watchTrades(engine);
  await startSandbox(engine, { bots: false });
  const first = describe(engine, BTC).indexTicks;
  run(engine, 10);
  assert.notEqual(describe(engine, BTC).indexTicks, first);
  assert.equal(trades.length, 0);
  assert.equal(engine.audit(LEDGER).accounts, 0);
});

test("with operator prices the bots wait for the first price, then quote around it", async () => {
  const engine = new OneThreadEngine();
  await startSandbox(engine, { priceSource: "operator" });
  run(engine, 5);
  assert.equal(describe(engine, BTC).bids.length, 0);
  engine.replies(BTC, { type: SetIndexPrice.code, indexTicks: 500_000 } as Message);
  run(engine, 2);
  const { bids, asks, indexTicks } = describe(engine, BTC);
  assert.equal(indexTicks, 500_000);
  assert.ok(bids[0]![0] > 499_000 && asks[0]![0] < 501_000);
  assert.equal(describe(engine, 2).bids.length, 0);
});

test("against a one-sided buyer the makers skew their quotes up to their limit without refusals", async () => {
  const engine = new OneThreadEngine();
  const { positions } = watchTrades(engine);
  await startSandbox(engine);
  const { accountId } = await openAccount(engine, "whale", engine.time + 1e6, forever);
  assert.equal(await deposit(engine, accountId, 1e12, "r", forever), null);
  run(engine, 600, () => {
    place(engine, { accountId, side: BUY, quantityLots: 2000 });
    for (const [other, lots] of positions)
      if (other !== accountId) assert.ok(Math.abs(lots) * 65 < POSITION_LIMIT_USDC, `account ${other}: ${lots} lots`);
  });
  assert.ok((positions.get(accountId) ?? 0) * 65 > 1_000_000, `the customer holds ${positions.get(accountId)} lots`);
  const own = new Set(engine.refusals);
  // The customer's own refusals, when the book or its margin is at its end.
  own.delete("INSUFFICIENT_MARGIN");
  own.delete("POSITION_LIMIT");
  assert.deepEqual([...own], []);
  assert.ok(describe(engine, BTC).bids.length >= 8);
});

test("a customer's order inside the makers' quotes makes them wait, not resend at once", async () => {
  const engine = new OneThreadEngine();
  await startSandbox(engine, { priceSource: "operator" });
  engine.replies(BTC, { type: SetIndexPrice.code, indexTicks: 650_000 } as Message);
  const { accountId } = await openAccount(engine, "customer", engine.time + 1e6, forever);
  await deposit(engine, accountId, 1e12, "r", forever);
  const order = { ...blank(PlaceOrder), accountId, side: BUY, priceTicks: 655_000, quantityLots: 50_000 };
  engine.replies(BTC, order);
  const asked = engine.asked.length;
  run(engine, 30);
  assert.ok(describe(engine, BTC).bids[0]![0] === 655_000);
  // At most the eighteen asks of two makers every two seconds, and what the takers do.
  assert.ok(engine.asked.length - asked < 30 * 20, `${engine.asked.length - asked} commands`);
});

test("bots below half of their budget are topped up once a day", async () => {
  const engine = new OneThreadEngine();
  await startSandbox(engine, { priceSource: "operator" });
  engine.replies(BTC, { type: SetIndexPrice.code, indexTicks: 650_000 } as Message);
  const first = engine.asked.find(({ command }) => command.type === Deposit.code)?.command as MessageOf<typeof Deposit>;
  const { accountId } = first;
  const drain = (usdc: number): void => {
    const order = { ...blank(Withdraw), accountId, amountQuanta: usdc * 1e6, address: "0x0" };
    assert.equal(engine.replies(LEDGER, order)[0]?.type, TransferView.code);
    run(engine, 61);
  };
  const assertEquity = (usdc: number): void => {
    const equity = engine.marginTable.equity(accountId) / 1e6;
    assert.ok(Math.abs(equity - usdc) < 2000, `${equity} instead of ${usdc}`);
  };
  assertEquity(500_000);
  drain(200_000);
  assertEquity(300_000);
  drain(100_000);
  assertEquity(700_000);
  drain(500_000);
  assertEquity(200_000);
  engine.time += 86_400_000;
  run(engine, 61);
  assertEquity(700_000);
});

test("a small faucet cap gives bots small budgets", async () => {
  const engine = new OneThreadEngine(undefined, 20_000e6);
  await startSandbox(engine, { faucetCapQuanta: 20_000e6 });
  run(engine, 10);
  assertTwoSided(engine, 2);
  assert.deepEqual(engine.refusals, []);
});

test("bots deposit at least the smallest deposit", async () => {
  const limits = { faucetCapQuanta: 20_000e6, minDepositQuanta: 15_000e6 };
  const engine = new OneThreadEngine(undefined, limits.faucetCapQuanta, limits.minDepositQuanta);
  await startSandbox(engine, limits);
  run(engine, 10);
  assertTwoSided(engine, 2);
  assert.deepEqual(engine.refusals, []);
});

test("the market works with a small faucet and with tight limits on positions and orders", async () => {
  const [btc] = DEFAULT_INSTRUMENTS as [InstrumentConfig];
  const riskTiers = [{ maxNotional: "5000", maxLeverage: 20, maintenanceMarginRate: "0.01" }];
  const configs: [Partial<InstrumentConfig>, faucetCapQuanta: Quanta][] = [
    [{}, 1000e6],
    [{ riskTiers }, 1e12],
    [{ minNotional: "50000" }, 1e12],
    [{ maxOpenOrders: 4 }, 1e12],
    [{ tickSize: "100", stepSize: "1", minQuantity: "1" }, 1e12],
  ];
  for (const [changes, faucetCapQuanta] of configs) {
    const engine = new OneThreadEngine([{ ...btc, ...changes }], faucetCapQuanta);
    const { trades } = watchTrades(engine);
    await startSandbox(engine, { faucetCapQuanta });
    run(engine, 30);
    assertTwoSided(engine, 2);
    assert.ok(trades.length > 10, `${trades.length} trades with ${JSON.stringify(changes)}`);
    assert.deepEqual(engine.refusals, [], JSON.stringify(changes));
  }
});

test("a faucet without money gives a warning and nothing else", async () => {
  const engine = new OneThreadEngine(undefined, 0);
  const warnings: string[] = [];
  await startSandbox(engine, { faucetCapQuanta: 1e12, warn: (message) => warnings.push(message) });
  run(engine, 5);
  assert.equal(warnings.length, 12);
  assert.match(warnings[0] ?? "", /DEPOSIT_CAP/);
});

test("the insurance fund is seeded once", async () => {
  const engine = new OneThreadEngine();
  (await startSandbox(engine, { bots: false, insuranceSeedQuanta: 7e6 })).stop();
  assert.equal(engine.marginTable.equity(INSURANCE_ACCOUNT), 7e6);
  await startSandbox(engine, { bots: false, insuranceSeedQuanta: 9e6 });
  assert.equal(engine.marginTable.equity(INSURANCE_ACCOUNT), 7e6);
  assert.deepEqual(engine.audit(LEDGER).faults, []);
});

test("the demo account is the same every time, funded once, and every token of it works", async () => {
  const engine = new OneThreadEngine();
  const options = { expiresAt: engine.time + 1000, faucetCapQuanta: 1e12 };
  const first = await openDemoAccount(engine, options);
  const second = await openDemoAccount(engine, options);
  assert.equal(first.accountId, second.accountId);
  assert.equal(first.address, second.address);
  assert.match(first.address, /^0x[0-9a-fA-F]{40}$/);
  assert.notEqual(first.token, second.token);
  assert.match(first.token, /^[A-Za-z0-9_-]{43}$/);
  assert.equal(engine.marginTable.equity(first.accountId), 100_000e6);
  const hashes = engine.asked.flatMap(({ command }) => ("tokenHash" in command ? [command.tokenHash] : []));
  assert.deepEqual(hashes, [hashToken(first.token), hashToken(second.token)]);
});

test("a changed faucet cap affects neither the demo account nor the bots", async () => {
  const engine = new OneThreadEngine();
  await openDemoAccount(engine, { expiresAt: engine.time + 1000, faucetCapQuanta: 1e12 });
  (await startSandbox(engine)).stop();
  const { accountId } = await openDemoAccount(engine, { expiresAt: engine.time + 1000, faucetCapQuanta: 5e6 });
  assert.equal(engine.marginTable.equity(accountId), 100_000e6);
  await startSandbox(engine, { faucetCapQuanta: 5e6 });
});

test("a small faucet cap limits the demo account's deposit", async () => {
  const engine = new OneThreadEngine(undefined, 5e6);
  const { accountId } = await openDemoAccount(engine, { expiresAt: engine.time + 1000, faucetCapQuanta: 5e6 });
  assert.equal(engine.marginTable.equity(accountId), 5e6);
});
