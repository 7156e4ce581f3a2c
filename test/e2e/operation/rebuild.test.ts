import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ErrorBody } from "../../../src/client/error.ts";
import type { Health, NewOrder, Order, PlacedOrder } from "../../../src/client/types.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { Api } from "../support/api.ts";
import { assertUnchanged } from "../support/funding.ts";
import { Random } from "../support/random.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";

const seed = takeSeed("rebuild.test");
/** A symbol to a worker, but SOL-PERP, which shares one with the ledger. */
const WORKERS = 3;
const SYMBOLS = ["BTC-PERP", "ETH-PERP", "SOL-PERP"] as const;
type Market = (typeof SYMBOLS)[number];
const PRICE = { "BTC-PERP": 65_000, "ETH-PERP": 3000, "SOL-PERP": 150 };

type Placed = { order: NewOrder; status: number; body: PlacedOrder & ErrorBody };

async function start(t: TestContext, workers = WORKERS, environment: Record<string, string> = {}): Promise<TestServer> {
  const server = await startServer({
    program: "faulty-main",
    flags: ["--workers", String(workers)],
    environment: { PERPD_SNAPSHOT_INTERVAL_MS: "100", ...environment },
  });
  t.after(() => server.dispose());
  for (const symbol of SYMBOLS) await new Operator(server).setIndex(symbol, String(PRICE[symbol]));
  return server;
}

const rebuilds = async (server: TestServer): Promise<number> =>
  (await new Api(server.url).get<{ rebuilds: number }>("/health")).rebuilds;

const comesBack = (server: TestServer, count: number): Promise<true> =>
  until(`${count} rebuilds`, async () => (await rebuilds(server)) === count || undefined);

const again = (server: TestServer, trader: Trader): Trader =>
  new Trader(server.url, trader.token ?? "", trader.accountId, trader.address, trader.privateKey);

/** All that must be the same when the process has recovered from the log alone. */
async function lookAt(server: TestServer, traders: readonly Trader[]) {
  const accounts = await Promise.all(
    traders.map(async (trader) => {
      const { updatedAt: _, sequence: __, ...balance } = await trader.balance();
      return { balance, open: await trader.openOrders(), positions: await trader.get("/positions") };
    }),
  );
  const books = await Promise.all(
    SYMBOLS.map(async (symbol) => {
      const path = `/market/orderbook?symbol=${symbol}&depth=1000`;
      const { bids, asks } = await new Api(server.url).get<{ bids: unknown; asks: unknown }>(path);
      return { bids, asks };
    }),
  );
  const { symbols, money } = await new Operator(server).soundAudit();
  return { accounts, books, symbols, money };
}

/** Orders of one account in one symbol into `placed`, one after the other, until it is told to stop; some trade. */
async function trade(trader: Trader, symbol: Market, random: Random, placed: Placed[], goesOn: () => boolean) {
  for (let i = 0; goesOn(); i++) {
    const order: NewOrder = {
      symbol,
      side: random.pick(["BUY", "SELL"]),
      type: "LIMIT",
      price: String(Math.round(PRICE[symbol] * (1 + random.between(-20, 20) / 1000))),
      quantity: String(random.between(1, 5) / 10),
      clientOrderId: `${symbol}-${i}`,
    };
    const { status, body } = await trader.request<PlacedOrder & ErrorBody>("POST", "/orders", order);
    placed.push({ order, status, body });
    if (status === 503) await pause(20);
    if (random.next() < 0.4 && status === 201) await trader.request("DELETE", `/orders/${body.orderId}`);
  }
}

test("an actor thread that throws is rebuilt without affecting others, and every reply holds, also after kill -9", async (t) => {
  const server = await start(t);
  const random = new Random(seed);
  const traders = await Promise.all(Array.from({ length: 4 }, () => openTrader(server, "1000000")));
  const bomber = await openTrader(server, "1000000");
  let isLoaded = true;
  const loads = traders.flatMap((trader) =>
    SYMBOLS.map((symbol) => {
      const placed: Placed[] = [];
      const done = trade(trader, symbol, random, placed, () => isLoaded);
      // Of no interest when the test has failed for another reason.
      done.catch(() => {});
      return { trader, symbol, placed, done };
    }),
  );
  const taken = (): number => loads.flatMap(({ placed }) => placed).filter(({ status }) => status === 201).length;
  t.after(() => {
    isLoaded = false;
  });
  // A turn of an order has an event and a reply at least.
  const faults = ["0", "1", "settle", "1"];
  for (const [i, fault] of faults.entries()) {
    const before = taken();
    await until("orders in between", () => taken() > before + 50);
    const order: NewOrder = {
      symbol: "BTC-PERP",
      side: "BUY",
      type: "LIMIT",
      price: String(60_000 + random.between(0, 8000)),
      quantity: "1",
      clientOrderId: `throw-${fault}-${i}`,
    };
    const { status, body } = await bomber.request<PlacedOrder & ErrorBody>("POST", "/orders", order);
    if (fault === "settle") assert.equal(status, 201, "what has its place in the log has happened");
    else assert.deepEqual([status, body.code, body.retryable], [503, "UNAVAILABLE", true]);
    await comesBack(server, i + 1);
    const kept = await bomber.request<Order>("GET", `/orders/client:throw-${fault}-${i}`);
    assert.equal(kept.status, fault === "settle" ? 200 : 404);
  }
  // Under load for a while longer, in every symbol.
  const before = taken();
  await until("orders behind the last rebuild", () => taken() > before + 50);
  isLoaded = false;
  await Promise.all(loads.map(({ done }) => done));
  for (const { trader, symbol, placed } of loads) {
    for (const { order, status, body } of placed) {
      const isDown = symbol === "BTC-PERP" && status === 503 && body.code === "UNAVAILABLE";
      assert.ok(status === 201 || status === 422 || isDown, `${symbol}: ${status} ${JSON.stringify(body)}`);
      const kept = await trader.request<Order>("GET", `/orders/client:${order.clientOrderId}`);
      assert.equal(kept.status, status === 201 ? 200 : 404, `${order.clientOrderId}: ${status}, but ${kept.text}`);
      if (status === 201) assert.equal(kept.body.orderId, body.orderId);
    }
    t.diagnostic(`${symbol}: ${placed.length} orders, ${placed.filter(({ status }) => status === 503).length} refused`);
  }
  const everyone = [...traders, bomber];
  const since = Date.now();
  const seen = await lookAt(server, everyone);
  assert.equal(await rebuilds(server), faults.length);
  await server.kill();
  await server.start();
  const after = await lookAt(
    server,
    everyone.map((trader) => again(server, trader)),
  );
  assertUnchanged(since, after, seen);
});

test("the ledger's thread is rebuilt, and so are threads that ran out of memory or exited", async (t) => {
  const server = await start(t, WORKERS, { NODE_OPTIONS: "--max-old-space-size=160" });
  const alice = await openTrader(server, "1000");
  await alice.buy("0.01", "64000");
  const gift = { asset: "USDC", amount: "5", reference: "throw-1" };
  await alice.refused("UNAVAILABLE", "POST", "/account/deposit", gift);
  await comesBack(server, 1);
  const order = { symbol: "ETH-PERP", side: "BUY", type: "LIMIT", price: "2900", quantity: "0.1" };
  await alice.refused("UNAVAILABLE", "POST", "/orders", { ...order, clientOrderId: "throw-exit" });
  await comesBack(server, 2);
  // To fill the memory may take a slow machine longer than an answer may take.
  const full = await alice.request<ErrorBody>("POST", "/orders", { ...order, clientOrderId: "throw-memory" });
  assert.deepEqual([full.status, full.body.retryable], [503, true]);
  await comesBack(server, 3);
  await server.logs(/reaching memory limit/);
  await alice.deposit("5");
  const { orderId } = await alice.place({ ...order, type: "LIMIT", side: "BUY" });
  assert.equal((await alice.balance()).equity, "1005");
  await alice.cancel(orderId);
  const since = Date.now();
  const before = await lookAt(server, [alice]);
  // A stop in the middle of a rebuild is a stop like any other.
  await alice.refused("UNAVAILABLE", "POST", "/orders", { ...order, clientOrderId: "throw-0" });
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  await server.start();
  assertUnchanged(since, await lookAt(server, [again(server, alice)]), before);
});

test("a hanging thread is ended and rebuilt, and the others continue", async (t) => {
  const server = await start(t, WORKERS, { WATCH_EVERY_MS: "300" });
  const alice = await openTrader(server, "1000");
  const kept = await alice.buy("0.01", "64000");
  const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.01" } as const;
  const hung = alice.request<ErrorBody>("POST", "/orders", { ...order, clientOrderId: "throw-hang" });
  let answered = false;
  const answer = hung.finally(() => {
    answered = true;
  });
  let orders = 0;
  const problems = new Set<string>();
  while (!answered) {
    const { status, body } = await alice.request<ErrorBody>("GET", "/health/ready");
    if (status === 503) problems.add(String(body.details?.reasons));
    const { orderId } = await alice.place({ ...order, symbol: "ETH-PERP", price: "2900" });
    await alice.cancel(orderId);
    orders++;
  }
  const { status, body } = await answer;
  assert.deepEqual([status, body.retryable], [503, true]);
  assert.ok(orders > 0);
  assert.ok(problems.has("The thread of BTC-PERP takes no commands."), [...problems].join());
  await comesBack(server, 1);
  await server.logs(/it hangs/);
  assert.equal((await alice.order(kept.orderId)).status, "NEW");
  assert.equal((await alice.request("GET", "/orders/client:throw-hang")).status, 404);
  await alice.place({ ...order, clientOrderId: "after" });
  await new Operator(server).soundAudit();
});

const FAULTY = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.1" } as const;

test("health names a dead thread until it is rebuilt", async (t) => {
  const server = await start(t, WORKERS, { RECOVER_AFTER_MS: "5000" });
  const alice = await openTrader(server, "100000");
  await alice.get("/health/ready");
  await alice.refused("UNAVAILABLE", "POST", "/orders", { ...FAULTY, clientOrderId: "throw-0" });
  const { details } = await alice.refused("NOT_READY", "GET", "/health/ready");
  assert.deepEqual(details, {
    codes: ["REBUILDING"],
    reasons: ["The thread of BTC-PERP has died. It is rebuilt from the log."],
  });
  const { status, problems } = await alice.get<Health>("/health");
  assert.deepEqual([status, problems.map(({ concerns }) => concerns)], ["REBUILDING", ["BTC-PERP"]]);
  const { text } = await new Operator(server).request("GET", "/metrics");
  for (const line of [
    /^perpd_ready 0$/m,
    /^perpd_actor_up\{actor="BTC-PERP"\} 0$/m,
    /^perpd_actor_up\{actor="ledger"\} 1$/m,
  ])
    assert.match(text, line);
  await alice.get("/health/live");
  await until("the rebuild", async () => (await alice.request("GET", "/health/ready")).status === 200);
  assert.deepEqual([(await alice.get<Health>("/health")).status, await rebuilds(server)], ["OK", 1]);
});

test("a stop during a rebuild runs cancel-on-disconnect", async (t) => {
  const server = await start(t, WORKERS);
  const alice = await openTrader(server, "100000");
  const socket = await SocketClient.open(server.wsUrl);
  t.after(() => socket.close());
  await socket.request("auth", { token: alice.token, cancelOnDisconnect: true });
  const placed: string[] = [];
  for (const symbol of SYMBOLS) {
    const { orderId } = await alice.place({ symbol, side: "BUY", type: "LIMIT", price: "100", quantity: "0.1" });
    placed.push(orderId);
  }
  await alice.refused("UNAVAILABLE", "POST", "/orders", { ...FAULTY, clientOrderId: "throw-0" });
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  await server.start();
  for (const orderId of placed) assert.equal((await again(server, alice).order(orderId)).status, "CANCELED");
});

test("a repeated fault ends the process, and a restart recovers", async (t) => {
  const server = await start(t, 1);
  const alice = await openTrader(server, "1000");
  await alice.buy("0.01", "64000");
  const bomb = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.01" };
  const bombed = alice.refused.bind(alice, "UNAVAILABLE", "POST", "/orders", { ...bomb, clientOrderId: "throw-0" });
  for (let i = 1; i <= 5; i++) {
    await bombed();
    await comesBack(server, i);
  }
  // Whether it still hears of it is no matter.
  await bombed().catch(() => {});
  await until("the end of the process", () => !server.isRunning);
  assert.match(server.stderr, /an actor thread dies again and again: asked to throw behind 0; start again to recover/);
  assert.equal(server.stderr.match(/it is being rebuilt/g)?.length, 5);
  await server.start();
  assert.equal((await again(server, alice).openOrders()).data.length, 1);
  await new Operator(server).soundAudit();
});
