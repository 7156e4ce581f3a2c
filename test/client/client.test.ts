import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { PerpdClient } from "../../src/client/client.ts";
import { PerpdError } from "../../src/client/error.ts";
import { isOrderReference } from "../../src/client/paths.ts";
import { Requests } from "../../src/client/requests.ts";
import { OrderReference } from "../../src/wire/schema/scalars.ts";

interface Seen {
  request: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A server that notes what it is sent and answers what the test says. */
let seen: Seen[] = [];
let answers: { status: number; body: unknown; location?: string }[] = [];
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    seen.push({ request: `${request.method} ${request.url}`, headers: request.headers, body });
    const { status, body: answer, location } = answers.shift() ?? { status: 200, body: {} };
    response.writeHead(status, { "Content-Type": "application/json", ...(location !== undefined && { location }) });
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  });
});
let baseUrl = "";
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
beforeEach(() => {
  seen = [];
  answers = [];
});
after(() => {
  server.close();
  server.closeAllConnections();
});

test("each method sends the request that the API documents", async () => {
  const client = new PerpdClient({ baseUrl });
  const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "1", quantity: "2" } as const;
  const rows: [call: () => Promise<unknown>, request: string, body?: object][] = [
    [() => client.challenge("0xA"), "POST /v1/auth/challenge", { address: "0xA" }],
    [() => client.challenge("0xA", 5), "POST /v1/auth/challenge", { address: "0xA", chainId: 5 }],
    [() => client.logout(), "POST /v1/auth/logout"],
    [() => client.logoutEverywhere(), "DELETE /v1/auth/sessions"],
    [() => client.sessions(), "GET /v1/auth/sessions"],
    [() => client.endSession("9f86d081884c7d65"), "DELETE /v1/auth/sessions/9f86d081884c7d65"],
    [() => client.createKey({ label: "l", permissions: ["READ"] }), "POST /v1/auth/keys"],
    [() => client.keys(), "GET /v1/auth/keys"],
    [() => client.revokeKey("k"), "DELETE /v1/auth/keys/k"],
    [() => client.placeOrder(order), "POST /v1/orders", order],
    [() => client.cancelOrder("257"), "DELETE /v1/orders/257"],
    [() => client.cancelOrder("client:a.b"), "DELETE /v1/orders/client:a.b"],
    [() => client.cancelOrders(), "DELETE /v1/orders"],
    [() => client.cancelOrders({ symbol: "BTC-PERP", side: "SELL" }), "DELETE /v1/orders?symbol=BTC-PERP&side=SELL"],
    [() => client.order("client:x"), "GET /v1/orders/client:x"],
    [() => client.openOrders({ symbol: "BTC-PERP" }), "GET /v1/orders?symbol=BTC-PERP"],
    [() => client.orderHistory({ limit: 5, cursor: "c" }), "GET /v1/orders/history?limit=5&cursor=c"],
    [
      () => client.maxOrderSize({ symbol: "BTC-PERP", type: "MARKET", reduceOnly: true }),
      "GET /v1/orders/max-size?symbol=BTC-PERP&type=MARKET&reduceOnly=true",
    ],
    [() => client.positions(), "GET /v1/positions"],
    [() => client.closePosition("BTC-PERP"), "POST /v1/positions/BTC-PERP/close", {}],
    [() => client.setLeverage("BTC-PERP", 5), "POST /v1/positions/BTC-PERP/leverage", { leverage: 5 }],
    [
      () => client.setMarginMode("BTC-PERP", "ISOLATED"),
      "POST /v1/positions/BTC-PERP/margin-mode",
      { mode: "ISOLATED" },
    ],
    [() => client.moveMargin("BTC-PERP", "-5"), "POST /v1/positions/BTC-PERP/margin", { amount: "-5" }],
    [
      () => client.moveMargin("BTC-PERP", "-5", "r"),
      "POST /v1/positions/BTC-PERP/margin",
      { amount: "-5", reference: "r" },
    ],
    [() => client.balance(), "GET /v1/account/balance"],
    [() => client.marginCall(), "GET /v1/account/margin-call"],
    [() => client.setMarginCall("0.7"), "POST /v1/account/margin-call", { ratio: "0.7" }],
    [() => client.fills({ startTime: 1, endTime: 2 }), "GET /v1/account/trades?startTime=1&endTime=2"],
    [() => client.deposit({ asset: "USDC", amount: "1" }), "POST /v1/account/deposit", { asset: "USDC", amount: "1" }],
    [() => client.withdraw({ asset: "USDC", amount: "1", address: "0xA" }), "POST /v1/account/withdraw"],
    [() => client.deposits(), "GET /v1/account/deposits"],
    [() => client.withdrawals(), "GET /v1/account/withdrawals"],
    [() => client.symbols(), "GET /v1/market/symbols"],
    [() => client.ticker("BTC-PERP"), "GET /v1/market/ticker?symbol=BTC-PERP"],
    [() => client.tickers(), "GET /v1/market/ticker"],
    [() => client.orderBook("BTC-PERP", 10), "GET /v1/market/orderbook?symbol=BTC-PERP&depth=10"],
    [() => client.publicTrades("BTC-PERP"), "GET /v1/market/trades?symbol=BTC-PERP"],
    [() => client.liquidations("BTC-PERP", { limit: 5 }), "GET /v1/market/liquidations?symbol=BTC-PERP&limit=5"],
    [() => client.klines({ symbol: "BTC-PERP", interval: "1m" }), "GET /v1/market/klines?symbol=BTC-PERP&interval=1m"],
    [() => client.time(), "GET /v1/time"],
    [() => client.health(), "GET /v1/health"],
    [() => client.live(), "GET /v1/health/live"],
    [() => client.ready(), "GET /v1/health/ready"],
    [() => client.openApi(), "GET /v1/openapi.json"],
    [() => client.asyncApi(), "GET /v1/asyncapi.json"],
    [() => client.setIndexPrice("BTC-PERP", "65000"), "PUT /v1/operator/index/BTC-PERP", { price: "65000" }],
    [() => client.halt("BTC-PERP"), "POST /v1/operator/symbols/BTC-PERP/halt", { mode: "CANCEL_ONLY" }],
    [() => client.resume("BTC-PERP"), "POST /v1/operator/symbols/BTC-PERP/resume"],
    [() => client.audit(), "GET /v1/operator/audit"],
  ];
  for (const [call, request, body] of rows) {
    seen = [];
    await call();
    assert.equal(seen[0]?.request, request);
    if (body !== undefined) assert.deepEqual(JSON.parse(seen[0]?.body ?? ""), body, request);
  }
});

test("a symbol or id that would change the path is not sent", async () => {
  const client = new PerpdClient({ baseUrl });
  const ids = [
    "../orders",
    "history",
    "",
    ".",
    "..",
    "1?symbol=BTC-PERP",
    "1/../..",
    "%2e%2e",
    "01",
    "client:",
    "client:a b",
  ];
  const byId = [...ids, `client:${"a".repeat(37)}`].flatMap((id) => [
    () => client.order(id),
    () => client.cancelOrder(id),
    () => client.amendOrder(id, { price: "1" }),
  ]);
  for (const call of byId)
    await assert.rejects(call(), { name: "PerpdError", code: "BAD_VALUE", status: 400, field: "id", retryable: false });
  const byName = ["", ".", ".."].flatMap((name) => [
    () => client.position(name),
    () => client.closePosition(name),
    () => client.setLeverage(name, 1),
    () => client.setMarginMode(name, "CROSS"),
    () => client.moveMargin(name, "1"),
    () => client.setIndexPrice(name, "1"),
    () => client.halt(name),
    () => client.resume(name),
    () => client.revokeKey(name),
  ]);
  for (const call of byName) await assert.rejects(call(), { name: "PerpdError", code: "BAD_VALUE" });
  assert.equal(seen.length, 0);
  await client.position("a/../b");
  assert.equal(seen[0]?.request, "GET /v1/positions/a%2F..%2Fb");
});

test("an order reference is an id, or client: and a client order id", () => {
  const api = new RegExp((OrderReference as unknown as { pattern: string }).pattern);
  const [digits, letters] = ["9".repeat(16), "a".repeat(36)];
  const named = ["1", digits, "client:aZ0_.:-", "client:client:1", `client:${letters}`];
  const not = [
    "",
    "0",
    "01",
    `${digits}9`,
    "client:",
    `client:${letters}a`,
    "client:/",
    "client:é",
    "x",
    "-1",
    "1\n",
    " 1",
  ];
  for (const name of [...named, ...not]) {
    assert.equal(isOrderReference(name), named.includes(name), name);
    assert.equal(api.test(name), named.includes(name), name);
  }
});

test("requests carry the session's token, which login sets and logout clears", async () => {
  const client = new PerpdClient({ baseUrl });
  const message = "perpd wants you to sign in\nwith a line break";
  answers = [
    { status: 200, body: { message, nonce: "n", expiresAt: 1 } },
    { status: 200, body: { token: "T", accountId: "16", address: "0xA", expiresAt: 2 } },
  ];
  const session = await client.login("0xA", async (text) => `signed ${text}`);
  assert.equal(session.accountId, "16");
  assert.deepEqual(JSON.parse(seen[1]?.body ?? ""), { message, signature: `signed ${message}` });
  await client.balance();
  assert.equal(seen[2]?.headers.authorization, "Bearer T");
  await client.logout();
  await client.balance();
  assert.equal(seen[4]?.headers.authorization, undefined);
});

test("an API key signs timestamp, method, path with query, and body", async () => {
  const client = new PerpdClient({ baseUrl, apiKey: "K", secret: "S" });
  const sign = (text: string): string => createHmac("sha256", "S").update(text).digest("hex");
  await client.openOrders({ symbol: "BTC-PERP", limit: 1 });
  await client.setLeverage("BTC-PERP", 3);
  for (const { request, headers, body } of seen) {
    const [method, target] = request.split(" ");
    const timestamp = String(headers["x-timestamp"]);
    assert.ok(Math.abs(Number(timestamp) - Date.now()) < 60_000);
    assert.equal(headers["x-api-key"], "K");
    assert.equal(headers["x-signature"], sign(`${timestamp}${method}${target}${body}`));
    assert.equal(headers.authorization, undefined);
  }
});

test("many requests signed at once never get a timestamp that is too far ahead", async () => {
  const requests = new Requests({ baseUrl, apiKey: "K", secret: "S" });
  const signed = await Promise.all(Array.from({ length: 3000 }, () => requests.socketCredentials()));
  const timestamps = signed.map((credentials) => Number(credentials?.timestamp));
  assert.ok(Math.max(...timestamps) < Date.now() + 1000);
  const first = timestamps.slice(0, 100);
  assert.equal(new Set(first).size, first.length);
});

test("a refusal is a PerpdError with every field of the exchange's error", async () => {
  const client = new PerpdClient({ baseUrl });
  const body = {
    code: "INSUFFICIENT_MARGIN",
    message: "not enough",
    field: "quantity",
    details: { required: "5" },
    retryable: false,
    requestId: "r-1",
    serverTime: 7,
  };
  answers = [{ status: 422, body }];
  await assert.rejects(client.balance(), (error) => {
    assert.ok(error instanceof PerpdError);
    const { status, code, field, details, retryable, requestId, serverTime } = error;
    const { message: _, ...expected } = body;
    assert.deepEqual({ status, code, field, details, retryable, requestId, serverTime }, { status: 422, ...expected });
    assert.match(error.message, /INSUFFICIENT_MARGIN: not enough/);
    return true;
  });
});

test("a response from something other than perpd is a PerpdError with an unknown outcome", async () => {
  const bodies = ["<html>", "", "null", "[]", "7", '"OK"'];
  const cases: [status: number, body: unknown][] = [
    ...bodies.map((body): [number, unknown] => [200, body]),
    ...[...bodies, {}, { code: 404, message: "no" }].map((body): [number, unknown] => [404, body]),
  ];
  for (const [status, body] of cases) {
    answers = [{ status, body }];
    await assert.rejects(new PerpdClient({ baseUrl }).balance(), {
      name: "PerpdError",
      status,
      code: "NOT_PERPD",
      retryable: false,
      message: `NOT_PERPD: ${new URL(baseUrl).origin} is not a perpd exchange: check the URL, and any proxy in between (${status})`,
    });
  }
  assert.equal(seen.length, cases.length);
});

test("a redirect is not followed, since it would change the request", async () => {
  const client = new PerpdClient({ baseUrl, token: "T" });
  for (const status of [301, 302, 303, 307, 308]) {
    seen = [];
    answers = [{ status, body: "", location: "https://other.example/v1/orders" }];
    const order = client.placeOrder({ symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" });
    await assert.rejects(order, {
      status,
      code: "NOT_PERPD",
      message: /redirect to https:\/\/other\.example\/v1\/orders/,
    });
    assert.deepEqual(
      seen.map(({ request }) => request),
      ["POST /v1/orders"],
    );
  }
});
