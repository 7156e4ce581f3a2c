import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { BatchResults, OrderBook, PlacedOrder } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { inTime, until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;
let socket: SocketClient;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  socket = await SocketClient.openAs(server.wsUrl, alice.token);
});

beforeEach(async () => {
  await Promise.all([alice.cancelAll(), bob.cancelAll()]);
});

after(async () => {
  socket?.socket.close();
  await new Operator(server).soundAudit();
  await server.dispose();
});

const amend = (id: string, changes: object): Promise<PlacedOrder> => alice.call(200, "PATCH", `/orders/${id}`, changes);
const book = (): Promise<OrderBook> => alice.get("/market/orderbook?symbol=BTC-PERP");

test("an amended order keeps its id and is shown amended everywhere", async () => {
  const placed = await alice.buy("0.3", "64000", { clientOrderId: "amended" });
  const amended = await amend(placed.orderId, { price: "64100", quantity: "0.2" });
  const { fills, ...order } = amended;
  assert.deepEqual(fills, []);
  const { updatedAt, sequence } = order;
  const { fills: _, ...before } = placed;
  assert.deepEqual(order, {
    ...before,
    price: "64100",
    quantity: "0.2",
    remainingQuantity: "0.2",
    updatedAt,
    sequence,
  });
  assert.ok(sequence > placed.sequence);
  assert.deepEqual(await alice.order(placed.orderId), order);
  assert.deepEqual(await alice.order("client:amended"), order);
  assert.deepEqual((await book()).bids, [["64100", "0.2"]]);
  const smaller = await amend("client:amended", { quantity: "0.1" });
  assert.equal(smaller.orderId, placed.orderId);
  // Nothing to change: as it is, and no new sequence.
  assert.deepEqual(await amend(placed.orderId, { price: "64100", quantity: "0.1" }), smaller);
  await alice.cancel(placed.orderId);
  const { data } = await alice.history("?limit=1");
  assert.deepEqual([data[0]?.orderId, data[0]?.price, data[0]?.quantity], [placed.orderId, "64100", "0.1"]);
});

test("amending a partly filled order sets its whole quantity, and one that crosses shows its fills in the reply", async () => {
  const { orderId } = await alice.sell("0.3", "65100");
  await bob.buy("0.1", "65100");
  const more = await amend(orderId, { quantity: "0.5" });
  assert.deepEqual([more.status, more.filledQuantity, more.remainingQuantity], ["PARTIALLY_FILLED", "0.1", "0.4"]);
  const bid = await bob.buy("0.15", "64900");
  const crossed = await amend(orderId, { price: "64900" });
  assert.deepEqual(
    crossed.fills.map(({ price, quantity, liquidity, orderId }) => ({ price, quantity, liquidity, orderId })),
    [{ price: "64900", quantity: "0.15", liquidity: "TAKER", orderId }],
  );
  assert.deepEqual([crossed.filledQuantity, crossed.remainingQuantity], ["0.25", "0.25"]);
  assert.equal((await bob.order(bid.orderId)).status, "FILLED");
  assert.deepEqual((await book()).asks, [["64900", "0.25"]]);
  await alice.call(422, "PATCH", `/orders/${orderId}`, { quantity: "0.25" });
  assert.deepEqual((await book()).asks, [["64900", "0.25"]]);
});

test("amending over the socket gives the same results, and the orders channel shows them", async () => {
  await socket.subscribe({ channel: "orders" });
  const { orderId } = await alice.buy("0.3", "64000");
  const reply = await socket.request("order.amend", { params: { orderId, quantity: "0.2" } });
  const { status, result } = reply as typeof reply & { status: number; result: PlacedOrder };
  assert.equal(status, 200);
  const isShown = (): boolean => socket.ofChannel("orders").some(({ data }) => data[0]?.quantity === "0.2");
  await socket.find("the amended order", isShown);
  const { fills, ...order } = result;
  assert.deepEqual(fills, []);
  assert.deepEqual(socket.ofChannel("orders").at(-1)?.data, [order]);
});

test("an amended goodTillDate is shown everywhere and ends the order", async () => {
  const [soon, later] = [Date.now() + 600_000, Date.now() + 900_000];
  const { orderId } = await alice.buy("0.1", "64000", { timeInForce: "GTD", goodTillDate: soon });
  await socket.subscribe({ channel: "orders" });
  const { fills, ...amended } = await amend(orderId, { goodTillDate: later });
  assert.deepEqual([amended.orderId, amended.goodTillDate, amended.remainingQuantity], [orderId, later, "0.1"]);
  await socket.find("the amended order", ({ sequence }) => sequence === amended.sequence);
  assert.deepEqual(socket.ofChannel("orders").at(-1)?.data, [amended]);
  const unchanged = await socket.request("order.amend", { params: { orderId, goodTillDate: later } });
  assert.deepEqual((unchanged as typeof unchanged & { result: PlacedOrder }).result, { ...amended, fills });
  await alice.refused("GOOD_TILL_DATE_PASSED", "PATCH", `/orders/${orderId}`, { goodTillDate: 1 });
  const plain = await alice.buy("0.1", "64000");
  const { field } = await alice.refused("ORDER_NOT_GTD", "PATCH", `/orders/${plain.orderId}`, { goodTillDate: later });
  assert.equal(field, "goodTillDate");
  const end = await inTime(1500, async (goodTillDate) => {
    const items = [{ action: "AMEND", orderId, goodTillDate }];
    const { failed } = await alice.call<BatchResults>(200, "POST", "/orders/batch", { symbol: "BTC-PERP", items });
    assert.equal(failed, 0);
    return goodTillDate;
  });
  const ended = await until("the order to expire", async () => {
    const order = await alice.order(orderId);
    return order.status !== "NEW" && order;
  });
  assert.deepEqual([ended.status, ended.reason, ended.goodTillDate], ["EXPIRED", "GOOD_TILL_DATE", end]);
  assert.deepEqual((await alice.history()).data[0], ended);
});

test("invalid amendments are refused with their codes, and change nothing", async () => {
  const { orderId } = await alice.buy("0.3", "64000", { postOnly: true });
  const closed = await alice.buy("0.3", "64000");
  await alice.cancel(closed.orderId);
  await bob.sell("0.1", "65000");
  const before = await alice.order(orderId);
  const path = `/orders/${orderId}`;
  const table: [code: Parameters<Trader["refused"]>[0], path: string, body: unknown][] = [
    ["MISSING_FIELD", path, {}],
    ["MISSING_FIELD", path, { expiresAt: 9_000_000_000_000 }],
    ["UNKNOWN_FIELD", path, { side: "SELL" }],
    ["BAD_NUMBER", path, { price: 64000 }],
    ["BAD_VALUE", path, { price: "0" }],
    ["PRICE_NOT_ON_TICK", path, { price: "64000.05" }],
    ["QUANTITY_NOT_ON_STEP", path, { quantity: "0.00001" }],
    ["QUANTITY_TOO_LARGE", path, { quantity: "1000000" }],
    ["PRICE_OUT_OF_BAND", path, { price: "80000" }],
    ["POST_ONLY_WOULD_TRADE", path, { price: "65000" }],
    ["INSUFFICIENT_MARGIN", path, { quantity: "40" }],
    ["REQUEST_EXPIRED", path, { quantity: "0.2", expiresAt: 1 }],
    ["ORDER_NOT_OPEN", `/orders/${closed.orderId}`, { quantity: "0.2" }],
    ["ORDER_NOT_FOUND", "/orders/25601", { quantity: "0.2" }],
    ["ORDER_NOT_FOUND", "/orders/client:nobody", { quantity: "0.2" }],
  ];
  for (const [code, at, body] of table) await alice.refused(code, "PATCH", at, body);
  const { message } = await alice.refused("MISSING_FIELD", "PATCH", path, {});
  for (const field of ["price", "priceMatch", "displayQuantity", "callbackRate", "goodTillDate"])
    assert.ok(message.includes(field), field);
  await bob.refused("ORDER_NOT_FOUND", "PATCH", path, { quantity: "0.2" });
  assert.deepEqual(await alice.order(orderId), before);
  for (const [code, params] of [
    ["MISSING_FIELD", { price: "64000" }],
    ["BAD_COMBINATION", { orderId, clientOrderId: "a", price: "64000" }],
  ] as const)
    assert.equal((await socket.request("order.amend", { params })).code, code);
});

/** The same account at the server's new address. */
const again = ({ token, accountId, address, privateKey }: Trader): Trader =>
  new Trader(server.url, token ?? "", accountId, address, privateKey);

test("amendments survive a restart, including the place in the queue", async () => {
  const first = await alice.sell("0.1", "65200");
  const second = await alice.sell("0.1", "65200");
  await amend(first.orderId, { quantity: "0.2" });
  const soon = Date.now() + 600_000;
  const ending = await alice.buy("0.1", "64000", { timeInForce: "GTD", goodTillDate: soon });
  await amend(ending.orderId, { goodTillDate: soon + 600_000 });
  const open = await alice.openOrders();
  await server.kill();
  await server.start();
  const [aliceAgain, bobAgain] = [again(alice), again(bob)];
  assert.deepEqual(await aliceAgain.openOrders(), open);
  await bobAgain.buy("0.1", "65200");
  assert.equal((await aliceAgain.order(second.orderId)).status, "FILLED");
  assert.equal((await aliceAgain.order(first.orderId)).remainingQuantity, "0.2");
});
