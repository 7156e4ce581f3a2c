import assert from "node:assert/strict";
import { test } from "node:test";
import Value from "typebox/value";
import { ApiError } from "../../../src/front/common/errors.ts";
import { RequestId } from "../../../src/wire/schema/channels.ts";
import { START } from "../support/scripted-engine.ts";
import { book, limited, nextTurn, open, subscribe, unsubscribe } from "../support/scripted-exchange.ts";

test("ping", async () => {
  const { engine, connect } = await open();
  assert.deepEqual(connect().ask({ op: "ping", id: "a" }), [{ op: "pong", id: "a", serverTime: engine.time }]);
  assert.deepEqual(connect().ask({ op: "ping" }), [{ op: "pong", id: null, serverTime: engine.time }]);
});

test("an invalid message is refused with its code, and the socket stays open", async () => {
  const { connect } = await open();
  const table: [message: unknown, code: string, field?: string][] = [
    ["{", "BAD_JSON"],
    ["[1]", "BAD_TYPE"],
    ["null", "BAD_TYPE"],
    ['{"op":"ping","op":"ping"}', "DUPLICATE_FIELD", "op"],
    [{}, "MISSING_FIELD", "op"],
    [{ op: "dance" }, "UNKNOWN_OP", "op"],
    [{ op: "order.place", params: {} }, "UNAUTHENTICATED"],
    [{ op: "order.place", params: 1 }, "BAD_TYPE", "params"],
    [{ op: "order.place", symbol: "BTC-PERP" }, "UNKNOWN_FIELD", "symbol"],
    [{ op: "order.burn", params: {} }, "UNKNOWN_OP", "op"],
    [{ op: 1 }, "UNKNOWN_OP", "op"],
    [{ op: "ping", more: 1 }, "UNKNOWN_FIELD", "more"],
    [{ op: "ping", id: {} }, "BAD_VALUE", "id"],
    [{ op: "ping", id: "x".repeat(65) }, "BAD_VALUE", "id"],
    [{ op: "ping", id: 1.5 }, "BAD_VALUE", "id"],
    [{ op: "subscribe" }, "MISSING_FIELD", "channels"],
    [{ op: "subscribe", channels: {} }, "BAD_TYPE", "channels"],
    [{ op: "subscribe", channels: [] }, "BAD_VALUE", "channels"],
    [{ op: "subscribe", channels: Array(201).fill({ channel: "balance" }) }, "BAD_VALUE", "channels"],
    [subscribe("orderbook" as unknown as object), "BAD_TYPE", "channels.0"],
    [subscribe({}), "MISSING_FIELD", "channels.0.channel"],
    [subscribe({ channel: 5 }), "BAD_TYPE", "channels.0.channel"],
    [subscribe({ channel: "toString" }), "UNKNOWN_CHANNEL", "channels.0.channel"],
    [subscribe({ channel: "ticker" }), "MISSING_FIELD", "channels.0.symbol"],
    [subscribe({ channel: "ticker", symbol: "BTC-PERP", updateMs: 50 }), "BAD_VALUE", "channels.0.updateMs"],
    [subscribe({ channel: "klines", symbol: "BTC-PERP" }), "MISSING_FIELD", "channels.0.interval"],
    [subscribe({ channel: "klines", symbol: "BTC-PERP", interval: "7m" }), "BAD_VALUE", "channels.0.interval"],
    [
      subscribe({ channel: "klines", symbol: "BTC-PERP", interval: "1m", priceType: "MID" }),
      "BAD_VALUE",
      "channels.0.priceType",
    ],
    [
      subscribe({ channel: "klines", symbol: "BTC-PERP", interval: "1s", priceType: "MARK" }),
      "BAD_COMBINATION",
      "channels.0.interval",
    ],
    [unsubscribe({ channel: "ticker" }), "MISSING_FIELD", "channels.0.symbol"],
    [unsubscribe({ channel: "klines", symbol: "BTC-PERP" }), "MISSING_FIELD", "channels.0.interval"],
    [subscribe({ channel: "orders", symbol: "DOGE-PERP" }), "UNKNOWN_SYMBOL", "channels.0.symbol"],
    [subscribe(book(), { channel: "ticker" }), "MISSING_FIELD", "channels.1.symbol"],
    [subscribe(book({ symbol: "DOGE-PERP" })), "UNKNOWN_SYMBOL", "channels.0.symbol"],
    [subscribe(book({ symbol: 1 })), "BAD_TYPE", "channels.0.symbol"],
    [subscribe(book({ depth: "5" })), "BAD_VALUE", "channels.0.depth"],
    [subscribe(book({ depth: 7 })), "BAD_VALUE", "channels.0.depth"],
    [subscribe(book({ updateMs: 1 })), "BAD_VALUE", "channels.0.updateMs"],
    [subscribe(book({ interval: "1m" })), "UNKNOWN_FIELD", "channels.0.interval"],
    [subscribe(book({ resume: "5" })), "BAD_TYPE", "channels.0.resume"],
    [subscribe({ channel: "trades", symbol: "BTC-PERP", depth: 5 }), "UNKNOWN_FIELD", "channels.0.depth"],
    [{ op: "auth" }, "MISSING_FIELD", "token"],
    [{ op: "auth", token: 5 }, "BAD_TYPE", "token"],
    [{ op: "auth", token: "alice", cancelOnDisconnect: "yes" }, "BAD_TYPE", "cancelOnDisconnect"],
    [{ op: "auth", token: "alice", cancelOnDisconnect: true }, "PERMISSION_DENIED"],
    [{ op: "auth", apiKey: "key", token: "alice" }, "UNKNOWN_FIELD", "token"],
    [{ op: "auth", apiKey: "key", signature: "good" }, "MISSING_FIELD", "timestamp"],
    [{ op: "auth", apiKey: "key", signature: "good", timestamp: String(START) }, "BAD_TYPE", "timestamp"],
  ];
  for (const [message, code, field] of table) {
    const client = connect();
    const [error, ...more] = client.ask(message);
    const said = JSON.stringify(message).slice(0, 80);
    assert.equal(error.op, "error", said);
    assert.equal(error.code, code, said);
    assert.equal(error.field, field, said);
    assert.equal(typeof error.message, "string");
    assert.equal(typeof error.retryable, "boolean");
    assert.deepEqual(more, [], said);
    assert.equal(client.topics.size, 0);
    assert.equal(client.closedWith, null);
  }
});

test("an unknown op, channel or symbol is refused with the known ones", async () => {
  const { connect } = await open();
  const misspelt = (message: unknown) => connect().ask(message)[0];
  assert.match(
    misspelt({ op: "order" }).message,
    / Use one of ping, auth, subscribe, unsubscribe, order.place, .*\.margin\.$/,
  );
  assert.match(
    misspelt(subscribe({ channel: "trade" })).message,
    / Use one of orderbook, trades, .*funding, margin-calls\.$/,
  );
  const { details } = misspelt(subscribe(book({ symbol: "btc-perp" })));
  assert.deepEqual(details, { known: ["BTC-PERP", "ETH-PERP"] });
});

test("an error has the id of its request", async () => {
  const { connect } = await open();
  assert.equal(connect().ask({ op: "dance", id: "x" })[0].id, "x");
  assert.equal(connect().ask({ op: "dance" })[0].id, null);
});

test("every id that the documents allow is returned, and any other is refused", async () => {
  const { connect } = await open();
  const ids = [0, 2 ** 53 - 1, 1 - 2 ** 53, "", "x".repeat(64), "\u{1f4a9}".repeat(64)];
  for (const id of ids) {
    assert(Value.Check(RequestId, id));
    const [pong] = connect().ask({ op: "ping", id });
    assert.deepEqual([pong.op, pong.id], ["pong", id]);
  }
  for (const id of [2 ** 53, -(2 ** 53), 1.5, null, "x".repeat(65), "\u{1f4a9}".repeat(65)]) {
    assert(!Value.Check(RequestId, id));
    assert.equal(connect().ask({ op: "ping", id })[0].code, "BAD_VALUE");
  }
});

test("a socket that sends too many messages is closed with RATE_LIMITED", async () => {
  const { engine, connect } = await open({}, undefined, limited());
  const client = connect();
  for (let i = 0; i < 50; i++) client.say({ op: "ping" });
  engine.time += 1000;
  for (let i = 0; i < 50; i++) client.say({ op: "ping" });
  assert.equal(client.closedWith, null);
  const [error] = client.ask({ op: "ping" });
  assert.equal(error.code, "RATE_LIMITED");
  assert.deepEqual(client.closedWith, { code: 1008, reason: "RATE_LIMITED" });
});

test("a trading request is charged to its budget, not to the socket's messages", async () => {
  const { engine, trades, connect } = await open({}, undefined, limited());
  const client = connect();
  client.ask({ op: "auth", token: "alice-trader" });
  const order = (op: string) => client.ask({ op, id: 1, params: {} });
  for (let i = 0; i < 20; i++) assert.deepEqual(order("order.place"), []);
  const [refused] = order("order.place");
  assert.deepEqual(
    [refused.code, refused.id, refused.retryable, refused.details],
    ["RATE_LIMITED", 1, true, { scope: "ACCOUNT", budget: "ORDER", weight: 1, limit: 20, retryAfterMs: 50 }],
  );
  for (let i = 0; i < 60; i++) assert.deepEqual(order("order.cancel"), [], "cancels have a budget of their own");
  assert.equal(order("order.cancel")[0].code, "RATE_LIMITED");
  assert.equal(trades.length, 80);
  engine.time += 50;
  assert.deepEqual(order("order.place"), []);
  trades[80]?.answer.reply(201, '{"x":1}');
  await Promise.resolve();
  const [reply] = client.take();
  assert.deepEqual([reply.result, reply.rateLimit], [{ x: 1 }, { limit: 20, remaining: 0, resetMs: 1000 }]);
  assert.equal(client.closedWith, null);
  // A refused request counts like any other message.
  for (let i = 0; client.closedWith === null && i < 50; i++) order("order.place");
  assert.deepEqual(client.closedWith, { code: 1008, reason: "RATE_LIMITED" });
});

test("subscriptions are charged to the address, and private ones to the account too", async () => {
  const limits = limited({ requestRate: 10 });
  const { engine, connect } = await open({}, undefined, limits);
  const refusal = (message: { code?: string; details?: object }) => [message.code, message.details];
  const client = connect();
  const opOf = (message: object) => client.ask(message)[0].op;
  // 40 tokens of the address: a channel takes one, a deep book five.
  for (let i = 0; i < 5; i++) assert.equal(opOf(subscribe(book({ depth: 1000 }), book({ depth: 5 }))), "subscribed");
  for (let i = 0; i < 5; i++) assert.equal(opOf(unsubscribe(book({}), book({ depth: 5 }))), "unsubscribed");
  const details = { scope: "IP", budget: "REQUEST", weight: 1, limit: 40, retryAfterMs: 25 };
  for (const message of [subscribe(book({})), unsubscribe(book({}))])
    assert.deepEqual(refusal(client.ask(message)[0]), ["RATE_LIMITED", details]);
  engine.time += 1000;
  client.ask({ op: "auth", token: "alice" });
  assert.equal(opOf(subscribe({ channel: "orders" }, { channel: "balance" })), "subscribed");
  const [refused] = client.ask(subscribe({ channel: "fills" }));
  assert.deepEqual(refusal(refused), [
    "RATE_LIMITED",
    { ...details, scope: "ACCOUNT", weight: 5, limit: 10, retryAfterMs: 100 },
  ]);
  assert.equal(opOf(subscribe(book({}))), "subscribed", "the account does not pay for public channels");
  engine.time += 10_000;
  const all = subscribe({ channel: "trades" }, { channel: "mark-price" });
  for (let i = 0; i < 10; i++) assert.equal(opOf(all), "subscribed");
  assert.deepEqual(
    refusal(client.ask(all)[0]),
    ["RATE_LIMITED", { ...details, weight: 4, retryAfterMs: 100 }],
    "all symbols at once cost as much as each of them alone",
  );
});

test("a large message is charged to the address by its size before it is read", async () => {
  const { connect } = await open({}, undefined, limited({ requestRate: 4 }));
  const client = connect();
  const large = { op: "order.place", params: { clientOrderId: "x".repeat(60_000) } };
  const codeOf = (message: object) => client.ask(message)[0].code;
  assert.deepEqual([codeOf(large), codeOf(large)], ["UNAUTHENTICATED", "UNAUTHENTICATED"]);
  const [refused] = client.ask(large);
  const details = { scope: "IP", budget: "REQUEST", weight: 8, limit: 16, retryAfterMs: 500 };
  assert.deepEqual([refused.code, refused.details], ["RATE_LIMITED", details]);
  assert.equal(client.ask({ op: "ping" })[0].op, "pong");
});

test("a local client is not charged when limits are for remote clients", async () => {
  const { trades, connect } = await open({}, undefined, limited({ rateLimit: "remote", host: "0.0.0.0" }));
  const client = connect();
  client.ask({ op: "auth", token: "alice-trader" });
  for (let i = 0; i < 100; i++) assert.deepEqual(client.ask({ op: "order.place", id: 1, params: {} }), []);
  trades[99]?.answer.reply(201, "{}");
  await Promise.resolve();
  assert.equal(client.take()[0].rateLimit, undefined);
});

test("a socket may have 1000 orders in flight, and may cancel at any time", async () => {
  const { trades, connect } = await open();
  const client = connect();
  client.ask({ op: "auth", token: "alice-trader" });
  const order = (op: string) => client.ask({ op, id: 1, params: {} });
  for (let i = 0; i < 1000; i++) assert.deepEqual(order("order.place"), []);
  const [refused] = order("order.place");
  assert.deepEqual(
    [refused.code, refused.retryable, refused.details],
    ["OVERLOADED", true, { scope: "SOCKET", limit: 1000 }],
  );
  assert.deepEqual(order("order.cancelAll"), []);
  assert.equal(trades.length, 1001);
  trades[0]?.answer.reply(201, "{}");
  trades[1]?.answer.refuse(new ApiError("INSUFFICIENT_MARGIN"));
  trades[2]?.answer.fail(new ApiError("INSUFFICIENT_MARGIN"), { error: assert.fail });
  await Promise.resolve();
  client.take();
  // The cancel is still in flight.
  assert.deepEqual([order("order.place"), order("order.place")], [[], []]);
  assert.equal(order("order.place")[0].code, "OVERLOADED");
});

test("a socket may have 200 subscriptions", async () => {
  const symbols = ["A-PERP", "B-PERP", "C-PERP", "D-PERP", "E-PERP"];
  const { connect } = await open({}, symbols);
  const depths = [1, 5, 10, 20, 25, 50, 100, 200, 500, 1000];
  const all = symbols.flatMap((symbol) =>
    depths.flatMap((depth) => [0, 100, 250, 500].map((updateMs) => book({ symbol, depth, updateMs }))),
  );
  const client = connect();
  client.say(subscribe(...all.slice(0, 150)));
  client.say(subscribe(...all.slice(100, 200))); // half of them again
  while (client.topics.size < 200) await nextTurn();
  const [error] = client.ask(subscribe({ channel: "trades", symbol: "A-PERP" }));
  assert.equal(error.code, "TOO_MANY_SUBSCRIPTIONS");
  assert.equal(client.topics.size, 200);
  client.say(unsubscribe(book({ symbol: "A-PERP", depth: 1 })));
  assert.equal(client.topics.size, 196);
  assert.equal(client.ask(subscribe({ channel: "trades", symbol: "A-PERP" }))[0].op, "subscribed");
});

test("one bad channel refuses the whole subscribe request", async () => {
  const { connect } = await open();
  const client = connect();
  const [error] = client.ask(subscribe(book(), { channel: "balance" }));
  assert.equal(error.code, "UNAUTHENTICATED");
  assert.equal(client.topics.size, 0);
});
