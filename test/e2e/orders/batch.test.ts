import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { PerpdClient } from "../../../src/client/client.ts";
import type { BatchItem, BatchResult, BatchResults, OrderBook } from "../../../src/client/types.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { openKey } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
});

beforeEach(async () => {
  await Promise.all([alice.cancelAll(), bob.cancelAll()]);
});

after(async () => {
  await new Operator(server).soundAudit();
  await server.dispose();
});

const batch = (items: unknown[], who: Trader = alice): Promise<BatchResults> =>
  who.call(200, "POST", "/orders/batch", { symbol: "BTC-PERP", items });
const limit = (side: "BUY" | "SELL", quantity: string, price: string, more: object = {}): BatchItem =>
  ({ action: "PLACE", side, type: "LIMIT", quantity, price, ...more }) as BatchItem;
const book = (): Promise<OrderBook> => alice.get("/market/orderbook?symbol=BTC-PERP");
/** Each result in a word: the order's status, or the code of its error. */
const inWords = ({ data }: BatchResults): string[] =>
  data.map(({ status, order, error }) => `${status} ${order?.status ?? error?.code}`);

/** The result's order. */
function orderOf(result: BatchResult | undefined) {
  assert.ok(result?.order !== undefined, JSON.stringify(result));
  return result.order;
}

test("a batch places, amends and cancels in order and in one transaction", async () => {
  const old = await alice.buy("0.1", "64000", { clientOrderId: "old" });
  await bob.sell("0.05", "65100");
  const answer = await batch([
    { action: "CANCEL", clientOrderId: "old" },
    limit("BUY", "0.2", "64500", { clientOrderId: "bid" }),
    limit("BUY", "0.1", "65100", { clientOrderId: "taker" }),
    { action: "AMEND", clientOrderId: "bid", price: "64600", quantity: "0.3" },
    { action: "PLACE", side: "SELL", type: "STOP_MARKET", triggerPrice: "60000", quantity: "0.05" },
    limit("SELL", "0.1", "66000", { timeInForce: "GTD", goodTillDate: Date.now() + 3_600_000 }),
    { action: "AMEND", clientOrderId: "taker", quantity: "0.1" },
  ]);
  assert.equal(answer.failed, 0);
  assert.deepEqual(inWords(answer), [
    "200 CANCELED",
    "201 NEW",
    "201 PARTIALLY_FILLED",
    "200 NEW",
    "201 UNTRIGGERED",
    "201 NEW",
    "200 PARTIALLY_FILLED",
  ]);
  const [canceled, placed, taker, amended, , , unchanged] = answer.data.map(orderOf);
  assert.equal(canceled?.orderId, old.orderId);
  assert.equal(placed?.orderId, amended?.orderId);
  assert.deepEqual([placed?.price, amended?.price, amended?.quantity], ["64500", "64600", "0.3"]);
  assert.deepEqual(
    taker?.fills.map(({ price, quantity, liquidity }) => ({ price, quantity, liquidity })),
    [{ price: "65100", quantity: "0.05", liquidity: "TAKER" }],
  );
  // Its fill was the earlier item's.
  assert.deepEqual([unchanged?.orderId, unchanged?.fills], [taker?.orderId, []]);
  assert.equal(new Set(answer.data.map((result) => orderOf(result).sequence)).size, 1, "one turn");
  const { bids, asks } = await book();
  assert.deepEqual(bids, [
    ["65100", "0.05"],
    ["64600", "0.3"],
  ]);
  assert.deepEqual(asks, [["66000", "0.1"]]);
  const { data: open } = await alice.openOrders();
  assert.equal(open.length, 4);
  const { fills, ...asListed } = amended as NonNullable<typeof amended>;
  assert.deepEqual(
    open.find(({ clientOrderId }) => clientOrderId === "bid"),
    asListed,
  );
});

test("an item that is refused changes nothing and does not stop the others", async () => {
  const poor = await openTrader(server, "1000");
  const { orderId: closed } = await poor.buy("0.001", "64000");
  await poor.cancel(closed);
  const answer = await batch(
    [
      limit("BUY", "0.05", "64000"),
      limit("BUY", "0.05", "64001"),
      limit("BUY", "1", "64002"),
      limit("BUY", "0.01", "99000"),
      { action: "CANCEL", orderId: closed },
      { action: "AMEND", clientOrderId: "nobody", price: "64000" },
      limit("BUY", "0.01", "64003"),
    ],
    poor,
  );
  assert.equal(answer.failed, 4);
  assert.deepEqual(inWords(answer), [
    "201 NEW",
    "201 NEW",
    "422 INSUFFICIENT_MARGIN",
    "422 PRICE_OUT_OF_BAND",
    "409 ORDER_NOT_OPEN",
    "404 ORDER_NOT_FOUND",
    "201 NEW",
  ]);
  const [, , margin, , notOpen, notFound] = answer.data.map(({ error }) => error);
  assert.equal(margin?.field, "quantity");
  assert.deepEqual(Object.keys(margin?.details ?? {}), ["required", "available"]);
  assert.deepEqual([notOpen?.field, notOpen?.details], ["orderId", { orderId: closed, status: "CANCELED" }]);
  assert.equal(notFound?.field, "clientOrderId");
  assert.deepEqual(
    (await poor.openOrders()).data.map(({ price }) => price),
    ["64003", "64001", "64000"],
  );
  await poor.cancelAll();
});

test("margin that an item frees is available to later items", async () => {
  const poor = await openTrader(server, "1000");
  const { orderId } = await poor.buy("0.1", "64000", { clientOrderId: "all-of-it" });
  const other = limit("BUY", "0.12", "63900");
  assert.deepEqual(inWords(await batch([other], poor)), ["422 INSUFFICIENT_MARGIN"]);
  const swapped = await batch([{ action: "CANCEL", orderId }, other, other], poor);
  assert.deepEqual(inWords(swapped), ["200 CANCELED", "201 NEW", "422 INSUFFICIENT_MARGIN"]);
  assert.ok(Number((await poor.balance()).availableBalance) >= 0);
  await poor.cancelAll();
});

test("a clientOrderId is unique within a batch, across batches and across symbols", async () => {
  const item = limit("BUY", "0.01", "64000", { clientOrderId: "once" });
  const other = limit("BUY", "0.02", "64000", { clientOrderId: "once" });
  const first = await batch([item, item, other]);
  assert.deepEqual(inWords(first), ["201 NEW", "200 NEW", "409 CLIENT_ORDER_ID_REUSED"]);
  const [placed, again] = first.data.map(({ order }) => order);
  assert.deepEqual([again?.orderId, again?.duplicate], [placed?.orderId, true]);
  const second = await batch([item, other]);
  assert.deepEqual(inWords(second), ["200 NEW", "409 CLIENT_ORDER_ID_REUSED"]);
  assert.equal((await alice.openOrders()).data.length, 1);

  await alice.buy("0.1", "2900", { symbol: "ETH-PERP", clientOrderId: "of-eth" });
  const third = await batch([
    limit("BUY", "0.01", "64000", { clientOrderId: "of-eth" }),
    limit("BUY", "0.01", "64001", { clientOrderId: "new" }),
    { action: "CANCEL", clientOrderId: "of-eth" },
  ]);
  assert.deepEqual(inWords(third), ["409 CLIENT_ORDER_ID_REUSED", "201 NEW", "404 ORDER_NOT_FOUND"]);

  // What a refused item was called is free again, unless another item has taken it.
  const refused = { ...limit("BUY", "0.01", "99000"), clientOrderId: "later" };
  assert.deepEqual(inWords(await batch([refused])), ["422 PRICE_OUT_OF_BAND"]);
  await alice.buy("0.1", "2900", { symbol: "ETH-PERP", clientOrderId: "later" });
  const taken = limit("BUY", "0.01", "64000", { clientOrderId: "taken" });
  assert.deepEqual(inWords(await batch([{ ...refused, clientOrderId: "taken" }, taken])), [
    "422 PRICE_OUT_OF_BAND",
    "201 NEW",
  ]);
  const elsewhere = { symbol: "ETH-PERP", side: "BUY", type: "LIMIT", price: "2900", quantity: "0.1" };
  await alice.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...elsewhere, clientOrderId: "taken" });
});

test("an invalid item refuses the whole batch, and the error names it", async () => {
  const eth = await alice.buy("0.1", "2900", { symbol: "ETH-PERP" });
  const good = limit("BUY", "0.01", "64000");
  const many = Array.from({ length: 21 }, () => good);
  const table: [code: ErrorCode, field: string | undefined, items: unknown][] = [
    ["MISSING_FIELD", "items", undefined],
    ["BAD_TYPE", "items", { 0: good }],
    ["BAD_VALUE", "items", []],
    ["BAD_VALUE", "items", many],
    ["BAD_TYPE", "items.1", [good, "CANCEL"]],
    ["BAD_TYPE", "items.0", [null]],
    ["MISSING_FIELD", "items.1.action", [good, { orderId: "1" }]],
    ["BAD_VALUE", "items.1.action", [good, { action: "CLOSE" }]],
    ["UNKNOWN_FIELD", "items.1.symbol", [good, { ...good, symbol: "ETH-PERP" }]],
    ["UNKNOWN_FIELD", "items.0.price", [{ action: "CANCEL", orderId: "1", price: "1" }]],
    ["MISSING_FIELD", "items.1.side", [good, { action: "PLACE", type: "LIMIT", price: "1", quantity: "1" }]],
    ["BAD_NUMBER", "items.1.price", [good, { ...good, price: 64000 }]],
    ["BAD_VALUE", "items.0.side", [{ ...good, side: "buy" }]],
    ["BAD_COMBINATION", "items.1.price", [good, { ...good, type: "MARKET" }]],
    ["PRICE_NOT_ON_TICK", "items.1.price", [good, { ...good, price: "64000.01" }]],
    ["QUANTITY_NOT_ON_STEP", "items.1.quantity", [good, { ...good, quantity: "0.00001" }]],
    ["MISSING_FIELD", "items.1.orderId", [good, { action: "CANCEL" }]],
    ["BAD_COMBINATION", "items.1.clientOrderId", [good, { action: "CANCEL", orderId: "1", clientOrderId: "a" }]],
    ["MISSING_FIELD", "items.1.price", [good, { action: "AMEND", orderId: "1" }]],
    ["BAD_COMBINATION", "items.1.orderId", [good, { action: "CANCEL", orderId: eth.orderId }]],
  ];
  for (const [code, field, items] of table) {
    const error = await alice.refused(code, "POST", "/orders/batch", { symbol: "BTC-PERP", items });
    assert.equal(error.field, field, JSON.stringify(error));
  }
  // An id tells its symbol, whether there is such an order or not.
  for (const orderId of [eth.orderId, String(Number(eth.orderId) + 256 * 1000)]) {
    const body = { symbol: "BTC-PERP", items: [{ action: "CANCEL", orderId }] };
    const { message } = await alice.refused("BAD_COMBINATION", "POST", "/orders/batch", body);
    assert.match(message, /^This orderId is of ETH-PERP, but the batch is for BTC-PERP\. /);
  }
  const unknown = [String(Number(eth.orderId) + 100), "1", "256", "9007199254740991", "9".repeat(16)];
  assert.deepEqual(
    inWords(await batch(unknown.map((orderId) => ({ action: "CANCEL", orderId })))),
    unknown.map(() => "404 ORDER_NOT_FOUND"),
  );
  await alice.refused("UNKNOWN_SYMBOL", "POST", "/orders/batch", { symbol: "XYZ-PERP", items: [good] });
  await alice.refused("UNKNOWN_FIELD", "POST", "/orders/batch", { symbol: "BTC-PERP", items: [good], side: "BUY" });
  await alice.refused("BAD_JSON", "POST", "/orders/batch", '{"symbol":');
  assert.deepEqual((await book()).bids, [], "nothing was done");
  assert.equal((await alice.order(eth.orderId)).status, "NEW");
  assert.equal((await batch(many.slice(1))).failed, 0, "twenty are taken");
});

test("key permissions and limits apply to each item of a batch", async () => {
  const items = [limit("BUY", "0.001", "64000"), limit("BUY", "0.01", "64000"), limit("BUY", "0.001", "64001")];
  const body = { symbol: "BTC-PERP", items };
  const reader = await openKey(server, alice, ["READ"]);
  await reader.refused("PERMISSION_DENIED", "POST", "/orders/batch", body);
  const small = await openKey(server, alice, ["TRADE"], { maxOrderNotional: "100", allowedSymbols: ["BTC-PERP"] });
  const answer = await small.call<BatchResults>(200, "POST", "/orders/batch", body);
  assert.deepEqual(inWords(answer), ["201 NEW", "403 KEY_ORDER_LIMIT", "201 NEW"]);
  await small.refused("SYMBOL_NOT_ALLOWED", "POST", "/orders/batch", { ...body, symbol: "ETH-PERP" });
});

test("batches over the socket give the same results, and the orders channel shows each order once", async (t) => {
  const socket = await SocketClient.openAs(server.wsUrl, alice.token);
  t.after(() => socket.socket.close());
  await socket.subscribe({ channel: "orders" });
  const items = [
    limit("BUY", "0.01", "64000", { clientOrderId: "a-b" }),
    { action: "AMEND", clientOrderId: "a-b", price: "64001" },
    limit("BUY", "0.01", "64002", { clientOrderId: "a-c" }),
    { action: "CANCEL", clientOrderId: "a-c" },
    limit("BUY", "100", "64000"),
  ];
  type Reply = { status?: number; result: BatchResults; code?: string; field?: string };
  const reply = (await socket.request("order.batch", { params: { symbol: "BTC-PERP", items } })) as unknown as Reply;
  assert.equal(reply.status, 200);
  assert.deepEqual(inWords(reply.result), ["201 NEW", "200 NEW", "201 NEW", "200 CANCELED", "422 INSUFFICIENT_MARGIN"]);
  const isShown = (): boolean => socket.ofChannel("orders").length > 1;
  await socket.find("the orders", isShown);
  const [, { data = [] } = {}] = socket.ofChannel("orders") as { data?: { price: string; status: string }[] }[];
  assert.deepEqual(
    data.map(({ price, status }) => [price, status]),
    [
      ["64001", "NEW"],
      ["64002", "CANCELED"],
    ],
  );
  const bad = { symbol: "BTC-PERP", items: [items[0], { action: "CANCEL" }] };
  const refused = (await socket.request("order.batch", { params: bad })) as unknown as Reply;
  assert.deepEqual([refused.code, refused.field], ["MISSING_FIELD", "items.1.orderId"]);
});

test("the client's batch() returns typed results", async () => {
  const client = new PerpdClient({ baseUrl: server.url, token: alice.token as string });
  const { failed, data } = await client.batch({
    symbol: "BTC-PERP",
    items: [
      { action: "PLACE", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.01", clientOrderId: "typed" },
      { action: "CANCEL", clientOrderId: "typed" },
    ],
  });
  assert.deepEqual([failed, data[0]?.order?.status, data[1]?.order?.status], [0, "NEW", "CANCELED"]);
});

test("an acknowledged batch is complete after a kill", async () => {
  const { orderId } = await alice.buy("0.1", "64000", { clientOrderId: "before-kill" });
  await bob.sell("0.02", "65050");
  const answer = await batch([
    { action: "CANCEL", orderId },
    limit("BUY", "0.05", "65050", { clientOrderId: "filled-in-part" }),
    limit("BUY", "0.01", "64100"),
    { action: "AMEND", clientOrderId: "filled-in-part", price: "64900" },
    limit("BUY", "100", "64100"),
  ]);
  assert.deepEqual(inWords(answer).at(-1), "422 INSUFFICIENT_MARGIN");
  const [open, fills, balance] = await Promise.all([alice.openOrders(), alice.fills(), alice.balance()]);
  assert.deepEqual(
    open.data.map(({ price, status, filledQuantity }) => [price, status, filledQuantity]),
    [
      ["64100", "NEW", "0"],
      ["64900", "PARTIALLY_FILLED", "0.02"],
    ],
  );
  await server.kill();
  await server.start();
  const { token, accountId, address, privateKey } = alice;
  const again = new Trader(server.url, token ?? "", accountId, address, privateKey);
  assert.deepEqual(await again.openOrders(), open);
  assert.deepEqual(await again.fills(), fills);
  assert.equal((await again.order(orderId)).status, "CANCELED");
  const { updatedAt: _, sequence: __, ...before } = balance;
  const { updatedAt: ___, sequence: ____, ...now } = await again.balance();
  assert.deepEqual(now, before);
});
