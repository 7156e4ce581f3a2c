import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { BatchResults, NewOrder, PlacedOrder } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";

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
  maxSlippage: "0.01",
  ...more,
});

test("a stop shows its maximum slippage everywhere, keeps it through kill -9 and does not trade beyond it", async () => {
  const socket = await SocketClient.openAs(server.wsUrl, alice.token);
  await socket.subscribe({ channel: "orders" });
  const tried = await alice.call<PlacedOrder>(200, "POST", "/orders", { ...stop(), dryRun: true });
  assert.equal(tried.maxSlippage, "0.01");
  const order = await alice.place(stop({ clientOrderId: "careful" }));
  assert.equal(order.maxSlippage, "0.01");
  const again = await alice.call<PlacedOrder & { duplicate: boolean }>(
    200,
    "POST",
    "/orders",
    stop({ clientOrderId: "careful" }),
  );
  assert.deepEqual([again.orderId, again.duplicate], [order.orderId, true]);
  const other = stop({ clientOrderId: "careful", maxSlippage: "0.02" });
  await alice.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", other);
  const { data } = await alice.call<BatchResults>(200, "POST", "/orders/batch", {
    symbol: "BTC-PERP",
    items: [
      { action: "AMEND", orderId: order.orderId, maxSlippage: "0.02" },
      { action: "PLACE", side: "SELL", type: "STOP_MARKET", quantity: "0.1", triggerPrice: "63500" },
    ],
  });
  assert.deepEqual(
    data.map((item) => item.order?.maxSlippage),
    ["0.02", null],
  );
  await socket.find(
    "the amendment",
    (message) => message.channel === "orders" && /"0.02"/.test(JSON.stringify(message)),
  );
  const told = socket.ofChannel("orders").flatMap(({ data }) => data.map(({ maxSlippage }) => maxSlippage));
  assert.deepEqual(told, ["0.01", "0.02", null]);

  await server.kill();
  await server.start();
  operator = new Operator(server);
  const [aliceToken = "", bobToken = ""] = [alice.token, bob.token];
  alice = new Trader(server.url, aliceToken, alice.accountId, alice.address, alice.privateKey);
  bob = new Trader(server.url, bobToken, bob.accountId, bob.address, bob.privateKey);
  assert.equal((await alice.order(order.orderId)).maxSlippage, "0.02");
  // 2 % below 64000 is 62720. The price band ends at 60800.
  await bob.buy("0.05", "62720");
  await bob.buy("0.1", "62700");
  await operator.setIndex("BTC-PERP", "64000");
  const fired = await alice.fired(order.orderId);
  assert.deepEqual(
    [fired.status, fired.reason, fired.filledQuantity, fired.avgPrice, fired.maxSlippage],
    ["EXPIRED", "NO_LIQUIDITY", "0.05", "62720", "0.02"],
  );
  assert.equal((await alice.history()).data[0]?.maxSlippage, "0.02");
  await bob.cancelAll();
  await alice.cancelAll();
});

test("a position is closed within its maximum slippage from the mark", async () => {
  await bob.sell("0.1", "65000");
  await alice.market("BUY", "0.1");
  await bob.buy("0.1", "64000");
  const path = "/positions/BTC-PERP/close";
  const near = await alice.call<PlacedOrder>(201, "POST", path, { maxSlippage: "0.005" });
  assert.deepEqual([near.status, near.reason, near.filledQuantity], ["EXPIRED", "NO_LIQUIDITY", "0"]);
  await alice.refused("BAD_COMBINATION", "POST", path, { maxSlippage: "0.005", price: "64000" });
  await alice.refused("BAD_VALUE", "POST", path, { maxSlippage: "0" });
  const far = await alice.call<PlacedOrder>(201, "POST", path, { maxSlippage: "0.02" });
  assert.deepEqual([far.status, far.avgPrice], ["FILLED", "64000"]);
});

test("an attached stop shows and keeps the maximum slippage of its leg", async () => {
  await bob.sell("0.1", "65000");
  const legs = { takeProfit: { triggerPrice: "66000" }, stopLoss: { triggerPrice: "64000", maxSlippage: "0.005" } };
  const entry = await alice.market("BUY", "0.1", legs);
  const attached = (await alice.openOrders()).data.filter(({ parentOrderId }) => parentOrderId === entry.orderId);
  assert.deepEqual(attached.map(({ type, maxSlippage }) => [type, maxSlippage]).sort(), [
    ["STOP_MARKET", "0.005"],
    ["TAKE_PROFIT_MARKET", null],
  ]);
  await bob.buy("0.1", "63000");
  await operator.setIndex("BTC-PERP", "64000");
  const stopId = attached.find(({ type }) => type === "STOP_MARKET")?.orderId ?? "";
  const fired = await alice.fired(stopId);
  assert.deepEqual([fired.status, fired.filledQuantity], ["EXPIRED", "0"]);
  const closed = await alice.call<PlacedOrder>(201, "POST", "/positions/BTC-PERP/close", {});
  assert.deepEqual([closed.status, closed.reason, closed.avgPrice], ["FILLED", null, "63000"]);
});
