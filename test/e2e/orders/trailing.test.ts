import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { PerpdClient } from "../../../src/client/client.ts";
import type { BatchResults, NewOrder, Order, PlacedOrder } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer({ environment: { PERPD_SNAPSHOT_INTERVAL_MS: "100" } });
});

beforeEach(async () => {
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const trailing = (more: Partial<NewOrder> = {}): NewOrder => ({
  symbol: "BTC-PERP",
  side: "SELL",
  type: "TRAILING_STOP_MARKET",
  quantity: "0.1",
  callbackRate: "0.01",
  triggerBy: "INDEX",
  ...more,
});

test("a trailing stop shows its trigger, follows the price, fires and is in the history", async () => {
  const placed = await alice.place(trailing({ clientOrderId: "trail" }));
  const { fills, ...order } = placed;
  assert.deepEqual(fills, []);
  assert.deepEqual(
    [order.type, order.status, order.price, order.callbackRate, order.activationPrice, order.triggerPrice],
    ["TRAILING_STOP_MARKET", "UNTRIGGERED", null, "0.01", null, "64350"],
  );
  assert.equal(order.triggerBy, "INDEX");
  await operator.setIndex("BTC-PERP", "66000");
  await operator.setIndex("BTC-PERP", "65500");
  const moved = { ...order, triggerPrice: "65340" };
  assert.deepEqual(await alice.order(order.orderId), moved);
  assert.deepEqual((await alice.openOrders()).data, [moved]);

  await bob.buy("0.3", "65300");
  await operator.setIndex("BTC-PERP", "65340");
  const filled = await alice.fired(order.orderId);
  assert.deepEqual(
    [filled.status, filled.avgPrice, filled.triggerPrice, filled.callbackRate, filled.type],
    ["FILLED", "65300", "65340", "0.01", "TRAILING_STOP_MARKET"],
  );
  assert.deepEqual((await alice.history()).data, [filled]);
  const again = await alice.call<PlacedOrder>(200, "POST", "/orders", trailing({ clientOrderId: "trail" }));
  assert.deepEqual([again.orderId, again.duplicate], [order.orderId, true]);
  for (const other of [{ callbackRate: "0.02" }, { activationPrice: "70000" }])
    await alice.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", trailing({ clientOrderId: "trail", ...other }));
  await bob.cancelAll();
});

test("a canceled trailing stop shows its last trigger everywhere", async (t) => {
  const events: Order[] = [];
  const client = new PerpdClient({ baseUrl: server.url, token: alice.token ?? "" });
  const stream = client.stream([{ channel: "orders" }], {
    onMessage: (message) => void events.push(...(message as { data: Order[] }).data),
  });
  t.after(() => stream.close());
  await stream.ready;
  const { orderId } = await alice.place(trailing());
  await operator.setIndex("BTC-PERP", "66000");
  const canceled = await alice.cancel(orderId);
  assert.deepEqual([canceled.status, canceled.triggerPrice], ["CANCELED", "65340"]);
  assert.deepEqual(await alice.order(orderId), canceled);
  assert.deepEqual((await alice.history()).data, [canceled]);
  assert.deepEqual(
    await until("its end on the stream", () => events.find(({ status }) => status === "CANCELED")),
    canceled,
  );
});

test("callback and activation price are amended over REST, WebSocket and in a batch", async (t) => {
  const socket = await SocketClient.openAs(server.wsUrl, alice.token);
  t.after(() => socket.socket.close());
  await socket.subscribe({ channel: "orders" });
  const { orderId } = await alice.place(trailing({ activationPrice: "66500" }));
  const path = `/orders/${orderId}`;
  const early = await alice.call<PlacedOrder>(200, "PATCH", path, { activationPrice: "65500" });
  assert.deepEqual(
    [early.orderId, early.status, early.activationPrice, early.callbackRate, early.triggerPrice],
    [orderId, "UNTRIGGERED", "65500", "0.01", null],
  );
  await alice.refused("WOULD_TRIGGER", "PATCH", path, { activationPrice: "65000" });
  await operator.setIndex("BTC-PERP", "66000");
  await operator.setIndex("BTC-PERP", "65500");
  const reply = await socket.request("order.amend", { params: { orderId, callbackRate: "0.02" } });
  const { fills, ...amended } = (reply as typeof reply & { result: PlacedOrder }).result;
  assert.deepEqual([amended.callbackRate, amended.triggerPrice, fills], ["0.02", "64680", []]);
  await socket.find(
    "the last change",
    ({ channel, sequence }) => channel === "orders" && sequence === amended.sequence,
  );
  assert.deepEqual(socket.ofChannel("orders").at(-1)?.data, [amended]);
  assert.deepEqual(await alice.order(orderId), amended);

  const { data } = await alice.call<BatchResults>(200, "POST", "/orders/batch", {
    symbol: "BTC-PERP",
    items: [{ callbackRate: "0.007" }, { callbackRate: "0.008" }, { activationPrice: "67000" }].map((changes) => ({
      action: "AMEND",
      orderId,
      ...changes,
    })),
  });
  assert.deepEqual(
    data.map(({ order, error }) => order?.triggerPrice ?? [error?.code, error?.field]),
    [["WOULD_TRIGGER", "callbackRate"], "65472", ["ORDER_WAITS", "activationPrice"]],
  );
  await alice.refused("BAD_VALUE", "PATCH", path, { callbackRate: "0.2" });
  await alice.refused("PRICE_NOT_ON_TICK", "PATCH", path, { activationPrice: "66000.01" });
  const limit = await alice.buy("0.1", "60000");
  const { field } = await alice.refused("ORDER_DOES_NOT_WAIT", "PATCH", `/orders/${limit.orderId}`, {
    callbackRate: "0.02",
  });
  assert.equal(field, "callbackRate");

  await bob.buy("0.3", "65300");
  await operator.setIndex("BTC-PERP", "65470");
  const filled = await alice.fired(orderId);
  assert.deepEqual([filled.status, filled.callbackRate, filled.activationPrice], ["FILLED", "0.008", "65500"]);
  assert.equal(filled.triggerPrice, "65472");
  assert.deepEqual((await alice.history()).data[0], filled);
  await Promise.all([alice.cancelAll(), bob.cancelAll()]);
});

test("best prices and pending activations survive kill -9, from the snapshot and from the log", async () => {
  const early = await alice.place(trailing({ activationPrice: "65500" }));
  assert.deepEqual([early.triggerPrice, early.activationPrice], [null, "65500"]);
  await operator.setIndex("BTC-PERP", "66000");
  // Longer than the interval of snapshots: the best price is in one by then. The test holds as well where it is not.
  await pause(250);
  const late = await alice.place(trailing({ side: "BUY", callbackRate: "0.05", activationPrice: "60000" }));
  await operator.setIndex("BTC-PERP", "66100");
  await operator.setIndex("BTC-PERP", "65900");
  // Amended while it trails and while it does not, as the log alone may know.
  await alice.call(200, "PATCH", `/orders/${early.orderId}`, { quantity: "0.2", callbackRate: "0.02" });
  await alice.call(200, "PATCH", `/orders/${early.orderId}`, { quantity: "0.1", callbackRate: "0.01" });
  await alice.call(200, "PATCH", `/orders/${late.orderId}`, { activationPrice: "61000" });
  const before = (await alice.openOrders()).data;
  assert.deepEqual(
    before.map(({ orderId, triggerPrice }) => [orderId, triggerPrice]),
    [
      [late.orderId, null],
      [early.orderId, "65439"],
    ],
  );
  await server.kill();
  await server.start();
  const again = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  operator = new Operator(server);
  assert.deepEqual((await again.openOrders()).data, before);
  const maker = await openTrader(server);
  await maker.buy("1", "65400");
  await operator.setIndex("BTC-PERP", "65430");
  const ended = await again.fired(early.orderId);
  assert.deepEqual([ended.status, ended.avgPrice, ended.triggerPrice], ["FILLED", "65400", "65439"]);
  await Promise.all([maker.cancelAll(), again.cancelAll()]);
});

test("incompatible fields are refused, and no order exists", async () => {
  const bad: [code: Parameters<Trader["refused"]>[0], field: string, body: object][] = [
    ["MISSING_FIELD", "callbackRate", { ...trailing(), callbackRate: undefined }],
    ["MISSING_FIELD", "quantity", { ...trailing(), quantity: undefined }],
    ["BAD_COMBINATION", "triggerPrice", trailing({ triggerPrice: "64000" })],
    ["BAD_COMBINATION", "price", trailing({ price: "64000" })],
    ["BAD_COMBINATION", "postOnly", trailing({ postOnly: true })],
    ["BAD_COMBINATION", "timeInForce", trailing({ timeInForce: "GTC" })],
    ["BAD_COMBINATION", "takeProfit", trailing({ takeProfit: { triggerPrice: "70000" } })],
    ["BAD_COMBINATION", "callbackRate", trailing({ type: "STOP_MARKET", triggerPrice: "64000" })],
    ["BAD_COMBINATION", "type", trailing({ type: "MARKET" })],
    ["BAD_NUMBER", "callbackRate", trailing({ callbackRate: "1%" })],
    ["BAD_NUMBER", "callbackRate", trailing({ callbackRate: "-0.01" })],
    ["BAD_NUMBER", "callbackRate", { ...trailing(), callbackRate: 0.01 }],
    ["BAD_VALUE", "callbackRate", trailing({ callbackRate: "0" })],
    ["BAD_VALUE", "callbackRate", trailing({ callbackRate: "0.000999" })],
    ["BAD_VALUE", "callbackRate", trailing({ callbackRate: "0.100001" })],
    ["BAD_VALUE", "callbackRate", trailing({ callbackRate: "0.0100001" })],
    ["BAD_VALUE", "callbackRate", trailing({ callbackRate: "100000000000" })],
    ["BAD_VALUE", "activationPrice", trailing({ activationPrice: "0" })],
    ["PRICE_NOT_ON_TICK", "activationPrice", trailing({ activationPrice: "66000.01" })],
    ["WOULD_TRIGGER", "activationPrice", trailing({ activationPrice: "65000" })],
    ["WOULD_TRIGGER", "activationPrice", trailing({ side: "BUY", activationPrice: "66000" })],
    ["REDUCE_ONLY_NO_POSITION", "closePosition", { ...trailing({ closePosition: true }), quantity: undefined }],
  ];
  for (const [code, field, body] of bad) {
    const error = await alice.refused(code, "POST", "/orders", body);
    assert.equal(error.field, field, JSON.stringify(body));
  }
  assert.deepEqual((await alice.openOrders()).data, []);
});
