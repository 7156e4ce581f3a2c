import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, type TestContext, test } from "node:test";
import { type WebSocket as ServerSocket, WebSocket, WebSocketServer } from "ws";
import { PerpdClient } from "../../src/client/client.ts";
import { isOutcomeUnknown, PerpdError } from "../../src/client/error.ts";
import type { Stream } from "../../src/client/stream.ts";
import type { ChannelMessage, ChannelRequest } from "../../src/client/types.ts";

interface Request {
  op: string;
  id: number;
  channels?: ChannelRequest[];
  signature?: string;
}

/** A server that notes requests and answers them as the test says. */
let server: WebSocketServer;
let client: PerpdClient;
let stream: Stream | null = null;
let requests: Request[] = [];
let sockets: ServerSocket[] = [];
let answer: (request: Request) => object | null = () => null;
/** What it says over HTTP in the place of opening a WebSocket, or null. */
let refusal: { status: number; text?: string; headers?: Record<string, string> } | null = null;
let refused = 0;
const waiters: (() => void)[] = [];

beforeEach(async () => {
  refusal = null;
  refused = 0;
  requests = [];
  sockets = [];
  answer = ({ op, id, channels }) => ({ op: op === "auth" ? "authenticated" : `${op}d`, id, ...subscribed(channels) });
  server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    verifyClient: (_request, callback) => {
      if (refusal === null) return callback(true);
      refused++;
      callback(false, refusal.status, refusal.text, refusal.headers);
    },
  });
  await once(server, "listening");
  server.on("connection", (socket) => {
    sockets.push(socket);
    socket.on("message", (data) => {
      const request = JSON.parse(String(data)) as Request;
      requests.push(request);
      const reply = answer(request);
      if (reply !== null) socket.send(JSON.stringify(reply));
      for (const wake of waiters.splice(0)) wake();
    });
  });
  const { port } = server.address() as AddressInfo;
  client = new PerpdClient({ baseUrl: `http://127.0.0.1:${port}/v1`, token: "T", WebSocket });
});

afterEach(() => {
  stream?.close();
  for (const socket of server.clients) socket.terminate();
  server.close();
});

/** What the exchange says of it: with the defaults of what is left out. */
function subscribed(channels: ChannelRequest[] | undefined): { channels?: ChannelRequest[] } {
  if (channels === undefined) return {};
  return { channels: channels.map(({ resume: _, ...names }) => ({ ...defaultsOf(names), ...names })) };
}

const defaultsOf = ({ channel }: ChannelRequest): object =>
  channel === "orderbook" ? { depth: 100, updateMs: 0 } : channel === "ticker" ? { updateMs: 1000 } : {};

/** A refusal, since the exchange has too much to do. */
const busy = (id: number, retryAfterMs: number): object => ({
  op: "error",
  id,
  code: "RATE_LIMITED",
  message: "wait",
  retryable: true,
  details: { retryAfterMs },
});

async function requestCount(count: number): Promise<void> {
  while (requests.length < count) await new Promise<void>((resolve) => waiters.push(resolve));
}

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
    requests.map(({ id: _, ...request }) => request),
    [
      { op: "auth", token: "T" },
      { op: "subscribe", channels: [{ channel: "trades", symbol: "BTC-PERP" }] },
    ],
  );
  sockets[0]!.send(JSON.stringify(trades("SNAPSHOT", 5, null)));
  sockets[0]!.send(JSON.stringify(trades("HEARTBEAT", 5, null)));
  sockets[0]!.send(JSON.stringify(trades("UPDATE", 9, 5)));
  await two;
  assert.deepEqual(got, [5, 9]);
});

test("ping resolves with the server's time", async () => {
  const answered = answer;
  answer = (request) => (request.op === "ping" ? { op: "pong", id: request.id, serverTime: 42 } : answered(request));
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
    const socket = sockets[0]!;
    socket.send(JSON.stringify(trades("SNAPSHOT", 5, null)));
    socket.send(JSON.stringify(message));
    await requestCount(3);
    assert.deepEqual(requests[2]?.channels, [{ channel: "trades", symbol: "BTC-PERP" }]);
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
  sockets[0]!.terminate();
  await requestCount(4);
  assert.equal(disconnects, 1);
  assert.deepEqual(
    requests.map(({ op }) => op),
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
  sockets[0]!.send(JSON.stringify(trades("SNAPSHOT", 5, null)));
  sockets[0]!.send(JSON.stringify(trades("UPDATE", 9, 5)));
  await stream!.ping();
  sockets[0]!.terminate();
  await requestCount(5);
  assert.deepEqual(requests.at(-1)?.channels, [
    { channel: "trades", symbol: "BTC-PERP", resume: 9 },
    { channel: "orderbook", symbol: "BTC-PERP", depth: 5, updateMs: 0 },
  ]);
  sockets[1]!.send(JSON.stringify(trades("UPDATE", 12, 9)));
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
  assert.deepEqual(requests.at(-1)?.channels, [{ channel: "trades", symbol: "BTC-PERP", resume: 5 }]);
  for (const message of [trades("HEARTBEAT", 5, null), trades("UPDATE", 9, 5), trades("UPDATE", 12, 9)])
    sockets[0]!.send(JSON.stringify(message));
  await stream.ping();
  assert.deepEqual(got, [9, 12]);
  // From here on as ever: a gap brings a snapshot.
  sockets[0]!.send(JSON.stringify(trades("UPDATE", 20, 17)));
  await requestCount(4);
  assert.deepEqual(requests.at(-1)?.channels, [{ channel: "trades", symbol: "BTC-PERP" }]);
  assert.deepEqual(got, [9, 12]);
  // Until the snapshot nothing is in step.
  sockets[0]!.send(JSON.stringify(trades("HEARTBEAT", 20, null)));
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
  for (const each of messages) sockets[0]!.send(JSON.stringify(each));
  await stream.ping();
  sockets[0]!.terminate();
  await requestCount(5);
  assert.deepEqual(requests.at(-1)?.channels, [
    { ...book, depth: 100, updateMs: 0, resume: 9 },
    { ...book, depth: 5, updateMs: 0, resume: 8 },
    { ...book, depth: 100, updateMs: 500, resume: 7 },
  ]);
  for (const each of messages) {
    stream.resync(each);
    await requestCount(requests.length + 1);
  }
  assert.deepEqual(
    requests.slice(5).map(({ channels }) => channels),
    [[{ ...book, depth: 100, updateMs: 500 }], [{ ...book, depth: 5 }], [{ ...book, depth: 100 }]],
  );
});

test("ping rejects without a connection, and when the connection is lost", async () => {
  const refused = { name: "PerpdError", code: "DISCONNECTED", retryable: true };
  stream = client.stream([{ channel: "balance" }], { onMessage() {} });
  await assert.rejects(stream.ping(), refused);
  await stream.ready;
  const answered = answer;
  answer = (request) => {
    if (request.op === "ping") sockets[0]!.terminate();
    return answered(request);
  };
  await assert.rejects(stream.ping(), refused);
  await assert.rejects(stream.ping(), refused);
  await requestCount(5);
  stream.close();
  await assert.rejects(stream.ping(), { ...refused, message: /closed/, retryable: false });
});

const DEAD_AFTER_MS = 100;
const HOUR_MS = 3_600_000;

/** What a stream does when nothing has come for half of that, at the test's word alone: no machine is too slow for it. */
function silence(t: TestContext): () => void {
  const { setTimeout } = globalThis;
  let look = (): void => {};
  const atOurWord = (call: () => void, ms: number) => {
    if (ms !== DEAD_AFTER_MS / 2) return setTimeout(call, ms);
    look = call;
    return setTimeout(call, HOUR_MS);
  };
  t.mock.method(globalThis, "setTimeout", atOurWord);
  return () => look();
}

test("a silent connection is pinged, and kept when it answers", async (t) => {
  const hearNothing = silence(t);
  let disconnects = 0;
  const handlers = { onMessage() {}, onDisconnect: () => disconnects++ };
  stream = client.stream([{ channel: "balance" }], handlers, { deadAfterMs: DEAD_AFTER_MS });
  await stream.ready;
  for (let asked = 1; asked <= 3; asked++) {
    hearNothing();
    await requestCount(2 * asked + 1);
    // Its answer comes behind that of the first one.
    await stream.ping();
  }
  assert.deepEqual(
    requests.map(({ op }) => op),
    ["auth", "subscribe", ...Array(6).fill("ping")],
  );
  assert.deepEqual(Object.keys(requests[0] as object), ["op", "id", "token"]);
  assert.equal(disconnects, 0);
});

test("a dead connection that never closes is replaced", async (t) => {
  const hearNothing = silence(t);
  const lost = new Promise<void>((resolve) => {
    const handlers = { onMessage() {}, onDisconnect: () => resolve() };
    stream = client.stream([{ channel: "balance" }], handlers, { deadAfterMs: DEAD_AFTER_MS });
  });
  await stream!.ready;
  sockets[0]!.pause();
  for (let times = 0; times < 2; times++) hearNothing();
  const order = stream!.placeOrder({ symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" });
  await assert.rejects(order, { code: "DISCONNECTED", message: /lost/ });
  await lost;
  await requestCount(4);
  assert.deepEqual(
    requests.map(({ op }) => op),
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
    while (sockets.length < connection) await requestCount(requests.length + 1);
    await once(sockets[connection - 1] as ServerSocket, "pong");
    now += stoodMs;
    sockets[connection - 1]?.terminate();
  };
  // Behind the answer, so that whose pong has come is subscribed.
  const pingBehind = (socket: ServerSocket) =>
    socket.on("message", (text) => {
      if (String(text).includes("subscribe")) socket.ping();
    });
  server.on("connection", pingBehind);
  stream = client.stream([{ channel: "balance" }], { onMessage() {} });
  for (const [i, stoodMs] of [0, 0, 0, 0, 0, 0, 6000].entries()) await cut(i + 1, stoodMs);
  while (sockets.length < 8) await requestCount(requests.length + 1);
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
  answer = ({ id }) => ({ op: "error", id, code: "TOKEN_INVALID", message: "no", retryable: false });
  const errors: string[] = [];
  stream = client.stream([{ channel: "balance" }], { onMessage() {}, onError: ({ code }) => errors.push(code) });
  await assert.rejects(stream.ready, { name: "PerpdError", code: "TOKEN_INVALID" });
  assert.deepEqual(errors, ["TOKEN_INVALID"]);
  assert.equal(requests.length, 1);
  // What is tried then says why it cannot be, and not that it might be in a moment.
  const refused = { name: "PerpdError", code: "TOKEN_INVALID", retryable: false };
  await assert.rejects(stream.ping(), refused);
  await assert.rejects(stream.cancelOrders(), refused);
  stream.close();
  await assert.rejects(stream.ping(), refused);
});

test("a message from something other than perpd ends the stream, and the program continues", async () => {
  for (const said of ["hello", "", "null", "7", "[]", '"op"', "{}"]) {
    answer = () => null;
    const errors: string[] = [];
    stream = client.stream([{ channel: "balance" }], { onMessage() {}, onError: ({ code }) => errors.push(code) });
    await requestCount(1);
    sockets[0]!.send(said);
    await assert.rejects(stream.ready, { name: "PerpdError", code: "NOT_PERPD", retryable: false });
    assert.deepEqual(errors, ["NOT_PERPD"]);
    [requests, sockets] = [[], []];
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
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  stream = new PerpdClient({ baseUrl, token: "T", WebSocket: Closing }).stream([{ channel: "balance" }], {
    onMessage() {},
    onDisconnect: ({ code }) => lost.push(code),
  });
  await stream.ready;
  const before = requests.length;
  sockets[0]!.send('{"channel":"bal');
  await requestCount(2 * before);
  assert.deepEqual(lost, ["NOT_PERPD"]);
  await whileClosing;
  await stream.ping();
});

test("a request whose reply is lost on a living connection ends, its outcome unknown", async () => {
  let disconnects = 0;
  const handlers = { onMessage() {}, onDisconnect: () => disconnects++ };
  stream = client.stream([{ channel: "balance" }], handlers, { timeoutMs: 2000 });
  await stream.ready;
  const answered = answer;
  answer = (request) => (request.op === "order.cancel" ? null : answered(request));
  const lost = await stream.cancelOrder({ orderId: "1" }).catch((error: PerpdError) => error);
  assert.ok(lost instanceof PerpdError && lost.code === "TIMEOUT" && isOutcomeUnknown(lost));
  // The reply that comes too late belongs to nobody.
  sockets[0]!.send(JSON.stringify({ op: "order.canceled", id: requests.at(-1)?.id }));
  await stream.ping();
  assert.equal(disconnects, 0);
});

test("a stream whose authentication is not answered connects again", async () => {
  const answered = answer;
  answer = () => null;
  const lost = new Promise<PerpdError>((onDisconnect) => {
    stream = client.stream([{ channel: "balance" }], { onMessage() {}, onDisconnect }, { timeoutMs: 100 });
  });
  assert.equal((await lost).code, "TIMEOUT");
  answer = answered;
  await stream!.ready;
});

test("close() rejects pending requests with an error that is not retryable", async () => {
  stream = client.stream([{ channel: "balance" }], { onMessage() {} });
  await stream.ready;
  answer = () => null;
  const order = stream.placeOrder({ symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" });
  await requestCount(3);
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
  const closed = once(sockets[0]!, "close");
  for (const each of [trades("SNAPSHOT", 5, null), trades("UPDATE", 9, 5), trades("UPDATE", 12, 9)])
    sockets[0]!.send(JSON.stringify(each));
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
  answer = ({ id }) => ({ op: "error", id, code: "PERMISSION_DENIED", message: "no", retryable: false });
  const closed = once(sockets[0]!, "close");
  for (const each of [trades("SNAPSHOT", 5, null), trades("UPDATE", 12, 10), trades("SNAPSHOT", 20, null)])
    sockets[0]!.send(JSON.stringify(each));
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
    sockets[0]!.send(JSON.stringify({ channel, type, sequence, prevSequence, data: [] }));
  await stream.ready;
  const answered = answer;
  const refusal = { op: "error", message: "wait", retryable: true, details: { retryAfterMs: 20 } };
  answer = (request) => {
    if (requests.length === 3) return { ...refusal, id: request.id, code: "RATE_LIMITED" };
    if (requests.length === 4) return { ...refusal, id: request.id, code: "OVERLOADED" };
    return answered(request);
  };
  for (const channel of ["trades", "liquidations"]) send(channel, "SNAPSHOT", 5, null);
  await messageCount(2);
  stream.resync({ channel: "trades" });
  await requestCount(3);
  send("trades", "UPDATE", 6, 5);
  send("liquidations", "UPDATE", 6, 5);
  await requestCount(5);
  send("trades", "SNAPSHOT", 7, null);
  await messageCount(4);
  assert.deepEqual(got, ["trades 5", "liquidations 5", "liquidations 6", "trades 7"]);
  assert.deepEqual(
    requests.slice(2).map(({ channels }) => channels),
    [[{ channel: "trades" }], [{ channel: "trades" }], [{ channel: "trades" }]],
  );
  assert.equal(sockets.length, 1);
});

test("a resync is not repeated for a stream that has its snapshot, or that was left", async () => {
  const channels: ChannelRequest[] = [
    { channel: "trades", symbol: "BTC-PERP" },
    { channel: "liquidations" },
    { channel: "trades", symbol: "ETH-PERP" },
  ];
  stream = client.stream(channels, { onMessage() {}, onError: assert.fail });
  await stream.ready;
  const answered = answer;
  answer = ({ op, id }) =>
    // It comes with the refusals, before their wait can end.
    op === "ping" ? trades("SNAPSHOT", 5, null) : busy(id, 50);
  for (const channel of channels) stream.resync(channel);
  stream.ping().catch(() => {});
  await requestCount(6);
  answer = answered;
  await stream.unsubscribe([{ channel: "liquidations" }]);
  await requestCount(8);
  assert.deepEqual(
    requests.slice(5).map(({ op, channels }) => [op, channels]),
    [
      ["ping", undefined],
      ["unsubscribe", [{ channel: "liquidations" }]],
      ["subscribe", [{ channel: "trades", symbol: "ETH-PERP" }]],
    ],
  );
});

test("a resync is not repeated on a new connection, which subscribes to everything anyway", async () => {
  stream = client.stream([{ channel: "trades" }], { onMessage() {}, onError: assert.fail });
  await stream.ready;
  const answered = answer;
  answer = ({ id }) => busy(id, 1000);
  stream.resync({ channel: "trades" });
  await stream.ping().catch(() => {});
  answer = answered;
  sockets[0]!.terminate();
  await requestCount(6);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.deepEqual(
    requests.slice(4).map(({ op }) => op),
    ["auth", "subscribe"],
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
  const answered = answer;
  answer = (request) =>
    requests.length === 3
      ? { op: "error", id: request.id, code: "NOT_READY", message: "wait", retryable: true }
      : answered(request);
  stream.resync({ channel: "trades", symbol: "BTC-PERP" });
  await requestCount(5);
  assert.deepEqual(
    requests.map(({ op }) => op),
    ["auth", "subscribe", "subscribe", "auth", "subscribe"],
  );
  assert.deepEqual(reasons, ["NOT_READY"]);
  // Without a connection there is nothing to refuse.
  sockets[1]!.terminate();
  await assert.rejects(stream.ping(), { retryable: true });
  stream.resync({ channel: "trades", symbol: "BTC-PERP" });
  await requestCount(7);
});

test("`auth` is signed again when its signature was used before, since it changes nothing", async () => {
  const port = (server.address() as AddressInfo).port;
  const keyed = new PerpdClient({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "K", secret: "S", WebSocket });
  const answered = answer;
  answer = (request) =>
    requests.length === 1
      ? { op: "error", id: request.id, code: "SIGNATURE_REPLAYED", retryable: false }
      : answered(request);
  const errors: string[] = [];
  stream = keyed.stream([{ channel: "balance" }], { onMessage() {}, onError: ({ code }) => errors.push(code) });
  await stream.ready;
  assert.deepEqual(
    requests.map(({ op }) => op),
    ["auth", "auth", "subscribe"],
  );
  assert.notEqual(requests[0]?.signature, requests[1]?.signature);
  assert.deepEqual(errors, []);
});

/** Resolves with the reason of each try to connect that came to nothing, or with what ended the stream. */
function reasons(of: PerpdClient, count: number): Promise<PerpdError[]> {
  const got: PerpdError[] = [];
  return new Promise((resolve) => {
    stream = of.stream([{ channel: "balance" }], {
      onMessage() {},
      onDisconnect: (reason) => {
        if (got.push(reason) === count) resolve(got);
      },
      onError: (error) => resolve([error]),
    });
  });
}

test("a permanent handshake refusal ends the stream with the server's reason", async () => {
  const said = (status: number): object => ({ status, code: "NOT_PERPD", message: new RegExp(`\\(${status}\\b`) });
  const moved = { Location: "https://perpd.example/v1/ws" };
  const own = JSON.stringify({ code: "UPGRADE_REQUIRED", message: "This path speaks WebSocket.", retryable: false });
  const cases: [refusal: NonNullable<typeof refusal>, error: object][] = [
    [{ status: 404, text: "<html>no such page</html>" }, said(404)],
    [{ status: 401 }, said(401)],
    [{ status: 403, text: "null" }, said(403)],
    [{ status: 200, text: "<html>It works!</html>" }, said(200)],
    [
      { status: 301, headers: moved },
      { status: 301, code: "NOT_PERPD", message: /\(301, redirect to https:\/\/perpd\.example\/v1\/ws\)/ },
    ],
    [
      { status: 426, text: own },
      { status: 426, code: "UPGRADE_REQUIRED", message: /speaks WebSocket/ },
    ],
  ];
  for (const [each, error] of cases) {
    refusal = each;
    const [reason] = await reasons(client, 1);
    assert.throws(() => {
      throw reason;
    }, error);
    await assert.rejects(stream!.ready, error);
    await assert.rejects(stream!.ping(), error);
  }
  assert.equal(refused, cases.length);
});

test("a temporary handshake refusal is retried, and the reason is reported", async () => {
  const busy = { code: "TOO_MANY_SOCKETS", message: "This address has too many.", retryable: true };
  const cases: [refusal: NonNullable<typeof refusal>, code: string][] = [
    [{ status: 502, text: "<html>Bad Gateway</html>" }, "NOT_PERPD"],
    [{ status: 429, text: JSON.stringify(busy) }, "TOO_MANY_SOCKETS"],
    [{ status: 429 }, "NOT_PERPD"],
  ];
  for (const [each, code] of cases) {
    refusal = each;
    const told = await reasons(client, 2);
    assert.deepEqual(
      told.map((reason) => [reason.status, reason.code]),
      Array(2).fill([each.status, code]),
    );
    refusal = null;
    await stream!.ready;
    stream!.close();
  }
});

test("a stream that was connected before retries after any refusal", async () => {
  const lost = reasons(client, 3);
  await stream!.ready;
  refusal = { status: 404, text: "<html>being deployed</html>" };
  sockets[0]!.close(1001, "GOING_AWAY");
  const [first, ...others] = await lost;
  assert.match(String(first?.message), /the connection was lost: GOING_AWAY/);
  assert.deepEqual(
    others.map(({ status }) => status),
    [404, 404],
  );
  refusal = null;
  await requestCount(4);
});

test("a handshake refusal is read even when it is endless or truncated", async (t) => {
  const cases: RequestListener[] = [
    (_request, response) => response.writeHead(404).write("x".repeat(100_000)),
    (_request, response) => response.writeHead(404).write("x", () => response.destroy()),
  ];
  for (const listener of cases) {
    const other = await clientOf(t, listener);
    assert.deepEqual(
      (await reasons(other, 1)).map(({ status, code }) => [status, code]),
      [[404, "NOT_PERPD"]],
    );
  }
});

/** A client of a server that opens no WebSocket. */
async function clientOf(t: TestContext, listener: RequestListener): Promise<PerpdClient> {
  const other = createServer(listener);
  t.after(() => {
    other.close();
    other.closeAllConnections();
  });
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  return new PerpdClient({ baseUrl: `http://127.0.0.1:${(other.address() as AddressInfo).port}/v1`, WebSocket });
}

test("a refused connection is reported as the reason", async () => {
  const nowhere = new PerpdClient({ baseUrl: "http://127.0.0.1:2/v1", WebSocket });
  const [reason] = await reasons(nowhere, 1);
  assert.equal(reason?.code, "DISCONNECTED");
  assert.match(reason.message, /no connection could be made: connect ECONNREFUSED 127\.0\.0\.1:2/);
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
  const say = (message: object): void => sockets.at(-1)!.send(JSON.stringify(message));
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
    requests.filter(({ op }) => op === "unsubscribe").map(({ channels }) => channels),
    [[{ channel: "trades", symbol: "ETH-PERP" }]],
  );
  const before = requests.length;
  sockets[0]!.terminate();
  await requestCount(before + 2);
  assert.deepEqual(requests.at(-1)?.channels, [
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
  const say = (message: object): void => sockets[0]!.send(JSON.stringify(message));
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
    requests.map(({ op, channels }) => ({ op, channels })),
    [
      { op: "auth", channels: undefined },
      { op: "subscribe", channels: [{ channel: "trades", symbol: "BTC-PERP" }] },
    ],
  );
  // The connection is lost with a request on the way.
  const answered = answer;
  answer = (request) => (request.op === "subscribe" ? null : answered(request));
  const asked = stream.subscribe([{ channel: "trades", symbol: "SOL-PERP" }]);
  await requestCount(3);
  answer = answered;
  sockets[0]!.terminate();
  await asked;
  await requestCount(5);
  assert.deepEqual(
    requests.at(-1)?.channels?.map(({ symbol }) => symbol),
    ["BTC-PERP", "SOL-PERP"],
  );
});

test("a further channel that is refused changes nothing", async () => {
  const errors: PerpdError[] = [];
  stream = client.stream([{ channel: "balance" }], { onMessage() {}, onError: (error) => errors.push(error) });
  await stream.ready;
  const answered = answer;
  answer = ({ id }) => ({ op: "error", id, code: "UNKNOWN_SYMBOL", message: "no such symbol", retryable: false });
  await assert.rejects(stream.subscribe([{ channel: "trades", symbol: "NO-PERP" }]), { code: "UNKNOWN_SYMBOL" });
  answer = answered;
  await stream.ping();
  sockets[0]!.terminate();
  await requestCount(6);
  assert.deepEqual(requests.at(-1)?.channels, [{ channel: "balance" }]);
  assert.deepEqual(errors, []);
  stream.close();
  await assert.rejects(stream.subscribe([{ channel: "balance" }]), { code: "DISCONNECTED", retryable: false });
});

test("an order that a standby refuses takes the stream to the leader, if the client knows its address", async () => {
  const leader = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(leader, "listening");
  const placed: string[] = [];
  leader.on("connection", (socket) =>
    socket.on("message", (data) => {
      const { op, id, channels } = JSON.parse(String(data)) as Request;
      placed.push(op);
      const type = op === "auth" ? "authenticated" : op === "order.place" ? "result" : `${op}d`;
      socket.send(JSON.stringify({ op: type, id, ...subscribed(channels), result: { orderId: "1" } }));
    }),
  );
  const urlOf = (of: WebSocketServer): string => `http://127.0.0.1:${(of.address() as AddressInfo).port}`;
  const normal = answer;
  answer = (request) =>
    request.op === "order.place"
      ? { op: "error", id: request.id, code: "NOT_LEADER", retryable: true, details: { leader: urlOf(leader) } }
      : normal(request);
  const both = new PerpdClient({ baseUrl: [`${urlOf(server)}/v1`, `${urlOf(leader)}/v1`], token: "T", WebSocket });
  const disconnects: PerpdError[] = [];
  stream = both.stream([{ channel: "orders" }], { onMessage: () => {}, onDisconnect: (why) => disconnects.push(why) });
  await stream.ready;
  const order = { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" } as const;
  await assert.rejects(stream.placeOrder(order), { code: "NOT_LEADER" });
  while (!placed.includes("subscribe")) await new Promise((resolve) => setTimeout(resolve, 10));
  await stream.placeOrder(order);
  assert.deepEqual(
    disconnects.map(({ code }) => code),
    ["NOT_LEADER"],
  );
  assert.deepEqual(placed, ["auth", "subscribe", "order.place"]);
  stream.close();
  leader.close();
});

test("with one address a stream stays where its order was refused", async () => {
  const normal = answer;
  answer = (request) =>
    request.op === "order.place"
      ? { op: "error", id: request.id, code: "NOT_LEADER", retryable: true, details: { leader: "http://leader" } }
      : normal(request);
  stream = client.stream([{ channel: "orders" }], { onMessage: () => {} });
  await stream.ready;
  const order = { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" } as const;
  for (let i = 0; i < 2; i++) await assert.rejects(stream.placeOrder(order), { code: "NOT_LEADER" });
  assert.equal(sockets.length, 1);
});
