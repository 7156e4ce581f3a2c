import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { NewOrder, Order, OrderBook } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
});

// Each test has the book to itself, and two accounts without a past.
beforeEach(async () => {
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
});

const emptyBook = async () => {
  await Promise.all([alice.cancelAll(), bob.cancelAll()]);
  const book = await alice.get<OrderBook>("/market/orderbook?symbol=BTC-PERP");
  assert.deepEqual([book.bids, book.asks], [[], []]);
};

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

test("a limit order rests, is found by either id, and is canceled", async () => {
  const placed = await alice.buy("0.1", "64000", { clientOrderId: "mine:1" });
  const { orderId, createdAt, updatedAt, sequence, fills, ...fields } = placed;
  assert.deepEqual(fields, {
    clientOrderId: "mine:1",
    symbol: "BTC-PERP",
    side: "BUY",
    type: "LIMIT",
    timeInForce: "GTC",
    postOnly: false,
    reduceOnly: false,
    closePosition: false,
    createdBy: "USER",
    price: "64000",
    quantity: "0.1",
    displayQuantity: null,
    filledQuantity: "0",
    remainingQuantity: "0.1",
    avgPrice: null,
    fee: "0",
    triggerPrice: null,
    triggerBy: null,
    callbackRate: null,
    activationPrice: null,
    maxSlippage: null,
    takeProfit: null,
    stopLoss: null,
    goodTillDate: null,
    parentOrderId: null,
    selfTradePreventionMode: "EXPIRE_TAKER",
    status: "NEW",
    reason: null,
  });
  assert.deepEqual(fills, []);
  assert.ok(sequence > 0 && createdAt > 0 && updatedAt === createdAt);

  const { fills: _, ...order } = placed;
  assert.deepEqual(await alice.order(orderId), order);
  assert.deepEqual(await alice.order("client:mine:1"), order);
  assert.deepEqual(await alice.openOrders("?symbol=BTC-PERP"), { data: [order], nextCursor: null });
  assert.deepEqual(await alice.openOrders("?symbol=ETH-PERP"), { data: [], nextCursor: null });
  assert.deepEqual(await alice.history(), { data: [], nextCursor: null });

  const canceled = await alice.cancel("client:mine:1");
  assert.deepEqual(canceled, {
    ...order,
    status: "CANCELED",
    reason: "USER",
    remainingQuantity: "0",
    updatedAt: canceled.updatedAt,
    sequence: canceled.sequence,
  });
  assert.ok(canceled.sequence > sequence);
  assert.deepEqual(await alice.order(orderId), canceled);
  assert.deepEqual(await alice.order("client:mine:1"), canceled);
  assert.deepEqual(await alice.openOrders(), { data: [], nextCursor: null });
  assert.deepEqual(await alice.history(), { data: [canceled], nextCursor: null });

  await alice.refused("ORDER_NOT_OPEN", "DELETE", `/orders/${orderId}`);
  await alice.refused("ORDER_NOT_OPEN", "DELETE", "/orders/client:mine:1");
  await alice.refused("ORDER_NOT_FOUND", "DELETE", "/orders/client:mine:2");
  await alice.refused("ORDER_NOT_FOUND", "GET", "/orders/client:mine:2");
  await alice.refused("ORDER_NOT_FOUND", "GET", "/orders/99999999999905");
});

test("both sides of a partial fill see the same trade with their own fees", async () => {
  const maker = await bob.sell("0.3", "65000", { clientOrderId: "maker" });
  const first = await alice.buy("0.1", "65010");
  assert.equal(first.status, "FILLED");
  assert.equal(first.price, "65010");
  assert.equal(first.avgPrice, "65000");
  assert.equal(first.filledQuantity, "0.1");
  assert.equal(first.remainingQuantity, "0");
  assert.equal(first.fee, "3.25");
  const [fill] = first.fills;
  assert.ok(fill !== undefined && first.fills.length === 1);
  const common = {
    tradeId: fill.tradeId,
    symbol: "BTC-PERP",
    price: "65000",
    quantity: "0.1",
    quoteQuantity: "6500",
    feeAsset: "USDC",
    realizedPnl: "0",
    execType: "TRADE",
    time: first.updatedAt,
    sequence: first.sequence,
  } as const;
  const taken = {
    ...common,
    orderId: first.orderId,
    clientOrderId: null,
    side: "BUY",
    fee: "3.25",
    feeRate: "0.0005",
    liquidity: "TAKER",
    positionSize: "0.1",
  } as const;
  assert.deepEqual(fill, taken);
  assert.deepEqual((await alice.fills()).data, [taken]);
  assert.deepEqual((await bob.fills()).data, [
    {
      ...common,
      orderId: maker.orderId,
      clientOrderId: "maker",
      side: "SELL",
      fee: "1.3",
      feeRate: "0.0002",
      liquidity: "MAKER",
      positionSize: "-0.1",
    },
  ]);
  const half = await bob.order(maker.orderId);
  assert.equal(half.status, "PARTIALLY_FILLED");
  assert.equal(half.filledQuantity, "0.1");
  assert.equal(half.remainingQuantity, "0.2");
  assert.equal(half.avgPrice, "65000");
  assert.equal(half.fee, "1.3");

  // The next taker is larger than what is left, and rests with the remainder.
  const second = await alice.buy("0.5", "65000");
  assert.equal(second.status, "PARTIALLY_FILLED");
  assert.equal(second.filledQuantity, "0.2");
  assert.equal(second.remainingQuantity, "0.3");
  assert.equal(second.fee, "6.5");
  const done = await bob.order("client:maker");
  assert.equal(done.status, "FILLED");
  assert.equal(done.fee, "3.9");
  const book = await alice.get<OrderBook>("/market/orderbook?symbol=BTC-PERP");
  assert.deepEqual([book.bids, book.asks], [[["65000", "0.3"]], []]);

  const canceled = await alice.cancel(second.orderId);
  assert.equal(canceled.status, "CANCELED");
  assert.equal(canceled.filledQuantity, "0.2");
  assert.equal(canceled.remainingQuantity, "0");
  await emptyBook();
});

test("orders trade by price, then by time", async () => {
  const late = await bob.sell("0.1", "65002");
  const oldest = await bob.sell("0.1", "65001");
  const younger = await bob.sell("0.1", "65001");
  const best = await bob.sell("0.1", "65000.5");
  const taker = await alice.buy("0.25", "65002");
  assert.deepEqual(
    taker.fills.map((fill) => [fill.price, fill.quantity]),
    [
      ["65000.5", "0.1"],
      ["65001", "0.1"],
      ["65001", "0.05"],
    ],
  );
  // (0.1 × 65000.5 + 0.15 × 65001) ÷ 0.25
  assert.equal(taker.avgPrice, "65000.8");
  const statuses = await Promise.all([best, oldest, younger, late].map((order) => bob.order(order.orderId)));
  assert.deepEqual(
    statuses.map((order) => order.status),
    ["FILLED", "FILLED", "PARTIALLY_FILLED", "NEW"],
  );
  await emptyBook();
});

test("IOC fills what it can and expires, FOK fills all or nothing", async () => {
  await bob.sell("0.1", "65000");
  const ioc = await alice.buy("0.3", "65000", { timeInForce: "IOC" });
  assert.equal(ioc.status, "EXPIRED");
  assert.equal(ioc.reason, "IOC_REMAINDER");
  assert.equal(ioc.filledQuantity, "0.1");
  assert.equal(ioc.remainingQuantity, "0");
  assert.equal(ioc.fills.length, 1);
  const { fills: _, ...order } = ioc;
  assert.deepEqual(await alice.order(ioc.orderId), order);

  const nothing = await alice.buy("0.3", "65000", { timeInForce: "IOC" });
  assert.deepEqual([nothing.status, nothing.reason, nothing.fills], ["EXPIRED", "IOC_REMAINDER", []]);

  await bob.sell("0.1", "65000");
  const tooMuch = await alice.buy("0.101", "65000", { timeInForce: "FOK" });
  assert.deepEqual([tooMuch.status, tooMuch.reason, tooMuch.fills], ["EXPIRED", "FOK_UNFILLABLE", []]);
  const exact = await alice.buy("0.1", "65000", { timeInForce: "FOK" });
  assert.deepEqual([exact.status, exact.reason, exact.filledQuantity], ["FILLED", null, "0.1"]);
  await emptyBook();
});

test("a market order fills within the price band, and the rest expires", async () => {
  const nothing = await alice.market("BUY", "0.1");
  assert.deepEqual([nothing.status, nothing.reason, nothing.price], ["EXPIRED", "NO_LIQUIDITY", null]);
  assert.equal(nothing.timeInForce, "IOC");

  const inside = await bob.sell("0.1", "68250");
  const outside = await bob.sell("0.1", "68250.1");
  const taker = await alice.market("BUY", "0.2");
  assert.deepEqual([taker.status, taker.reason, taker.filledQuantity], ["EXPIRED", "NO_LIQUIDITY", "0.1"]);
  assert.equal(taker.avgPrice, "68250");
  assert.equal((await bob.order(inside.orderId)).status, "FILLED");
  assert.equal((await bob.order(outside.orderId)).status, "NEW");
  await emptyBook();
});

test("a price beyond the band is refused with the limit", async () => {
  const limit = (side: "BUY" | "SELL", price: string): NewOrder => ({
    symbol: "BTC-PERP",
    side,
    type: "LIMIT",
    price,
    quantity: "0.01",
  });
  const high = await alice.refused("PRICE_OUT_OF_BAND", "POST", "/orders", limit("BUY", "68250.1"));
  assert.deepEqual([high.field, high.details], ["price", { limit: "68250", mark: "65000" }]);
  const low = await alice.refused("PRICE_OUT_OF_BAND", "POST", "/orders", limit("SELL", "61749.9"));
  assert.deepEqual([low.field, low.details], ["price", { limit: "61750", mark: "65000" }]);
  await alice.place(limit("BUY", "30000"));
  await alice.place(limit("SELL", "120000"));
  await emptyBook();
});

test("a post-only order that would trade is refused", async () => {
  await bob.sell("0.1", "65000");
  const body: NewOrder = {
    symbol: "BTC-PERP",
    side: "BUY",
    type: "LIMIT",
    price: "65000",
    quantity: "0.1",
    postOnly: true,
  };
  const error = await alice.refused("POST_ONLY_WOULD_TRADE", "POST", "/orders", body);
  assert.deepEqual(error.details, { best: "65000" });
  const resting = await alice.place({ ...body, price: "64999.9" });
  assert.deepEqual([resting.status, resting.postOnly], ["NEW", true]);
  assert.deepEqual((await alice.fills()).data, []);
  await emptyBook();
});

test("each self-trade prevention mode prevents self-trades", async () => {
  const expectStatus = async (order: Order, status: string, reason: string | null) => {
    const now = await alice.order(order.orderId);
    assert.deepEqual([now.status, now.reason], [status, reason]);
    return now;
  };
  // By default the taker expires.
  const resting = await alice.sell("0.2", "65000");
  const taker = await alice.buy("0.1", "65000");
  assert.deepEqual([taker.status, taker.reason, taker.fills], ["EXPIRED", "SELF_TRADE", []]);
  await expectStatus(resting, "NEW", null);

  const survivor = await alice.buy("0.1", "65000", { selfTradePreventionMode: "EXPIRE_MAKER" });
  assert.equal(survivor.status, "NEW");
  await expectStatus(resting, "CANCELED", "SELF_TRADE");

  const both = await alice.sell("0.1", "65000", { selfTradePreventionMode: "EXPIRE_BOTH" });
  assert.deepEqual([both.status, both.reason], ["EXPIRED", "SELF_TRADE"]);
  await expectStatus(survivor, "CANCELED", "SELF_TRADE");

  const large = await alice.sell("0.5", "65000");
  const small = await alice.buy("0.2", "65000", { selfTradePreventionMode: "DECREMENT" });
  assert.deepEqual([small.status, small.reason, small.fills], ["EXPIRED", "SELF_TRADE", []]);
  const rest = await expectStatus(large, "NEW", null);
  assert.equal(rest.remainingQuantity, "0.3");

  // What stands before the own order is traded with.
  await bob.sell("0.1", "64999");
  const partly = await alice.buy("0.2", "65000");
  assert.deepEqual([partly.status, partly.reason, partly.filledQuantity], ["EXPIRED", "SELF_TRADE", "0.1"]);
  await emptyBook();
});

test("a repeated clientOrderId returns the same order, or a conflict when the body differs", async () => {
  const body: NewOrder = {
    symbol: "BTC-PERP",
    side: "BUY",
    type: "LIMIT",
    price: "64000",
    quantity: "0.1",
    clientOrderId: "once",
  };
  const { fills: _, ...first } = await alice.place(body);
  const again = await alice.call<Order & { duplicate: boolean; fills: unknown[] }>(200, "POST", "/orders", body);
  assert.deepEqual(again, { ...first, fills: [], duplicate: true });
  const error = await alice.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...body, quantity: "0.2" });
  assert.deepEqual([error.field, error.details], ["clientOrderId", { orderId: first.orderId }]);
  const elsewhere = { ...body, symbol: "ETH-PERP", price: "2900" };
  await alice.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", elsewhere);
  // Another account's ids are its own.
  const other = await bob.place(body);
  assert.notEqual(other.orderId, first.orderId);

  // After the end of the order the id still stands for it.
  const canceled = await alice.cancel("client:once");
  const late = await alice.call<Order>(200, "POST", "/orders", body);
  assert.deepEqual(late, { ...canceled, fills: [], duplicate: true });

  // The fills of the first time come with it.
  const crossing: NewOrder = { ...body, side: "SELL", clientOrderId: "crossing" };
  const traded = await alice.place(crossing);
  assert.equal(traded.status, "FILLED");
  const repeated = await alice.call<Order>(200, "POST", "/orders", crossing);
  assert.deepEqual(repeated, { ...traded, duplicate: true });
  await alice.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...crossing, price: "64000.1" });
  assert.equal((await alice.fills()).data.length, 1);

  // A hundred at once are one order.
  const storm = { ...body, clientOrderId: "storm" };
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => alice.request<Order & { duplicate?: boolean }>("POST", "/orders", storm)),
  );
  assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
  assert.equal(answers.filter((answer) => answer.status === 200 && answer.body.duplicate).length, 99);
  assert.equal(new Set(answers.map((answer) => answer.body.orderId)).size, 1);
  assert.equal((await alice.openOrders()).data.length, 1);
  await emptyBook();
});

test("a request past its expiresAt is refused", async () => {
  const body: NewOrder = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.1" };
  await alice.refused("REQUEST_EXPIRED", "POST", "/orders", { ...body, expiresAt: Date.now() - 1 });
  const inTime = await alice.place({ ...body, expiresAt: Date.now() + 60_000 });
  assert.equal(inTime.status, "NEW");
  await emptyBook();
});

test("all orders are canceled at once, or those of a symbol or a side", async () => {
  const place = (symbol: string, side: "BUY" | "SELL", price: string, quantity: string) =>
    alice.place({ symbol, side, type: "LIMIT", price, quantity });
  const setUp = () =>
    Promise.all([
      place("BTC-PERP", "BUY", "64000", "0.01"),
      place("BTC-PERP", "SELL", "66000", "0.01"),
      place("ETH-PERP", "BUY", "2900", "0.1"),
      place("ETH-PERP", "SELL", "3100", "0.1"),
    ]);
  const openNow = async () => (await alice.openOrders()).data.map((order) => `${order.symbol} ${order.side}`).sort();
  await setUp();
  await bob.buy("0.01", "64000");
  assert.deepEqual(await openNow(), ["BTC-PERP BUY", "BTC-PERP SELL", "ETH-PERP BUY", "ETH-PERP SELL"]);
  const sells = await alice.cancelAll("?symbol=BTC-PERP&side=SELL");
  assert.equal(sells.canceled, 1);
  assert.deepEqual(
    sells.data.map((order) => [order.side, order.status, order.reason]),
    [["SELL", "CANCELED", "USER"]],
  );
  assert.deepEqual(await openNow(), ["BTC-PERP BUY", "ETH-PERP BUY", "ETH-PERP SELL"]);
  assert.equal((await alice.cancelAll("?symbol=ETH-PERP")).canceled, 2);
  assert.deepEqual(await openNow(), ["BTC-PERP BUY"]);
  await setUp();
  assert.equal((await alice.cancelAll("?side=BUY")).canceled, 3);
  assert.equal((await alice.cancelAll()).canceled, 2);
  assert.equal((await alice.cancelAll()).canceled, 0);
  // Nobody else's.
  assert.equal((await bob.openOrders()).data.length, 1);
  await emptyBook();
});
