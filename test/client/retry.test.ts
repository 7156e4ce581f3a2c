import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { PerpdClient } from "../../src/client/client.ts";
import { type ErrorBody, PerpdError } from "../../src/client/error.ts";
import { Retry } from "../../src/client/retry.ts";
import type { Batch } from "../../src/client/types.ts";

type BatchItem = Batch["items"][number];

interface Step {
  /** 0: the connection is cut before there is an answer. */
  status: number;
  body?: Partial<ErrorBody>;
  retryAfter?: string;
}

const BUSY: Step = { status: 503, body: { code: "OVERLOADED", retryable: true }, retryAfter: "0" };
const LIMITED: Step = { status: 429, body: { code: "RATE_LIMITED", retryable: true }, retryAfter: "0" };
/** Of a proxy: the exchange was not there, or did not answer it. */
const PROXIED: Step[] = [502, 503, 504].map((status) => ({ status, retryAfter: "0" }));
const REPLAYED: Step = { status: 401, body: { code: "SIGNATURE_REPLAYED", retryable: false } };
const LOST: Step = { status: 0 };
const DONE: Step = { status: 200 };

/** A server that answers step by step, then with success, and what it was sent. */
async function serve(t: TestContext, steps: Step[]): Promise<{ client: PerpdClient; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    const { status, body = {}, retryAfter } = steps.shift() ?? DONE;
    if (status === 0) request.socket.destroy();
    else {
      response.writeHead(status, retryAfter === undefined ? {} : { "Retry-After": retryAfter });
      response.end(JSON.stringify(body));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { client: new PerpdClient({ baseUrl, apiKey: "K", secret: "S", retries: 2 }), seen };
}

const order = { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" } as const;
const batchOf = (...items: BatchItem[]) => ({ symbol: "BTC-PERP", items });
const placed = { action: "PLACE", side: "BUY", type: "MARKET", quantity: "1" } as const;
const money = { asset: "USDC", amount: "1" } as const;
const address = "0x0000000000000000000000000000000000000001";

const REPEATED: [name: string, call: (client: PerpdClient) => Promise<unknown>][] = [
  ["a read", (client) => client.balance()],
  ["a cancel", (client) => client.cancelOrder("1")],
  ["a setter", (client) => client.setLeverage("BTC-PERP", 2)],
  ["an order with a name", (client) => client.placeOrder({ ...order, clientOrderId: "a" })],
  [
    "a batch whose new orders have names",
    (client) => client.batch(batchOf({ action: "CANCEL", orderId: "1" }, { ...placed, clientOrderId: "a" })),
  ],
  ["a dry run of an order", (client) => client.tryOrder(order)],
  ["a deposit with a reference", (client) => client.deposit({ ...money, reference: "a" })],
  ["moving margin with a reference", (client) => client.moveMargin("BTC-PERP", "1", "a")],
  ["a withdrawal with a reference", (client) => client.withdraw({ ...money, address, reference: "a" })],
];
const SENT_ONCE: typeof REPEATED = [
  ["an order without a name", (client) => client.placeOrder(order)],
  [
    "a batch with a new order without a name",
    (client) => client.batch(batchOf({ ...placed, clientOrderId: "a" }, placed)),
  ],
  ["moving margin without a reference", (client) => client.moveMargin("BTC-PERP", "1")],
  ["a deposit without a reference", (client) => client.deposit(money)],
  ["a withdrawal without a reference", (client) => client.withdraw({ ...money, address })],
  ["closing a position", (client) => client.closePosition("BTC-PERP")],
  ["a new key", (client) => client.createKey({ label: "a", permissions: ["READ"] })],
];

for (const [name, call] of REPEATED)
  test(`${name} is retried until it succeeds`, async (t) => {
    for (const step of [BUSY, LIMITED, LOST, ...PROXIED]) {
      const { client, seen } = await serve(t, [step, step]);
      await call(client);
      assert.equal(seen.length, 3);
      assert.equal(new Set(seen.map(({ method, url }) => `${method} ${url}`)).size, 1);
    }
  });

for (const [name, call] of SENT_ONCE)
  test(`${name} is sent once`, async (t) => {
    for (const step of [BUSY, LIMITED, LOST, ...PROXIED]) {
      const { client, seen } = await serve(t, [step]);
      await assert.rejects(call(client));
      assert.equal(seen.length, 1);
    }
  });

test("after the last retry the caller gets the refusal with its retryAfterMs", async (t) => {
  const { client, seen } = await serve(t, [BUSY, BUSY, { ...LIMITED, retryAfter: "7" }]);
  await assert.rejects(client.balance(), { name: "PerpdError", code: "RATE_LIMITED", retryAfterMs: 7000 });
  assert.equal(seen.length, 3);
});

test("a lost response followed by a refusal is reported with an unknown outcome", async (t) => {
  const named = { ...order, clientOrderId: "a" };
  const gateway: Step = { status: 504, retryAfter: "0" };
  const later = { ...LIMITED, retryAfter: "11" };
  for (const steps of [
    [LOST, BUSY, BUSY],
    [BUSY, LOST, LIMITED],
    [LOST, later],
  ])
    await assert.rejects((await serve(t, steps)).client.placeOrder(named), { name: "TypeError" });
  for (const unknown of [gateway, { ...BUSY, body: { code: "TIMEOUT", retryable: true } }]) {
    const code = unknown.body?.code ?? "NOT_PERPD";
    await assert.rejects((await serve(t, [unknown, BUSY, BUSY])).client.placeOrder(named), { code });
  }
  // The exchange knows the name of an order that was placed: what it refuses was not.
  const refused = await serve(t, [LOST, { status: 422, body: { code: "INSUFFICIENT_MARGIN" } }]);
  await assert.rejects(refused.client.placeOrder(named), { code: "INSUFFICIENT_MARGIN" });
});

test("a request that is cut off and then fails to connect is reported with an unknown outcome", async () => {
  const failed = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
  const errors = ["ECONNREFUSED", "ECONNRESET", "ECONNREFUSED"].map(failed);
  const [, cut] = errors;
  const retry = new Retry({ retries: 2 });
  await assert.rejects(
    retry.run(true, () => Promise.reject(errors.shift())),
    (error) => error === cut,
  );
});

test("a Retry-After beyond maxWaitMs fails at once, and a refusal is not retried", async (t) => {
  const long = await serve(t, [{ ...LIMITED, retryAfter: "11" }]);
  await assert.rejects(long.client.balance(), { code: "RATE_LIMITED", retryAfterMs: 11_000 });
  assert.equal(long.seen.length, 1);
  const refused = await serve(t, [{ status: 422, body: { code: "INSUFFICIENT_MARGIN" } }]);
  await assert.rejects(refused.client.placeOrder({ ...order, clientOrderId: "a" }), { code: "INSUFFICIENT_MARGIN" });
  assert.equal(refused.seen.length, 1);
});

test("a retry is signed again, since the exchange accepts a signature once", async (t) => {
  const { client, seen } = await serve(t, [{ ...BUSY, retryAfter: "1" }]);
  await client.cancelOrders();
  const [first, second] = seen.map(({ headers }) => headers);
  assert.notEqual(first?.["x-timestamp"], second?.["x-timestamp"]);
  assert.notEqual(first?.["x-signature"], second?.["x-signature"]);
});

test("a request whose signature another client used first is signed and sent again", async (t) => {
  const sendsTwice = async ([name, call]: (typeof REPEATED)[number]): Promise<void> => {
    const { client, seen } = await serve(t, [REPLAYED]);
    await call(client);
    const signatures = seen.map(({ headers }) => headers["x-signature"]);
    assert.deepEqual([signatures.length, new Set(signatures).size], [2, 2], name);
  };
  await Promise.all([...REPEATED, ...SENT_ONCE].map(sendsTwice));
  const { client, seen } = await serve(t, [REPLAYED, REPLAYED, REPLAYED]);
  await assert.rejects(client.placeOrder(order), { code: "SIGNATURE_REPLAYED" });
  assert.equal(seen.length, 3);
});

test("a process that starts, stops or does not lead has done nothing: every request is sent again", async (t) => {
  for (const code of ["NOT_READY", "NOT_LEADER"])
    for (const [, call] of [...REPEATED, ...SENT_ONCE].slice(-3)) {
      const { client, seen } = await serve(t, [{ status: 503, body: { code }, retryAfter: "0" }]);
      await call(client);
      assert.equal(seen.length, 2);
    }
});

test("of several addresses one that does not answer or lead is left often and soon, and an answer counts as of one", async () => {
  const after = async (error: Error, options: object, isRepeatable = true): Promise<number> => {
    let sent = 0;
    const send = (): Promise<never> => {
      sent++;
      return Promise.reject(error);
    };
    await assert.rejects(new Retry({ addresses: 2, ...options }).run(isRepeatable, send), error);
    return sent;
  };
  const refusal = (code: string): PerpdError => new PerpdError(503, { code, message: code, retryable: true }, 20_000);
  assert.equal(await after(refusal("NOT_LEADER"), { retries: 6 }), 7);
  assert.equal(await after(new Error("lost"), { retries: 6 }), 7);
  const refused = new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) });
  assert.deepEqual([await after(refused, { retries: 6 }, false), await after(new Error("lost"), {}, false)], [7, 1]);
  // Only after a round is there a wait.
  assert.equal(await after(new Error("lost"), { maxWaitMs: 0 }), 2);
  assert.equal(await after(refusal("OVERLOADED"), { maxWaitMs: 0 }), 1);
  assert.equal(await after(refusal("NOT_LEADER"), { addresses: 1 }), 1);
});

test("without Retry-After waits double, and a wait beyond maxWaitMs gives up", async () => {
  let sent = 0;
  const send = (): Promise<never> => {
    sent++;
    return Promise.reject(new Error("lost"));
  };
  // The first is a quarter of a second at most, the second no less.
  await assert.rejects(new Retry({ retries: 3, maxWaitMs: 250 }).run(true, send), /lost/);
  assert.equal(sent, 2);
});
