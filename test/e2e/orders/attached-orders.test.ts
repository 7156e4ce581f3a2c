import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { BatchResults, DryRunOrder, NewOrder, Order, PlacedOrder } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
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

/** As an order shows them. A request takes them as they are. */
const LEGS: Pick<Order, "takeProfit" | "stopLoss"> = {
  takeProfit: { triggerPrice: "66000", triggerBy: "LAST", price: "66010", maxSlippage: null },
  stopLoss: { triggerPrice: "59000", triggerBy: "MARK", price: null, maxSlippage: "0.01" },
};

const legsOf = ({ takeProfit, stopLoss }: Pick<Order, "takeProfit" | "stopLoss">) => ({ takeProfit, stopLoss });

test("attached take-profit and stop-loss cover the filled quantity, survive kill -9, and cancel each other", async () => {
  const placed = await alice.place(entry({ clientOrderId: "entry" }));
  assert.deepEqual((await alice.openOrders()).data.length, 1);
  const amended = await alice.buy("0.1", "60000");
  await alice.call(200, "PATCH", `/orders/${amended.orderId}`, LEGS);
  await bob.sell("0.1", "64900");
  await server.kill();
  await server.start();
  alice = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  bob = new Trader(server.url, bob.token ?? "", bob.accountId, bob.address, bob.privateKey);
  operator = new Operator(server);
  assert.deepEqual(legsOf(await alice.order(amended.orderId)), LEGS);
  await alice.cancel(amended.orderId);
  const [ended] = (await alice.history()).data as [Order];
  assert.deepEqual([ended.orderId, legsOf(ended)], [amended.orderId, LEGS]);
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

test("each answer and stream shows an order's take-profit and stop-loss, which may change until it fills", async () => {
  const socket = await SocketClient.openAs(server.wsUrl, alice.token);
  await socket.subscribe({ channel: "orders" });
  await until("the snapshot", () => socket.ofChannel("orders").length > 0);
  const tried = await alice.call<DryRunOrder>(200, "POST", "/orders", { ...entry(LEGS), dryRun: true });
  assert.deepEqual(legsOf(tried), LEGS);
  const placed = await alice.place(entry(LEGS));
  const { orderId } = placed;
  const streamed = () =>
    socket
      .ofChannel("orders")
      .flatMap(({ data }) => data)
      .findLast((order) => order.orderId === orderId);
  const shows = async (answer: Order, legs: object): Promise<void> => {
    assert.deepEqual(legsOf(answer), legs);
    assert.deepEqual(legsOf(await alice.order(orderId)), legs);
    assert.deepEqual((await alice.openOrders()).data.map(legsOf), [legs]);
    await until("the stream", () => (streamed()?.sequence ?? 0) >= answer.sequence);
    assert.deepEqual(legsOf(streamed() as Order), legs);
  };
  await shows(placed, LEGS);

  const path = `/orders/${orderId}`;
  const { takeProfit, stopLoss } = LEGS;
  const bare = { takeProfit: null, stopLoss: null };
  const removal = { remove: ["takeProfit", "stopLoss"] };
  await shows(await alice.call<PlacedOrder>(200, "PATCH", path, removal), bare);
  const amend = (params: object) => socket.request("order.amend", { params: { orderId, ...params } });
  const { result } = (await amend({ stopLoss })) as unknown as { result: PlacedOrder };
  await shows(result, { ...bare, stopLoss });
  const items = [{ takeProfit }, { takeProfit: { triggerPrice: "64000" } }, { takeProfit, remove: ["stopLoss"] }];
  const batch = await alice.call<BatchResults>(200, "POST", "/orders/batch", {
    symbol: "BTC-PERP",
    items: items.map((item) => ({ action: "AMEND", orderId, ...item })),
  });
  const [first, second, last] = batch.data as [BatchResults["data"][0], BatchResults["data"][0], { order: Order }];
  assert.deepEqual([legsOf(first.order as Order), second.error?.code], [LEGS, "WOULD_TRIGGER"]);
  await shows(last.order, { takeProfit, stopLoss: null });

  const bad: [code: Parameters<Trader["refused"]>[0], field: string, body: object][] = [
    ["MISSING_FIELD", "price", bare],
    ["BAD_COMBINATION", "remove", { takeProfit, ...removal }],
    ["BAD_VALUE", "remove.0", { remove: ["price"] }],
    ["PRICE_NOT_ON_TICK", "stopLoss.triggerPrice", { stopLoss: { triggerPrice: "64000.01" } }],
    ["WOULD_TRIGGER", "stopLoss", { stopLoss: { triggerPrice: "64900" } }],
    ["PRICE_OUT_OF_BAND", "stopLoss", { stopLoss: { triggerPrice: "63000", price: "1000" } }],
  ];
  const refuses = async (): Promise<void> => {
    for (const [code, field, body] of bad.splice(0)) {
      const error = await alice.refused(code, "PATCH", path, body);
      assert.equal(error.field, field, JSON.stringify(body));
    }
  };
  await refuses();
  await bob.sell("0.1", "64900");
  bad.push(["ORDER_PARTIALLY_FILLED", "stopLoss", { stopLoss }], ["ORDER_PARTIALLY_FILLED", "takeProfit", removal]);
  await refuses();
  const read = await alice.order(orderId);
  const { price, quantity } = read;
  const back = await alice.call<PlacedOrder>(200, "PATCH", path, { price, quantity, ...legsOf(read) });
  assert.deepEqual([back.status, legsOf(back)], ["PARTIALLY_FILLED", { takeProfit, stopLoss: null }]);
  const attached = (await alice.openOrders()).data.find(({ parentOrderId }) => parentOrderId === orderId) as Order;
  assert.deepEqual([attached.type, legsOf(attached)], ["TAKE_PROFIT", bare]);
  await alice.refused("ORDER_WAITS", "PATCH", `/orders/${attached.orderId}`, { stopLoss });
  await socket.close();
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
