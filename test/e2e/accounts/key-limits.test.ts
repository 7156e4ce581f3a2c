import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ApiKeyList, Order } from "../../../src/client/types.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { openKey, signed } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

let server: TestServer;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
  const operator = new Operator(server);
  await Promise.all([operator.setIndex("BTC-PERP", "65000"), operator.setIndex("ETH-PERP", "3000")]);
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
});

after(() => server.dispose());

const btc = (quantity: string, price = "64000") => ({
  symbol: "BTC-PERP",
  side: "BUY",
  type: "LIMIT",
  price,
  quantity,
});
const eth = (quantity: string) => ({ ...btc(quantity, "2900"), symbol: "ETH-PERP" });

test("a key is listed with its limits", async () => {
  const limits = {
    allowedSymbols: ["ETH-PERP"],
    maxOrderNotional: "1000.5",
    maxPositionNotional: "2000",
    maxLeverage: 3,
  };
  const key = await openKey(server, alice, ["TRADE"], limits);
  const shown = async () =>
    (await alice.get<ApiKeyList>("/auth/keys")).data.find(({ apiKey }) => apiKey === key.key.apiKey);
  const before = await shown();
  assert.deepEqual({ ...before, ...limits }, before);
});

test("a key trades and cancels only in its allowed symbols", async () => {
  const key = await openKey(server, alice, ["READ", "TRADE"], { allowedSymbols: ["ETH-PERP"] });
  const other = await alice.buy("0.001", "64000");
  const refuse = (method: string, path: string, body?: object) => key.refused("SYMBOL_NOT_ALLOWED", method, path, body);
  const { field, details } = await refuse("POST", "/orders", btc("0.001"));
  assert.deepEqual([field, details], ["symbol", { allowed: ["ETH-PERP"] }]);
  await refuse("POST", "/positions/BTC-PERP/close");
  await refuse("POST", "/positions/BTC-PERP/leverage", { leverage: 2 });
  await refuse("DELETE", `/orders/${other.orderId}`);
  await refuse("DELETE", "/orders?symbol=BTC-PERP");
  await key.call<Order>(201, "POST", "/orders", eth("0.1"));
  const canceled = await key.call<{ canceled: number }>(200, "DELETE", "/orders");
  assert.equal(canceled.canceled, 1, "of those that it may trade, all");
  // It sees everything, and the account's session is not bound by it.
  assert.equal((await key.get<Order>(`/orders/${other.orderId}`)).status, "NEW");
  await alice.cancel(other.orderId);
});

test("a key is bound to its order and position limits, but may always reduce", async () => {
  const limits = { maxOrderNotional: "1000", maxPositionNotional: "1500" };
  const key = await openKey(server, alice, ["TRADE"], limits);
  const { details } = await key.refused("KEY_ORDER_LIMIT", "POST", "/orders", btc("0.016"));
  assert.deepEqual(details, { required: "1024", limit: "1000" });
  // At market it may be filled at the edge of the band.
  const atMarket = { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "0.015" };
  assert.deepEqual((await key.refused("KEY_ORDER_LIMIT", "POST", "/orders", atMarket)).details, {
    required: "1023.75",
    limit: "1000",
  });
  await bob.sell("0.015", "65000");
  await key.call(201, "POST", "/orders", btc("0.015", "65000"));
  const position = await key.refused("KEY_POSITION_LIMIT", "POST", "/orders", btc("0.01"));
  assert.deepEqual(position.details, { required: "1625", limit: "1500" });
  // What rests on the other side may fill when the position has been closed by another order.
  const other = await openKey(server, alice, ["TRADE"], { maxPositionNotional: "1500" });
  const flip = await other.refused("KEY_POSITION_LIMIT", "POST", "/orders", { ...btc("0.024", "66000"), side: "SELL" });
  assert.deepEqual(flip.details, { required: "1560", limit: "1500" });
  // The session takes on more; the key still closes all of it.
  await bob.sell("0.1", "65000");
  await alice.buy("0.1", "65000");
  await bob.buy("0.115", "64990");
  await key.call(201, "POST", "/positions/BTC-PERP/close");
  assert.equal(await alice.position(), null);
});

test("a key can neither set nor trade with a leverage above its limit", async () => {
  const key = await openKey(server, alice, ["TRADE"], { maxLeverage: 3 });
  const path = "/positions/ETH-PERP/leverage";
  const { details } = await key.refused("KEY_LEVERAGE_LIMIT", "POST", path, { leverage: 4 });
  assert.deepEqual(details, { leverage: 4, limit: 3 });
  await alice.call(200, "POST", path, { leverage: 5 });
  await key.refused("KEY_LEVERAGE_LIMIT", "POST", "/orders", eth("0.1"));
  await key.call(200, "POST", path, { leverage: 3 });
  await key.call(201, "POST", "/orders", eth("0.1"));
  await alice.cancelAll();
});

test("key limits hold over a WebSocket", async () => {
  const limits = { allowedSymbols: ["ETH-PERP"], maxOrderNotional: "1000", maxLeverage: 3 };
  const key = await openKey(server, alice, ["TRADE"], limits);
  const socket = await SocketClient.open(server.wsUrl);
  const headers = signed(key.key, "GET", "/ws");
  const credentials = {
    apiKey: key.key.apiKey,
    timestamp: Number(headers["x-timestamp"]),
    signature: headers["x-signature"],
  };
  assert.equal((await socket.request("auth", credentials)).op, "authenticated");
  const refuse = async (code: ErrorCode, op: string, params: object) =>
    assert.equal((await socket.request(op, { params })).code, code, op);
  await refuse("SYMBOL_NOT_ALLOWED", "order.place", btc("0.001"));
  await refuse("KEY_ORDER_LIMIT", "order.place", eth("1"));
  await refuse("KEY_LEVERAGE_LIMIT", "position.leverage", { symbol: "ETH-PERP", leverage: 4 });
  await refuse("SYMBOL_NOT_ALLOWED", "position.close", { symbol: "BTC-PERP" });
  await refuse("SYMBOL_NOT_ALLOWED", "order.cancelAll", { symbol: "BTC-PERP" });
  await socket.close();
});

test("cancel on disconnect is limited to the symbols of the key", async () => {
  const key = await openKey(server, alice, ["TRADE"], { allowedSymbols: ["ETH-PERP"] });
  const socket = await SocketClient.open(server.wsUrl);
  const { apiKey } = key.key;
  const timestamp = Date.now();
  const signature = signed(key.key, "GET", "/ws", "", timestamp)["x-signature"];
  await socket.request("auth", { apiKey, timestamp, signature, cancelOnDisconnect: true });
  const kept = await alice.buy("0.001", "64000");
  const taken = await alice.call<Order>(201, "POST", "/orders", eth("0.1"));
  await socket.close();
  await until("the cancel", async () => (await alice.order(taken.orderId)).status === "CANCELED");
  assert.equal((await alice.order(kept.orderId)).status, "NEW");
  await alice.cancelAll();
});

test("invalid limits are refused", async () => {
  const refuse = (code: ErrorCode, field: string, limits: object) =>
    alice
      .refused(code, "POST", "/auth/keys", { label: "x", permissions: ["TRADE"], ...limits })
      .then((error) => assert.equal(error.field, field));
  await refuse("UNKNOWN_SYMBOL", "allowedSymbols", { allowedSymbols: ["BTC-PERP", "DOGE-PERP"] });
  await refuse("BAD_VALUE", "allowedSymbols", { allowedSymbols: ["BTC-PERP", "BTC-PERP"] });
  await refuse("BAD_VALUE", "maxOrderNotional", { maxOrderNotional: "0" });
  await refuse("BAD_NUMBER", "maxOrderNotional", { maxOrderNotional: 5 });
  await refuse("AMOUNT_TOO_FINE", "maxPositionNotional", { maxPositionNotional: "0.0000001" });
  await refuse("BAD_VALUE", "maxLeverage", { maxLeverage: 0 });
  await refuse("BAD_TYPE", "maxLeverage", { maxLeverage: "5" });
});
