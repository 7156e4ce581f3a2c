import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { PerpdClient } from "../../src/client/client.ts";
import { type ErrorBody, isOutcomeUnknown, PerpdError } from "../../src/client/error.ts";
import { type Repetition, Retry } from "../../src/client/retry.ts";
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
  ["an amendment", (client) => client.amendOrder("1", { price: "1" })],
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
  ["an amendment to a price of the book", (client) => client.amendOrder("1", { priceMatch: "OPPONENT" })],
  [
    "a batch with an amendment",
    (client) => client.batch(batchOf({ action: "AMEND", orderId: "1", price: "1" }, { ...placed, clientOrderId: "a" })),
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

/** Of the first try nobody knows the outcome. The second is refused. */
async function refusedAfterLoss(
  t: TestContext,
  call: (client: PerpdClient) => Promise<unknown>,
  code: string,
  status = 409,
) {
  const { client } = await serve(t, [LOST, { status, body: { code } }]);
  return call(client).then(
    () => assert.fail(code),
    (error: Error) => (error instanceof PerpdError ? error.code : error.name),
  );
}

test("a refusal that the lost try may have caused is reported with an unknown outcome", async (t) => {
  const calls: [call: (client: PerpdClient) => Promise<unknown>, code: string][] = [
    [(client) => client.amendOrder("1", { price: "1", quantity: "2" }), "ORDER_NOT_OPEN"],
    [(client) => client.batch(batchOf({ action: "CANCEL", orderId: "1" })), "SYMBOL_HALTED"],
    [(client) => client.setLeverage("BTC-PERP", 2), "INSUFFICIENT_MARGIN"],
    [(client) => client.setMarginMode("BTC-PERP", "ISOLATED"), "OPEN_ORDERS_EXIST"],
  ];
  for (const [call, code] of calls) assert.equal(await refusedAfterLoss(t, call, code), "TypeError", code);
});

test("a refusal that is true of the lost try, too, is reported", async (t) => {
  const calls: [call: (client: PerpdClient) => Promise<unknown>, code: string][] = [
    [(client) => client.placeOrder({ ...order, clientOrderId: "a" }), "REQUEST_EXPIRED"],
    [(client) => client.moveMargin("BTC-PERP", "1", "a"), "NO_POSITION"],
    // The order is not open, whichever cancel ended it.
    [(client) => client.cancelOrder("1"), "ORDER_NOT_OPEN"],
  ];
  for (const [call, code] of calls) assert.equal(await refusedAfterLoss(t, call, code), code);
});

test("a request that the wallet must sign is known to be refused, also after a lost try", async (t) => {
  const withdraw = (client: PerpdClient) => client.withdraw({ ...money, address, reference: "a" });
  const code = "WALLET_SIGNATURE_REQUIRED";
  assert.equal(await refusedAfterLoss(t, withdraw, code, 403), code);
});

test("a refusal of the credentials says nothing about the lost try, except of a read", async (t) => {
  const named = (client: PerpdClient) => client.placeOrder({ ...order, clientOrderId: "a" });
  assert.equal(await refusedAfterLoss(t, named, "INVALID_TOKEN", 401), "TypeError");
  assert.equal(await refusedAfterLoss(t, named, "IP_NOT_ALLOWED", 403), "TypeError");
  assert.equal(await refusedAfterLoss(t, (client) => client.balance(), "INVALID_TOKEN", 401), "INVALID_TOKEN");
});

test("a request that is cut off and then fails to connect is reported with an unknown outcome", async () => {
  const failed = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
  const errors = ["ECONNREFUSED", "ECONNRESET", "ECONNREFUSED"].map(failed);
  const [, cut] = errors;
  const retry = new Retry({ retries: 2 });
  await assert.rejects(
    retry.run("READ", () => Promise.reject(errors.shift())),
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

test("a request whose signature was used before is signed and sent again if it may be repeated", async (t) => {
  const sendsTwice = async ([name, call]: (typeof REPEATED)[number]): Promise<void> => {
    const { client, seen } = await serve(t, [REPLAYED]);
    await call(client);
    const signatures = seen.map(({ headers }) => headers["x-signature"]);
    assert.deepEqual([signatures.length, new Set(signatures).size], [2, 2], name);
  };
  await Promise.all(REPEATED.map(sendsTwice));
  const { client, seen } = await serve(t, [REPLAYED, REPLAYED, REPLAYED]);
  await assert.rejects(client.balance(), { code: "SIGNATURE_REPLAYED" });
  assert.equal(seen.length, 3);
});

test("the outcome of a request that may not be repeated is unknown if its signature was used before", async (t) => {
  for (const [name, call] of SENT_ONCE) {
    const { client, seen } = await serve(t, [REPLAYED]);
    const error = await call(client).then(
      () => assert.fail(name),
      (error: PerpdError) => error,
    );
    assert.deepEqual([error.code, isOutcomeUnknown(error), seen.length], ["SIGNATURE_REPLAYED", true, 1], name);
  }
  // Something on the way sent the amendment twice, and the first copy filled the order.
  const { client } = await serve(t, [REPLAYED, { status: 409, body: { code: "ORDER_NOT_OPEN" } }]);
  await assert.rejects(client.amendOrder("1", { price: "1" }), { code: "SIGNATURE_REPLAYED" });
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
  const after = async (error: Error, options: object, repetition: Repetition = "READ"): Promise<number> => {
    let sent = 0;
    const send = (): Promise<never> => {
      sent++;
      return Promise.reject(error);
    };
    await assert.rejects(new Retry({ addresses: 2, ...options }).run(repetition, send), error);
    return sent;
  };
  const refusal = (code: string): PerpdError => new PerpdError(503, { code, message: code, retryable: true }, 20_000);
  assert.equal(await after(refusal("NOT_LEADER"), { retries: 6 }), 7);
  assert.equal(await after(new Error("lost"), { retries: 6 }), 7);
  const refused = new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) });
  assert.deepEqual(
    [await after(refused, { retries: 6 }, "NEVER"), await after(new Error("lost"), {}, "NEVER")],
    [7, 1],
  );
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
  await assert.rejects(new Retry({ retries: 3, maxWaitMs: 250 }).run("READ", send), /lost/);
  assert.equal(sent, 2);
});
