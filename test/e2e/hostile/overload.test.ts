import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Order, Page } from "../../../src/client/types.ts";
import { OVERLOAD } from "../../fuzz/overload/stage.ts";
import { textFrame, upgrade } from "../support/raw-socket.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient, type SocketMessage } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

/** A burst that comes in one piece is too much. */
const SMALL = { PERPD_MAX_IN_FLIGHT: "100" };
const BURST = 2000;
const SYMBOLS = ["BTC-PERP", "ETH-PERP", "SOL-PERP"] as const;
const PRICES = { "BTC-PERP": "60000", "ETH-PERP": "2900", "SOL-PERP": "140" };

let server: TestServer;
let operator: Operator;

before(async () => {
  // A worker for each symbol.
  server = await startServer({ environment: SMALL, flags: ["--workers", "4"] });
  operator = new Operator(server);
  for (const [symbol, price] of [
    ["BTC-PERP", "65000"],
    ["ETH-PERP", "3000"],
    ["SOL-PERP", "150"],
  ] as const)
    await operator.setIndex(symbol, price);
});

after(async () => {
  await operator.soundAudit();
  assert.deepEqual(server.loggedErrors, []);
  await server.dispose();
});

const order = (symbol: (typeof SYMBOLS)[number], clientOrderId: string) => ({
  symbol,
  side: "BUY",
  type: "LIMIT",
  price: PRICES[symbol],
  quantity: symbol === "BTC-PERP" ? "0.001" : "0.1",
  clientOrderId,
});

async function openSocket(trader: Trader): Promise<SocketClient> {
  const client = await SocketClient.open(server.wsUrl);
  assert.equal((await client.request("auth", { token: trader.token })).op, "authenticated");
  return client;
}

/** Sends everything at once: the front has read too much before the first answer can come. The answers by id. */
async function burst(client: SocketClient, requests: { op: string; id: string; params: object }[]) {
  const from = client.messages.length;
  client.sendAtOnce(requests);
  const answers = new Map<string, SocketMessage & { status?: number; result?: { canceled: number; data: Order[] } }>();
  await until("every answer of the burst", () => {
    for (const message of client.messages.slice(from)) answers.set(String(message.id), message);
    return answers.size === requests.length;
  });
  return answers;
}

const place = (symbol: (typeof SYMBOLS)[number], id: string) => ({
  op: "order.place",
  id,
  params: order(symbol, id),
});

test("an order beyond capacity gets OVERLOADED at once, and nothing is done", async (t) => {
  const alice = await openTrader(server);
  const client = await openSocket(alice);
  t.after(() => client.close());
  const requests = Array.from({ length: BURST }, (_, i) => place(i % 4 === 0 ? "ETH-PERP" : "BTC-PERP", `a${i}`));
  const answers = await burst(client, requests);
  const taken = [...answers].filter(([, { status }]) => status === 201).map(([id]) => id);
  const overloaded = [...answers].filter(([, { code }]) => code === "OVERLOADED");
  const others = [...answers.values()].filter(({ status, code }) => status !== 201 && code !== "OVERLOADED");
  t.diagnostic(`${taken.length} taken, ${overloaded.length} refused as too many`);
  // Of BTC-PERP a thousand may be open.
  for (const { code } of others) assert.equal(code, "TOO_MANY_OPEN_ORDERS");
  assert.ok(overloaded.length > 0, "it was too much");
  for (const [, refusal] of overloaded) assert.equal(refusal.retryable, true);

  assert.deepEqual(await openIds(alice), new Set(taken));
  // The same again is a new order, since the first has never been one; what was taken is not placed twice.
  const [retried = ""] = overloaded.map(([id]) => id).slice(-1);
  const again = requests.find(({ id }) => id === retried);
  await alice.cancelAll();
  const placed = await alice.request("POST", "/orders", again?.params);
  assert.equal(placed.status, 201, placed.text);
  const first = requests.find(({ id }) => id === taken[0]);
  assert.equal((await alice.request("POST", "/orders", first?.params)).status, 200);
  assert.deepEqual(await openIds(alice), new Set([retried]));
});

test("a cancel after too many orders is executed, on all symbols", async (t) => {
  const alice = await openTrader(server);
  const client = await openSocket(alice);
  t.after(() => client.close());
  await Promise.all(SYMBOLS.map((symbol) => alice.place(order(symbol, `first-${symbol}`) as never)));
  const requests = Array.from({ length: BURST }, (_, i) => place("BTC-PERP", `b${i}`));
  const answers = await burst(client, [...requests, { op: "order.cancelAll", id: "cancel", params: {} }]);
  const taken = requests.filter(({ id }) => answers.get(id)?.status === 201).length;
  assert.ok(
    [...answers.values()].some(({ code }) => code === "OVERLOADED"),
    "it was too much",
  );
  const canceled = answers.get("cancel");
  assert.equal(canceled?.status, 200, JSON.stringify(canceled));
  assert.equal(canceled?.result?.canceled, taken + SYMBOLS.length);
  assert.deepEqual(await openIds(alice), new Set());
});

test("under a flood, cancels and liquidations work, and acknowledged orders exist", async (t) => {
  const [flooder, alice, victim, maker] = await Promise.all([
    openTrader(server, "1000000"),
    openTrader(server),
    openTrader(server, "1000"),
    openTrader(server, "1000000"),
  ]);
  await victim.call(200, "POST", "/positions/SOL-PERP/leverage", { leverage: 50 });
  const sol = { symbol: "SOL-PERP", type: "LIMIT", quantity: "200" } as const;
  await maker.place({ ...sol, side: "SELL", price: "150" });
  await victim.place({ ...sol, side: "BUY", price: "150" });
  await maker.place({ ...sol, quantity: "2000", side: "BUY", price: "144" });

  // As fast as it can be said, on sockets of which nobody reads an answer for long.
  let flooding = true;
  const rounds = { count: 0 };
  const flood = (async () => {
    while (flooding) {
      const socket = await upgrade(server.port);
      const ids = Array.from({ length: 500 }, (_, i) => `f${rounds.count}-${i}`);
      const params = { ...order("SOL-PERP", ""), clientOrderId: undefined, timeInForce: "IOC", price: "130" };
      socket
        .resume()
        .write(
          Buffer.concat([
            textFrame({ op: "auth", token: flooder.token }),
            ...ids.map((id) => textFrame({ op: "order.place", id, params })),
          ]),
        );
      // An exchange that is behind may cut it off first.
      for (let heard = 0; heard < 2 && !socket.closed; heard++)
        await new Promise((resolve) => socket.once("data", resolve).once("close", resolve));
      socket.destroy();
      rounds.count++;
    }
  })();
  t.after(() => {
    flooding = false;
  });

  const patiently = async <T>(send: () => Promise<{ status: number; body: T; text: string }>): Promise<T> =>
    until("room for one", async () => {
      const answer = await send();
      if (answer.status < 300) return answer.body;
      assert.equal(answer.status, 503, answer.text);
      return false;
    });
  for (let i = 0; i < 20; i++) {
    const placed = await patiently<Order>(() => alice.request("POST", "/orders", order("SOL-PERP", `c${i}`)));
    const canceled = await patiently<Order>(() => alice.request("DELETE", `/orders/${placed.orderId}`));
    assert.equal(canceled.status, "CANCELED");
  }
  await patiently(() => operator.request("PUT", "/operator/index/SOL-PERP", { price: "144" }));
  await until("the liquidation", async () => (await victim.position("SOL-PERP")) === null);
  flooding = false;
  await flood;
  t.diagnostic(`${rounds.count} rounds of 500 orders`);
  await Promise.all([maker.cancelAll(), flooder.cancelAll()]);
});

test("at twice the capacity, cancels and liquidations work and memory stays flat", (t) =>
  OVERLOAD.run(0, 3, (line) => t.diagnostic(line)));

/** The client order ids of all open orders. */
async function openIds(trader: Trader): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Page<Order> = await trader.openOrders(`?limit=1000${cursor === "" ? "" : `&cursor=${cursor}`}`);
    for (const { clientOrderId } of page.data) ids.add(clientOrderId ?? "");
    cursor = page.nextCursor;
  }
  return ids;
}
