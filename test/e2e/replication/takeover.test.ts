import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Audit, FundingPayment, Order, Page, Transfer } from "../../../src/client/types.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { KeyHolder, openKey } from "../support/keys.ts";
import { ServerClock } from "../support/mains/server-clock.ts";
import { Random } from "../support/random.ts";
import { removeFolder, TestServer } from "../support/server.ts";
import { Operator, Trader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";
import { seed } from "./commands.ts";
import { NATS_SERVER, Nats } from "./nats-server.ts";
import { openPatient, patient } from "./patient.ts";

/**
 * Two machines whose clocks differ by an hour. A leader dies with everything under way that time moves: the standby, whose
 * clock is behind, must go on with it. The tests build on each other.
 */

const options = {
  skip: NATS_SERVER === null && "no nats-server 2.10 or later is installed: take-overs were not tested",
};

const SYMBOLS = ["BTC-PERP", "ETH-PERP"];
const INDEX = [65_000, 3_500];
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const TRAFFIC = 400;

const folder = mkdtempSync(join(tmpdir(), "perpd-takeover-"));
const at = (name: string): string => join(folder, name);
const random = new Random(takeSeed("takeover.test"));

let nats: Nats;
let first: Machine;
let second: Machine;
let traders: Trader[] = [];
let key: KeyHolder;
let revoked: KeyHolder;

/** A machine with a clock of its own. */
class Machine {
  readonly server: TestServer;
  readonly clock: ServerClock;

  constructor(name: string, command: "start" | "standby", aheadMs: number) {
    this.clock = new ServerClock(aheadMs);
    this.server = new TestServer({
      ...{ command, dataFolder: at(name), quiet: false },
      flags: ["--no-bots", "--price-source", "operator", "--rate-limit", "off", "--workers", "2"],
      environment: {
        ...this.clock.environment,
        ...{ PERPD_REPLICATE: nats.url, PERPD_REPLICATE_MONITORS: nats.monitor, PERPD_SERVE_READS: "on" },
        PERPD_WITHDRAWAL_DELAY_MS: String(MINUTE_MS),
      },
    });
  }
}

const operatorAt = (url: string): Operator => patient(new Operator({ url }));

/** The same account, at the other machine. */
const moved = ({ token, accountId, address, privateKey }: Trader, { server }: Machine): Trader =>
  patient(new Trader(server.url, token as string, accountId, address, privateKey));

/** All state. */
async function stateOf(url: string): Promise<string> {
  const { symbols, ledgerDigest, money, faults } = await operatorAt(url).audit();
  return JSON.stringify({ symbols, ledgerDigest, money, faults });
}

async function inStep(url: string, other: string): Promise<void> {
  let states: string[] = [];
  await until("equal states", async () => {
    states = await Promise.all([url, other].map(stateOf));
    return states[0] === states[1];
  }).catch(() => assert.equal(states[1], states[0]));
}

/** Stops, liquidations and funding go on for a moment after the last request. */
async function rest(url: string): Promise<string> {
  for (let before = ""; ; ) {
    const now = await stateOf(url);
    if (now === before) return now;
    before = now;
    await pause(300);
  }
}

before(async () => {
  if (NATS_SERVER === null) return;
  nats = new Nats();
  await nats.start();
  // In the middle of an hour, so that no funding interval ends but where a test says so.
  const middle = HOUR_MS / 2 + HOUR_MS - (Date.now() % HOUR_MS);
  first = new Machine("first", "start", middle + 2 * HOUR_MS);
  await first.server.start();
  const operator = operatorAt(first.server.url);
  for (const [i, symbol] of SYMBOLS.entries()) await operator.setIndex(symbol, String(INDEX[i]));
  traders = [];
  for (let i = 0; i < 6; i++) traders.push(await openPatient(first.server, i < 2 ? "1000000" : "2000"));
  await seed(first.server.dataFolder, at("backup"), at("second"));
  second = new Machine("second", "standby", middle + HOUR_MS);
});
after(async () => {
  await first?.server.dispose();
  await second?.server.dispose();
  await nats?.dispose();
  await removeFolder(folder);
});

/** Small accounts take positions of twenty times their money. */
async function leverage(): Promise<void> {
  const [maker, ...others] = [traders[0], ...traders.slice(2)] as [Trader, ...Trader[]];
  for (const [i, trader] of others.entries()) {
    await trader.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 25 });
    const side = i % 2 === 0 ? "buy" : "sell";
    await maker[side === "buy" ? "sell" : "buy"]("0.5", "65000");
    await trader[side]("0.5", "65000");
  }
}

/** Anything that an account or an operator may do. Most of it is refused at times, which is well. */
async function act(operator: Operator): Promise<void> {
  const trader = random.pick(traders);
  const which = random.between(0, 1);
  const [symbol, index] = [SYMBOLS[which] as string, INDEX[which] as number];
  const side = random.pick(["BUY", "SELL"]);
  const price = (share: number): string => String(Math.round(index * (1 + share)));
  // Small accounts take positions of about ten times their money.
  const quantity = which === 0 ? `0.${random.between(1, 4)}` : String(random.between(1, 6));
  const near = price((random.next() - 0.5) * 0.01);
  const send = (method: string, path: string, body?: object) => trader.request(method, path, body);
  const dice = random.next();
  if (dice < 0.35) await send("POST", "/orders", { symbol, side, type: "LIMIT", price: near, quantity });
  else if (dice < 0.5) await send("POST", "/orders", { symbol, side, type: "MARKET", quantity });
  else if (dice < 0.6) {
    const triggerPrice = price((random.next() - 0.5) * 0.08);
    await send("POST", "/orders", { symbol, side, type: "STOP_MARKET", triggerPrice, quantity, reduceOnly: true });
  } else if (dice < 0.65) {
    const callbackRate = "0.01";
    await send("POST", "/orders", { symbol, side, type: "TRAILING_STOP_MARKET", callbackRate, quantity });
  } else if (dice < 0.7) await send("DELETE", `/orders?symbol=${symbol}`);
  else if (dice < 0.72) await send("POST", `/positions/${symbol}/leverage`, { leverage: random.pick([5, 10, 20]) });
  else if (dice < 0.74) await send("POST", `/positions/${symbol}/margin-mode`, { mode: "ISOLATED" });
  else if (dice < 0.76) await send("POST", `/positions/${symbol}/margin`, { amount: "10" });
  else if (dice < 0.79) {
    const reference = `r${random.between(1, 9)}`;
    await send("POST", "/account/withdraw", { asset: "USDC", amount: "5", address: trader.address, reference });
  } else if (dice < 0.82) await send("POST", "/account/deposit", { asset: "USDC", amount: "7" });
  else if (dice < 0.84) await send("POST", "/orders/cancel-after", { timeoutMs: random.pick([0, 1000, 5000]) });
  else if (dice < 0.86) {
    const keys = await trader.request<{ apiKey?: string }>("POST", "/auth/keys", { label: "k", permissions: ["READ"] });
    if (keys.body.apiKey !== undefined && random.next() < 0.5) await send("DELETE", `/auth/keys/${keys.body.apiKey}`);
  } else if (dice < 0.87) {
    await operator.request("POST", `/operator/symbols/${symbol}/halt`, { mode: "REDUCE_ONLY" });
    await operator.request("POST", `/operator/symbols/${symbol}/resume`);
  } else {
    // Steps that make small accounts liquidatable.
    INDEX[which] = index * (1 + (random.next() - 0.5) * 0.05);
    await operator.setIndex(symbol, (INDEX[which] as number).toFixed(which === 0 ? 0 : 1));
  }
}

test("a standby has the leader's state after random traffic, and while it goes on", options, async (t) => {
  const { server } = first;
  const operator = operatorAt(server.url);
  await leverage();
  for (let i = 0; i < TRAFFIC / 4; i++) await act(operator);
  const leads = second.server.start();
  leads.catch(() => {});
  await second.server.logs(/this process follows a leader/);
  const standby = await until("the standby's address", async () => {
    const { standbys } = await operator.get<{ standbys: { url: string }[] }>("/replication");
    return standbys[0] !== undefined && `${standbys[0].url}/v1`;
  });
  await server.logs(/"aheadMs":-3[56]\d{5},.*the clock of a standby differs/);
  for (let i = 0; i < TRAFFIC; i++) await act(operator);
  // An interval of funding ends.
  first.clock.pass(HOUR_MS / 2 + MINUTE_MS);
  const liquidations = async (): Promise<number> => {
    const pages = SYMBOLS.map((symbol) => operator.get<Page<object>>(`/market/liquidations?symbol=${symbol}`));
    return (await Promise.all(pages)).reduce((sum, { data }) => sum + data.length, 0);
  };
  // How much of it liquidates somebody depends on the machine's speed, too.
  for (let i = 0; i < TRAFFIC / 4 || (i < 10 * TRAFFIC && (await liquidations()) === 0); i++) await act(operator);
  await rest(server.url);
  await inStep(server.url, standby);
  const { symbols } = await operator.get<Audit>("/operator/audit");
  const funding = (await traders[0]?.get<Page<FundingPayment>>("/account/funding"))?.data.length ?? 0;
  const count = await liquidations();
  t.diagnostic(`${count} liquidations, ${funding} funding payments, ${JSON.stringify(symbols).length} bytes of audit`);
  assert.ok(count > 0 && funding > 0, `${count} ${funding}`);
});

let waiting: { expiring: Order; switched: Order; kept: Order; lastTime: number; withdrawn: string };

test("a standby whose clock is an hour behind takes over, and time goes on from the leader's", options, async () => {
  const operator = operatorAt(first.server.url);
  for (const trader of traders) await trader.cancelAll();
  for (const [i, symbol] of SYMBOLS.entries()) {
    await operator.request("POST", `/operator/symbols/${symbol}/resume`);
    await operator.setIndex(symbol, String([65_000, 3_500][i]));
  }
  const [alice, bob, carol] = (await Promise.all([1, 2, 3].map(() => openPatient(first.server, "5000")))) as [
    Trader,
    Trader,
    Trader,
  ];
  traders = [alice, bob, carol];
  key = await openKey(first.server, alice, ["READ", "TRADE"]);
  revoked = await openKey(first.server, alice, ["READ"]);
  await alice.call(200, "DELETE", `/auth/keys/${revoked.key.apiKey}`);
  const goodTillDate = first.clock.time + 2 * MINUTE_MS;
  const expiring = await alice.buy("0.001", "60000", { timeInForce: "GTD", goodTillDate, clientOrderId: "expiring" });
  const kept = await alice.buy("0.001", "60001", { clientOrderId: "kept" });
  const switched = await bob.buy("0.001", "60002");
  await bob.call(200, "POST", "/orders/cancel-after", { timeoutMs: 90_000 });
  const body = { asset: "USDC", amount: "40", address: carol.address, reference: "out" };
  const { transferId } = await carol.call<Transfer>(201, "POST", "/account/withdraw", body);
  await carol.deposit("3", "in");
  await operator.call(200, "POST", "/operator/symbols/ETH-PERP/halt", { mode: "HALTED" });
  const { updatedAt: lastTime } = await alice.order(kept.orderId);
  waiting = { expiring, switched, kept, lastTime, withdrawn: transferId };
  const before = await rest(first.server.url);
  const leads = until("the standby to lead", () => second.server.url !== "");
  await first.server.kill();
  await leads;
  // As after any start the last mark is settled again, which may close positions of accounts that it made bankrupt.
  const figuresOf = (state: string): object => {
    const { money, faults, symbols } = JSON.parse(state) as Audit;
    return { money, faults, open: symbols.map(({ symbol, openOrders, size }) => [symbol, openOrders, size]) };
  };
  assert.deepEqual(figuresOf(await stateOf(second.server.url)), figuresOf(before));
  traders = traders.map((trader) => moved(trader, second));
  const [a, b, c] = traders as [Trader, Trader, Trader];
  assert.ok(second.clock.time < lastTime);
  // Nothing is repeated, and nothing that was refused before is allowed now.
  const again = await a.request<Order>("POST", "/orders", {
    ...{ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60001", quantity: "0.001", clientOrderId: "kept" },
  });
  assert.deepEqual([again.status, again.body.orderId], [200, kept.orderId]);
  assert.equal((await c.call<Transfer>(200, "POST", "/account/withdraw", body)).transferId, transferId);
  const deposit = { asset: "USDC", amount: "3", reference: "in" };
  assert.equal((await c.call<Transfer>(200, "POST", "/account/deposit", deposit)).duplicate, true);
  await c.refused("REFERENCE_REUSED", "POST", "/account/deposit", { ...deposit, amount: "4" });
  await a.refused("SYMBOL_HALTED", "POST", "/orders", {
    ...{ symbol: "ETH-PERP", side: "BUY", type: "LIMIT", price: "3000", quantity: "0.1" },
  });
  for (const { orderId, status } of [
    await a.order(expiring.orderId),
    await a.order(kept.orderId),
    await b.order(switched.orderId),
  ])
    assert.equal(status, "NEW", orderId);
  const { updatedAt } = await a.buy("0.001", "59000");
  assert.ok(updatedAt >= lastTime, `${updatedAt} ${lastTime}`);
  const skew = (holder: KeyHolder): KeyHolder => new SkewedKey(second, holder);
  assert.equal((await skew(key).get<Page<Order>>("/orders")).data.length, 3);
  await skew(revoked).refused("INVALID_KEY_OR_SIGNATURE", "GET", "/orders");
});

/** Its timestamps are those of the machine that it asks. */
class SkewedKey extends KeyHolder {
  constructor(machine: Machine, { key: known }: KeyHolder) {
    super(machine.server.url, known);
    Object.assign(this, { last: machine.clock.time });
    patient(this);
  }
}

test("what time moves happens once at the new leader, when its clock gets there", options, async () => {
  const [a, b, c] = traders as [Trader, Trader, Trader];
  const { expiring, switched, kept, withdrawn } = waiting;
  const operator = operatorAt(second.server.url);
  const fundingOf = async (trader: Trader) => (await trader.get<Page<FundingPayment>>("/account/funding")).data;
  await a.market("BUY", "0.01").catch(() => {});
  await b.sell("0.01", "65000");
  await a.buy("0.01", "65000");
  const before = (await fundingOf(a)).length;
  // To the time of the leader before, and three minutes beyond it.
  second.clock.pass(HOUR_MS + 3 * MINUTE_MS + Math.max(0, waiting.lastTime - second.clock.time - HOUR_MS));
  const statusOf = async (trader: Trader, { orderId }: Order) => {
    const { status, reason } = await trader.order(orderId);
    return [status, reason].join(" ");
  };
  await until("the order to expire", async () => (await statusOf(a, expiring)).startsWith("EXPIRED"));
  await until("the switch", async () => (await statusOf(b, switched)) === "CANCELED CANCEL_AFTER");
  assert.match(await statusOf(a, kept), /^NEW/);
  await until("the withdrawal", async () => {
    const { data } = await c.get<Page<Transfer>>("/account/withdrawals");
    assert.deepEqual(
      data.map(({ transferId }) => transferId),
      [withdrawn],
    );
    second.clock.pass(MINUTE_MS / 10);
    return data[0]?.status === "COMPLETED";
  });
  assert.equal((await c.balance()).equity, "4963");
  // The end of the next hour, by the clock that is behind.
  second.clock.pass(HOUR_MS - (second.clock.time % HOUR_MS) + MINUTE_MS);
  await operator.setIndex("BTC-PERP", "65000");
  await until("funding", async () => (await fundingOf(a)).length > before);
  await pause(500);
  const times = (await fundingOf(a)).map(({ fundingTime }) => fundingTime);
  assert.equal(new Set(times).size, times.length);
  await operator.soundAudit();
});
