import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, beforeEach, type TestContext, test } from "node:test";
import { type WebSocket as ServerSocket, WebSocket } from "ws";
import { PerpdClient } from "../../src/client/client.ts";
import { isOutcomeUnknown, PerpdError } from "../../src/client/error.ts";
import type { Stream } from "../../src/client/stream.ts";
import type { ChannelMessage, ChannelRequest } from "../../src/client/types.ts";
import { HeldTimers } from "../held-timers.ts";
import { accept, SocketServer } from "./support/socket-server.ts";

let server: SocketServer;
let client: PerpdClient;
let stream: Stream | null = null;

beforeEach(async () => {
  server = await SocketServer.open();
  client = new PerpdClient({ baseUrl: server.baseUrl, token: "T", WebSocket });
});

afterEach(() => {
  stream?.close();
  server.close();
});

const trades = (type: string, sequence: number, prevSequence: number | null): object => ({
  channel: "trades",
  symbol: "BTC-PERP",
  type,
  sequence,
  prevSequence,
  data: [],
});

test("a stream authenticates, subscribes, then delivers messages", async () => {
  const got: number[] = [];
  const two = new Promise<void>((resolve) => {
    stream = client.stream([{ channel: "trades", symbol: "BTC-PERP" }], {
      onMessage: ({ sequence }) => {
        got.push(sequence);
        if (got.length === 2) resolve();
      },
    });
  });
  await stream!.ready;
  assert.deepEqual(
    server.requests.map(({ id: _, ...request }) => request),
    [
      { op: "auth", token: "T" },
      { op: "subscribe", channels: [{ channel: "trades", symbol: "BTC-PERP" }] },
    ],
  );
  server.sockets[0]!.send(JSON.stringify(trades("SNAPSHOT", 5, null)));
  server.sockets[0]!.send(JSON.stringify(trades("HEARTBEAT", 5, null)));
  server.sockets[0]!.send(JSON.stringify(trades("UPDATE", 9, 5)));
  await two;
  assert.deepEqual(got, [5, 9]);
});

test("ping resolves with the server's time", async () => {
  server.answer = (request) =>
    request.op === "ping" ? { op: "pong", id: request.id, serverTime: 42 } : accept(request);
  stream = client.stream([{ channel: "balance" }], { onMessage() {} });
  await stream.ready;
  assert.equal(await stream.ping(), 42);
});

for (const [name, message] of [
  ["a message that skips one", trades("UPDATE", 12, 10)],
  ["a heartbeat from further on", trades("HEARTBEAT", 12, null)],
] as const)
  test(`${name} leads to a new subscription, and nothing is delivered before its snapshot`, async () => {
    const got: ChannelMessage[] = [];
    const healed = new Promise<void>((resolve) => {
      stream = client.stream([{ channel: "trades", symbol: "BTC-PERP" }, { channel: "balance" }], {
        onMessage: (each) => {
          got.push(each);
          if (each.sequence === 20) resolve();
        },
      });
    });
    await stream!.ready;
    const socket = server.sockets[0]!;
    socket.send(JSON.stringify(trades("SNAPSHOT", 5, null)));
    socket.send(JSON.stringify(message));
    await server.requestCount(3);
    assert.deepEqual(server.requests[2]?.channels, [{ channel: "trades", symbol: "BTC-PERP" }]);
    socket.send(JSON.stringify(trades("UPDATE", 14, 12)));
    socket.send(JSON.stringify(trades("SNAPSHOT", 20, null)));
    await healed;
    assert.deepEqual(
      got.map(({ sequence }) => sequence),
      [5, 20],
    );
  });

test("a lost connection is made again with its subscriptions", async () => {
  let disconnects = 0;
  stream = client.stream([{ channel: "balance" }], {
    onMessage() {},
    onDisconnect: () => disconnects++,
  });
  await stream.ready;
  server.sockets[0]!.terminate();
  await server.requestCount(4);
  assert.equal(disconnects, 1);
  assert.deepEqual(
    server.requests.map(({ op }) => op),
    ["auth", "subscribe", "auth", "subscribe"],
  );
});

test("after a lost connection the stream resumes from its last sequences", async () => {
  const got: number[] = [];
  const three = new Promise<void>((resolve) => {
    const book = { channel: "orderbook", symbol: "BTC-PERP", depth: 5 } as const;
    stream = client.stream([{ channel: "trades", symbol: "BTC-PERP" }, book], {
      onMessage: ({ sequence }) => {
        got.push(sequence);
        if (got.length === 3) resolve();
      },
    });
  });
  await stream!.ready;
  server.sockets[0]!.send(JSON.stringify(trades("SNAPSHOT", 5, null)));
  server.sockets[0]!.send(JSON.stringify(trades("UPDATE", 9, 5)));
  await stream!.ping();
  server.sockets[0]!.terminate();
  await server.requestCount(5);
  assert.deepEqual(server.requests.at(-1)?.channels, [
    { channel: "trades", symbol: "BTC-PERP", resume: 9 },
    { channel: "orderbook", symbol: "BTC-PERP", depth: 5, updateMs: 0 },
  ]);
  server.sockets[1]!.send(JSON.stringify(trades("UPDATE", 12, 9)));
  await three;
  assert.deepEqual(got, [5, 9, 12]);
});

test("a stream resumes from the sequence that the program gives", async () => {
  const got: number[] = [];
  const told: string[] = [];
  stream = client.stream([{ channel: "trades", symbol: "BTC-PERP", resume: 5 }], {
    onMessage: ({ sequence }) => got.push(sequence),
    onHeartbeat: ({ channel }) => told.push(`${channel} in step`),
    onGap: ({ channel }) => told.push(`${channel} gap`),
  });
  await stream.ready;
  assert.deepEqual(server.requests.at(-1)?.channels, [{ channel: "trades", symbol: "BTC-PERP", resume: 5 }]);
  for (const message of [trades("HEARTBEAT", 5, null), trades("UPDATE", 9, 5), trades("UPDATE", 12, 9)])
    server.sockets[0]!.send(JSON.stringify(message));
  await stream.ping();
  assert.deepEqual(got, [9, 12]);
  // From here on as ever: a gap brings a snapshot.
  server.sockets[0]!.send(JSON.stringify(trades("UPDATE", 20, 17)));
  await server.requestCount(4);
  assert.deepEqual(server.requests.at(-1)?.channels, [{ channel: "trades", symbol: "BTC-PERP" }]);
  assert.deepEqual(got, [9, 12]);
  // Until the snapshot nothing is in step.
  server.sockets[0]!.send(JSON.stringify(trades("HEARTBEAT", 20, null)));
  await stream.ping();
  assert.deepEqual(told, ["trades in step", "trades gap"]);
});

test("a channel with default parameters is told apart from one without", async () => {
  const book = { channel: "orderbook", symbol: "BTC-PERP" } as const;
  const message = (names: object, sequence: number) =>
    ({
      ...book,
      ...names,
      type: "SNAPSHOT",
      sequence,
      prevSequence: null,
      bids: [],
      asks: [],
    }) as unknown as ChannelMessage;
  stream = client.stream([book, { ...book, depth: 5 }, { ...book, updateMs: 500 }], { onMessage() {} });
  await stream.ready;
  const messages = [message({ depth: 100, updateMs: 500 }, 7), message({ depth: 5 }, 8), message({ depth: 100 }, 9)];
  for (const each of messages) server.sockets[0]!.send(JSON.stringify(each));
  await stream.ping();
  server.sockets[0]!.terminate();
  await server.requestCount(5);
  assert.deepEqual(server.requests.at(-1)?.channels, [
    { ...book, depth: 100, updateMs: 0, resume: 9 },
    { ...book, depth: 5, updateMs: 0, resume: 8 },
    { ...book, depth: 100, updateMs: 500, resume: 7 },
  ]);
  for (const each of messages) {
    stream.resync(each);
    await server.requestCount(server.requests.length + 1);
  }
  assert.deepEqual(
    server.requests.slice(5).map(({ channels }) => channels),
    [[{ ...book, depth: 100, updateMs: 500 }], [{ ...book, depth: 5 }], [{ ...book, depth: 100 }]],
  );
});

test("ping rejects without a connection, and when the connection is lost", async () => {
  const refused = { name: "PerpdError", code: "DISCONNECTED", retryable: true };
  stream = client.stream([{ channel: "balance" }], { onMessage() {} });
  await assert.rejects(stream.ping(), refused);
  await stream.ready;
  server.answer = (request) => {
    if (request.op === "ping") server.sockets[0]!.terminate();
    return accept(request);
  };
  await assert.rejects(stream.ping(), refused);
  await assert.rejects(stream.ping(), refused);
  await server.requestCount(5);
  stream.close();
  await assert.rejects(stream.ping(), { ...refused, message: /closed/, retryable: false });
});

const DEAD_AFTER_MS = 100;
/** A stream pings after half of that without a message, and gives up after the other half. */
const silence = (t: TestContext): HeldTimers => new HeldTimers(t, DEAD_AFTER_MS / 2);

test("a silent connection is pinged, and kept when it answers", async (t) => {
  const silent = silence(t);
  let disconnects = 0;
  const handlers = { onMessage() {}, onDisconnect: () => disconnects++ };
  stream = client.stream([{ channel: "balance" }], handlers, { deadAfterMs: DEAD_AFTER_MS });
  await stream.ready;
  for (let asked = 1; asked <= 3; asked++) {
    silent.pass();
    await server.requestCount(2 * asked + 1);
    // Its answer comes behind that of the first one.
    await stream.ping();
  }
  assert.deepEqual(
    server.requests.map(({ op }) => op),
    ["auth", "subscribe", ...Array(6).fill("ping")],
  );
  assert.deepEqual(Object.keys(server.requests[0] as object), ["op", "id", "token"]);
  assert.equal(disconnects, 0);
});

test("a dead connection that never closes is replaced", async (t) => {
  const silent = silence(t);
  const lost = new Promise<void>((resolve) => {
    const handlers = { onMessage() {}, onDisconnect: () => resolve() };
    stream = client.stream([{ channel: "balance" }], handlers, { deadAfterMs: DEAD_AFTER_MS });
  });
  await stream!.ready;
  server.sockets[0]!.pause();
  for (let times = 0; times < 2; times++) silent.pass();
  const order = stream!.placeOrder({ symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" });
  await assert.rejects(order, { code: "DISCONNECTED", message: /lost/ });
  await lost;
  await server.requestCount(4);
  assert.deepEqual(
    server.requests.map(({ op }) => op),
    ["auth", "subscribe", "auth", "subscribe"],
  );
});

test("the backoff grows while connections are cut at once, and resets after one has lasted", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const waits: number[] = [];
  const { setTimeout } = globalThis;
  const inNoTime = (call: () => void, ms: number) => {
    if (ms > 5000) return setTimeout(call, ms);
    waits.push(ms);
    return setTimeout(call, 0);
  };
  t.mock.method(globalThis, "setTimeout", inNoTime);
  const cut = async (connection: number, stoodMs: number) => {
    while (server.sockets.length < connection) await server.requestCount(server.requests.length + 1);
    await once(server.sockets[connection - 1] as ServerSocket, "pong");
    now += stoodMs;
    server.sockets[connection - 1]?.terminate();
  };
  // Behind the answer, so that whose pong has come is subscribed.
  const pingBehind = (socket: ServerSocket) =>
    socket.on("message", (text) => {
      if (String(text).includes("subscribe")) socket.ping();
    });
  server.server.on("connection", pingBehind);
  stream = client.stream([{ channel: "balance" }], { onMessage() {} });
  for (const [i, stoodMs] of [0, 0, 0, 0, 0, 0, 6000].entries()) await cut(i + 1, stoodMs);
  while (server.sockets.length < 8) await server.requestCount(server.requests.length + 1);
  const longest = [250, 500, 1000, 2000, 4000, 5000, 250];
  assert.equal(waits.length, longest.length);
  for (const [i, wait] of waits.entries())
    assert.ok(wait >= (longest[i] as number) / 2 && wait <= (longest[i] as number), `${i}: ${wait}`);
});

test("close() while waiting for the first connection rejects ready", async () => {
  server.close();
  const lost = new Promise<void>((resolve) => {
    stream = client.stream([{ channel: "balance" }], { onMessage() {}, onDisconnect: () => resolve() });
  });
  await lost;
  stream!.close();
  await assert.rejects(stream!.ready, { code: "DISCONNECTED" });
});

test("a permanent refusal ends the stream", async () => {
  server.answer = ({ id }) => ({ op: "error", id, code: "TOKEN_INVALID", message: "no", retryable: false });
  const errors: string[] = [];
  stream = client.stream([{ channel: "balance" }], { onMessage() {}, onError: ({ code }) => errors.push(code) });
  await assert.rejects(stream.ready, { name: "PerpdError", code: "TOKEN_INVALID" });
  assert.deepEqual(errors, ["TOKEN_INVALID"]);
  assert.equal(server.requests.length, 1);
  // What is tried then says why it cannot be, and not that it might be in a moment.
  const refused = { name: "PerpdError", code: "TOKEN_INVALID", retryable: false };
  await assert.rejects(stream.ping(), refused);
  await assert.rejects(stream.cancelOrders(), refused);
  stream.close();
  await assert.rejects(stream.ping(), refused);
});

test("a message from something other than perpd ends the stream, and the program continues", async () => {
  for (const said of ["hello", "", "null", "7", "[]", '"op"', "{}"]) {
    server.answer = () => null;
    const errors: string[] = [];
    stream = client.stream([{ channel: "balance" }], { onMessage() {}, onError: ({ code }) => errors.push(code) });
    await server.requestCount(1);
    server.sockets[0]!.send(said);
    await assert.rejects(stream.ready, { name: "PerpdError", code: "NOT_PERPD", retryable: false });
    assert.deepEqual(errors, ["NOT_PERPD"]);
    [server.requests, server.sockets] = [[], []];
  }
});

test("a damaged message from an exchange that was right before makes a new connection", async () => {
  const lost: string[] = [];
  let whileClosing: Promise<void> | undefined;
  class Closing extends WebSocket {
    override close(): void {
      whileClosing ??= assert.rejects(stream!.ping(), /nothing was sent/);
      super.close();
    }
  }
  stream = new PerpdClient({ baseUrl: server.baseUrl, token: "T", WebSocket: Closing }).stream(
    [{ channel: "balance" }],
    {
      onMessage() {},
      onDisconnect: ({ code }) => lost.push(code),
    },
  );
  await stream.ready;
  const before = server.requests.length;
  server.sockets[0]!.send('{"channel":"bal');
  await server.requestCount(2 * before);
  assert.deepEqual(lost, ["NOT_PERPD"]);
  await whileClosing;
  await stream.ping();
});

/** How long a stream waits for a reply in the tests that let that time pass. */
const TIMEOUT_MS = 2000;

test("a request whose reply is lost on a living connection ends, its outcome unknown", async (t) => {
  const replies = new HeldTimers(t, TIMEOUT_MS);
  let disconnects = 0;
  const handlers = { onMessage() {}, onDisconnect: () => disconnects++ };
  stream = client.stream([{ channel: "balance" }], handlers, { timeoutMs: TIMEOUT_MS });
  await stream.ready;
  server.answer = (request) => (request.op === "order.cancel" ? null : accept(request));
  const canceling = stream.cancelOrder({ orderId: "1" }).catch((error: PerpdError) => error);
  await server.requestCount(3);
  replies.pass();
  const lost = await canceling;
  assert.ok(lost instanceof PerpdError && lost.code === "TIMEOUT" && isOutcomeUnknown(lost));
  // The reply that comes too late belongs to nobody.
  server.sockets[0]!.send(JSON.stringify({ op: "order.canceled", id: server.requests.at(-1)?.id }));
  await stream.ping();
  assert.deepEqual([disconnects, replies.count], [0, 0]);
});

test("a stream whose authentication is not answered connects again", async (t) => {
  const replies = new HeldTimers(t, TIMEOUT_MS);
  server.answer = () => null;
  const lost = new Promise<PerpdError>((onDisconnect) => {
    const handlers = { onMessage() {}, onDisconnect };
    stream = client.stream([{ channel: "balance" }], handlers, { timeoutMs: TIMEOUT_MS });
  });
  await server.requestCount(1);
  server.answer = accept;
  replies.pass();
  assert.equal((await lost).code, "TIMEOUT");
  await stream!.ready;
});

test("close() rejects pending requests with an error that is not retryable", async () => {
  stream = client.stream([{ channel: "balance" }], { onMessage() {} });
  await stream.ready;
  server.answer = () => null;
  const order = stream.placeOrder({ symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" });
  await server.requestCount(3);
  const refused = assert.rejects(order, { code: "DISCONNECTED", message: /lost/, retryable: false });
  stream.close();
  await refused;
});

test("after close() no message is delivered, not even one in flight", async () => {
  const got: number[] = [];
  stream = client.stream([{ channel: "trades", symbol: "BTC-PERP" }], {
    onMessage: ({ sequence }) => {
      got.push(sequence);
      stream?.close();
    },
  });
  await stream.ready;
  const closed = once(server.sockets[0]!, "close");
  for (const each of [trades("SNAPSHOT", 5, null), trades("UPDATE", 9, 5), trades("UPDATE", 12, 9)])
    server.sockets[0]!.send(JSON.stringify(each));
  await closed;
  assert.deepEqual(got, [5]);
});

test("a refused resync ends the stream and calls onError", async () => {
  const errors: string[] = [];
  stream = client.stream([{ channel: "trades", symbol: "BTC-PERP" }], {
    onMessage() {},
    onError: ({ code }) => errors.push(code),
  });
  await stream.ready;
  server.answer = ({ id }) => ({ op: "error", id, code: "PERMISSION_DENIED", message: "no", retryable: false });
  const closed = once(server.sockets[0]!, "close");
  for (const each of [trades("SNAPSHOT", 5, null), trades("UPDATE", 12, 10), trades("SNAPSHOT", 20, null)])
    server.sockets[0]!.send(JSON.stringify(each));
  stream.resync({ channel: "trades", symbol: "BTC-PERP" });
  await closed;
  assert.deepEqual(errors, ["PERMISSION_DENIED"]);
  await assert.rejects(stream.ping(), { code: "PERMISSION_DENIED", retryable: false });
});

test("a resync for which the exchange is too busy is repeated, and the other streams go on", async () => {
  const got: string[] = [];
  let wake = (): void => {};
  stream = client.stream([{ channel: "trades" }, { channel: "liquidations" }], {
    onMessage: ({ channel, sequence }) => {
      got.push(`${channel} ${sequence}`);
      wake();
    },
    onError: assert.fail,
    onDisconnect: assert.fail,
  });
  const messageCount = async (count: number): Promise<void> => {
    while (got.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  const send = (channel: string, type: string, sequence: number, prevSequence: number | null): void =>
    server.sockets[0]!.send(JSON.stringify({ channel, type, sequence, prevSequence, data: [] }));
  await stream.ready;
  const refusal = { op: "error", message: "wait", retryable: true, details: { retryAfterMs: 20 } };
  server.answer = (request) => {
    if (server.requests.length === 3) return { ...refusal, id: request.id, code: "RATE_LIMITED" };
    if (server.requests.length === 4) return { ...refusal, id: request.id, code: "OVERLOADED" };
    return accept(request);
  };
  for (const channel of ["trades", "liquidations"]) send(channel, "SNAPSHOT", 5, null);
  await messageCount(2);
  stream.resync({ channel: "trades" });
  await server.requestCount(3);
  send("trades", "UPDATE", 6, 5);
  send("liquidations", "UPDATE", 6, 5);
  await server.requestCount(5);
  send("trades", "SNAPSHOT", 7, null);
  await messageCount(4);
  assert.deepEqual(got, ["trades 5", "liquidations 5", "liquidations 6", "trades 7"]);
  assert.deepEqual(
    server.requests.slice(2).map(({ channels }) => channels),
    [[{ channel: "trades" }], [{ channel: "trades" }], [{ channel: "trades" }]],
  );
  assert.equal(server.sockets.length, 1);
});

const BUSY_MS = 1000;

/** A refusal for so long, since the exchange has too much to do. */
const busy = (id: number): object => ({
  op: "error",
  id,
  code: "RATE_LIMITED",
  message: "wait",
  retryable: true,
  details: { retryAfterMs: BUSY_MS },
});

test("a resync is not repeated for a stream that has its snapshot, or that was left", async (t) => {
  const channels: ChannelRequest[] = [
    { channel: "trades", symbol: "BTC-PERP" },
    { channel: "liquidations" },
    { channel: "trades", symbol: "ETH-PERP" },
  ];
  const waits = new HeldTimers(t, BUSY_MS);
  stream = client.stream(channels, { onMessage() {}, onError: assert.fail });
  await stream.ready;
  server.answer = (request) => (request.op === "ping" ? accept(request) : busy(request.id));
  for (const channel of channels) stream.resync(channel);
  // Its answer comes behind the refusals.
  await stream.ping();
  assert.equal(waits.count, 3);
  server.answer = accept;
  server.sockets[0]!.send(JSON.stringify(trades("SNAPSHOT", 5, null)));
  await stream.unsubscribe([{ channel: "liquidations" }]);
  waits.pass();
  await stream.ping();
  assert.deepEqual(
    server.requests.slice(6).map(({ op, channels }) => [op, channels]),
    [
      ["unsubscribe", [{ channel: "liquidations" }]],
      ["subscribe", [{ channel: "trades", symbol: "ETH-PERP" }]],
      ["ping", undefined],
    ],
  );
});

test("a resync is not repeated on a new connection, which subscribes to everything anyway", async (t) => {
  const waits = new HeldTimers(t, BUSY_MS);
  stream = client.stream([{ channel: "trades" }], { onMessage() {}, onError: assert.fail });
  await stream.ready;
  server.answer = (request) => (request.op === "ping" ? accept(request) : busy(request.id));
  stream.resync({ channel: "trades" });
  await stream.ping();
  assert.equal(waits.count, 1);
  server.answer = accept;
  server.sockets[0]!.terminate();
  await server.requestCount(6);
  // Its answer comes behind that of the subscription.
  await stream.ping();
  waits.pass();
  await stream.ping();
  assert.deepEqual(
    server.requests.slice(4).map(({ op }) => op),
    ["auth", "subscribe", "ping", "ping"],
  );
});

test("a resync with a retryable refusal reconnects", async () => {
  const reasons: string[] = [];
  stream = client.stream([{ channel: "trades", symbol: "BTC-PERP" }], {
    onMessage() {},
    onError: assert.fail,
    onDisconnect: ({ code }) => reasons.push(code),
  });
  await stream.ready;
  server.answer = (request) =>
    server.requests.length === 3
      ? { op: "error", id: request.id, code: "NOT_READY", message: "wait", retryable: true }
      : accept(request);
  stream.resync({ channel: "trades", symbol: "BTC-PERP" });
  await server.requestCount(5);
  assert.deepEqual(
    server.requests.map(({ op }) => op),
    ["auth", "subscribe", "subscribe", "auth", "subscribe"],
  );
  assert.deepEqual(reasons, ["NOT_READY"]);
  // Without a connection there is nothing to refuse.
  server.sockets[1]!.terminate();
  await assert.rejects(stream.ping(), { retryable: true });
  stream.resync({ channel: "trades", symbol: "BTC-PERP" });
  await server.requestCount(7);
});

test("`auth` is signed again when its signature was used before, since it changes nothing", async () => {
  const keyed = new PerpdClient({ baseUrl: server.baseUrl, apiKey: "K", secret: "S", WebSocket });
  server.answer = (request) =>
    server.requests.length === 1
      ? { op: "error", id: request.id, code: "SIGNATURE_REPLAYED", retryable: false }
      : accept(request);
  const errors: string[] = [];
  stream = keyed.stream([{ channel: "balance" }], { onMessage() {}, onError: ({ code }) => errors.push(code) });
  await stream.ready;
  assert.deepEqual(
    server.requests.map(({ op }) => op),
    ["auth", "auth", "subscribe"],
  );
  assert.notEqual(server.requests[0]?.signature, server.requests[1]?.signature);
  assert.deepEqual(errors, []);
});

test("an invalid URL throws at once", () => {
  const nowhere = new PerpdClient({ baseUrl: "127.0.0.1:8080/v1", WebSocket });
  assert.throws(() => nowhere.stream([{ channel: "balance" }], { onMessage() {} }), SyntaxError);
});

test("close() before the subscription rejects ready", async () => {
  stream = client.stream([{ channel: "balance" }], { onMessage() {} });
  stream.close();
  await assert.rejects(stream.ready, { code: "DISCONNECTED" });
});

test("channels come and go on one connection, and a new connection has those of the moment", async () => {
  const got: string[] = [];
  stream = client.stream([{ channel: "balance" }], {
    onMessage: (each) => got.push(`${"symbol" in each ? each.symbol : ""} ${each.sequence}`),
  });
  await stream.ready;
  await stream.subscribe([
    { channel: "trades", symbol: "BTC-PERP" },
    { channel: "trades", symbol: "ETH-PERP" },
  ]);
  const say = (message: object): void => server.sockets.at(-1)!.send(JSON.stringify(message));
  const eth = (type: string, sequence: number, before: number | null): object => ({
    ...trades(type, sequence, before),
    symbol: "ETH-PERP",
  });
  say(trades("SNAPSHOT", 5, null));
  say(eth("SNAPSHOT", 6, null));
  await stream.ping();
  const ended = stream.unsubscribe([{ channel: "trades", symbol: "ETH-PERP" }]);
  // These were on the way.
  say(eth("UPDATE", 8, 6));
  say(eth("SNAPSHOT", 9, null));
  say(trades("UPDATE", 7, 5));
  await ended;
  await stream.ping();
  assert.deepEqual(got, ["BTC-PERP 5", "ETH-PERP 6", "BTC-PERP 7"]);
  assert.deepEqual(
    server.requests.filter(({ op }) => op === "unsubscribe").map(({ channels }) => channels),
    [[{ channel: "trades", symbol: "ETH-PERP" }]],
  );
  const before = server.requests.length;
  server.sockets[0]!.terminate();
  await server.requestCount(before + 2);
  assert.deepEqual(server.requests.at(-1)?.channels, [
    { channel: "balance" },
    { channel: "trades", symbol: "BTC-PERP", resume: 7 },
  ]);
});

test("a channel that is subscribed to again begins with its snapshot", async () => {
  const got: number[] = [];
  stream = client.stream([], { onMessage: ({ sequence }) => got.push(sequence) });
  await stream.ready;
  const channels: ChannelRequest[] = [{ channel: "trades", symbol: "BTC-PERP" }];
  await stream.subscribe(channels);
  const say = (message: object): void => server.sockets[0]!.send(JSON.stringify(message));
  say(trades("SNAPSHOT", 5, null));
  await stream.ping();
  await stream.unsubscribe(channels);
  const again = stream.subscribe(channels);
  say(trades("UPDATE", 7, 5));
  await again;
  say(trades("HEARTBEAT", 9, null));
  say(trades("SNAPSHOT", 10, null));
  say(trades("UPDATE", 11, 10));
  await stream.ping();
  assert.deepEqual(got, [5, 10, 11]);
});

test("channels that are asked for before a connection, or without one, come with it", async () => {
  stream = client.stream([], { onMessage() {} });
  await stream.subscribe([{ channel: "trades", symbol: "BTC-PERP" }]);
  await stream.subscribe([{ channel: "trades", symbol: "ETH-PERP" }]);
  await stream.unsubscribe([{ channel: "trades", symbol: "ETH-PERP" }]);
  await stream.ready;
  assert.deepEqual(
    server.requests.map(({ op, channels }) => ({ op, channels })),
    [
      { op: "auth", channels: undefined },
      { op: "subscribe", channels: [{ channel: "trades", symbol: "BTC-PERP" }] },
    ],
  );
  // The connection is lost with a request on the way.
  server.answer = (request) => (request.op === "subscribe" ? null : accept(request));
  const asked = stream.subscribe([{ channel: "trades", symbol: "SOL-PERP" }]);
  await server.requestCount(3);
  server.answer = accept;
  server.sockets[0]!.terminate();
  await asked;
  await server.requestCount(5);
  assert.deepEqual(
    server.requests.at(-1)?.channels?.map(({ symbol }) => symbol),
    ["BTC-PERP", "SOL-PERP"],
  );
});

test("a further channel that is refused changes nothing", async () => {
  const errors: PerpdError[] = [];
  stream = client.stream([{ channel: "balance" }], { onMessage() {}, onError: (error) => errors.push(error) });
  await stream.ready;
  server.answer = ({ id }) => ({
    op: "error",
    id,
    code: "UNKNOWN_SYMBOL",
    message: "no such symbol",
    retryable: false,
  });
  await assert.rejects(stream.subscribe([{ channel: "trades", symbol: "NO-PERP" }]), { code: "UNKNOWN_SYMBOL" });
  server.answer = accept;
  await stream.ping();
  server.sockets[0]!.terminate();
  await server.requestCount(6);
  assert.deepEqual(server.requests.at(-1)?.channels, [{ channel: "balance" }]);
  assert.deepEqual(errors, []);
  stream.close();
  await assert.rejects(stream.subscribe([{ channel: "balance" }]), { code: "DISCONNECTED", retryable: false });
});
