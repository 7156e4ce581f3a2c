import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PerpdClient } from "../../../src/client/client.ts";
import { isOutcomeUnknown, PerpdError } from "../../../src/client/error.ts";
import { LocalOrderBook } from "../../../src/client/order-book.ts";
import type { ChannelMessage, OrderBookMessage, PlacedOrder } from "../../../src/client/types.ts";
import "../support/documents/documented-fetch.ts";
import { OPERATOR_TOKEN, startServer, type TestServer } from "../support/server.ts";
import { until } from "../support/wait.ts";
import { login, newPrivateKey, walletOf } from "../support/wallet.ts";

let server: TestServer;
let operator: PerpdClient;

before(async () => {
  server = await startServer();
  operator = new PerpdClient({ baseUrl: server.url, token: OPERATOR_TOKEN });
  await operator.setIndexPrice("BTC-PERP", "65000");
  // Starts the thread that checks signatures, which may take longer than the client waits.
  await login(server.url);
});

after(() => server.dispose());

/** Signed in with a wallet of its own. */
async function openClient(): Promise<PerpdClient> {
  const client = new PerpdClient({ baseUrl: server.url });
  const wallet = walletOf(newPrivateKey());
  await client.login(wallet.address, (message) => wallet.signMessage({ message }));
  await client.deposit({ asset: "USDC", amount: "100000", reference: "start" });
  return client;
}

test("every client method works against the real exchange", async (t) => {
  const [alice, bob] = await Promise.all([openClient(), openClient()]);
  const limit = { symbol: "BTC-PERP", type: "LIMIT", price: "65000", quantity: "0.1" } as const;
  const book = new LocalOrderBook();
  const messages: ChannelMessage[] = [];
  const stream = alice.stream(
    [
      { channel: "orderbook", symbol: "BTC-PERP" },
      { channel: "trades", symbol: "BTC-PERP" },
      { channel: "positions" },
      { channel: "balance" },
    ],
    {
      onMessage: (message) => {
        messages.push(message);
        if (message.channel === "orderbook") assert.ok(book.apply(message));
      },
    },
  );
  t.after(() => stream.close());
  await stream.ready;
  assert.ok((await stream.ping()) > 0);

  const resting = await bob.placeOrder({ ...limit, side: "SELL", quantity: "0.3", clientOrderId: "maker" });
  const taken = await alice.placeOrder({ ...limit, side: "BUY" });
  assert.equal(taken.status, "FILLED");
  assert.equal((await bob.order("client:maker")).filledQuantity, "0.1");
  assert.deepEqual(
    (await bob.openOrders()).data.map((order) => order.orderId),
    [resting.orderId],
  );
  assert.equal((await alice.positions()).data[0]?.size, "0.1");
  assert.deepEqual(await alice.setLeverage("BTC-PERP", 20), { symbol: "BTC-PERP", leverage: 20 });
  assert.equal((await alice.fills({ symbol: "BTC-PERP" })).data.length, 1);
  assert.equal((await alice.publicTrades("BTC-PERP")).data[0]?.tradeId, taken.fills[0]?.tradeId);
  assert.equal((await alice.ticker("BTC-PERP")).lastPrice, "65000");
  assert.equal((await alice.tickers()).data.length, 3);
  assert.equal((await alice.symbols()).data.length, 3);
  assert.ok((await alice.klines({ symbol: "BTC-PERP", interval: "1m" })).data.length > 0);
  assert.equal((await bob.cancelOrder("client:maker")).status, "CANCELED");
  await bob.placeOrder({ ...limit, side: "BUY", price: "64990" });
  assert.equal((await alice.closePosition("BTC-PERP")).status, "FILLED");
  assert.equal((await alice.orderHistory()).data.length, 2);
  assert.equal((await bob.cancelOrders()).canceled, 0);
  assert.equal((await alice.deposits()).data.length, 1);
  const address = "0x0000000000000000000000000000000000000001";
  await alice.withdraw({ asset: "USDC", amount: "10", address });
  assert.equal((await alice.withdrawals()).data.length, 1);
  assert.ok((await alice.time()).serverTime > 0);
  assert.equal((await alice.health()).status, "OK");
  assert.ok(await alice.openApi());
  assert.ok((await operator.audit()) !== null);

  const shown = await alice.orderBook("BTC-PERP");
  await until("the stream to be in step", () => book.checksum() === shown.checksum);
  const equity = (await alice.balance()).equity;
  await until("the balance", () => {
    const last = messages.filter((message) => message.channel === "balance").at(-1);
    return last?.data.equity === equity;
  });
  assert.equal(messages.filter((message) => message.channel === "trades" && message.type === "UPDATE").length, 2);
});

test("the client trades over its stream, and cancel on disconnect runs when it ends", async (t) => {
  const [alice, bob] = await Promise.all([openClient(), openClient()]);
  const messages: ChannelMessage[] = [];
  const key = await bob.createKey({ label: "bot", permissions: ["TRADE"] });
  const bot = new PerpdClient({
    baseUrl: server.url,
    apiKey: key.apiKey,
    secret: key.secret,
  }).stream([], { onMessage: () => assert.fail("no channel was asked for") });
  const stream = alice.stream(
    [{ channel: "orders" }, { channel: "fills" }],
    { onMessage: (message) => messages.push(message) },
    { cancelOnDisconnect: true },
  );
  await assert.rejects(stream.placeOrder({ symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" }), {
    code: "DISCONNECTED",
  });
  t.after(() => {
    stream.close();
    bot.close();
  });
  await Promise.all([stream.ready, bot.ready]);
  const limit = { symbol: "BTC-PERP", type: "LIMIT", price: "65000", quantity: "0.1" } as const;
  const resting = await bot.placeOrder({ ...limit, side: "SELL", quantity: "0.2" });
  const taken = await stream.placeOrder({ ...limit, side: "BUY" });
  assert.deepEqual([resting.status, taken.status], ["NEW", "FILLED"]);
  assert.deepEqual(await stream.setLeverage("BTC-PERP", 20), { symbol: "BTC-PERP", leverage: 20 });
  assert.equal((await bot.cancelOrder({ orderId: resting.orderId })).filledQuantity, "0.1");
  await bot.placeOrder({ ...limit, side: "BUY", price: "64990" });
  assert.equal((await stream.closePosition("BTC-PERP")).status, "FILLED");
  await assert.rejects(stream.closePosition("BTC-PERP"), { name: "PerpdError", code: "NO_POSITION", field: "symbol" });
  await bot.placeOrder({ ...limit, side: "BUY", price: "64990" });
  assert.equal((await bot.cancelOrders({ side: "BUY" })).canceled, 1);
  const { data: done } = await bot.batch({
    symbol: "BTC-PERP",
    items: [
      { action: "PLACE", type: "LIMIT", side: "BUY", price: "64000", quantity: "0.1", clientOrderId: "at-once" },
      { action: "CANCEL", clientOrderId: "at-once" },
    ],
  });
  assert.deepEqual(
    done.map(({ status, order }) => [status, order?.status]),
    [
      [201, "NEW"],
      [200, "CANCELED"],
    ],
  );
  const fills = (await alice.fills()).data;
  assert.equal(fills.length, 2);
  const streamed = () => messages.flatMap((message) => (message.channel === "fills" ? message.data : []));
  await until("both fills", () => streamed().length === 2);
  assert.deepEqual(streamed(), fills.reverse());

  await stream.placeOrder({ ...limit, side: "BUY", price: "60000" });
  await bot.placeOrder({ ...limit, side: "BUY", price: "60000" });
  bot.close();
  stream.close();
  await until("the order to be canceled", async () => (await alice.openOrders()).data.length === 0);
  assert.equal((await bob.cancelOrders()).canceled, 1);
});

test("the client signs with an API key, and a refusal is a PerpdError", async () => {
  const alice = await openClient();
  const key = await alice.createKey({ label: "bot", permissions: ["READ", "TRADE"] });
  const bot = new PerpdClient({ baseUrl: server.url, apiKey: key.apiKey, secret: key.secret });
  assert.equal((await bot.balance()).equity, "100000");
  const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.1" } as const;
  await bot.placeOrder(order);
  assert.equal((await bot.cancelOrders({ symbol: "BTC-PERP" })).canceled, 1);
  await assert.rejects(bot.placeOrder({ ...order, quantity: "50" }), (error) => {
    assert.ok(error instanceof PerpdError);
    assert.deepEqual([error.status, error.code, error.field], [422, "INSUFFICIENT_MARGIN", "quantity"]);
    assert.ok(error.details?.required);
    return true;
  });
  assert.equal((await alice.keys()).data.length, 1);
  await alice.revokeKey(key.apiKey);
  await assert.rejects(bot.balance(), { code: "INVALID_KEY_OR_SIGNATURE" });
  await alice.logout();
  await assert.rejects(alice.balance(), { code: "UNAUTHENTICATED" });
});

test("equal orders sent at once get different signatures", async () => {
  const alice = await openClient();
  const key = await alice.createKey({ label: "bot", permissions: ["TRADE"] });
  const bot = new PerpdClient({ baseUrl: server.url, apiKey: key.apiKey, secret: key.secret });
  const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.01" } as const;
  await Promise.all(Array.from({ length: 20 }, () => bot.placeOrder(order)));
  assert.equal((await bot.cancelOrders()).canceled, 20);
});

test("an order can be placed from within the first message handler", async (t) => {
  const alice = await openClient();
  const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.01" } as const;
  let settle: { resolve(order: PlacedOrder): void; reject(error: Error): void };
  const placed = new Promise<PlacedOrder>((resolve, reject) => {
    settle = { resolve, reject };
  });
  const stream = alice.stream([{ channel: "ticker", symbol: "BTC-PERP" }], {
    onMessage: () => stream.placeOrder({ ...order, clientOrderId: "once" }).then(settle.resolve, settle.reject),
  });
  t.after(() => stream.close());
  assert.equal((await placed).status, "NEW");
});

test("of clients of one key that sign the same in the same millisecond all succeed with what may be repeated", async (t) => {
  const owner = await openClient();
  const { apiKey, secret } = await owner.createKey({ label: "shared", permissions: ["READ", "TRADE"] });
  const clients = [1, 2, 3, 4].map(() => new PerpdClient({ baseUrl: server.url, apiKey, secret }));
  const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.01" } as const;
  await Promise.all(clients.map((client) => client.setLeverage("BTC-PERP", 20)));
  await Promise.all(clients.map((client, i) => client.placeOrder({ ...order, clientOrderId: `named-${i}` })));
  // Nobody can tell the same order from a copy that a proxy has made.
  const unnamed = await Promise.allSettled(clients.map((client) => client.placeOrder(order)));
  const refused = unnamed.filter((each) => each.status === "rejected").map(({ reason }) => reason as PerpdError);
  for (const error of refused) assert.deepEqual([error.code, isOutcomeUnknown(error)], ["SIGNATURE_REPLAYED", true]);
  assert.equal((await owner.cancelOrders()).canceled, 2 * clients.length - refused.length);
  const streams = clients.map((client) => client.stream([{ channel: "balance" }], { onMessage() {} }));
  t.after(() => {
    for (const stream of streams) stream.close();
  });
  await Promise.all(streams.map(({ ready }) => ready));
});

test("resyncing a book of one depth leaves that of the default depth alone", async (t) => {
  const client = new PerpdClient({ baseUrl: server.url });
  const seen: OrderBookMessage[] = [];
  const book = { channel: "orderbook", symbol: "BTC-PERP" } as const;
  const stream = client.stream([book, { ...book, depth: 5 }], {
    onMessage: (message) => seen.push(message as OrderBookMessage),
  });
  t.after(() => stream.close());
  await until("both snapshots", () => seen.length === 2);
  stream.resync(seen.find(({ depth }) => depth === 5)!);
  await until("a third", () => seen.length === 3);
  assert.deepEqual([seen[2]?.type, seen[2]?.depth], ["SNAPSHOT", 5]);
});
