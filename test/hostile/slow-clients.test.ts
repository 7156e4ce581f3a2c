import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import type { ChannelRequest } from "../../src/client/types.ts";
import { readToEnd, textFrame, upgrade } from "../e2e/support/raw-socket.ts";
import { startServer, type TestServer } from "../e2e/support/server.ts";
import { SocketClient } from "../e2e/support/socket.ts";
import { Operator, openTrader, type Trader } from "../e2e/support/trader.ts";

const STALLED = 100;
const IDLE = 1500;
/** uWebSockets.js closes them after about 12 s. */
const IDLE_DEADLINE_MS = 60_000;
/** The limit for each that has not been cut off yet (256 kB), what was on its way, and the server's own garbage. */
const STALLED_BYTES = 300_000 + 2 ** 27 / STALLED;

let server: TestServer;
let operator: Operator;
let alice: Trader;
/** Watches during everything that happens to the others. */
let witness: SocketClient;

const BOOK = { channel: "orderbook", symbol: "BTC-PERP", depth: 1000 } as const;
/** Each answer holds the whole book five times: about 100 kB. */
const BOOKS: ChannelRequest[] = [0, 100, 250, 500, 1000].map((updateMs) => ({ ...BOOK, updateMs }));
/** More than a kernel buffers. */
const TIMES = 60;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  alice = await openTrader(server);
  witness = await SocketClient.open(server.wsUrl);
  await Promise.all(Array.from({ length: 900 }, (_, i) => alice.buy("0.001", String(20_000 + i))));
});

after(async () => {
  assert.equal((await witness.request("ping")).op, "pong", "the witness has heard everything");
  await operator.soundAudit();
  assert.doesNotMatch(server.stderr, /"level":(50|60)/);
  await server.dispose();
});

test("a client that does not keep up is told so and closed", async () => {
  const slow = await SocketClient.open(server.wsUrl);
  slow.socket.pause();
  for (let i = 0; i < TIMES; i++) slow.send({ op: "subscribe", channels: BOOKS });
  // What its sender asks for behind that is served while it sleeps.
  const order = await alice.buy("0.001", "21000");
  await alice.cancel(order.orderId);
  slow.socket.resume();
  assert.deepEqual(await slow.closed, { code: 1013, reason: "SLOW_CONSUMER" });
  assert.ok(slow.messages.length < TIMES * (BOOKS.length + 1), "not everything was sent");
});

test("many that stop reading cost the others nothing, and little memory", async (t) => {
  const healthy = await SocketClient.open(server.wsUrl);
  await healthy.subscribe(BOOK);
  const bytesBefore = memoryBytes();
  const stalled: Socket[] = [];
  t.after(() => stalled.forEach((socket) => void socket.destroy()));
  const asking = Buffer.concat(Array.from({ length: TIMES }, () => textFrame({ op: "subscribe", channels: BOOKS })));
  for (let i = 0; i < STALLED; i++) {
    const socket = await upgrade(server.port);
    stalled.push(socket);
    socket.write(asking);
    if (i % 10 > 0) continue;
    // Orders are taken, and told to whoever listens.
    const order = await alice.buy("0.001", String(21_000 + i));
    await healthy.find("the change", (message) => message.sequence === order.sequence);
  }
  assert.equal((await healthy.request("ping")).op, "pong");
  const grownBytes = memoryBytes() - bytesBefore;
  t.diagnostic(`${STALLED} stalled clients: ${(grownBytes / 2 ** 20).toFixed(0)} MB`);
  assert.ok(grownBytes < STALLED * STALLED_BYTES, `${grownBytes} bytes for ${STALLED} clients`);
  await Promise.all(stalled.map(readToEnd));
  await healthy.close();
});

test("connections that say nothing, too little or nothing any more are closed, and nobody notices", async (t) => {
  const body = `POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.token}\r\nContent-Length: 90\r\n\r\n`;
  const kinds: Record<string, string> = {
    silent: "",
    "half a line": "GET /v1/ti",
    "half a head": "GET /v1/time HTTP/1.1\r\nHost: x\r\nX-More: ",
    "half a body": `${body}{"symbol":`,
    "after an answer": "GET /v1/time HTTP/1.1\r\nHost: x\r\n\r\n",
  };
  const starts = Object.values(kinds);
  const sockets = await Promise.all(Array.from({ length: IDLE }, () => open(server.port)));
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  const ends = sockets.map((socket, i) => {
    socket.write(starts[i % starts.length] ?? "");
    return readToEnd(socket);
  });
  // Those that drip keep on dripping: each byte comes long before any silence is long enough.
  const dripping = setInterval(() => {
    for (const [i, socket] of sockets.entries()) if (i % 10 === 2 && !socket.closed) socket.write("x");
  }, 500);
  t.after(() => clearInterval(dripping));
  for (let i = 0; i < 20; i++) {
    const order = await alice.buy("0.001", "21000");
    await alice.cancel(order.orderId);
  }
  await within(IDLE_DEADLINE_MS, `the end of ${IDLE} idle connections`, Promise.all(ends));
  const late = String(await ends[starts.indexOf(kinds["half a body"] ?? "")]);
  assert.match(late, /^HTTP\/1\.1 408 /);
  assert.match(late, /"code":"REQUEST_TIMEOUT"/);
});

test("a flood of subscriptions is refused one by one, and one of connections is served", async (t) => {
  const client = await SocketClient.open(server.wsUrl);
  t.after(() => client.close());
  const symbols = ["BTC-PERP", "ETH-PERP", "SOL-PERP"];
  const depths = [1, 5, 10, 20, 25, 50, 100, 200, 500, 1000];
  const paces = [0, 100, 250, 500, 1000];
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
  // Asked for again and again, each is sent anew.
  const small = all.filter(({ depth }) => depth <= 10);
  for (let i = 0; i < 300; i++) {
    client.send({ op: "subscribe", channels: small });
    client.send({ op: "unsubscribe", channels: small.slice(i % small.length) });
  }
  assert.equal((await client.request("ping")).op, "pong");
  const many = await Promise.all(Array.from({ length: 300 }, () => upgrade(server.port)));
  const pong = Promise.all(many.map((socket) => new Promise((resolve) => socket.resume().once("data", resolve))));
  for (const socket of many) socket.write(textFrame({ op: "ping" }));
  await within(IDLE_DEADLINE_MS, "300 pongs", pong);
  for (const socket of many) socket.destroy();
});

function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.removeListener("error", reject).on("error", () => {});
      resolve(socket);
    });
  });
}

async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** What the server's process has taken, files that are mapped left out. */
function memoryBytes(): number {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  return 1024 * Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
}
