import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { after, before, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Order } from "../../src/client/types.ts";
import { startServer, type TestServer } from "../e2e/support/server.ts";
import { Operator, openTrader, Trader } from "../e2e/support/trader.ts";
import { until } from "../e2e/support/wait.ts";
import { Line } from "./line.ts";

/** The examples trade on a running exchange, and take back what they have placed when they are told to stop. */
const TOP = new URL("../../../", import.meta.url);
const path = (name: string): string => fileURLToPath(new URL(name, TOP));

const PYTHON = process.env.PYTHON ?? "python3";

let server: TestServer;
let operator: Operator;
let taker: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  taker = await openTrader(server);
});

after(() => server.dispose());

interface Key {
  apiKey: string;
  secret: string;
}

const bothOf = async (maker: Trader): Promise<Order[] | false> => {
  const { data } = await maker.openOrders();
  return data.length === 2 && data.every((order) => order.filledQuantity === "0") && data;
};

async function environmentOf(trader: Trader): Promise<Record<string, string>> {
  const key = await trader.call<Key>(201, "POST", "/auth/keys", { label: "example", permissions: ["READ", "TRADE"] });
  return {
    PERPD_URL: server.url,
    PERPD_TOKEN: trader.token as string,
    PERPD_API_KEY: key.apiKey,
    PERPD_SECRET: key.secret,
  };
}

/** Runs a market maker through a trade, a move of the price, and a while without a line to the exchange. */
async function quotes(t: TestContext, program: string, ...args: string[]): Promise<void> {
  const maker = await openTrader(server);
  await operator.setIndex("BTC-PERP", "65000");
  const line = new Line(() => server.port);
  t.after(() => line.close());
  const child = spawn(process.execPath, [path(program), ...args], {
    // The path of the API may be left out.
    env: { ...(await environmentOf(maker)), PERPD_URL: await line.open() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  for (const output of [child.stdout, child.stderr]) output.setEncoding("utf8").on("data", (text) => (said += text));
  const ended = once(child, "close");

  const bothNew = async (old: readonly Order[]): Promise<Order[]> =>
    until("new quotes", async () => {
      const orders = await bothOf(maker);
      return orders !== false && orders.every(({ orderId }) => old.every((each) => each.orderId !== orderId)) && orders;
    }).catch((error: Error) => assert.fail(`${error.message}: ${said}`));
  const first = await bothNew([]);
  assert.deepEqual(new Set(first.map(({ side }) => side)), new Set(["BUY", "SELL"]));
  assert.ok(first.every(({ postOnly }) => postOnly));
  assert.equal((await taker.market("BUY", "0.01")).status, "FILLED");
  await operator.setIndex("BTC-PERP", "65100");
  const second = await bothNew(first);
  assert.equal((await maker.position())?.side, "SHORT");

  line.cut();
  await until("no quotes", async () => (await maker.openOrders()).data.length === 0);
  await taker.sell("0.01", "65100");
  assert.equal((await maker.market("BUY", "0.01")).status, "FILLED");
  said = "";
  line.mend();
  // It learns that it holds nothing, and quotes again although the price is what it was.
  await bothNew([...first, ...second]);
  await until("what it holds", () => /holding 0\s/.test(said));

  child.kill("SIGINT");
  assert.deepEqual(await ended, [0, null], said);
  assert.deepEqual((await maker.openOrders()).data, []);
  const { data } = await maker.history();
  assert.ok(data.filter(({ status }) => status === "CANCELED").length >= 4);
  assert.equal(data.filter(({ status, postOnly }) => status === "FILLED" && postOnly).length, 1);
}

test("the market maker with the TypeScript client", (t) =>
  quotes(t, "dist/src/examples/market-maker.js", "BTC-PERP", "0.01"));

test("the market maker with ccxt", (t) => quotes(t, "dist/src/examples/ccxt-market-maker.js", "BTC/USDC:USDC", "0.01"));

/** Runs a market maker on an exchange that is killed while an order rests of which it does not know. */
async function startsAnew(t: TestContext, program: string, ...args: string[]): Promise<void> {
  const mortal = await startServer();
  t.after(() => mortal.dispose());
  await new Operator(mortal).setIndex("BTC-PERP", "65000");
  const maker = await openTrader(mortal);
  const line = new Line(() => mortal.port);
  t.after(() => line.close());
  const child = spawn(process.execPath, [path(program), ...args], {
    env: { ...(await environmentOf(maker)), PERPD_URL: await line.open() },
    stdio: "ignore",
  });
  t.after(() => child.kill("SIGKILL"));
  const ended = once(child, "close");
  const first = await until("quotes", () => bothOf(maker));
  // Like a quote whose answer was lost.
  const { orderId } = await maker.buy("0.01", "64000");
  await mortal.kill();
  await mortal.start();
  const again = new Trader(mortal.url, maker.token ?? "", maker.accountId, maker.address, maker.privateKey);
  const old = [...first.map((order) => order.orderId), orderId];
  const isNew = (order: Order): boolean => !old.includes(order.orderId);
  await until("new quotes alone", async () => ((await bothOf(again)) || []).filter(isNew).length === 2);
  child.kill("SIGINT");
  assert.deepEqual(await ended, [0, null]);
  assert.deepEqual((await again.openOrders()).data, []);
}

test("the TypeScript market maker cancels quotes whose replies a killed exchange lost", (t) =>
  startsAnew(t, "dist/src/examples/market-maker.js", "BTC-PERP", "0.01"));

test("a market maker without a valid token prints one line and fails", async () => {
  const cases: [program: string, env: Record<string, string>, args: string[], said: RegExp][] = [
    ["market-maker.js", {}, [], /^set PERPD_TOKEN .*\n$/],
    ["market-maker.js", { PERPD_TOKEN: "wrong" }, [], /^INVALID_TOKEN: .*\n$/],
    ["market-maker.js", { PERPD_TOKEN: "wrong" }, ["XYZ-PERP"], /^there is no XYZ-PERP\n$/],
    ["ccxt-market-maker.js", {}, [], /^set PERPD_API_KEY and PERPD_SECRET .*\n$/],
    ["ccxt-market-maker.js", { PERPD_API_KEY: "half" }, [], /^set PERPD_API_KEY and PERPD_SECRET .*\n$/],
  ];
  for (const [program, env, args, said] of cases) {
    const child = spawn(process.execPath, [path(`dist/src/examples/${program}`), ...args], {
      env: { PERPD_URL: server.url, ...env },
      stdio: ["ignore", "inherit", "pipe"],
    });
    let error = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (error += text));
    assert.deepEqual(await once(child, "close"), [1, null], error);
    assert.match(error, said);
  }
});

test("each example is short enough for a page", () => {
  for (const name of ["market-maker.ts", "ccxt-market-maker.ts", "trade.py"]) {
    const lines = readFileSync(path(`src/examples/${name}`), "utf8")
      .trimEnd()
      .split("\n");
    assert.ok(lines.length < 60, `${name}: ${lines.length} lines`);
  }
});

test("the page about clients shows the Python script as it is", () => {
  const page = readFileSync(path("docs/trading/clients.md"), "utf8");
  assert.ok(page.includes(`\`\`\`python\n${readFileSync(path("src/examples/trade.py"), "utf8")}\`\`\``));
});

test("the Python script runs, where its packages are installed", async (t) => {
  if (spawnSync(PYTHON, ["-c", "import requests, websockets"]).status !== 0)
    return t.skip("no Python with requests and websockets here");
  const trader = await openTrader(server);
  const env = { ...(await environmentOf(trader)), PATH: process.env.PATH ?? "" };
  const child = spawn(PYTHON, [path("src/examples/trade.py")], { env, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  const [code] = await once(child, "close");
  assert.equal(code, 0);
  assert.match(said, /^\d+ NEW \d+\n\d+ CANCELED \d+\n$/);
  assert.deepEqual((await trader.openOrders()).data, []);
});
