import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { PerpdClient } from "../../../src/client/client.ts";
import type { DryRunOrder, NewOrder, PlacedOrder } from "../../../src/client/types.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { assertUnchanged } from "../support/funding.ts";
import { openKey } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  [alice, bob] = await Promise.all([openTrader(server, "5000"), openTrader(server)]);
});

beforeEach(async () => {
  await Promise.all([alice.cancelAll(), bob.cancelAll()]);
});

after(async () => {
  await new Operator(server).soundAudit();
  await server.dispose();
});

const tried = (order: NewOrder): Promise<DryRunOrder> => alice.call(200, "POST", "/orders", { ...order, dryRun: true });

/** The order without what it has only when it exists, and its fills as a dry run tells them. */
function asTried({ orderId, createdAt, updatedAt, sequence, fills, duplicate, ...order }: PlacedOrder): object {
  const expected = fills.map(({ price, quantity, quoteQuantity, fee }) => ({ price, quantity, quoteQuantity, fee }));
  return { ...order, orderId: null, fills: expected };
}

function asPlaced(order: DryRunOrder): object {
  const { dryRun, createdAt, updatedAt, sequence, marginRequired, before, after, ...rest } = order;
  assert.equal(dryRun, true);
  return rest;
}

/** All that could have changed, the log's sequence included. */
async function state(): Promise<unknown[]> {
  const { updatedAt, ...balance } = await alice.balance();
  return [await operator.stateDigests(), balance, await alice.openOrders()];
}

const LIMIT = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.1" } as const;

test("a dry run returns what the order then gets, and changes nothing", async () => {
  await bob.sell("0.02", "65010");
  await bob.sell("0.03", "65020");
  const orders: NewOrder[] = [
    LIMIT,
    { ...LIMIT, postOnly: true, clientOrderId: "tried-first" },
    { ...LIMIT, timeInForce: "IOC" },
    { ...LIMIT, price: "65010", quantity: "0.03" },
    { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "0.5", timeInForce: "FOK" },
    { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "0.05", maxSlippage: "0.01" },
    { symbol: "BTC-PERP", side: "SELL", type: "STOP_MARKET", triggerPrice: "60000", quantity: "0.01" },
    { ...LIMIT, timeInForce: "GTD", goodTillDate: Date.now() + 3_600_000, takeProfit: { triggerPrice: "70000" } },
  ];
  const statuses: string[] = [];
  for (const order of orders) {
    const since = Date.now();
    const before = await state();
    const answer = await tried(order);
    assertUnchanged(since, await state(), before);
    const placed = await alice.place(order);
    assert.deepEqual(asPlaced(answer), asTried(placed), JSON.stringify(order));
    statuses.push(answer.status);
    await alice.cancelAll();
  }
  assert.deepEqual(statuses, ["NEW", "NEW", "EXPIRED", "PARTIALLY_FILLED", "EXPIRED", "EXPIRED", "UNTRIGGERED", "NEW"]);
});

test("a dry run reports the required margin and the account afterwards", async () => {
  await bob.sell("0.05", "65010");
  for (const order of [LIMIT, { ...LIMIT, price: "65010", quantity: "0.05" }]) {
    const before = await standing();
    const answer = await tried(order);
    assert.deepEqual(answer.before, before);
    assert.ok(Number(answer.marginRequired) > 0);
    await alice.place(order);
    assert.deepEqual(answer.after, await standing());
  }
});

async function standing(): Promise<DryRunOrder["before"]> {
  const { initialMargin, availableBalance } = await alice.balance();
  const position = await alice.position();
  const positionSize = position?.size ?? "0";
  return { positionSize, liquidationPrice: position?.liquidationPrice ?? null, initialMargin, availableBalance };
}

test("a dry run is refused with the same code, field and details as the order", async () => {
  await bob.sell("0.02", "65010");
  await alice.place({ ...LIMIT, quantity: "0.001", clientOrderId: "used" });
  const table: [code: ErrorCode, order: object][] = [
    ["INSUFFICIENT_MARGIN", { ...LIMIT, quantity: "50" }],
    ["PRICE_OUT_OF_BAND", { ...LIMIT, price: "90000" }],
    ["PRICE_TOO_HIGH", { ...LIMIT, price: "99999999" }],
    ["POST_ONLY_WOULD_TRADE", { ...LIMIT, price: "65010", postOnly: true }],
    ["QUANTITY_TOO_LARGE", { ...LIMIT, quantity: "1000000" }],
    ["PRICE_NOT_ON_TICK", { ...LIMIT, price: "64000.01" }],
    ["REQUEST_EXPIRED", { ...LIMIT, expiresAt: 1 }],
    ["REDUCE_ONLY_NO_POSITION", { ...LIMIT, reduceOnly: true }],
    ["WOULD_TRIGGER", { symbol: "BTC-PERP", side: "SELL", type: "STOP_MARKET", triggerPrice: "70000", quantity: "1" }],
    ["GOOD_TILL_DATE_PASSED", { ...LIMIT, timeInForce: "GTD", goodTillDate: 1 }],
    ["CLIENT_ORDER_ID_REUSED", { ...LIMIT, quantity: "0.002", clientOrderId: "used" }],
    ["NO_MARK_PRICE", { ...LIMIT, symbol: "ETH-PERP", price: "3000" }],
    ["UNKNOWN_SYMBOL", { ...LIMIT, symbol: "XYZ-PERP" }],
  ];
  for (const [code, order] of table) {
    const { requestId, serverTime, ...dry } = await alice.refused(code, "POST", "/orders", { ...order, dryRun: true });
    const { requestId: _, serverTime: __, ...real } = await alice.refused(code, "POST", "/orders", order);
    assert.deepEqual(dry, real);
  }
  await alice.refused("BAD_TYPE", "POST", "/orders", { ...LIMIT, dryRun: "yes" });
  await alice.refused("UNKNOWN_FIELD", "POST", "/orders/batch", {
    symbol: "BTC-PERP",
    items: [{ action: "PLACE", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.1", dryRun: true }],
  });
});

test("a dry run does not use up its clientOrderId, and a used one returns its order", async () => {
  await tried({ ...LIMIT, clientOrderId: "kept" });
  await alice.refused("ORDER_NOT_FOUND", "GET", "/orders/client:kept");
  const placed = await alice.place({ ...LIMIT, clientOrderId: "kept" });
  assert.equal(placed.duplicate, undefined);
  const again: PlacedOrder = await alice.call(200, "POST", "/orders", {
    ...LIMIT,
    clientOrderId: "kept",
    dryRun: true,
  });
  assert.deepEqual([again.orderId, again.duplicate], [placed.orderId, true]);
});

test("a key's permission and limits apply to a dry run", async () => {
  const reader = await openKey(server, alice, ["READ"]);
  await reader.refused("PERMISSION_DENIED", "POST", "/orders", { ...LIMIT, dryRun: true });
  const small = await openKey(server, alice, ["TRADE"], { maxOrderNotional: "100", allowedSymbols: ["BTC-PERP"] });
  await small.refused("KEY_ORDER_LIMIT", "POST", "/orders", { ...LIMIT, dryRun: true });
  await small.refused("SYMBOL_NOT_ALLOWED", "POST", "/orders", { ...LIMIT, symbol: "ETH-PERP", dryRun: true });
});

test("the socket and the client support dry runs", async (t) => {
  const socket = await SocketClient.openAs(server.wsUrl, alice.token);
  t.after(() => socket.socket.close());
  type Reply = { status: number; result: DryRunOrder };
  const reply = (await socket.request("order.place", { params: { ...LIMIT, dryRun: true } })) as unknown as Reply;
  assert.deepEqual([reply.status, reply.result.status, reply.result.orderId], [200, "NEW", null]);
  const client = new PerpdClient({ baseUrl: server.url, token: alice.token as string });
  assert.equal((await client.tryOrder(LIMIT)).marginRequired, reply.result.marginRequired);
  await assert.rejects(client.tryOrder({ ...LIMIT, quantity: "50" }), { code: "INSUFFICIENT_MARGIN" });
});
