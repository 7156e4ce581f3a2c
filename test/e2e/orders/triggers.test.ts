import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { BatchResults, NewOrder, Order, PlacedOrder } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { pause } from "../support/wait.ts";

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

const stop = (more: Partial<NewOrder> = {}): NewOrder => ({
  symbol: "BTC-PERP",
  side: "SELL",
  type: "STOP_MARKET",
  quantity: "0.1",
  triggerPrice: "64000",
  triggerBy: "INDEX",
  ...more,
});

test("a stop order is listed, fires at its price and is in the history", async () => {
  const placed = await alice.place(stop({ clientOrderId: "stop-1" }));
  const { fills, ...order } = placed;
  assert.deepEqual(fills, []);
  assert.equal(order.status, "UNTRIGGERED");
  assert.deepEqual(
    [order.type, order.price, order.triggerPrice, order.triggerBy, order.quantity, order.remainingQuantity],
    ["STOP_MARKET", null, "64000", "INDEX", "0.1", "0.1"],
  );
  assert.deepEqual((await alice.openOrders()).data, [order]);
  assert.deepEqual(await alice.order("client:stop-1"), order);
  assert.equal((await alice.balance()).openOrderInitialMargin, "0");

  await bob.buy("0.3", "63900");
  await operator.setIndex("BTC-PERP", "63990");
  const filled = await alice.fired(order.orderId);
  assert.deepEqual(
    [filled.status, filled.avgPrice, filled.filledQuantity, filled.triggerPrice, filled.createdAt, filled.type],
    ["FILLED", "63900", "0.1", "64000", order.createdAt, "STOP_MARKET"],
  );
  assert.ok(filled.sequence > order.sequence);
  assert.deepEqual((await alice.history()).data, [filled]);
  assert.equal((await alice.fills()).data[0]?.orderId, order.orderId);
  // Asked for again, it is the first one.
  const again = await alice.call<PlacedOrder & { duplicate: boolean }>(
    200,
    "POST",
    "/orders",
    stop({ clientOrderId: "stop-1" }),
  );
  assert.deepEqual([again.orderId, again.duplicate, again.status], [order.orderId, true, "FILLED"]);
  await alice.refused(
    "CLIENT_ORDER_ID_REUSED",
    "POST",
    "/orders",
    stop({ clientOrderId: "stop-1", triggerPrice: "60000" }),
  );
  await bob.cancelAll();
});

test("untriggered orders are canceled by id, by client order id and by cancel-all", async () => {
  const [a, b, c] = await Promise.all([
    alice.place(stop({ clientOrderId: "a" })),
    alice.place(stop({ clientOrderId: "b", type: "TAKE_PROFIT", price: "66000", triggerPrice: "66000" })),
    alice.place(stop({ clientOrderId: "c", side: "BUY", triggerPrice: "66000" })),
  ]);
  assert.deepEqual(
    [(await alice.cancel(a.orderId)).status, (await alice.cancel("client:b")).reason],
    ["CANCELED", "USER"],
  );
  const { canceled, data } = await alice.cancelAll("?side=BUY");
  assert.deepEqual([canceled, data[0]?.orderId, data[0]?.triggerPrice], [1, c.orderId, "66000"]);
  assert.equal((await alice.order(b.orderId)).triggerPrice, "66000");
  await alice.refused("ORDER_NOT_OPEN", "DELETE", `/orders/${a.orderId}`);
});

test("an untriggered order is amended over REST, WebSocket and in a batch, and survives kill -9", async () => {
  const { orderId } = await alice.place(stop({ type: "STOP", price: "63990", clientOrderId: "moved" }));
  const socket = await SocketClient.openAs(server.wsUrl, alice.token);
  await socket.subscribe({ channel: "orders" });
  const named = { clientOrderId: "moved" };
  const amended = await alice.call<PlacedOrder>(200, "PATCH", "/orders/client:moved", { triggerPrice: "63000" });
  assert.deepEqual(
    [amended.orderId, amended.status, amended.triggerPrice, amended.price, amended.quantity, amended.fills],
    [orderId, "UNTRIGGERED", "63000", "63990", "0.1", []],
  );
  await socket.request("order.amend", { params: { ...named, price: "62900", quantity: "0.2" } });
  const { data } = await alice.call<BatchResults>(200, "POST", "/orders/batch", {
    symbol: "BTC-PERP",
    items: [
      { action: "AMEND", ...named, triggerPrice: "62990" },
      { action: "AMEND", ...named, triggerPrice: "66000" },
    ],
  });
  assert.deepEqual([data[0]?.order?.triggerPrice, data[1]?.error?.code], ["62990", "WOULD_TRIGGER"]);
  const order = await alice.order(orderId);
  assert.deepEqual([order.triggerPrice, order.price, order.quantity], ["62990", "62900", "0.2"]);
  await socket.find("the last change", ({ channel, sequence }) => channel === "orders" && sequence === order.sequence);
  const told = socket.ofChannel("orders").flatMap(({ data }) => data);
  assert.deepEqual(
    told.map(({ triggerPrice, price }) => [triggerPrice, price]),
    [
      ["64000", "63990"],
      ["63000", "63990"],
      ["63000", "62900"],
      ["62990", "62900"],
    ],
  );
  assert.deepEqual(told.at(-1), order);
  await alice.refused("MISSING_FIELD", "PATCH", `/orders/${orderId}`, {});
  await alice.refused("ORDER_WAITS", "PATCH", `/orders/${orderId}`, { displayQuantity: "0.1" });
  const limit = await alice.buy("0.1", "60000");
  await alice.refused("ORDER_DOES_NOT_WAIT", "PATCH", `/orders/${limit.orderId}`, { triggerPrice: "62990" });

  await server.kill();
  await server.start();
  operator = new Operator(server);
  const again = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  assert.deepEqual(await again.order(orderId), order);
  const maker = await openTrader(server);
  await maker.buy("0.3", "62900");
  await operator.setIndex("BTC-PERP", "62990");
  const fired = await again.fired(orderId);
  assert.deepEqual([fired.status, fired.filledQuantity, fired.triggerPrice], ["FILLED", "0.2", "62990"]);
  await Promise.all([again.cancelAll(), maker.cancelAll()]);
});

test("a stop fires at a last price that occurs only for a moment", async () => {
  // Within lastTriggerLimit of the mark.
  await bob.buy("0.1", "64450");
  await bob.sell("0.1", "65000");
  const carol = await openTrader(server);
  await carol.market("BUY", "0.01");
  const { orderId } = await alice.place(stop({ triggerPrice: "64500", triggerBy: "LAST" }));
  // As near to each other as requests can be: a batch would be one turn.
  const socket = await SocketClient.openAs(server.wsUrl, carol.token);
  const order = { symbol: "BTC-PERP", type: "MARKET", quantity: "0.001" };
  await Promise.all(["SELL", "BUY"].map((side) => socket.request("order.place", { params: { ...order, side } })));
  assert.equal((await alice.fired(orderId)).avgPrice, "64450");
  await bob.cancelAll();
});

test("closePosition stop and take-profit close the position and end with it", async () => {
  await bob.sell("0.2", "65000");
  await alice.buy("0.2", "65000");
  const whole = { closePosition: true, quantity: undefined } as unknown as Partial<NewOrder>;
  const sl = await alice.place(stop({ ...whole, clientOrderId: "sl" }));
  const tp = await alice.place(
    stop({ ...whole, type: "TAKE_PROFIT_MARKET", triggerPrice: "66000", clientOrderId: "tp" }),
  );
  assert.deepEqual([sl.quantity, sl.closePosition, sl.reduceOnly], ["0", true, true]);
  await bob.buy("0.5", "65500");
  await operator.setIndex("BTC-PERP", "66100");
  const taken = await alice.fired(tp.orderId);
  const stopped = await alice.order(sl.orderId);
  assert.deepEqual([taken.status, taken.quantity, taken.avgPrice], ["FILLED", "0.2", "65500"]);
  assert.deepEqual([stopped.status, stopped.reason, stopped.sequence], ["CANCELED", "POSITION_CLOSED", taken.sequence]);
  assert.equal(await alice.position(), null);
  await bob.cancelAll();
});

test("a triggered order without margin is REJECTED with the reason", async () => {
  const poor = await openTrader(server, "100");
  await bob.buy("1", "63500");
  const { orderId } = await poor.place(stop({ quantity: "1" }));
  await operator.setIndex("BTC-PERP", "63000");
  const ended = await poor.fired(orderId);
  assert.deepEqual([ended.status, ended.reason, ended.remainingQuantity], ["REJECTED", "INSUFFICIENT_MARGIN", "0"]);
  assert.deepEqual((await poor.history()).data, [ended]);
  await bob.cancelAll();
});

test("untriggered orders survive kill -9, from the snapshot and from the log, and fire once", async () => {
  const early = await alice.place(stop({ clientOrderId: "early" }));
  // Longer than the interval of snapshots: it is in one by then. The test holds as well where it is not.
  await pause(250);
  await bob.buy("1", "63500");
  const late = await alice.place(stop({ clientOrderId: "late", triggerPrice: "63900", type: "STOP", price: "63400" }));
  const before = (await alice.openOrders()).data;
  await server.kill();
  await server.start();
  const again = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  operator = new Operator(server);
  assert.deepEqual((await again.openOrders()).data, before);
  await operator.setIndex("BTC-PERP", "63800");
  await operator.setIndex("BTC-PERP", "63800");
  const ends = await Promise.all([early, late].map(({ orderId }) => again.fired(orderId)));
  assert.deepEqual(
    ends.map(({ status, avgPrice }) => [status, avgPrice]),
    [
      ["FILLED", "63500"],
      ["FILLED", "63500"],
    ],
  );
  assert.equal((await again.fills()).data.length, 2);
  await server.kill();
  await server.start();
  const third = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  operator = new Operator(server);
  assert.deepEqual(await Promise.all(ends.map(({ orderId }) => third.order(orderId))), ends);
  assert.equal((await third.position())?.size, "0.2");
});

test("incompatible fields are refused, and no order exists", async () => {
  const bad: [code: Parameters<Trader["refused"]>[0], field: string, body: object][] = [
    ["MISSING_FIELD", "triggerPrice", stop({ triggerPrice: undefined as unknown as string })],
    ["MISSING_FIELD", "price", stop({ type: "STOP" })],
    ["MISSING_FIELD", "quantity", stop({ quantity: undefined as unknown as string })],
    ["BAD_COMBINATION", "price", stop({ price: "64000" })],
    ["BAD_COMBINATION", "postOnly", stop({ postOnly: true })],
    ["BAD_COMBINATION", "timeInForce", stop({ timeInForce: "GTC" })],
    ["BAD_COMBINATION", "closePosition", stop({ type: "STOP", price: "64000", closePosition: true })],
    ["BAD_COMBINATION", "quantity", stop({ closePosition: true })],
    ["BAD_COMBINATION", "type", stop({ type: "MARKET" })],
    ["BAD_COMBINATION", "type", { ...stop({ type: "LIMIT", price: "64000" }), triggerPrice: undefined }],
    ["BAD_NUMBER", "triggerPrice", { ...stop(), triggerPrice: "x" }],
    ["BAD_NUMBER", "triggerPrice", { ...stop(), triggerPrice: 64000 }],
    ["PRICE_NOT_ON_TICK", "triggerPrice", stop({ triggerPrice: "64000.01" })],
    ["BAD_VALUE", "triggerPrice", stop({ triggerPrice: "0" })],
    ["BAD_VALUE", "triggerBy", { ...stop(), triggerBy: "BID" }],
    ["WOULD_TRIGGER", "triggerPrice", stop({ triggerPrice: "65000" })],
    ["REDUCE_ONLY_NO_POSITION", "closePosition", { ...stop({ closePosition: true }), quantity: undefined }],
  ];
  for (const [code, field, body] of bad) {
    const error = await alice.refused(code, "POST", "/orders", body);
    assert.equal(error.field, field, JSON.stringify(body));
  }
  assert.deepEqual((await alice.openOrders()).data, []);
});

test("an account has at most 50 untriggered orders in a symbol", async () => {
  for (let i = 0; i < 50; i++) await alice.place(stop());
  const error = await alice.refused("TOO_MANY_TRIGGER_ORDERS", "POST", "/orders", stop());
  assert.deepEqual(error.details, { limit: 50 });
  assert.equal((await alice.cancelAll()).canceled, 50);
  const orders: Order[] = (await alice.openOrders()).data;
  assert.deepEqual(orders, []);
});
