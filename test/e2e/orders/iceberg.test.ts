import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Level, NewOrder, Order, OrderBook, PlacedOrder } from "../../../src/client/types.ts";
import { Follower } from "../support/follower.ts";
import { assertUnchanged } from "../support/funding.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer({ environment: { PERPD_SNAPSHOT_INTERVAL_MS: "100" } });
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
});

after(async () => {
  await server.dispose();
});

const asks = async (): Promise<Level[]> => (await bob.get<OrderBook>("/market/orderbook?symbol=BTC-PERP")).asks;
const prices = ({ fills }: PlacedOrder): string[] => fills.map(({ price, quantity }) => `${quantity}@${price}`);

test("the book shows slices of an iceberg, and a client's book stays correct while they fill", async (t) => {
  const follower = new Follower(server.url, alice);
  t.after(() => follower.stream.close());
  await follower.stream.ready;
  const placed = await alice.sell("0.5", "65100", { displayQuantity: "0.1", clientOrderId: "berg" });
  assert.deepEqual([placed.displayQuantity, placed.quantity, placed.status], ["0.1", "0.5", "NEW"]);
  const { fills, ...order } = placed;
  assert.deepEqual(await alice.order("client:berg"), order);
  await bob.sell("0.05", "65100");
  assert.deepEqual(await asks(), [["65100", "0.15"]]);
  const ticker = await bob.get<{ askSize: string }>("/market/ticker?symbol=BTC-PERP");
  assert.equal(ticker.askSize, "0.15");
  const balance = await alice.balance();
  // All of it takes margin: 0.5 × 65100 ÷ 10, and the fee.
  assert.ok(Number(balance.openOrderInitialMargin) >= 3255, balance.openOrderInitialMargin);

  const taker = await openTrader(server);
  // A dry run tells nobody what is hidden.
  const limit = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "65100", quantity: "0.3" };
  const tried = await taker.call<PlacedOrder>(200, "POST", "/orders", { ...limit, dryRun: true });
  assert.deepEqual(prices(tried), ["0.1@65100", "0.05@65100"]);
  const first = await taker.buy("0.12", "65100");
  assert.deepEqual(prices(first), ["0.1@65100", "0.02@65100"]);
  assert.deepEqual(await asks(), [["65100", "0.13"]]);
  // Amended over the socket: less is shown at once.
  const socket = await SocketClient.openAs(server.wsUrl, alice.token);
  t.after(() => socket.socket.close());
  const reply = await socket.request("order.amend", {
    params: { orderId: placed.orderId, displayQuantity: "0.06", quantity: "0.4" },
  });
  const amended = (reply as typeof reply & { result: PlacedOrder }).result;
  assert.deepEqual([amended.displayQuantity, amended.remainingQuantity], ["0.06", "0.3"]);
  assert.deepEqual(await asks(), [["65100", "0.09"]]);
  const fok = await taker.buy("0.33", "65100", { timeInForce: "FOK" });
  assert.equal(fok.status, "FILLED");
  assert.deepEqual(prices(fok), ["0.03@65100", ...Array.from({ length: 5 }, () => "0.06@65100")]);
  assert.deepEqual(await asks(), []);
  let last: string | null = null;
  await until("the follower to be in step", async () => {
    last = await follower.difference();
    return last === null;
  }).catch((error) => assert.fail(`${error.message}: ${last}`));
  const { data } = await alice.history("?limit=1");
  assert.deepEqual([data[0]?.orderId, data[0]?.displayQuantity, data[0]?.status], [placed.orderId, "0.06", "FILLED"]);
  const own = (await alice.fills()).data.filter(({ orderId }) => orderId === placed.orderId);
  assert.equal(own.length, 6);
  const fees = own.reduce((sum, { fee }) => sum + Math.round(Number(fee) * 1e6), 0);
  assert.equal(Math.round(Number(data[0]?.fee) * 1e6), fees);
  await operator.soundAudit();
});

test("fields incompatible with displayQuantity are refused with their codes", async () => {
  const { orderId } = await alice.sell("0.1", "66000", { postOnly: true, displayQuantity: "0.01" });
  const since = Date.now();
  const digests = await operator.stateDigests();
  const limit: NewOrder = { symbol: "BTC-PERP", type: "LIMIT", side: "SELL", price: "66000", quantity: "0.2" };
  const path = `/orders/${orderId}`;
  const berg = (more: object): object => ({ ...limit, displayQuantity: "0.01", ...more });
  const market = { symbol: "BTC-PERP", type: "MARKET", side: "SELL", quantity: "0.2", displayQuantity: "0.01" };
  const table: [code: Parameters<Trader["refused"]>[0], method: string, path: string, body: unknown][] = [
    ["BAD_COMBINATION", "POST", "/orders", berg({ timeInForce: "IOC" })],
    ["BAD_COMBINATION", "POST", "/orders", berg({ timeInForce: "FOK" })],
    ["BAD_COMBINATION", "POST", "/orders", market],
    ["BAD_COMBINATION", "POST", "/orders", berg({ type: "STOP", triggerPrice: "64000" })],
    ["BAD_NUMBER", "POST", "/orders", berg({ displayQuantity: 0.01 })],
    ["BAD_NUMBER", "POST", "/orders", berg({ displayQuantity: "-0.01" })],
    ["QUANTITY_TOO_SMALL", "POST", "/orders", berg({ displayQuantity: "0" })],
    ["QUANTITY_NOT_ON_STEP", "POST", "/orders", berg({ displayQuantity: "0.00001" })],
    ["DISPLAY_QUANTITY_OUT_OF_RANGE", "POST", "/orders", berg({ displayQuantity: "0.3" })],
    ["DISPLAY_QUANTITY_OUT_OF_RANGE", "POST", "/orders", berg({ displayQuantity: "0.001" })],
    ["DISPLAY_QUANTITY_OUT_OF_RANGE", "PATCH", path, { displayQuantity: "0.2" }],
    ["DISPLAY_QUANTITY_OUT_OF_RANGE", "PATCH", path, { quantity: "1.1" }],
    ["QUANTITY_NOT_ON_STEP", "PATCH", path, { displayQuantity: "0.00001" }],
    ["BAD_NUMBER", "PATCH", path, { displayQuantity: "all" }],
  ];
  for (const [code, method, at, body] of table) {
    const error = await alice.refused(code, method, at, body);
    if (code === "DISPLAY_QUANTITY_OUT_OF_RANGE" || code.startsWith("QUANTITY"))
      assert.equal(error.field, "displayQuantity");
    assertUnchanged(since, await operator.stateDigests(), digests, JSON.stringify(body));
  }
  const { details } = await alice.refused(
    "DISPLAY_QUANTITY_OUT_OF_RANGE",
    "POST",
    "/orders",
    berg({ displayQuantity: "0.001" }),
  );
  assert.deepEqual(details, { min: "0.002", max: "0.2" });
  await alice.cancelAll();
});

test("an iceberg keeps its hidden quantity and queue place after kill -9", async () => {
  const { orderId } = await alice.sell("0.5", "65200", { displayQuantity: "0.1" });
  await bob.sell("0.05", "65200");
  // The second slice stands behind bob's order now, and is partly used up.
  const taker = await openTrader(server);
  await taker.buy("0.1", "65200");
  await bob.sell("0.02", "65200");
  assert.deepEqual(prices(await taker.buy("0.08", "65200")), ["0.05@65200", "0.03@65200"]);
  const since = Date.now();
  const { symbols } = await operator.soundAudit();
  const [order, open] = [await alice.order(orderId), await asks()];
  assert.deepEqual(open, [["65200", "0.09"]]);
  const again = ({ token, accountId, address, privateKey }: Trader): Trader =>
    new Trader(server.url, token ?? "", accountId, address, privateKey);
  for (let kill = 0; kill < 2; kill++) {
    await server.kill();
    await server.start();
    operator = new Operator(server);
    bob = again(bob);
    assert.deepEqual(await again(alice).order(orderId), order);
    assert.deepEqual(await asks(), open);
    assertUnchanged(since, (await operator.soundAudit()).symbols, symbols);
  }
  const swept = await again(taker).buy("0.25", "65200");
  assert.deepEqual(prices(swept), ["0.07@65200", "0.02@65200", "0.1@65200", "0.06@65200"]);
  assert.deepEqual(await asks(), [["65200", "0.04"]]);
  const { status, remainingQuantity }: Order = await again(alice).order(orderId);
  assert.deepEqual([status, remainingQuantity], ["PARTIALLY_FILLED", "0.14"]);
  await operator.soundAudit();
});
