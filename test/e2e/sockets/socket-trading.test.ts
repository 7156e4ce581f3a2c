import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import type {
  CanceledOrders,
  CreatedApiKey,
  ErrorBody,
  MovedMargin,
  Order,
  PlacedOrder,
} from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient, type SocketMessage } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

interface Reply<T> extends SocketMessage {
  status: number;
  result: T;
}

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;
let socket: SocketClient;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  socket = await SocketClient.openAs(server.wsUrl, alice.token);
});

after(async () => {
  await socket.close();
  await operator.soundAudit();
  await server.dispose();
});

/** The result of a request that must succeed with this status. */
async function call<T>(status: number, op: string, params?: object): Promise<T> {
  const reply = (await socket.request(op, params === undefined ? {} : { params })) as Reply<T>;
  assert.deepEqual([reply.op, reply.status], [op, status], JSON.stringify(reply));
  assert.deepEqual(Object.keys(reply), ["op", "id", "status", "result"]);
  return reply.result;
}

/** A value with its leaves replaced by their types: two of them are equal when two answers have the same shape. */
const shape = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shape);
  if (typeof value !== "object" || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shape(each)]));
};

const limit = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.1" } as const;

test("placing and canceling over the socket replies as REST does", async () => {
  const placed = await call<PlacedOrder>(201, "order.place", limit);
  const { fills, ...order } = placed;
  assert.deepEqual(fills, []);
  assert.deepEqual(await alice.order(placed.orderId), order);
  assert.deepEqual(shape(placed), shape(await alice.place(limit)));
  const canceled = await call<Order>(200, "order.cancel", { orderId: placed.orderId });
  assert.deepEqual(await alice.order(placed.orderId), canceled);
  assert.equal(canceled.status, "CANCELED");
  const rest = await call<CanceledOrders>(200, "order.cancelAll");
  assert.equal(rest.canceled, 1);
  assert.deepEqual(Object.keys(rest), ["canceled", "data"]);
});

test("the reply contains the fills, and a client order id deduplicates and cancels the order", async () => {
  await bob.sell("0.3", "65000");
  const taking = { ...limit, price: "65000", clientOrderId: "once" };
  const taken = await call<PlacedOrder>(201, "order.place", taking);
  assert.equal(taken.status, "FILLED");
  const { data } = await alice.fills();
  assert.deepEqual(taken.fills, data);
  const again = await call<PlacedOrder>(200, "order.place", taking);
  assert.deepEqual(again, { ...taken, duplicate: true });
  const resting = await call<PlacedOrder>(201, "order.place", { ...limit, clientOrderId: "named" });
  const canceled = await call<Order>(200, "order.cancel", { clientOrderId: "named" });
  assert.equal(canceled.orderId, resting.orderId);
  await bob.cancelAll();
});

test("positions are closed and leverage is set over the socket", async () => {
  assert.deepEqual(await call(200, "position.leverage", { symbol: "BTC-PERP", leverage: 20 }), {
    symbol: "BTC-PERP",
    leverage: 20,
  });
  assert.deepEqual(await call(200, "position.marginMode", { symbol: "BTC-PERP", mode: "ISOLATED" }), {
    symbol: "BTC-PERP",
    marginMode: "ISOLATED",
  });
  const move = { symbol: "BTC-PERP", amount: "1.5", reference: "one" };
  const moved = await call<MovedMargin>(200, "position.margin", move);
  assert.deepEqual(await alice.position(), moved);
  assert.deepEqual(await call<MovedMargin>(200, "position.margin", move), { ...moved, duplicate: true });
  await bob.buy("1", "64990");
  const half = await call<PlacedOrder>(201, "position.close", { symbol: "BTC-PERP", quantity: "0.05" });
  assert.deepEqual([half.status, half.filledQuantity, half.reduceOnly], ["FILLED", "0.05", true]);
  await call<PlacedOrder>(201, "position.close", { symbol: "BTC-PERP" });
  assert.equal(await alice.position(), null);
  await bob.cancelAll();
});

test("refusals over the socket equal those of REST", async () => {
  const closed = await alice.buy("0.1", "60000");
  await alice.cancel(closed.orderId);
  const { price: _price, ...unpriced } = limit;
  const stop = await alice.place({ ...unpriced, type: "STOP_MARKET", triggerPrice: "66000", clientOrderId: "stop" });
  const change = { quantity: "0.2" };
  const unfit = { price: "66000" };
  const table: [op: string, params: object, method: string, path: string, body?: unknown][] = [
    ["order.place", { ...limit, quantity: "50" }, "POST", "/orders", { ...limit, quantity: "50" }],
    ["order.place", { ...limit, price: "64000.05" }, "POST", "/orders", { ...limit, price: "64000.05" }],
    ["order.place", { ...limit, price: 64000 }, "POST", "/orders", { ...limit, price: 64000 }],
    ["order.place", { ...limit, symbol: "DOGE-PERP" }, "POST", "/orders", { ...limit, symbol: "DOGE-PERP" }],
    ["order.place", { ...limit, more: 1 }, "POST", "/orders", { ...limit, more: 1 }],
    ["order.place", {}, "POST", "/orders", {}],
    ["order.cancelAll", { side: "LEFT" }, "DELETE", "/orders?side=LEFT"],
    ["position.close", { symbol: "ETH-PERP" }, "POST", "/positions/ETH-PERP/close"],
    [
      "position.leverage",
      { symbol: "ETH-PERP", leverage: 999 },
      "POST",
      "/positions/ETH-PERP/leverage",
      { leverage: 999 },
    ],
    [
      "position.marginMode",
      { symbol: "ETH-PERP", mode: "BOTH" },
      "POST",
      "/positions/ETH-PERP/margin-mode",
      { mode: "BOTH" },
    ],
    ["position.margin", { symbol: "ETH-PERP", amount: "1" }, "POST", "/positions/ETH-PERP/margin", { amount: "1" }],
    ["order.cancel", { orderId: closed.orderId }, "DELETE", `/orders/${closed.orderId}`],
    ["order.cancel", { orderId: "25601" }, "DELETE", "/orders/25601"],
    ["order.amend", { orderId: closed.orderId, ...change }, "PATCH", `/orders/${closed.orderId}`, change],
    ["order.amend", { orderId: stop.orderId, ...unfit }, "PATCH", `/orders/${stop.orderId}`, unfit],
    ["order.amend", { clientOrderId: "stop", ...unfit }, "PATCH", "/orders/client:stop", unfit],
  ];
  for (const [op, params, method, path, body] of table) {
    const said = await socket.request(op, { params });
    assert.equal(said.op, "error", `${op} ${JSON.stringify(params)}`);
    const { op: _, id: __, serverTime, field, ...error } = said as SocketMessage & Partial<ErrorBody>;
    assert.ok(Number.isSafeInteger(serverTime));
    const { body: rest } = await alice.request<ErrorBody>(method, path, body);
    const { requestId: ___, serverTime: ____, field: restField, ...expected } = rest;
    assert.deepEqual(error, expected, `${op} ${JSON.stringify(params)}`);
    const nameOfOrder = "clientOrderId" in params ? "clientOrderId" : "orderId";
    assert.equal(field, restField === "id" ? nameOfOrder : restField);
  }
  await alice.cancel(stop.orderId);
  const both = await socket.request("order.cancel", { params: { orderId: "1", clientOrderId: "x" } });
  assert.equal(both.code, "BAD_COMBINATION");
  const none = await socket.request("order.cancel", { params: {} });
  assert.deepEqual([none.code, none.field], ["MISSING_FIELD", "orderId"]);
});

test("trading over the socket needs the TRADE permission", async () => {
  const nobody = await SocketClient.open(server.wsUrl);
  assert.equal((await nobody.request("order.place", { params: limit })).code, "UNAUTHENTICATED");
  const key = await alice.call<CreatedApiKey>(201, "POST", "/auth/keys", { label: "reader", permissions: ["READ"] });
  const credentials = (timestamp: number) => {
    const signature = createHmac("sha256", key.secret).update(`${timestamp}GET/v1/ws`).digest("hex");
    return { apiKey: key.apiKey, timestamp, signature };
  };
  const now = Date.now();
  const lost = await nobody.request("auth", { ...credentials(now), cancelOnDisconnect: true });
  assert.equal(lost.code, "PERMISSION_DENIED");
  assert.equal((await nobody.request("auth", credentials(now + 1))).op, "authenticated");
  for (const [op, params] of [
    ["order.place", limit],
    ["order.cancel", { orderId: "1" }],
    ["order.cancelAll", {}],
    ["position.close", { symbol: "BTC-PERP" }],
    ["position.leverage", { symbol: "BTC-PERP", leverage: 2 }],
  ] as const)
    assert.equal((await nobody.request(op, { params })).code, "PERMISSION_DENIED", op);
  assert.equal((await alice.openOrders()).data.length, 0);
  await nobody.close();
});

test("many concurrent orders each get a reply with their id", async () => {
  const placed = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      call<PlacedOrder>(201, "order.place", { ...limit, price: String(50_000 + i), quantity: "0.001" }),
    ),
  );
  assert.deepEqual(
    placed.map((order) => Number(order.price)),
    Array.from({ length: 200 }, (_, i) => 50_000 + i),
  );
  assert.equal((await call<CanceledOrders>(200, "order.cancelAll", { symbol: "BTC-PERP" })).canceled, 200);
});

test("requests sent after a cancel or amendment by clientOrderId do not overtake it", async () => {
  const carol = await openTrader(server, "1000");
  const quoting = await SocketClient.openAs(server.wsUrl, carol.token);
  // Initial margin for one of them.
  const quote = (clientOrderId: string) => ({ ...limit, quantity: "0.14", clientOrderId });
  await quoting.request("order.place", { params: quote("q-0") });
  const from = quoting.messages.length;
  quoting.sendAtOnce([
    { op: "order.cancel", id: "cancel", params: { clientOrderId: "q-0" } },
    { op: "order.place", id: "place", params: quote("q-1") },
    { op: "order.amend", id: "amend", params: { clientOrderId: "q-1", quantity: "0.01" } },
    { op: "order.place", id: "more", params: { ...quote("q-2"), quantity: "0.12" } },
  ]);
  for (const id of ["cancel", "place", "amend", "more"]) {
    const said = (await quoting.find(id, (message) => message.id === id, from)) as Reply<PlacedOrder>;
    assert.ok(said.status < 300, `${id}: ${JSON.stringify(said)}`);
  }
  assert.deepEqual(
    (await carol.openOrders()).data.map(({ clientOrderId, quantity }) => [clientOrderId, quantity]),
    [
      ["q-2", "0.12"],
      ["q-1", "0.01"],
    ],
  );
  await carol.cancelAll();
  await quoting.close();
});

test("an order whose client disconnected stays open", async () => {
  const leaving = await SocketClient.openAs(server.wsUrl, alice.token);
  leaving.send({ op: "order.place", params: { ...limit, clientOrderId: "left-behind" } });
  await leaving.close();
  await until("the order", async () => (await alice.request("GET", "/orders/client:left-behind")).status === 200);
  assert.equal((await alice.order("client:left-behind")).status, "NEW");
  await alice.cancelAll();
});

test("cancel on disconnect covers every symbol and orders placed just before, and no other account", async () => {
  const leaving = await SocketClient.open(server.wsUrl);
  await leaving.request("auth", { token: alice.token, cancelOnDisconnect: true });
  const kept = await bob.buy("0.1", "60000");
  await alice.buy("0.1", "60000");
  await leaving.request("order.place", { params: { ...limit, symbol: "ETH-PERP", price: "2900", quantity: "1" } });
  leaving.send({ op: "order.place", params: { ...limit, clientOrderId: "last" } });
  leaving.send({ op: "ping", id: "sent" });
  await leaving.find("the pong", (message) => message.id === "sent");
  leaving.socket.terminate();
  await until("all orders to be canceled", async () => (await alice.openOrders()).data.length === 0);
  assert.equal((await alice.order("client:last")).reason, "USER");
  assert.equal((await bob.order(kept.orderId)).status, "NEW");
  await bob.cancelAll();
});
