import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { TSchema } from "typebox";
import Value from "typebox/value";
import type { Challenge, OperatorActList, PlacedOrder } from "../../../src/client/types.ts";
import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import { ERRORS } from "../../../src/wire/error-codes.ts";
import * as account from "../../../src/wire/schema/account.ts";
import * as auth from "../../../src/wire/schema/auth.ts";
import * as market from "../../../src/wire/schema/market.ts";
import * as orders from "../../../src/wire/schema/orders.ts";
import * as system from "../../../src/wire/schema/system.ts";
import { Api } from "../support/api.ts";
import { freePort } from "../support/free-port.ts";
import { assertUnchanged } from "../support/funding.ts";
import { OPERATOR_TOKEN, startAndFail, startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { newPrivateKey, walletOf } from "../support/wallet.ts";

const MAIN = fileURLToPath(new URL("../../../src/main.js", import.meta.url));
/** A disk without room. Linux. */
const FULL = "/dev/full";
/** Of this machine as well, on Linux: a port that is free there is not taken by another test in the next moment. */
const QUIET_HOST = "127.0.0.2";

let server: TestServer;
let nobody: Api;
let operator: Operator;

before(async () => {
  // Nothing is sent while it lasts: a withdrawal's progress would be an event.
  server = await startServer({ environment: { PERPD_WITHDRAWAL_DELAY_MS: "86400000" } });
  nobody = new Api(server.url);
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
});

after(() => server.dispose());

test("a halted symbol and one without a price leave the exchange ready", async () => {
  await operator.call(200, "POST", "/operator/symbols/BTC-PERP/halt");
  assert.equal((await nobody.request("HEAD", "/health/ready")).status, 200);
  assert.equal((await nobody.get<{ ready: boolean }>("/health/ready")).ready, true);
  assert.equal((await nobody.get<{ live: boolean }>("/health/live")).live, true);
  await operator.call(200, "POST", "/operator/symbols/BTC-PERP/resume");
});

test("time, health and the common response headers", async () => {
  const before = Date.now();
  const time = await nobody.request<{ serverTime: number }>("GET", "/time");
  assert.ok(time.body.serverTime >= before && time.body.serverTime <= Date.now());
  const health = await nobody.request<{ status: string; sequence: number; uptimeMs: number }>("GET", "/health");
  assert.equal(health.body.status, "OK");
  assert.ok(health.body.sequence > 0 && health.body.uptimeMs >= 0);
  const ids = new Set<unknown>();
  for (const answer of [
    time,
    health,
    await nobody.request("GET", "/nothing"),
    await nobody.request("GET", "/orders"),
  ]) {
    assert.match(answer.headers["content-type"] ?? "", /^application\/json/);
    assert.match(String(answer.headers["x-request-id"]), /^[\w-]+$/);
    ids.add(answer.headers["x-request-id"]);
  }
  assert.equal(ids.size, 4);
  const head = await nobody.request("HEAD", "/time");
  assert.deepEqual([head.status, head.text], [200, ""]);
});

interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
}

test("the OpenAPI document names exactly the paths that exist", async () => {
  const document = await nobody.get<OpenApi>("/openapi.json");
  assert.match(document.openapi, /^3\.1/);
  const named = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/^\/v1/, "")}`),
  );
  const due = [
    ...["POST /orders", "GET /orders", "DELETE /orders", "GET /orders/{id}", "DELETE /orders/{id}"],
    ...["GET /orders/history", "GET /positions", "POST /positions/{symbol}/close", "POST /positions/{symbol}/leverage"],
    ...["GET /account/balance", "GET /account/trades", "POST /account/deposit", "POST /account/withdraw"],
    ...["GET /account/deposits", "GET /account/withdrawals", "GET /market/ticker", "GET /market/orderbook"],
    ...["GET /market/trades", "GET /market/klines", "GET /market/symbols", "POST /auth/challenge", "POST /auth/login"],
    ...["POST /auth/logout", "POST /auth/keys", "GET /auth/keys", "DELETE /auth/keys/{apiKey}", "GET /time"],
    ...["GET /health", "GET /operator/audit", "PUT /operator/index/{symbol}"],
  ];
  for (const path of due) assert.ok(named.includes(path), path);
  for (const each of named) {
    const [method = "", path = ""] = each.split(" ");
    const { status } = await nobody.request(method, path.replace(/\{\w+\}/g, "1"));
    assert.ok(status !== 404 && status !== 405 && status < 500, `${each}: ${status}`);
  }
});

test("the operator's metrics are valid Prometheus text with correct values", async () => {
  const operator = new Operator(server);
  const { sequence } = await nobody.get<{ sequence: number }>("/health");
  const { status, headers, text } = await operator.request("GET", "/metrics");
  assert.equal(status, 200);
  assert.match(headers["content-type"] ?? "", /^text\/plain; version=0\.0\.4/);
  const figures = new Map(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
  const figure = (name: string): number => figures.get(name) ?? Number.NaN;
  assert.ok(figure("perpd_sequence") >= sequence);
  assert.deepEqual(
    ["perpd_ready", "perpd_disk_room", 'perpd_trading{symbol="BTC-PERP"}', 'perpd_sound{symbol="BTC-PERP"}'].map(
      figure,
    ),
    [1, 1, 1, 1],
  );
  assert.ok(figure('perpd_index_price_ticks{symbol="BTC-PERP"}') > 0);
  assert.ok(figure("process_resident_memory_bytes") > 2 ** 20);
});

/** Runs the printed line as an operator pastes it: it asks for the token, and sets a price with it. */
function pastePriceLine(line: string, token: string, t: TestContext): void {
  const paste = (environment: object) =>
    spawnSync("sh", ["-c", line], { env: { PATH: process.env.PATH, ...environment }, encoding: "utf8" });
  const without = paste({});
  assert.match(without.stderr, /PERPD_OPERATOR_TOKEN: set it to the token of the operator/);
  assert.equal(without.stdout, "");
  const { status, stdout } = paste({ PERPD_OPERATOR_TOKEN: token });
  if (status === 127) return t.diagnostic("curl is not installed: the printed line was not sent");
  assert.match(stdout, /"symbol":"BTC-PERP","indexPrice":"65000"/);
}

test("the metrics have a token of their own, operators have names, and both can have a port of their own", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-operators-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const config = join(folder, "config.json");
  const [metricsToken, alicesToken] = ["m".repeat(32), "a".repeat(32)];
  const operators = { alice: alicesToken };
  const port = await freePort(QUIET_HOST);
  const settings = { metricsToken, operators, operatorHost: QUIET_HOST, operatorPort: port, priceSource: "operator" };
  writeFileSync(config, JSON.stringify(settings));
  const split = await startServer({ quiet: false, flags: ["--no-bots", "--config", config] });
  t.after(() => split.dispose());
  const paths = [
    ["GET", "/metrics"],
    ["GET", "/operator/audit"],
    ["PUT", "/operator/index/BTC-PERP"],
    ["POST", "/operator/symbols/BTC-PERP/halt"],
  ] as const;
  // Not by Api, which knows that these endpoints exist.
  const isUnknown = async (to: string, method: string, path: string) => {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    const reply = await fetch(to + path, { method, headers });
    assert.equal(((await reply.json()) as { code: string }).code, "NOT_FOUND", `${method} ${to}${path}`);
  };
  for (const [method, path] of paths) await isUnknown(split.url, method, path);
  assert.doesNotMatch(await (await fetch(`${split.url}/openapi.json`)).text(), /\/operator\/|\/metrics/);
  const url = `http://${QUIET_HOST}:${port}/v1`;
  const printed = split.stdout.split("\n").find((line) => line.includes(`${url}/operator/index/BTC-PERP`));
  assert.ok(printed, "the printed command");
  pastePriceLine(printed, OPERATOR_TOKEN, t);
  const [prometheus, alice] = [new Api(url, metricsToken), new Api(url, alicesToken)];
  for (const reader of [prometheus, alice, new Api(url, OPERATOR_TOKEN)])
    assert.equal((await reader.request("GET", "/metrics")).status, 200);
  for (const [method, path] of paths.slice(1)) await prometheus.refused("OPERATOR_REQUIRED", method, path);
  await new Api(url, OPERATOR_TOKEN).call(200, "PUT", "/operator/index/BTC-PERP", { price: "65000" });
  await alice.call(200, "POST", "/operator/symbols/BTC-PERP/halt", { mode: "REDUCE_ONLY" });
  await split.logs(/"operator":"alice","method":"POST",.*"parameter":"BTC-PERP","body":\{"mode":"REDUCE_ONLY"\}/);
  const { data } = await alice.get<OperatorActList>("/operator/acts");
  assert.deepEqual(
    data.map(({ operator, act, mode }) => [operator, act, mode]),
    [["alice", "HALT", "REDUCE_ONLY"]],
  );
  for (const path of ["/time", "/orders", "/docs"]) await isUnknown(url, "GET", path);
  for (const [path, publicStatus, status] of [
    ["/operator", 404, 200],
    ["/", 200, 404],
    ["/v1/market/symbols", 200, 200],
  ] as const) {
    assert.equal((await fetch(new URL(path, split.url))).status, publicStatus, path);
    assert.equal((await fetch(new URL(path, url))).status, status, path);
  }
  await assert.rejects(SocketClient.open(`ws://${QUIET_HOST}:${port}/v1/ws`), /404/);
  assert.equal((await split.stop()).code, 0);
});

test("responses match their schemas", async () => {
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  const check = async (schema: TSchema, body: unknown, what: string) => {
    const [error] = [...Value.Errors(schema, body)];
    assert.equal(error, undefined, `${what}: ${JSON.stringify(error)} in ${JSON.stringify(body)}`);
  };
  await bob.sell("0.2", "65000");
  await check(orders.PlacedOrder, await alice.buy("0.1", "65000", { clientOrderId: "x" }), "placed");
  const order = await alice.buy("0.1", "64000");
  await check(orders.Order, await alice.order(order.orderId), "order");
  await check(orders.OrderList, await alice.openOrders(), "open orders");
  await check(orders.CanceledOrders, await alice.cancelAll(), "canceled orders");
  await check(orders.OrderList, await alice.history(), "history");
  await check(orders.FillList, await alice.fills(), "fills");
  await check(
    orders.Leverage,
    await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 5 }),
    "leverage",
  );
  await check(account.PositionList, await alice.get("/positions"), "positions");
  await check(account.Balance, await alice.balance(), "balance");
  await check(account.RequestedTransfer, await alice.deposit("1", "r"), "deposit");
  const withdrawal = { asset: "USDC", amount: "1", address: alice.address };
  await check(account.RequestedTransfer, await alice.call(201, "POST", "/account/withdraw", withdrawal), "withdrawal");
  await check(account.TransferList, await alice.get("/account/deposits"), "deposits");
  await check(account.TransferList, await alice.get("/account/withdrawals"), "withdrawals");
  const key = await alice.call(201, "POST", "/auth/keys", { label: "k", permissions: ["READ"] });
  await check(auth.CreatedKey, key, "key");
  await check(auth.ApiKeyList, await alice.get("/auth/keys"), "keys");
  await check(auth.OpenSessionList, await alice.get("/auth/sessions"), "sessions");
  const { address } = alice;
  await check(auth.Challenge, await nobody.call(200, "POST", "/auth/challenge", { address }), "challenge");
  await check(market.Ticker, await nobody.get("/market/ticker?symbol=BTC-PERP"), "ticker");
  await check(market.TickerList, await nobody.get("/market/ticker"), "tickers");
  await check(market.OrderBook, await nobody.get("/market/orderbook?symbol=BTC-PERP"), "book");
  await check(market.PublicTradeList, await nobody.get("/market/trades?symbol=BTC-PERP"), "trades");
  await check(market.KlineList, await nobody.get("/market/klines?symbol=BTC-PERP&interval=1m"), "klines");
  await check(market.InstrumentList, await nobody.get("/market/symbols"), "symbols");
  await check(system.ServerTime, await nobody.get("/time"), "time");
  await check(system.Health, await nobody.get("/health"), "health");
  await check(system.Audit, await operator.audit(), "audit");
  const refused = await alice.refused("ORDER_NOT_FOUND", "GET", "/orders/client:none");
  await check(system.ErrorBody, refused, "error");
  await bob.cancelAll();
});

test("the audit counts accounts, orders and money", async () => {
  const since = Date.now();
  const before = await operator.soundAudit();
  const [alice, bob] = await Promise.all([openTrader(server, "1000"), openTrader(server, "2000.5")]);
  await bob.sell("0.02", "65000");
  await alice.buy("0.01", "65000");
  const now = await operator.soundAudit();
  assert.equal(now.accounts, before.accounts + 2);
  assert.equal(Number(now.money) - Number(before.money), 3000.5);
  const [was, is] = [before.symbols[0], now.symbols[0]];
  assert.ok(was !== undefined && is !== undefined);
  assert.deepEqual([is.symbol, is.openOrders - was.openOrders, is.positions - was.positions], ["BTC-PERP", 1, 2]);
  assert.notEqual(is.digest, was.digest);
  assertUnchanged(since, now.symbols[1], before.symbols[1], "another symbol is as it was");
  assert.ok(now.sequence > before.sequence);
  // Looking changes nothing.
  assertUnchanged(since, await operator.audit(), now);
});

test("a second server on the same data folder is refused, and the first continues", async () => {
  const { code, output } = await startAndFail({ dataFolder: server.dataFolder });
  assert.notEqual(code, 0);
  assert.match(output, /perpd cannot start: .*(in use|another|already|running|lock)/i);
  assert.doesNotMatch(output, /\n\s+at /, "no stack trace");
  await operator.soundAudit();
});

test("a taken port, an unknown flag and an invalid setting give a message and an exit code", async () => {
  const fail = async (options: Parameters<typeof startAndFail>[0], message: RegExp) => {
    const { code, output } = await startAndFail(options);
    assert.notEqual(code, 0);
    assert.match(output, message);
    assert.doesNotMatch(output, /\n\s+at /, "no stack trace");
  };
  await fail({ flags: ["--workers", "0"] }, /--workers.*1 to 64/);
  await fail({ flags: ["--nonsense"] }, /--nonsense/);
  await fail({ environment: { PERPD_CHAIN_ID: "x" } }, /PERPD_CHAIN_ID/);
  await fail({ environment: { PERPD_PORT: String(server.port), PERPD_CHIAN_ID: "1" } }, /PERPD_CHIAN_ID/);
  await fail({ quiet: false, flags: ["--config", "/nonexistent.json"] }, /nonexistent/);
});

test("a standby without an exchange's folder is refused, and nothing is written", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-unseeded-"));
  const environment = { PERPD_REPLICATE: "nats://127.0.0.1:1", PERPD_REPLICATE_UNSAFE: "on" };
  try {
    for (const dataFolder of [folder, join(folder, "missing")]) {
      const { code, output } = await startAndFail({ command: "standby", dataFolder, environment });
      assert.equal(code, 1);
      assert.match(output, /perpd cannot start: .* holds no exchange: seed the standby with a backup of the leader/);
    }
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("SIGINT, SIGTERM and SIGHUP stop with code 0, and a restart has everything", async () => {
  const ending = await startServer();
  try {
    await new Operator(ending).setIndex("BTC-PERP", "65000");
    const alice = await openTrader(ending);
    const { fills: _, ...order } = await alice.buy("0.1", "64000", { clientOrderId: "kept" });
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      assert.deepEqual(await ending.stop(signal), { code: 0, signal: null });
      // As an earlier version has left it, with a file of somebody else.
      const folders = [ending.dataFolder, join(ending.dataFolder, "log"), join(ending.dataFolder, "database")];
      const files = folders
        .flatMap((dir) => readdirSync(dir).map((name) => join(dir, name)))
        .filter((path) => !folders.includes(path));
      const other = join(ending.dataFolder, "notes.txt");
      writeFileSync(other, "");
      for (const path of [...folders, ...files, other]) chmodSync(path, 0o755);
      await ending.start();
      for (const path of [...folders, ...files].filter((path) => existsSync(path)))
        assert.equal(statSync(path).mode & 0o7777, 0o700, path);
      assert.equal(statSync(other).mode & 0o777, 0o755);
      rmSync(other);
      // The session of before, at the new address.
      const again = new Api(ending.url, alice.token);
      assert.deepEqual(await again.get("/orders/client:kept"), order);
      await new Operator(ending).soundAudit();
    }
    assert.deepEqual(ending.loggedErrors, []);
  } finally {
    await ending.dispose();
  }
});

const hasIPv6 = Object.values(networkInterfaces()).some((rows) => rows?.some(({ address }) => address === "::1"));

test("the exchange listens on an IPv6 address", { skip: !hasIPv6 && "this machine has no ::1" }, async () => {
  const other = await startServer({ flags: ["--host", "::1"] });
  try {
    assert.match(other.url, /^http:\/\/\[::1\]:\d+\/v1$/);
    const { message } = await new Api(other.url).call<Challenge>(200, "POST", "/auth/challenge", {
      address: walletOf(newPrivateKey()).address,
    });
    assert.ok(message.startsWith(`[::1]:${other.port} wants you to sign in`), message);
    assert.match(message, new RegExp(`^URI: http://\\[::1\\]:${other.port}$`, "m"));
    const trader = await openTrader(other);
    const socket = await SocketClient.open(other.wsUrl);
    assert.equal((await socket.request("auth", { token: trader.token })).op, "authenticated");
    await socket.close();
  } finally {
    await other.dispose();
  }
});

test("one worker and many workers give the same results", async () => {
  for (const workers of ["1", "4"]) {
    const other = await startServer({ flags: ["--workers", workers] });
    try {
      await new Operator(other).setIndex("ETH-PERP", "3000");
      const [alice, bob] = await Promise.all([openTrader(other), openTrader(other)]);
      const eth = { symbol: "ETH-PERP", type: "LIMIT", price: "3000", quantity: "1" } as const;
      await bob.place({ ...eth, side: "SELL" });
      assert.equal((await alice.place({ ...eth, side: "BUY" })).status, "FILLED");
      await new Operator(other).soundAudit();
    } finally {
      await other.dispose();
    }
  }
});

test("with rate limits a flooding socket is notified and closed", async () => {
  const limited = await startServer({ quiet: false, flags: ["--no-bots", "--rate-limit", "on"] });
  try {
    const client = await SocketClient.open(limited.wsUrl);
    for (let i = 0; i < 500; i++) client.send({ op: "ping", id: i });
    assert.equal((await client.closed).code, 1008);
    const last = client.messages.at(-1);
    assert.deepEqual([last?.op, last?.code], ["error", "RATE_LIMITED"]);
    assert.ok(client.messages.length < 500);
  } finally {
    await limited.dispose();
  }
});

test("with rate limits pings count as messages", async () => {
  const limited = await startServer({ quiet: false, flags: ["--no-bots", "--rate-limit", "on"] });
  try {
    const client = await SocketClient.open(limited.wsUrl);
    for (let i = 0; i < 500; i++) client.socket.ping();
    assert.equal((await client.closed).code, 1008);
    const last = client.messages.at(-1);
    assert.deepEqual([last?.op, last?.code], ["error", "RATE_LIMITED"]);
  } finally {
    await limited.dispose();
  }
});

test("by default bots make a market with two sides, trades and candles, and the printed token trades", async () => {
  const living = await startServer({ quiet: false, flags: ["--seed", "7"] });
  try {
    const token = /token (\S+)/.exec(living.stdout)?.[1];
    const demo = new Api(living.url, token);
    // At once: the line that says it is ready may be read by a program.
    const first = { symbol: "ETH-PERP", side: "BUY", type: "MARKET", quantity: "0.01" };
    const { filledQuantity } = await demo.call<{ filledQuantity: string }>(201, "POST", "/orders", first);
    assert.equal(filledQuantity, "0.01");
    for (const symbol of ["BTC-PERP", "ETH-PERP", "SOL-PERP"])
      await until(`a living market in ${symbol}`, async () => {
        const ticker = await demo.get<{ bidPrice: string | null; askPrice: string | null; lastPrice: string | null }>(
          `/market/ticker?symbol=${symbol}`,
        );
        return ticker.bidPrice !== null && ticker.askPrice !== null && ticker.lastPrice !== null;
      });
    const { data } = await demo.get<{ data: { trades: number }[] }>("/market/klines?symbol=BTC-PERP&interval=1m");
    assert.ok(data.some((candle) => candle.trades > 0));
    const order = { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "0.01" };
    // A maker that moves its quotes takes back the old ones first.
    await until("an order that is filled", async () => {
      const { filledQuantity } = await demo.call<{ filledQuantity: string }>(201, "POST", "/orders", order);
      return filledQuantity === "0.01";
    });
    const audit = await new Operator(living).soundAudit();
    assert.ok(audit.accounts > 1);
    assert.equal((await living.stop()).code, 0);
    assert.deepEqual(living.loggedErrors, []);
  } finally {
    await living.dispose();
  }
});

test("the printed start lines suit a custom instrument", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-own-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const own = { ...DEFAULT_INSTRUMENTS[2], symbol: "OWN-PERP", baseAsset: "OWN", tickSize: "0.05", stepSize: "2" };
  const instruments = [{ ...own, minQuantity: "4", maxQuantity: "2000", maxPrice: "10000", minNotional: "300" }];
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ instruments }));
  const living = await startServer({ quiet: false, flags: ["--config", config] });
  try {
    const demo = new Api(living.url, /token (\S+)/.exec(living.stdout)?.[1]);
    const bodies = [...living.stdout.matchAll(/-[db] '(\{.*?\})'/g)].map(([, body]) => JSON.parse(body ?? ""));
    assert.equal(bodies.length, 2);
    const placed: PlacedOrder[] = [];
    for (const body of bodies) placed.push(await demo.call(201, "POST", "/orders", body));
    assert.equal(placed[1]?.status, "EXPIRED");
  } finally {
    await living.dispose();
  }
});

test("each error code has the HTTP status of its kind", () => {
  for (const [code, { status }] of Object.entries(ERRORS)) {
    assert.match(code, /^[A-Z_]+$/);
    assert.ok([400, 401, 403, 404, 405, 408, 409, 413, 422, 426, 429, 500, 503].includes(status), code);
  }
});

test("an exchange runs when its log and its welcome cannot be written", {
  skip: existsSync(FULL) ? false : `no ${FULL} here`,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-unheard-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const port = String(await freePort(QUIET_HOST));
  const full = openSync(FULL, "w");
  const flags = ["--no-bots", "--host", QUIET_HOST, "--port", port, "--data", folder];
  const child = spawn(process.execPath, [MAIN, "start", ...flags], {
    env: { PERPD_WORKERS: "64" }, // is warned of
    stdio: ["ignore", full, full],
  });
  t.after(() => child.kill("SIGKILL"));
  closeSync(full);
  const ended = once(child, "exit");
  const api = new Api(`http://${QUIET_HOST}:${port}/v1`);
  const isOk = () =>
    api.request<{ status: string }>("GET", "/health").then(
      ({ status }) => status === 200,
      () => false,
    );
  await until("the exchange is ready", isOk);
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});
