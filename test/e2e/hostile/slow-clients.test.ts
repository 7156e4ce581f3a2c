import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ChannelRequest } from "../../../src/client/types.ts";
import { ANSWERS, BOOKS, fillBook, IDLE, STALLED, TIMES, within } from "../../fuzz/hostile/stuck-clients.ts";
import { textFrame, upgrade } from "../support/raw-socket.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";

const DEADLINE_MS = 60_000;

test("many clients that stop reading are dropped, without delaying others or using much memory", (t) =>
  STALLED.run(0, 50, (line) => t.diagnostic(line)));

test("silent, incomplete and idle connections are closed without affecting others", (t) =>
  IDLE.run(0, 1000, (line) => t.diagnostic(line)));

let server: TestServer;
let operator: Operator;
let alice: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  alice = await openTrader(server);
  await fillBook(alice);
});

after(async () => {
  await operator.soundAudit();
  assert.deepEqual(server.loggedErrors, []);
  await server.dispose();
});

/** More than a kernel buffers is asked for, and none of it read. */
async function askWithoutReading(): Promise<SocketClient> {
  const slow = await SocketClient.open(server.wsUrl);
  slow.socket.pause();
  // Mostly when the last one was served, or it is served once for both.
  for (let i = 0; i < 3 * TIMES; i++) {
    slow.send({ op: "subscribe", channels: BOOKS });
    await pause(5);
  }
  return slow;
}

test("a slow client gets what its connection takes, and the rest when it reads", async (t) => {
  const slow = await askWithoutReading();
  t.after(() => slow.close());
  slow.socket.resume();
  assert.equal((await slow.request("ping")).op, "pong");
  const last = slow.messages.findLastIndex(({ op }) => op === "subscribed");
  const isServed = (updateMs: number): boolean =>
    slow.messages.slice(last).some((message) => message.type === "SNAPSHOT" && (message.updateMs ?? 0) === updateMs);
  await until("a snapshot of each behind the last request", () => BOOKS.every(({ updateMs }) => isServed(updateMs)));
  assert.ok(slow.messages.length < 3 * TIMES * (BOOKS.length + 1), "not everything was sent");
});

test("a client that falls too far behind is notified and closed", async () => {
  const slow = await askWithoutReading();
  for (let i = 0; i < ANSWERS; i++) slow.send({ op: "subscribe", channels: BOOKS });
  // What its sender asks for behind that is served while it sleeps.
  const order = await alice.buy("0.001", "21000");
  await alice.cancel(order.orderId);
  slow.socket.resume();
  const closed = await within(DEADLINE_MS, "the close of a slow client", slow.closed);
  assert.deepEqual(closed, { code: 1013, reason: "SLOW_CONSUMER" });
});

test("excess subscriptions are refused one by one, and many connections are served", async (t) => {
  const client = await SocketClient.open(server.wsUrl);
  t.after(() => client.close());
  const symbols = ["BTC-PERP", "ETH-PERP", "SOL-PERP"];
  const depths = [1, 5, 10, 20, 25, 50, 100, 200, 500, 1000] as const;
  const paces = [0, 100, 250, 500, 1000] as const;
  const all = symbols.flatMap((symbol) =>
    depths.flatMap((depth) => paces.map((updateMs) => ({ channel: "orderbook" as const, symbol, depth, updateMs }))),
  );
  const intervals = ["1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"];
  const klines = symbols.flatMap((symbol) => intervals.map((interval) => ({ channel: "klines", symbol, interval })));
  await client.subscribe(...all);
  await client.subscribe(...(klines as ChannelRequest[]));
  const more = symbols.map((symbol) => ({ channel: "trades", symbol }));
  const refused = await client.request("subscribe", { channels: more });
  assert.equal(refused.code, "TOO_MANY_SUBSCRIPTIONS");
  // Asked for again and again: as often as it is served in between, it is sent anew.
  const small = all.filter(({ depth }) => depth <= 10);
  for (let i = 0; i < 300; i++) {
    client.send({ op: "subscribe", channels: small });
    client.send({ op: "unsubscribe", channels: small.slice(i % small.length) });
  }
  assert.equal((await client.request("ping")).op, "pong");
  const many = await Promise.all(Array.from({ length: 300 }, () => upgrade(server.port)));
  t.after(() => many.forEach((socket) => void socket.destroy()));
  const pongs = Promise.all(many.map((socket) => new Promise((resolve) => socket.resume().once("data", resolve))));
  for (const socket of many) socket.write(textFrame({ op: "ping" }));
  await within(DEADLINE_MS, "300 pongs", pongs);
});
