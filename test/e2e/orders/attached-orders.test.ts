import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { NewOrder, Order } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { inTime, until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
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

const entry = (more: object = {}): NewOrder => ({
  symbol: "BTC-PERP",
  side: "BUY",
  type: "LIMIT",
  price: "64900",
  quantity: "0.3",
  takeProfit: { triggerPrice: "67000", triggerBy: "INDEX" },
  stopLoss: { triggerPrice: "63000", triggerBy: "INDEX", price: "62500" },
  ...more,
});

test("attached take-profit and stop-loss cover the filled quantity, survive kill -9, and cancel each other", async () => {
  const placed = await alice.place(entry({ clientOrderId: "entry" }));
  assert.deepEqual((await alice.openOrders()).data.length, 1);
  await bob.sell("0.1", "64900");
  await server.kill();
  await server.start();
  alice = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  bob = new Trader(server.url, bob.token ?? "", bob.accountId, bob.address, bob.privateKey);
  operator = new Operator(server);
  const waiting = async () => (await alice.openOrders()).data.filter(({ status }) => status === "UNTRIGGERED");
  assert.deepEqual(
    (await waiting()).map(({ type, quantity, parentOrderId, reduceOnly, price }) => [
      type,
      quantity,
      parentOrderId,
      reduceOnly,
      price,
    ]),
    [
      ["STOP", "0.1", placed.orderId, true, "62500"],
      ["TAKE_PROFIT_MARKET", "0.1", placed.orderId, true, null],
    ],
  );
  await bob.sell("0.2", "64900");
  const [stop, take] = (await waiting()) as [Order, Order];
  assert.deepEqual([stop.quantity, take.quantity], ["0.3", "0.3"]);
  await bob.buy("0.2", "66500");
  await operator.setIndex("BTC-PERP", "67500");
  const taken = await until("the take-profit to fire", async () => {
    const order = await alice.order(take.orderId);
    return order.status !== "UNTRIGGERED" && order;
  });
  const stopped = await alice.order(stop.orderId);
  assert.deepEqual([taken.status, taken.filledQuantity], ["EXPIRED", "0.2"]);
  assert.deepEqual([stopped.status, stopped.reason, stopped.sequence], ["CANCELED", "OTHER_FIRED", taken.sequence]);
  const again = await alice.request<{ duplicate: boolean }>("POST", "/orders", entry({ clientOrderId: "entry" }));
  assert.deepEqual([again.status, again.body.duplicate], [200, true]);
  await alice.refused(
    "CLIENT_ORDER_ID_REUSED",
    "POST",
    "/orders",
    entry({ clientOrderId: "entry", stopLoss: undefined }),
  );
});

test("a GTD order expires at its time in every view", async () => {
  const [placed, goodTillDate] = await inTime(1500, async (time) => [
    await alice.buy("0.1", "64000", { timeInForce: "GTD", goodTillDate: time }),
    time,
  ]);
  assert.deepEqual([placed.status, placed.goodTillDate, placed.timeInForce], ["NEW", goodTillDate, "GTD"]);
  const ended = await until("the order to expire", async () => {
    const order = await alice.order(placed.orderId);
    return order.status !== "NEW" && order;
  });
  assert.deepEqual([ended.status, ended.reason, ended.goodTillDate], ["EXPIRED", "GOOD_TILL_DATE", goodTillDate]);
  assert.ok(ended.updatedAt >= goodTillDate);
});

test("incompatible fields are refused and named", async () => {
  const bad: [code: Parameters<Trader["refused"]>[0], field: string, body: object][] = [
    ["WOULD_TRIGGER", "takeProfit", entry({ takeProfit: { triggerPrice: "64000" } })],
    ["WOULD_TRIGGER", "stopLoss", entry({ stopLoss: { triggerPrice: "66000" } })],
    ["PRICE_OUT_OF_BAND", "stopLoss", entry({ stopLoss: { triggerPrice: "63000", price: "1000" } })],
    ["PRICE_NOT_ON_TICK", "takeProfit.triggerPrice", entry({ takeProfit: { triggerPrice: "67000.01" } })],
    ["MISSING_FIELD", "takeProfit.triggerPrice", entry({ takeProfit: {} })],
    ["UNKNOWN_FIELD", "takeProfit.quantity", entry({ takeProfit: { triggerPrice: "67000", quantity: "1" } })],
    ["BAD_COMBINATION", "reduceOnly", entry({ reduceOnly: true })],
    ["BAD_COMBINATION", "takeProfit", entry({ type: "STOP", triggerPrice: "66000" })],
    ["MISSING_FIELD", "goodTillDate", entry({ timeInForce: "GTD" })],
    ["BAD_COMBINATION", "goodTillDate", entry({ goodTillDate: Date.now() + 60_000 })],
    [
      "BAD_COMBINATION",
      "timeInForce",
      entry({ type: "MARKET", price: undefined, timeInForce: "GTD", goodTillDate: 1 }),
    ],
    ["GOOD_TILL_DATE_PASSED", "goodTillDate", entry({ timeInForce: "GTD", goodTillDate: 1 })],
    ["BAD_TYPE", "goodTillDate", entry({ timeInForce: "GTD", goodTillDate: "soon" })],
  ];
  for (const [code, field, body] of bad) {
    const error = await alice.refused(code, "POST", "/orders", body);
    assert.equal(error.field, field, JSON.stringify(body));
  }
  assert.deepEqual((await alice.openOrders()).data, []);
});
