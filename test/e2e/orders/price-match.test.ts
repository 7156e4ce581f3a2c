import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { NewOrder, Order, OrderBook, PlacedOrder } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

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
  for (let i = 0; i < 6; i++) {
    await bob.buy("0.1", String(64990 - 10 * i));
    await bob.sell("0.1", String(65010 + 10 * i));
  }
});

after(async () => {
  socket?.socket.close();
  await operator.soundAudit();
  await server.dispose();
});

const LIMIT = { symbol: "BTC-PERP", type: "LIMIT", side: "BUY", quantity: "0.01" } as const;
const matched = (priceMatch: NewOrder["priceMatch"], more: object = {}): object => ({ ...LIMIT, priceMatch, ...more });
const place = (order: object): Promise<PlacedOrder> => alice.call(201, "POST", "/orders", order);

test("priceMatch takes the price from a book level, and every view shows it", async () => {
  const placed = await place(matched("QUEUE_5", { postOnly: true, clientOrderId: "pegged" }));
  assert.equal(placed.price, "64950");
  const { fills, ...order } = placed;
  assert.deepEqual(await alice.order(placed.orderId), order);
  const again: PlacedOrder & { duplicate?: boolean } = await alice.call(
    200,
    "POST",
    "/orders",
    matched("QUEUE_5", { postOnly: true, clientOrderId: "pegged" }),
  );
  assert.deepEqual([again.duplicate, again.orderId, again.price], [true, placed.orderId, "64950"]);
  const book: OrderBook = await alice.get("/market/orderbook?symbol=BTC-PERP&depth=5");
  assert.deepEqual(book.bids.at(-1), ["64950", "0.11"]);

  const taken = await place(matched("OPPONENT_5", { timeInForce: "IOC", quantity: "0.25" }));
  assert.deepEqual([taken.price, taken.status], ["65050", "FILLED"]);
  assert.deepEqual(
    taken.fills.map(({ price, quantity }) => [price, quantity]),
    [
      ["65010", "0.1"],
      ["65020", "0.1"],
      ["65030", "0.05"],
    ],
  );
  const closing = await place(
    matched("OPPONENT", { side: "SELL", reduceOnly: true, quantity: "0.25", timeInForce: "IOC" }),
  );
  assert.deepEqual([closing.price, closing.filledQuantity], ["64990", "0.1"]);
  const { data } = await alice.history("?limit=2");
  assert.deepEqual(
    data.map(({ price }) => price),
    ["64990", "65050"],
  );
});

test("priceMatch works for amendments and over the socket", async () => {
  const placed = await socket.request("order.place", { params: matched("QUEUE_5") });
  const { orderId, price } = (placed as typeof placed & { result: PlacedOrder }).result;
  assert.equal(price, "64950");
  const amended = await socket.request("order.amend", { params: { orderId, priceMatch: "QUEUE" } });
  assert.equal((amended as typeof amended & { result: Order }).result.price, "64990");
  const patched: PlacedOrder = await alice.call(200, "PATCH", `/orders/${orderId}`, {
    priceMatch: "OPPONENT",
    quantity: "0.02",
  });
  assert.deepEqual([patched.price, patched.status, patched.filledQuantity], ["65010", "FILLED", "0.02"]);
});

test("fields incompatible with priceMatch are refused with their codes", async () => {
  const { orderId } = await alice.buy("0.1", "64000", { postOnly: true });
  const digests = await operator.stateDigests();
  const path = `/orders/${orderId}`;
  const table: [code: Parameters<Trader["refused"]>[0], method: string, path: string, body: unknown][] = [
    ["BAD_COMBINATION", "POST", "/orders", matched("QUEUE", { price: "64000" })],
    ["BAD_COMBINATION", "POST", "/orders", matched("OPPONENT", { type: "MARKET" })],
    ["BAD_COMBINATION", "POST", "/orders", matched("QUEUE", { type: "TAKE_PROFIT", price: "6", triggerPrice: "6" })],
    ["MISSING_FIELD", "POST", "/orders", matched("QUEUE", { type: "TAKE_PROFIT", triggerPrice: "64000" })],
    ["BAD_VALUE", "POST", "/orders", matched("BEST" as "QUEUE")],
    ["BAD_VALUE", "POST", "/orders", matched("QUEUE_2" as "QUEUE")],
    ["BAD_VALUE", "POST", "/orders", matched(5 as never)],
    ["NO_PRICE_LEVEL", "POST", "/orders", matched("QUEUE_20")],
    ["NO_PRICE_LEVEL", "POST", "/orders", matched("OPPONENT_10", { timeInForce: "FOK" })],
    ["NO_PRICE_LEVEL", "POST", "/orders", { ...matched("QUEUE"), symbol: "ETH-PERP" }],
    ["POST_ONLY_WOULD_TRADE", "POST", "/orders", matched("OPPONENT", { postOnly: true })],
    ["REDUCE_ONLY_NO_POSITION", "POST", "/orders", matched("OPPONENT", { reduceOnly: true, symbol: "BTC-PERP" })],
    ["BAD_COMBINATION", "PATCH", path, { priceMatch: "QUEUE", price: "64000" }],
    ["BAD_VALUE", "PATCH", path, { priceMatch: "BEST" }],
    ["NO_PRICE_LEVEL", "PATCH", path, { priceMatch: "OPPONENT_10" }],
    ["POST_ONLY_WOULD_TRADE", "PATCH", path, { priceMatch: "OPPONENT" }],
  ];
  for (const [code, method, at, body] of table) {
    await alice.refused(code, method, at, body);
    assert.equal(await operator.stateDigests(), digests, JSON.stringify(body));
  }
});
