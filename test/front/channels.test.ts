import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import {
  BUY,
  Deposited,
  Done,
  KeyRevoked,
  LEDGER,
  OrderClosed,
  OrderPlaced,
  OrderReduced,
  OrderView,
  type Permission,
  PositionView,
  PriceUpdated,
  ReadOrders,
  ReadPosition,
  SELL,
  SessionClosed,
  type Side,
  STATUS_CANCELED,
  type SymbolSummary,
  Traded,
} from "../../src/core/messages.ts";
import type { Message, MessageOf } from "../../src/core/shape.ts";
import type { Answer } from "../../src/front/answer.ts";
import { Channels } from "../../src/front/channels.ts";
import { ApiError } from "../../src/front/errors.ts";
import { Limits } from "../../src/front/limits.ts";
import { MarketData } from "../../src/front/market.ts";
import type { Authenticate } from "../../src/front/socket-auth.ts";
import { Hub, type Received, ScriptedClient } from "./scripted-client.ts";
import { type Asked, make, ScriptedRoad, START } from "./scripted-road.ts";

const seed = Date.now() & 0x7fffffff;
console.log(`channels.test seed ${seed}`);

const BTC = 1;
const ETH = 2;
const ALICE = 17;
const BOB = 18;

interface Exchange {
  road: ScriptedRoad;
  market: MarketData;
  channels: Channels;
  hub: Hub;
  /** What sockets have asked to trade: op, params and account. The test answers. */
  trades: { op: string; params: unknown; accountId: number; answer: Answer }[];
  connect(): ScriptedClient;
}

/** Tokens: "alice", "bob", "alice-blind" (may not read), "alice-brief" (expires in a second). Keys: "key" of Alice's. */
const authenticate: Authenticate = (credentials) => {
  const identity = (accountId: number, credential: string, permissions: Permission[] = ["READ"], expiresAt = 0) => ({
    accountId,
    permissions,
    expiresAt,
    credential,
    record: null,
  });
  if ("apiKey" in credentials)
    return credentials.signature === "good" && credentials.timestamp === START
      ? identity(ALICE, credentials.apiKey)
      : { code: "INVALID_KEY_OR_SIGNATURE", message: "no" };
  switch (credentials.token) {
    case "alice":
      return identity(ALICE, "hash-of-alice");
    case "bob":
      return identity(BOB, "hash-of-bob");
    case "alice-trader":
      return identity(ALICE, "hash-of-alice-trader", ["TRADE"]);
    case "alice-blind":
      return identity(ALICE, "hash-of-alice-blind", ["TRADE"]);
    case "alice-brief":
      return identity(ALICE, "hash-of-alice-brief", ["READ"], START + 1000);
    default:
      return { code: "INVALID_TOKEN", message: "no" };
  }
};

const limited = (): Limits | null =>
  Limits.open({
    rateLimit: "on",
    host: "",
    orderRate: 20,
    cancelRate: 60,
    requestRate: 1,
    rateBurst: 1,
    maxSocketsPerAddress: 9,
  });

async function open(
  states: Record<number, Partial<SymbolSummary>> = {},
  symbols?: string[],
  limits: Limits | null = null,
): Promise<Exchange> {
  const road = new ScriptedRoad(symbols);
  const now = (): number => road.time;
  const opening = MarketData.open(road, () => ({ minuteCandles: [], trades: [], liquidations: [] }), now);
  road.describe(states);
  const market = await opening;
  const hub = new Hub();
  const publish = (topic: string, text: string): void => hub.publish(topic, text);
  const trades: Exchange["trades"] = [];
  const channels = new Channels({
    road,
    market,
    history: { candles: () => [], fillsOf: () => ({ data: [], nextCursor: null }) },
    publish,
    authenticate,
    trade: (op, params, { accountId }, answer) => void trades.push({ op, params, accountId, answer }),
    now,
    limits,
  });
  return { road, market, channels, hub, trades, connect: () => new ScriptedClient(hub, channels) };
}

const subscribe = (...channels: object[]): object => ({ op: "subscribe", id: 1, channels });
const unsubscribe = (...channels: object[]): object => ({ op: "unsubscribe", id: 2, channels });
const book = <M extends object>(more: M = {} as M) => ({ channel: "orderbook", symbol: "BTC-PERP", ...more });

// ---- requests -------------------------------------------------------------------------------------------------------

test("ping", async () => {
  const { road, connect } = await open();
  assert.deepEqual(connect().ask({ op: "ping", id: "a" }), [{ op: "pong", id: "a", serverTime: road.time }]);
  assert.deepEqual(connect().ask({ op: "ping" }), [{ op: "pong", id: null, serverTime: road.time }]);
});

test("what is not understood is refused by name, and the socket stays open", async () => {
  const { connect } = await open();
  const table: [message: unknown, code: string, field?: string][] = [
    ["{", "BAD_JSON"],
    ["[1]", "BAD_TYPE"],
    ["null", "BAD_TYPE"],
    ['{"op":"ping","op":"ping"}', "DUPLICATE_FIELD", "op"],
    [{}, "MISSING_FIELD", "op"],
    [{ op: "dance" }, "UNKNOWN_OP", "op"],
    [{ op: "order.place", params: {} }, "UNAUTHENTICATED"],
    [{ op: "order.place", params: null }, "BAD_TYPE", "params"],
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
    [subscribe({ channel: "orders", symbol: "DOGE-PERP" }), "UNKNOWN_SYMBOL", "channels.0.symbol"],
    [subscribe(book(), { channel: "trades" }), "MISSING_FIELD", "channels.1.symbol"],
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

test("an error bears the id of its request", async () => {
  const { connect } = await open();
  assert.equal(connect().ask({ op: "dance", id: "x" })[0].id, "x");
  assert.equal(connect().ask({ op: "dance" })[0].id, null);
});

test("a socket that asks too often is told so and closed", async () => {
  const { road, connect } = await open({}, undefined, limited());
  const client = connect();
  for (let i = 0; i < 50; i++) client.say({ op: "ping" });
  road.time += 1000;
  for (let i = 0; i < 50; i++) client.say({ op: "ping" });
  assert.equal(client.closedWith, null);
  const [error] = client.ask({ op: "ping" });
  assert.equal(error.code, "RATE_LIMITED");
  assert.deepEqual(client.closedWith, { code: 1008, reason: "RATE_LIMITED" });
});

test("a trading request is paid from its budget, not from the socket's messages", async () => {
  const { road, trades, connect } = await open({}, undefined, limited());
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
  road.time += 50;
  assert.deepEqual(order("order.place"), []);
  trades[80]?.answer.reply(201, '{"x":1}');
  await Promise.resolve();
  const [reply] = client.take();
  assert.deepEqual([reply.result, reply.rateLimit], [{ x: 1 }, { limit: 20, remaining: 0, resetMs: 1000 }]);
  assert.equal(client.closedWith, null);
  // What is refused was no use to anyone, and is counted like other messages.
  for (let i = 0; client.closedWith === null && i < 50; i++) order("order.place");
  assert.deepEqual(client.closedWith, { code: 1008, reason: "RATE_LIMITED" });
});

test("a socket that waits for no answer may have a thousand orders on their way, and cancel at any time", async () => {
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
  trades[2]?.answer.fail(new ApiError("INSUFFICIENT_MARGIN"), { error: assert.fail, warn: assert.fail });
  await Promise.resolve();
  client.take();
  // The cancel is still on its way.
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

/** 200 books in five symbols: as many as a socket may have. */
const SYMBOLS = ["A-PERP", "B-PERP", "C-PERP", "D-PERP", "E-PERP"];
const ALL_BOOKS = SYMBOLS.flatMap((symbol) =>
  [1, 5, 10, 20, 25, 50, 100, 200, 500, 1000].flatMap((depth) =>
    [0, 100, 250, 500].map((updateMs) => book({ symbol, depth, updateMs })),
  ),
);

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("very many subscriptions are served in several turns of the event loop, nobody behind all of another's", async () => {
  const { connect } = await open({}, SYMBOLS);
  const [greedy, modest, gone, fickle] = [connect(), connect(), connect(), connect()];
  greedy.say(subscribe(...ALL_BOOKS));
  const atOnce = greedy.topics.size;
  assert.ok(atOnce > 0 && atOnce < 100, `${atOnce} in the first turn`);
  for (const client of [modest, gone, fickle]) client.say(subscribe({ channel: "trades", symbol: "A-PERP" }));
  fickle.say(unsubscribe({ channel: "trades", symbol: "A-PERP" }));
  gone.hangUp();
  await nextTurn();
  assert.equal(modest.topics.size, 1);
  assert.ok(greedy.topics.size < ALL_BOOKS.length, "it has not had all of the turn");
  while (greedy.topics.size < ALL_BOOKS.length) await nextTurn();
  assert.equal(greedy.take().filter(({ type }) => type === "SNAPSHOT").length, ALL_BOOKS.length);
  for (const client of [gone, fickle]) {
    assert.equal(client.topics.size, 0);
    assert.ok(client.take().every(({ type }) => type === undefined));
  }
});

test("asked for again before it was served, a stream is joined once", async () => {
  const { connect } = await open({}, SYMBOLS);
  const [greedy, client] = [connect(), connect()];
  greedy.say(subscribe(...ALL_BOOKS));
  const again = { channel: "trades", symbol: "A-PERP" };
  for (let i = 0; i < 3; i++) client.say(subscribe(again));
  while (client.topics.size === 0) await nextTurn();
  await nextTurn();
  const kinds = client.take().map(({ op, type }) => op ?? type);
  assert.deepEqual(kinds, ["subscribed", "subscribed", "subscribed", "SNAPSHOT"]);
});

test("whoever asks for many deep books and does not read is sent the others when it does, all in order", async () => {
  const levels = Array.from({ length: 1000 }, (_, i): [number, number] => [650_000 - i, 1000 + i]);
  const states = Object.fromEntries(SYMBOLS.map((_, i) => [i + 1, { bids: levels }]));
  const { channels, connect } = await open(states, SYMBOLS);
  const deep = ALL_BOOKS.filter(({ depth }) => depth === 1000);
  const [slow, fickle, gone] = [connect(), connect(), connect()];
  for (const client of [slow, fickle, gone]) {
    client.isReading = false;
    client.say(subscribe(...deep));
  }
  for (let i = 0; i < 50; i++) await nextTurn();
  channels.tick();
  for (const client of [slow, fickle, gone]) {
    assert.ok(client.topics.size > 0 && client.topics.size < 5, `${client.topics.size} snapshots wait to be read`);
    assert.equal(client.closedWith, null);
  }
  // Others are served meanwhile.
  assert.deepEqual(
    connect()
      .ask(subscribe(book({ symbol: "B-PERP" })))
      .map(({ op, type }) => op ?? type),
    ["subscribed", "SNAPSHOT"],
  );
  fickle.say(unsubscribe(...deep));
  gone.hangUp();
  const joined = gone.topics.size;
  while (slow.topics.size < deep.length) {
    slow.read();
    await nextTurn();
  }
  slow.read();
  fickle.read();
  await nextTurn();
  assert.equal(slow.closedWith, null);
  assert.deepEqual(
    slow
      .take()
      .filter(({ type }) => type === "SNAPSHOT")
      .map(({ symbol, bids, updateMs = 0 }) => ({ symbol, depth: bids.length, updateMs })),
    deep.map(({ symbol, depth, updateMs }) => ({ symbol, depth, updateMs })),
  );
  assert.deepEqual([fickle.topics.size, gone.topics.size], [0, joined], "nothing more is joined for them");
});

test("one bad channel among many, and nothing is subscribed to", async () => {
  const { connect } = await open();
  const client = connect();
  const [error] = client.ask(subscribe(book(), { channel: "balance" }));
  assert.equal(error.code, "UNAUTHENTICATED");
  assert.equal(client.topics.size, 0);
});

// ---- authentication -------------------------------------------------------------------------------------------------

test("a socket says who it is by token or by key", async () => {
  const { connect } = await open();
  assert.deepEqual(connect().ask({ op: "auth", id: 3, token: "alice" }), [
    {
      op: "authenticated",
      id: 3,
      accountId: "17",
      permissions: ["READ"],
      expiresAt: null,
      cancelOnDisconnect: false,
    },
  ]);
  const [brief] = connect().ask({ op: "auth", token: "alice-brief" });
  assert.equal(brief.expiresAt, START + 1000);
  const signed = { op: "auth", apiKey: "key", timestamp: START, signature: "good" };
  assert.equal(connect().ask(signed)[0].op, "authenticated");
  assert.equal(connect().ask({ ...signed, signature: "bad" })[0].code, "INVALID_KEY_OR_SIGNATURE");
  assert.equal(connect().ask({ op: "auth", token: "mallory" })[0].code, "INVALID_TOKEN");
});

test("a socket keeps its account", async () => {
  const { connect } = await open();
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  assert.equal(client.ask({ op: "auth", token: "alice-brief" })[0].op, "authenticated");
  assert.equal(client.ask({ op: "auth", token: "bob" })[0].code, "ALREADY_AUTHENTICATED");
  assert.equal(client.ask({ op: "auth", token: "mallory" })[0].code, "INVALID_TOKEN");
});

test("private channels need a credential that may read", async () => {
  const { connect } = await open();
  for (const channel of ["positions", "balance", "orders", "fills"]) {
    const client = connect();
    assert.equal(client.ask(subscribe({ channel }))[0].code, "UNAUTHENTICATED");
    client.say({ op: "auth", token: "alice-blind" });
    assert.equal(client.ask(subscribe({ channel }))[0].code, "PERMISSION_DENIED");
    client.say({ op: "auth", token: "alice" });
    assert.equal(client.ask(subscribe({ channel }))[0].op, "subscribed");
  }
});

test("a credential that ends takes its sockets with it, and no others", async () => {
  const { road, channels, connect } = await open();
  const session = connect();
  session.say({ op: "auth", token: "alice" });
  const key = connect();
  key.say({ op: "auth", apiKey: "key", timestamp: START, signature: "good" });
  const brief = connect();
  brief.say({ op: "auth", token: "alice-brief" });
  const nobody = connect();

  road.turn(LEDGER, make(SessionClosed, { accountId: ALICE, tokenHash: "hash-of-alice" }));
  assert.deepEqual(session.closedWith, { code: 4401, reason: "SESSION_CLOSED" });
  assert.equal(key.closedWith, null);
  road.turn(LEDGER, make(KeyRevoked, { accountId: ALICE, apiKey: "key" }));
  assert.deepEqual(key.closedWith, { code: 4401, reason: "KEY_REVOKED" });
  road.time += 999;
  channels.tick();
  assert.equal(brief.closedWith, null);
  road.time += 1;
  channels.tick();
  assert.deepEqual(brief.closedWith, { code: 4401, reason: "CREDENTIAL_EXPIRED" });
  assert.equal(nobody.closedWith, null);
});

test("a client that does not read is told so and closed", async () => {
  const { channels, connect } = await open();
  const slow = connect();
  const good = connect();
  slow.buffered = 600_000;
  good.buffered = 100_000;
  channels.tick();
  assert.deepEqual(slow.closedWith, { code: 1013, reason: "SLOW_CONSUMER" });
  assert.equal(good.closedWith, null);
});

// ---- trading --------------------------------------------------------------------------------------------------------

test("trading: answers name op and id, and a closed socket hears nothing", async () => {
  const { trades, connect } = await open();
  const client = connect();
  client.say({ op: "auth", token: "alice-trader" });
  client.take();
  client.say({ op: "order.cancelAll", id: "a" });
  client.say({ op: "order.place", id: 2, params: { symbol: "BTC-PERP" } });
  assert.deepEqual(
    trades.map(({ op, params, accountId }) => [op, params, accountId]),
    [
      ["order.cancelAll", {}, ALICE],
      ["order.place", { symbol: "BTC-PERP" }, ALICE],
    ],
  );
  const [first, second] = trades;
  assert.ok(first !== undefined && second !== undefined);
  second.answer.reply(201, '{"orderId":"1"}');
  first.answer.refuse(new ApiError("OVERLOADED"));
  assert.deepEqual(client.take(), [], "what is answered in one go leaves in one packet");
  await Promise.resolve();
  const [placed, refused] = client.take();
  assert.deepEqual(placed, { op: "order.place", id: 2, status: 201, result: { orderId: "1" } });
  assert.deepEqual([refused.op, refused.id, refused.code, refused.retryable], ["error", "a", "OVERLOADED", true]);
  client.say({ op: "order.cancelAll" });
  assert.equal(trades[2]?.answer.done, false);
  client.hangUp();
  assert.equal(trades[2]?.answer.done, true);
  trades[2]?.answer.reply(200, "{}");
  await Promise.resolve();
  assert.equal(trades.length, 3, "nothing was asked for a disconnect");
});

test("trading: cancelOnDisconnect cancels when the socket closes; the last auth decides", async () => {
  const { trades, connect } = await open();
  const client = connect();
  const [first] = client.ask({ op: "auth", token: "alice-trader", cancelOnDisconnect: true });
  assert.equal(first.cancelOnDisconnect, true);
  client.hangUp();
  assert.deepEqual(
    trades.map(({ op, params, accountId, answer }) => [op, params, accountId, answer.done]),
    [["order.cancelAll", {}, ALICE, false]],
  );
  const other = connect();
  other.say({ op: "auth", token: "alice-trader", cancelOnDisconnect: true });
  other.say({ op: "auth", token: "alice-trader" });
  other.hangUp();
  assert.equal(trades.length, 1);
});

// ---- order book -----------------------------------------------------------------------------------------------------

const bid = (priceTicks: number, quantityLots: number): Message =>
  make(OrderPlaced, { side: BUY, priceTicks, quantityLots, rests: 1 });
const ask = (priceTicks: number, quantityLots: number): Message =>
  make(OrderPlaced, { side: SELL, priceTicks, quantityLots, rests: 1 });

test("an order book: a snapshot, then one delta a drain with all that changed", async () => {
  const { road, hub, connect } = await open({ [BTC]: { bids: [[100, 1]], asks: [[110, 2]] } });
  const client = connect();
  const primed = road.sequence;
  const [subscribed, snapshot] = client.ask(subscribe(book({ depth: 5, resume: 3 })));
  assert.deepEqual(subscribed, {
    op: "subscribed",
    id: 1,
    channels: [{ channel: "orderbook", symbol: "BTC-PERP", depth: 5, updateMs: 0 }],
  });
  assert.deepEqual(snapshot, {
    channel: "orderbook",
    symbol: "BTC-PERP",
    depth: 5,
    type: "SNAPSHOT",
    sequence: primed,
    prevSequence: null,
    checksum: crc32("10:0.001:11:0.002"),
    time: START,
    bids: [["10", "0.001"]],
    asks: [["11", "0.002"]],
  });
  road.time += 5;
  road.turn(BTC, bid(101, 3));
  road.turn(ETH, bid(5, 3));
  road.turn(BTC, bid(90, 1));
  const last = road.turn(BTC, make(OrderClosed, { side: BUY, priceTicks: 90, restingLots: 1 }), ask(110, 1));
  assert.deepEqual(client.take(), [], "nothing before the drain's end");
  road.drain();
  assert.deepEqual(client.take(), [
    {
      channel: "orderbook",
      symbol: "BTC-PERP",
      depth: 5,
      type: "DELTA",
      sequence: last,
      prevSequence: primed,
      checksum: crc32("10.1:0.003:11:0.003:10:0.001"),
      time: START + 5,
      bids: [["10.1", "0.003"]],
      asks: [["11", "0.003"]],
    },
  ]);
  road.turn(BTC, make(Traded, { takerSide: SELL, priceTicks: 101, quantityLots: 3 }));
  road.drain();
  assert.deepEqual(client.take()[0].bids, [["10.1", "0"]]);
  assert.equal(hub.published.length, 2);
  road.drain();
  assert.equal(hub.published.length, 2, "a drain without changes is silent");
});

test("what nobody listens to is not published", async () => {
  const { road, hub, connect } = await open();
  const client = connect();
  client.say(subscribe(book(), { channel: "trades", symbol: "BTC-PERP" }));
  client.say(unsubscribe(book()));
  road.turn(BTC, bid(101, 3));
  road.drain();
  assert.deepEqual(hub.published, []);
  client.hangUp();
  road.turn(BTC, make(Traded, { takerSide: SELL, priceTicks: 101, quantityLots: 1 }));
  road.drain();
  assert.deepEqual(hub.published, []);
});

test("a level pushed out of the depth is removed, and comes back when there is room", async () => {
  const { road, connect } = await open({ [BTC]: { bids: [[100, 1]] } });
  const client = connect();
  client.say(subscribe(book({ depth: 1 })));
  client.take();
  road.turn(BTC, bid(101, 2));
  road.drain();
  assert.deepEqual(client.take()[0].bids, [
    ["10.1", "0.002"],
    ["10", "0"],
  ]);
  road.turn(BTC, bid(99, 2));
  road.drain();
  assert.deepEqual(client.take(), [], "deeper than shown");
  road.turn(BTC, make(OrderClosed, { side: BUY, priceTicks: 101, restingLots: 2 }));
  road.drain();
  assert.deepEqual(client.take()[0].bids, [
    ["10.1", "0"],
    ["10", "0.001"],
  ]);
});

test("a slower pace gathers changes", async () => {
  const { road, channels, connect } = await open();
  const client = connect();
  client.say(subscribe(book({ updateMs: 100 })));
  client.take();
  road.turn(BTC, bid(100, 1));
  road.drain();
  assert.equal(client.take().length, 1);
  for (let i = 0; i < 9; i++) {
    road.time += 10;
    road.turn(BTC, bid(100, 1));
    road.drain();
    channels.tick();
  }
  assert.deepEqual(client.take(), []);
  road.time += 10;
  channels.tick();
  assert.deepEqual(client.take()[0].bids, [["10", "0.01"]]);
});

test("subscribing again brings another snapshot; unsubscribing names what was left", async () => {
  const { road, connect } = await open();
  const client = connect();
  client.say(subscribe(book({ depth: 5 }), book({ depth: 10 }), { channel: "trades", symbol: "BTC-PERP" }));
  road.turn(BTC, bid(100, 1));
  assert.deepEqual(
    client.ask(subscribe(book({ depth: 5 }))).map((message) => message.op ?? message.type),
    ["subscribed", "DELTA", "SNAPSHOT"],
    "a pending change goes out before the snapshot that shows it",
  );
  const [left] = client.ask(unsubscribe(book()));
  assert.deepEqual(left, {
    op: "unsubscribed",
    id: 2,
    channels: [
      { channel: "orderbook", symbol: "BTC-PERP", depth: 5, updateMs: 0 },
      { channel: "orderbook", symbol: "BTC-PERP", depth: 10, updateMs: 0 },
    ],
  });
  assert.deepEqual(client.ask(unsubscribe(book()))[0].channels, []);
  assert.equal(client.topics.size, 1);
});

/** A client's own copy of a book, put together from nothing but what it was sent. */
class Copy {
  readonly depth: number;
  sequence = -1;
  private readonly sides: [Map<string, string>, Map<string, string>] = [new Map(), new Map()];

  constructor(depth: number) {
    this.depth = depth;
  }

  take(message: Received): void {
    if (message.type === "HEARTBEAT") {
      assert.equal(message.sequence, this.sequence);
      return;
    }
    if (message.type === "SNAPSHOT") {
      for (const side of this.sides) side.clear();
      assert.ok(message.sequence >= this.sequence);
    } else {
      assert.equal(message.prevSequence, this.sequence, "a gap");
      assert.ok(message.sequence > this.sequence, "a delta that the copy holds already");
      assert.ok(message.bids.length + message.asks.length > 0);
    }
    this.sequence = message.sequence;
    for (const [side, changes] of [message.bids, message.asks].entries())
      for (const [price, quantity] of changes) {
        const known = this.sides[side].get(price);
        assert.notEqual(known, quantity, "a change that changes nothing");
        if (quantity === "0") assert.ok(this.sides[side].delete(price), "a level removed that was not there");
        else this.sides[side].set(price, quantity);
      }
    assert.equal(message.checksum, this.checksum());
  }

  levels(side: Side): [string, string][] {
    const worse = side === BUY ? -1 : 1;
    return [...this.sides[side]].sort(([a], [b]) => worse * (Number(a) - Number(b)));
  }

  private checksum(): number {
    const [bids, asks] = [this.levels(BUY), this.levels(SELL)];
    const parts: string[] = [];
    for (let i = 0; i < 25; i++) parts.push(...(bids[i] ?? []), ...(asks[i] ?? []));
    return crc32(parts.join(":"));
  }
}

test("whoever joins whenever: no gap, no repetition, and the copy is the book", async () => {
  const depths = [1, 5, 20, 1000];
  const step = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant("change" as const),
        side: fc.constantFrom<Side>(BUY, SELL),
        tick: fc.integer({ min: 1, max: 25 }),
        lots: fc.integer({ min: 0, max: 3 }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("drain" as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("join" as const),
        depth: fc.constantFrom(...depths),
        updateMs: fc.constantFrom(0, 100),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), pick: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("again" as const), pick: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.integer({ min: 1, max: 6000 }) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const { road, market, channels, connect } = await open();
      const clients: { client: ScriptedClient; copy: Copy; updateMs: number }[] = [];
      const resting = new Map<number, number>();
      const listen = (): void => {
        for (const { client, copy } of clients)
          for (const message of client.take()) if (message.op === undefined) copy.take(message);
      };
      for (const each of steps) {
        switch (each.kind) {
          case "change": {
            // Bids below 26, asks above: never crossed. A level is set by closing what is there and placing anew.
            const { side, lots } = each;
            const priceTicks = side === BUY ? each.tick : 25 + each.tick;
            const there = resting.get(priceTicks) ?? 0;
            const events: Message[] = [];
            if (there > 0) events.push(make(OrderClosed, { side, priceTicks, restingLots: there }));
            if (lots > 0) events.push(make(OrderPlaced, { side, priceTicks, quantityLots: lots, rests: 1 }));
            resting.set(priceTicks, lots);
            if (events.length > 0) road.turn(BTC, ...events);
            break;
          }
          case "drain":
            road.drain();
            break;
          case "join": {
            const client = connect();
            client.say(subscribe(book({ depth: each.depth, updateMs: each.updateMs })));
            clients.push({ client, copy: new Copy(each.depth), updateMs: each.updateMs });
            break;
          }
          case "leave":
            clients.splice(each.pick, 1)[0]?.client.hangUp();
            break;
          case "again": {
            const found = clients[each.pick];
            found?.client.say(subscribe(book({ depth: found.copy.depth, updateMs: found.updateMs })));
            break;
          }
          case "time":
            road.time += each.ms;
            channels.tick();
            break;
        }
        listen();
      }
      road.time += 100;
      road.drain();
      listen();
      for (const { copy } of clients) {
        const { bids, asks } = JSON.parse(market.orderBookJson(BTC, copy.depth).toString());
        assert.deepEqual([copy.levels(BUY), copy.levels(SELL)], [bids, asks]);
      }
    }),
    { seed, numRuns: 150 },
  );
});

test("a quiet channel repeats its sequence", async () => {
  const { road, channels, connect } = await open({ [BTC]: { bids: [[100, 5]] } });
  const client = connect();
  client.say(subscribe(book({ depth: 5 }), { channel: "trades", symbol: "BTC-PERP" }));
  const sequence = road.turn(BTC, make(Traded, { takerSide: SELL, priceTicks: 100, quantityLots: 1 }));
  road.drain();
  client.take();
  road.time += 5000;
  channels.tick();
  assert.deepEqual(client.take(), [], "it has not been quiet for the whole time");
  road.time += 4999;
  channels.tick();
  assert.deepEqual(client.take(), []);
  road.time += 1;
  channels.tick();
  assert.deepEqual(client.take(), [
    { channel: "orderbook", symbol: "BTC-PERP", depth: 5, type: "HEARTBEAT", sequence },
    { channel: "trades", symbol: "BTC-PERP", type: "HEARTBEAT", sequence },
  ]);
  road.turn(BTC, bid(100, 1));
  road.drain();
  client.take();
  road.time += 5000;
  channels.tick();
  assert.deepEqual(
    client.take().map((message) => message.channel),
    ["trades"],
    "the book has just been heard",
  );
});

// ---- trades ---------------------------------------------------------------------------------------------------------

test("trades: those before in a snapshot, then each once, in order", async () => {
  const { road, connect } = await open({ [BTC]: { bids: [[100, 1e6]] } });
  const trade = (tradeId: number): Message =>
    make(Traded, { tradeId, takerSide: SELL, priceTicks: 100, quantityLots: 1000 });
  for (let i = 1; i <= 120; i++) road.turn(BTC, trade(i));
  road.drain();
  const early = connect();
  const [, snapshot] = early.ask(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  assert.equal(snapshot.type, "SNAPSHOT");
  assert.equal(snapshot.sequence, road.sequence);
  assert.deepEqual(
    snapshot.data.map((each: Received) => each.tradeId),
    Array.from({ length: 100 }, (_, i) => String(i + 21)),
  );
  const before = road.sequence;
  const first = road.turn(BTC, trade(121), trade(122));
  const late = connect();
  const [, lateSnapshot] = late.ask(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  assert.equal(lateSnapshot.data.at(-1).tradeId, "122");
  const second = road.turn(BTC, trade(123));
  road.turn(ETH, make(Traded, { tradeId: 9, takerSide: BUY, priceTicks: 0, quantityLots: 0 }));
  road.drain();
  assert.deepEqual(
    early
      .take()
      .map(({ sequence, prevSequence, data }) => [prevSequence, sequence, data.map((d: Received) => d.tradeId)]),
    [
      [before, first, ["121", "122"]],
      [first, second, ["123"]],
    ],
  );
  assert.deepEqual(late.take(), [
    {
      channel: "trades",
      symbol: "BTC-PERP",
      type: "UPDATE",
      sequence: second,
      prevSequence: first,
      data: [
        {
          tradeId: "123",
          symbol: "BTC-PERP",
          side: "SELL",
          price: "10",
          quantity: "1",
          time: START,
          execType: "TRADE",
          sequence: second,
        },
      ],
    },
  ]);
});

// ---- resume ---------------------------------------------------------------------------------------------------------

/** "type prevSequence sequence" of each. */
const places = (messages: Received[]): string[] =>
  messages.map(({ op, type, prevSequence, sequence }) => op ?? `${type} ${prevSequence} ${sequence}`);

test("resume: a client that was away for a moment gets what it missed, also when it was the only one", async () => {
  const { road, connect } = await open();
  const client = connect();
  client.say(subscribe(book()));
  road.turn(BTC, bid(100, 1));
  road.drain();
  const seen = client.take().at(-1).sequence;
  client.hangUp();
  const missed = [road.turn(BTC, bid(101, 1))];
  road.drain();
  missed.push(road.turn(BTC, bid(102, 1)));
  road.drain();
  const back = connect();
  assert.deepEqual(places(back.ask(subscribe(book({ resume: seen })))), [
    "subscribed",
    `DELTA ${seen} ${missed[0]}`,
    `DELTA ${missed[0]} ${missed[1]}`,
  ]);
  // Nothing missed; something missed that has not gone out yet; a sequence that never was; the longest absence.
  const again = connect();
  assert.deepEqual(places(again.ask(subscribe(book({ resume: missed[1] })))), [
    "subscribed",
    `HEARTBEAT undefined ${missed[1]}`,
  ]);
  const pending = road.turn(BTC, bid(103, 1));
  assert.deepEqual(places(again.ask(subscribe(book({ resume: missed[1] })))).slice(-1), [
    `DELTA ${missed[1]} ${pending}`,
  ]);
  assert.deepEqual(places(connect().ask(subscribe(book({ resume: pending + 1 })))).slice(1), [
    `SNAPSHOT null ${pending}`,
  ]);
  assert.deepEqual(places(connect().ask(subscribe(book({ resume: 1 }))))[1], `SNAPSHOT null ${pending}`);
  for (const each of [back, again]) each.hangUp();
});

test("resume: after more messages than are kept, or more than half a minute, there is a snapshot", async () => {
  const { road, channels, connect } = await open();
  const client = connect();
  client.say(subscribe(book()));
  const stay = connect();
  stay.say(subscribe(book()));
  const first = client.take().at(-1).sequence;
  for (let i = 0; i < 257; i++) {
    road.turn(BTC, bid(100 + i, 1));
    road.drain();
  }
  const last = road.sequence;
  assert.deepEqual(places(connect().ask(subscribe(book({ resume: first }))))[1], `SNAPSHOT null ${last}`);
  const kept = connect().ask(subscribe(book({ resume: first + 1 })));
  assert.equal(kept.length, 257);
  assert.deepEqual(places(kept).at(-1), `DELTA ${last - 1} ${last}`);

  const eth = { ...book({ symbol: "ETH-PERP" }), depth: 1 };
  const lost = connect();
  const { sequence } = lost.ask(subscribe(eth)).at(-1);
  lost.hangUp();
  road.turn(ETH, bid(100, 1));
  road.drain();
  road.time += 29_999;
  channels.tick();
  const early = connect();
  assert.equal(early.ask(subscribe({ ...eth, resume: sequence })).at(-1).type, "DELTA");
  early.hangUp();
  road.time += 30_000;
  channels.tick();
  assert.equal(
    connect()
      .ask(subscribe({ ...eth, resume: sequence }))
      .at(-1).type,
    "SNAPSHOT",
  );
});

test("resume: trades since a sequence come in one message, also to who never listened here", async () => {
  const { road, connect } = await open({ [BTC]: { asks: [[100, 9]] } });
  const trade = () =>
    road.turn(BTC, make(Traded, { tradeId: road.sequence * 256 + BTC, priceTicks: 100, quantityLots: 1 }));
  const trades = { channel: "trades", symbol: "BTC-PERP" };
  const [first, second, third] = [trade(), trade(), trade()];
  const [, missed] = connect().ask(subscribe({ ...trades, resume: first }));
  assert.deepEqual(places([missed]), [`UPDATE ${first} ${third}`]);
  assert.deepEqual(
    missed.data.map((each: Received) => each.sequence),
    [second, third],
  );
  assert.equal(
    connect()
      .ask(subscribe({ ...trades, resume: first - 1 }))
      .at(-1).type,
    "SNAPSHOT",
    "older than all",
  );
  assert.equal(
    connect()
      .ask(subscribe({ ...trades, resume: third }))
      .at(-1).type,
    "HEARTBEAT",
  );
  assert.equal(
    connect()
      .ask(subscribe({ ...trades, resume: third + 1 }))
      .at(-1).type,
    "SNAPSHOT",
  );
});

// ---- ticker ---------------------------------------------------------------------------------------------------------

test("ticker: a snapshot, then at most one message in updateMs, and none when nothing has moved", async () => {
  const { road, channels, connect } = await open({
    [BTC]: {
      asks: [
        [100, 9],
        [110, 9],
      ],
    },
  });
  const client = connect();
  const [subscribed, snapshot] = client.ask(subscribe({ channel: "ticker", symbol: "BTC-PERP", updateMs: 100 }));
  assert.deepEqual(subscribed.channels, [{ channel: "ticker", symbol: "BTC-PERP", updateMs: 100 }]);
  assert.deepEqual([snapshot.type, snapshot.data.lastPrice], ["SNAPSHOT", null]);
  const at = (price: number) => road.turn(BTC, make(Traded, { takerSide: BUY, priceTicks: price, quantityLots: 1 }));
  at(100);
  const second = at(110);
  road.drain();
  channels.tick();
  assert.deepEqual(client.take(), []);
  road.time += 100;
  channels.tick();
  const [update, ...more] = client.take();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [update.type, update.prevSequence, update.sequence, update.data.lastPrice],
    ["UPDATE", snapshot.sequence, second, "11"],
  );
  road.time += 1000;
  channels.tick();
  assert.deepEqual(client.take(), []);
});

// ---- orders and fills -----------------------------------------------------------------------------------------------

const view = (orderId: number, more: Partial<MessageOf<typeof OrderView>> = {}): Message =>
  make(OrderView, { orderId, quantityLots: 10, remainingLots: 10, priceTicks: 100, sequence: 50, ...more });

test("orders: a question that dies with its symbol's thread is asked again", async () => {
  const { road, channels, connect } = await open({}, ["BTC-PERP"]);
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "orders" }));
  client.take();
  road.lose();
  assert.deepEqual(client.take(), []);
  channels.tick();
  road.answer(() => [view(257), make(Done)]);
  const [snapshot] = client.take();
  assert.deepEqual([snapshot.type, snapshot.data.length], ["SNAPSHOT", 1]);
});

test("orders: asked once, then followed; what happens before the answer is in it", async () => {
  const { road, channels, connect } = await open({ [BTC]: { asks: [[100, 9]] } });
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  road.full = true;
  client.say(subscribe({ channel: "orders" }));
  road.full = false;
  assert.equal(road.asked.length, 0);
  channels.tick();
  assert.deepEqual(
    road.asked.map(({ actorId, command }) => [actorId, command]),
    [BTC, ETH].map((actorId) => [actorId, make(ReadOrders, { accountId: ALICE })]),
  );
  client.take();
  road.answer(() => [view(257), view(513), make(Done)]);
  // ETH has not answered: this one is in its answer. BTC has: that order ends before the snapshot.
  road.turn(ETH, make(OrderPlaced, { accountId: ALICE, orderId: 258, quantityLots: 1, rests: 1 }));
  road.turn(BTC, make(OrderClosed, { accountId: ALICE, orderId: 513, status: STATUS_CANCELED, reason: 1 }));
  road.drain();
  assert.deepEqual(client.take(), []);
  road.answer(() => [view(258, { createdAt: 7 }), make(Done)]);
  const [snapshot] = client.take();
  assert.deepEqual(
    [snapshot.type, snapshot.sequence, snapshot.data.map((order: Received) => order.orderId)],
    ["SNAPSHOT", road.sequence, ["258", "257"]],
  );
  const before = road.sequence;
  road.turn(BTC, make(OrderPlaced, { accountId: BOB, orderId: 769, quantityLots: 1, rests: 1 }));
  const traded = road.turn(
    BTC,
    make(OrderPlaced, { accountId: ALICE, orderId: 1025, quantityLots: 4, priceTicks: 100 }),
    make(Traded, { takerAccountId: ALICE, takerOrderId: 1025, makerOrderId: 769, priceTicks: 100, quantityLots: 4 }),
    make(OrderReduced, { accountId: ALICE, orderId: 257, byLots: 3 }),
  );
  const closed = road.turn(
    BTC,
    make(OrderClosed, { accountId: ALICE, orderId: 257, status: STATUS_CANCELED, reason: 1 }),
  );
  road.drain();
  const brief = client
    .take()
    .map(({ prevSequence, sequence, data }) => [
      prevSequence,
      sequence,
      data.map((order: Received) => `${order.orderId} ${order.status} ${order.remainingQuantity} ${order.sequence}`),
    ]);
  assert.deepEqual(brief, [
    [before, traded, [`1025 FILLED 0 ${traded}`, `257 NEW 0.007 ${traded}`]],
    [traded, closed, [`257 CANCELED 0 ${closed}`]],
  ]);
  assert.equal(road.asked.length, 0);
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  const joined = late.ask(subscribe({ channel: "orders" }));
  assert.deepEqual(
    joined.at(-1).data.map((order: Received) => order.orderId),
    ["258"],
  );
  for (const each of [client, late]) each.hangUp();
  road.turn(BTC, make(OrderClosed, { accountId: ALICE, orderId: 99 * 256 + BTC }));
  road.drain();
});

// ---- positions ------------------------------------------------------------------------------------------------------

type View = Partial<MessageOf<typeof PositionView>>;

/** Answers the oldest question with this position; an actor that knows none answers with nothing. */
function answer(road: ScriptedRoad, view: View | null = null): Asked {
  const [asked] = road.asked;
  assert.equal(asked?.command.type, ReadPosition.code);
  road.answer(() => (view === null ? [] : [make(PositionView, { accountId: ALICE, leverage: 10, ...view })]));
  return asked;
}

async function alicesPositions(more: object = {}): Promise<Exchange & { client: ScriptedClient }> {
  const exchange = await open();
  const client = exchange.connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "positions", ...more }));
  client.take();
  return { ...exchange, client };
}

const alicesTrade = (): Message =>
  make(Traded, { takerSide: BUY, takerAccountId: ALICE, makerAccountId: BOB, priceTicks: 100, quantityLots: 0 });

test("positions: a snapshot once every symbol has answered, then every change", async () => {
  const { road, client } = await alicesPositions();
  const first = answer(road, { sizeLots: 1500, markTicks: 650000 });
  assert.deepEqual([first.actorId, first.command], [BTC, make(ReadPosition, { accountId: ALICE })]);
  assert.deepEqual(client.take(), []);
  assert.equal(answer(road).actorId, ETH);
  const [snapshot] = client.take();
  const started = road.sequence;
  assert.deepEqual(
    { ...snapshot, data: snapshot.data.map((each: Received) => [each.symbol, each.size, each.side]) },
    {
      channel: "positions",
      type: "SNAPSHOT",
      sequence: started,
      prevSequence: null,
      data: [["BTC-PERP", "1.5", "LONG"]],
    },
  );

  const traded = road.turn(BTC, alicesTrade());
  assert.equal(road.asked.length, 0, "asked once the drain is over");
  road.drain();
  answer(road, { sizeLots: 2500, markTicks: 650000 });
  const [update] = client.take();
  assert.deepEqual([update.type, update.prevSequence, update.sequence], ["UPDATE", started, traded]);
  assert.equal(update.data[0].size, "2.5");

  const closed = road.turn(BTC, alicesTrade());
  road.drain();
  answer(road, { sizeLots: 0, markTicks: 650000 });
  const [gone] = client.take();
  assert.deepEqual([gone.prevSequence, gone.sequence, gone.data.length], [traded, closed, 1]);
  assert.deepEqual([gone.data[0].symbol, gone.data[0].size], ["BTC-PERP", "0"]);

  road.turn(BTC, alicesTrade());
  road.drain();
  answer(road, { sizeLots: 0, markTicks: 660000 });
  assert.deepEqual(client.take(), [], "no position, no news");
});

test("positions: a price matters to open positions only, and what stayed the same is not repeated", async () => {
  const { road, client } = await alicesPositions();
  answer(road, { sizeLots: 1500, markTicks: 650000 });
  answer(road);
  client.take();
  road.turn(ETH, make(PriceUpdated, { markTicks: 5 }));
  road.drain();
  assert.equal(road.asked.length, 0);
  road.turn(BTC, make(PriceUpdated, { markTicks: 651000 }));
  road.drain();
  answer(road, { sizeLots: 1500, markTicks: 651000 });
  assert.equal(client.take()[0].data[0].markPrice, "65100");
  road.turn(BTC, make(PriceUpdated, { markTicks: 651000 }));
  road.drain();
  answer(road, { sizeLots: 1500, markTicks: 651000 });
  assert.deepEqual(client.take(), []);
  road.turn(LEDGER, make(Deposited, { accountId: ALICE }));
  road.drain();
  assert.equal(answer(road, { sizeLots: 1500, markTicks: 651000, liquidationTicks: 1 }).actorId, BTC);
  assert.equal(client.take()[0].data[0].liquidationPrice, "0.1", "a deposit moves what liquidates");
});

test("positions: one question at a time, and another when something happened meanwhile", async () => {
  const { road, client } = await alicesPositions({ symbol: "BTC-PERP" });
  answer(road, { sizeLots: 1 });
  assert.equal(client.take()[0].symbol, "BTC-PERP");
  for (let i = 0; i < 3; i++) {
    road.turn(BTC, alicesTrade());
    road.turn(ETH, alicesTrade());
    road.drain();
  }
  assert.equal(road.asked.length, 1);
  answer(road, { sizeLots: 2 });
  assert.equal(road.asked.length, 1);
  answer(road, { sizeLots: 3 });
  assert.equal(road.asked.length, 0);
  assert.deepEqual(
    client.take().map((message) => message.data[0].size),
    ["0.002", "0.003"],
  );
});

test("positions: who joins while a question is under way waits for a later one", async () => {
  const { road, client: early, connect } = await alicesPositions({ symbol: "BTC-PERP" });
  answer(road, { sizeLots: 1 });
  road.turn(BTC, alicesTrade());
  road.drain();
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  late.say(subscribe({ channel: "positions", symbol: "BTC-PERP" }));
  late.take();
  answer(road, { sizeLots: 2 });
  assert.deepEqual(late.take(), []);
  answer(road, { sizeLots: 3 });
  const [snapshot, ...more] = late.take();
  assert.deepEqual([snapshot.type, snapshot.data[0].size, more], ["SNAPSHOT", "0.003", []]);
  assert.deepEqual(
    early.take().map((message) => message.data[0].size),
    ["0.001", "0.002", "0.003"],
  );
});

test("positions: a full ring delays, and loses nothing", async () => {
  const { road, channels, client } = await alicesPositions({ symbol: "BTC-PERP" });
  answer(road, { sizeLots: 1 });
  client.take();
  road.full = true;
  road.turn(BTC, alicesTrade());
  road.drain();
  road.full = false;
  channels.tick();
  answer(road, { sizeLots: 2 });
  assert.equal(client.take()[0].data[0].size, "0.002");
});

test("positions: a question that dies with its symbol's thread is asked again, for those who wait for it, too", async () => {
  const { road, channels, client: early, connect } = await alicesPositions({ symbol: "BTC-PERP" });
  road.lose();
  assert.deepEqual(early.take(), []);
  road.down = true;
  channels.tick();
  road.down = false;
  channels.tick();
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  late.say(subscribe({ channel: "positions", symbol: "BTC-PERP" }));
  late.take();
  assert.equal(road.asked.length, 1);
  road.lose();
  channels.tick();
  answer(road, { sizeLots: 1 });
  for (const client of [early, late]) {
    const [snapshot, ...more] = client.take();
    assert.deepEqual([snapshot.type, snapshot.data[0].size, more], ["SNAPSHOT", "0.001", []]);
  }
  assert.equal(road.asked.length, 0);
});

test("positions: sequences never fall, though symbols rest on different ones", async () => {
  const { road, client } = await alicesPositions();
  answer(road, { sizeLots: 1 });
  answer(road, { sizeLots: 1 });
  client.take();
  const later = road.sequence;
  road.turn(BTC, alicesTrade());
  road.turn(ETH, alicesTrade());
  road.drain();
  answer(road, { sizeLots: 2 });
  const newest = road.sequence;
  road.sequence = later;
  answer(road, { sizeLots: 2 });
  assert.deepEqual(
    client.take().map(({ prevSequence, sequence }) => [prevSequence, sequence]),
    [
      [later, newest],
      [newest, newest],
    ],
  );
});

test("positions: nobody hears of another's, and nobody is asked for who has left", async () => {
  const { road, hub, client, connect } = await alicesPositions({ symbol: "BTC-PERP" });
  const bob = connect();
  bob.say({ op: "auth", token: "bob" });
  bob.say(subscribe({ channel: "positions", symbol: "BTC-PERP" }));
  answer(road, { sizeLots: 1 });
  const [asked] = road.asked;
  assert.deepEqual(asked.command, make(ReadPosition, { accountId: BOB }));
  bob.take();
  client.hangUp();
  bob.hangUp();
  answer(road, { sizeLots: 5 });
  assert.deepEqual(bob.take(), []);
  road.turn(BTC, alicesTrade());
  road.drain();
  assert.equal(road.asked.length, 0);
  assert.ok(hub.published.every(({ topic }) => topic.startsWith(`positions/${ALICE}/`)));
});

// ---- balance --------------------------------------------------------------------------------------------------------

const credit = (road: ScriptedRoad, accountId: number, amount: number): void => {
  assert.ok(road.cells.debit(accountId, -amount));
};

test("balance: a snapshot and every change, read when all is durable", async () => {
  const { road, channels, hub, connect } = await open();
  credit(road, ALICE, 5_000_000);
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  assert.deepEqual(
    client.ask(subscribe({ channel: "balance" })).map((message) => message.op),
    ["subscribed"],
  );
  road.settle();
  const [snapshot] = client.take();
  const started = road.sequence;
  assert.deepEqual(
    { ...snapshot, data: snapshot.data.equity },
    { channel: "balance", type: "SNAPSHOT", sequence: started, prevSequence: null, data: "5" },
  );
  const quietly = hub.published.length;

  credit(road, ALICE, 2_000_000);
  const deposited = road.turn(LEDGER, make(Deposited, { accountId: ALICE, amountQuanta: 2_000_000 }));
  road.drain();
  assert.deepEqual(client.take(), []);
  road.settle();
  const [update] = client.take();
  assert.deepEqual([update.type, update.prevSequence, update.sequence], ["UPDATE", started, deposited]);
  assert.deepEqual([update.data.equity, update.data.sequence], ["7", deposited]);

  road.turn(BTC, make(PriceUpdated, { markTicks: 5 }));
  road.turn(BTC, alicesTrade());
  road.turn(LEDGER, make(Deposited, { accountId: BOB }));
  road.drain();
  road.settle();
  assert.deepEqual(client.take(), [], "no figure has moved");
  channels.tick();
  assert.equal(road.settle(), 0, "nothing more to wait for");
  assert.equal(hub.published.length, quietly + 1);

  credit(road, ALICE, 1);
  const priced = road.turn(BTC, make(PriceUpdated, { markTicks: 6 }));
  road.drain();
  road.settle();
  const [moved] = client.take();
  assert.deepEqual([moved.prevSequence, moved.sequence, moved.data.equity], [deposited, priced, "7.000001"]);
});

test("balance: who joins later starts where the stream stands; who leaves is waited for no more", async () => {
  const { road, connect } = await open();
  const early = connect();
  early.say({ op: "auth", token: "alice" });
  early.say(subscribe({ channel: "balance" }));
  road.settle();
  const sequence = early.take().at(-1).sequence;
  road.turn(ETH, make(PriceUpdated, { markTicks: 5 }));
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  late.say(subscribe({ channel: "balance" }));
  late.take();
  const gone = connect();
  gone.say({ op: "auth", token: "alice" });
  gone.say(subscribe({ channel: "balance" }));
  gone.take();
  gone.hangUp();
  road.settle();
  assert.equal(late.take()[0].sequence, sequence);
  assert.deepEqual(gone.take(), []);
  assert.deepEqual(early.take(), []);
});
