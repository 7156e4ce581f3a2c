import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PerpdClient } from "../../../src/client/client.ts";
import type { ErrorBody, PerpdError } from "../../../src/client/error.ts";
import { type Answer, Api } from "../support/api.ts";
import { openKey } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { login, newPrivateKey } from "../support/wallet.ts";

/** A slow flow, so that it fills no bucket by accident while a test runs. */
const RATES = { PERPD_ORDER_RATE: "1", PERPD_CANCEL_RATE: "1", PERPD_REQUEST_RATE: "4", PERPD_RATE_BURST: "40" };
const MAX_SOCKETS = 5;
const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.001" } as const;

let server: TestServer;

before(async () => {
  const flags = ["--no-bots", "--price-source", "operator", "--rate-limit", "on"];
  server = await startServer({
    quiet: false,
    flags,
    environment: { ...RATES, PERPD_MAX_SOCKETS_PER_ADDRESS: String(MAX_SOCKETS) },
  });
  await new Operator(server).setIndex("BTC-PERP", "65000");
});

after(() => server.dispose());

const quotaOf = ({ headers }: Answer<unknown>) =>
  ["limit", "remaining", "reset"].map((name) => Number(headers[`ratelimit-${name}`]));

/** Sends until it is refused; the refusal. */
async function exhaust(send: () => Promise<Answer<unknown>>): Promise<Answer<ErrorBody>> {
  for (let i = 0; i < 500; i++) {
    const answer = await send();
    if (answer.status === 429) return answer as Answer<ErrorBody>;
    assert.ok(answer.status < 300, answer.text);
  }
  throw new Error("nothing was refused");
}

test("orders beyond their rate are refused, cancels are not, and nobody is banned", async (t) => {
  const alice: Trader = await openTrader(server);
  const first = await alice.request<{ orderId: string }>("POST", "/orders", ORDER);
  assert.equal(first.status, 201, first.text);
  assert.deepEqual(quotaOf(first).slice(0, 2), [40, 39]);

  const refused = await exhaust(() => alice.request("POST", "/orders", ORDER));
  const { code, retryable, details } = refused.body;
  assert.deepEqual([code, retryable], ["RATE_LIMITED", true]);
  assert.deepEqual([details?.scope, details?.budget, details?.limit], ["ACCOUNT", "ORDER", 40]);
  assert.equal(quotaOf(refused)[1], 0);
  const waitS = Number(refused.headers["retry-after"]);
  assert.ok(waitS >= 1 && waitS * 1000 >= Number(details?.retryAfterMs), `Retry-After: ${waitS}`);

  // The way out is open, and other accounts at the same address have their own.
  assert.equal((await alice.cancel(first.body.orderId)).status, "CANCELED");
  const { canceled } = await alice.cancelAll();
  assert.ok(canceled >= 39, `${canceled} were placed`);
  const bob = await openTrader(server);
  await bob.place(ORDER);
  await bob.cancelAll();

  // Neither a ban nor a penalty: a second or two later there is room again.
  t.diagnostic(`waiting ${waitS} s`);
  await new Promise((resolve) => setTimeout(resolve, waitS * 1000));
  await alice.place(ORDER);
  await alice.cancelAll();
});

test("the client retries repeatable requests after Retry-After", async () => {
  const alice = await openTrader(server);
  const client = new PerpdClient({ baseUrl: server.url, token: alice.token as string });
  const placeUntilRefused = async (): Promise<never> => {
    for (;;) await client.placeOrder(ORDER);
  };
  await assert.rejects(placeUntilRefused(), (error: PerpdError) => {
    assert.equal(error.code, "RATE_LIMITED");
    return (error.retryAfterMs ?? 0) >= 1000;
  });
  const placed = await client.placeOrder({ ...ORDER, clientOrderId: "patient" });
  assert.deepEqual([placed.status, placed.duplicate], ["NEW", undefined]);
});

test("a key has half of its account's budget", async () => {
  const alice = await openTrader(server);
  const key = await openKey(server, alice, ["TRADE"]);
  const { body } = await exhaust(() => key.request("POST", "/orders", ORDER));
  assert.deepEqual([body.details?.scope, body.details?.limit], ["KEY", 20]);
  await alice.place(ORDER);
  await alice.cancelAll();
});

test("transfers and key creation cost as much as logins", async () => {
  const alice = await openTrader(server);
  const address = alice.address;
  for (const [path, body] of [
    ["/account/deposit", { asset: "USDC", amount: "1" }],
    ["/account/withdraw", { asset: "USDC", amount: "0.000001", address }],
    ["/auth/keys", { label: "one more", permissions: ["READ"] }],
  ] as const) {
    const refused = await exhaust(() => alice.request("POST", path, body));
    const { scope, budget, weight } = refused.body.details ?? {};
    assert.deepEqual([scope, budget, weight], ["ACCOUNT", "REQUEST", 20], path);
  }
});

test("an address is limited in new accounts per hour, but existing accounts can log in", async (t) => {
  const flags = ["--no-bots", "--price-source", "operator", "--rate-limit", "on"];
  const small = await startServer({ quiet: false, flags, environment: { PERPD_ACCOUNT_RATE: "2" } });
  t.after(() => small.dispose());
  const privateKey = newPrivateKey();
  const { accountId } = await login(small.url, privateKey);
  await login(small.url);
  await assert.rejects(login(small.url), /"RATE_LIMITED".*"budget":"ACCOUNT"/);
  assert.equal((await login(small.url, privateKey)).accountId, accountId);

  await small.stop();
  await small.start();
  for (let i = 0; i < 2; i++) await login(small.url);
  await assert.rejects(login(small.url), /"RATE_LIMITED".*"budget":"ACCOUNT"/);
  assert.equal((await login(small.url, privateKey)).accountId, accountId, "also when that was before the start");
});

test("WebSocket requests use the same budgets, and replies report the rest", async () => {
  const alice = await openTrader(server);
  const socket = await SocketClient.open(server.wsUrl);
  await socket.request("auth", { token: alice.token });
  type Reply = { code?: string; status?: number; rateLimit?: { limit: number; remaining: number; resetMs: number } };
  const place = () => socket.request("order.place", { params: ORDER }) as Promise<Reply>;
  const first = await place();
  assert.equal(first.status, 201);
  const { limit = 0, remaining = 0, resetMs = 0 } = first.rateLimit ?? {};
  assert.ok(limit > remaining && remaining >= 0 && resetMs > 0, JSON.stringify(first.rateLimit));
  // Many at once: one after the other they might be no faster than the tokens, on a busy machine.
  const replies = await Promise.all(Array.from({ length: 60 }, place));
  assert.equal(replies.find(({ code }) => code !== undefined)?.code, "RATE_LIMITED");
  assert.equal((await socket.request("order.cancelAll", { params: {} })).code, undefined);
  await socket.close();
});

test("an address is limited in open WebSockets, and closing one allows another", async (t) => {
  const open: SocketClient[] = [];
  t.after(() => Promise.all(open.map((socket) => socket.close())));
  for (let i = 0; i < MAX_SOCKETS; i++) open.push(await SocketClient.open(server.wsUrl));
  await assert.rejects(SocketClient.open(server.wsUrl), /429/);
  assert.equal((await open[0]?.request("ping"))?.op, "pong", "the others do not notice");
  await open.pop()?.close();
  const again = await until("room for one", () => SocketClient.open(server.wsUrl).catch(() => undefined));
  open.push(again);
});

test("unauthenticated requests are charged to the address; the operator's and those of load balancers are free", async (t) => {
  // The slowest flow there is, four tokens a second for an address, and room for all handshakes at once.
  const flags = ["--no-bots", "--price-source", "operator", "--rate-limit", "on"];
  const slow = await startServer({ quiet: false, flags, environment: { PERPD_REQUEST_RATE: "1" } });
  t.after(() => slow.dispose());
  const nobody = new Api(slow.url);
  const refused = await exhaust(async () => {
    const answer = await nobody.request("GET", "/market/orderbook?symbol=BTC-PERP");
    await nobody.request("GET", "/nothing");
    await nobody.request("GET", "/orders");
    await nobody.request("BREW", "/orders");
    return answer;
  });
  assert.equal(refused.body.details?.scope, "IP");
  // Many at once: on a busy machine a token may have flowed in since.
  const atOnce = <T>(ask: () => Promise<T>) => Promise.allSettled(Array.from({ length: 50 }, ask));
  const handshakes = await atOnce(() => SocketClient.open(slow.wsUrl));
  const opened = handshakes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  t.after(() => Promise.all(opened.map((socket) => socket.close())));
  const refusals = handshakes.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []));
  assert.match(refusals[0] ?? "none was refused", /429/, "a handshake, too");
  for (const [method, path] of [
    ["GET", "/nothing"],
    ["GET", "/orders"],
    ["GET", "/openapi.json"],
    ["GET", "/operator/audit"],
  ] as const) {
    const answers = await atOnce(() => nobody.request(method, path));
    assert.ok(
      answers.some((each) => each.status === "fulfilled" && each.value.status === 429),
      `${method} ${path}`,
    );
  }
  for (const path of ["/health/live", "/health/ready"]) {
    const answers = await atOnce(() => nobody.request("GET", path));
    for (const each of answers) {
      assert.ok(each.status === "fulfilled" && each.value.status === 200, path);
      assert.equal(each.value.headers["ratelimit-limit"], undefined);
    }
  }
  await new Operator(slow).soundAudit();
});
