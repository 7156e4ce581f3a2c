import assert from "node:assert/strict";
import { connect, type Socket as NetSocket } from "node:net";
import { type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { listen } from "../../../src/front/http/server.ts";
import { OpenSockets, type RawSocket, Socket, type SocketHandlers } from "../../../src/front/http/sockets.ts";
import { frame, upgrade } from "../../e2e/support/raw-socket.ts";
import { until } from "../../e2e/support/wait.ts";

const PINGS_EVERY_MS = 15_000;
const SILENT_FOR_MS = 45_000;
/** A binary message, a close frame, and a close frame with an invalid code. */
const ENDS = [frame(0x82, Buffer.from("x")), frame(0x88, Buffer.from([3, 232])), frame(0x88, Buffer.from([3, 238]))];
const NO_LOG = { error: () => {} };
const IDLE: SocketHandlers = {
  admit: () => {},
  open: () => {},
  message: () => {},
  control: () => {},
  drain: () => {},
  close: () => {},
};

/** A clock that the test moves. */
function passTime(t: TestContext): (ms: number) => void {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  return (ms) => {
    nowMs += ms;
    t.mock.timers.tick(ms);
  };
}

test("a client that answers no ping is dropped; one that only listens is not", async (t) => {
  // Only the clock is simulated: server, connections and pings are real.
  const pass = passTime(t);
  const closed: Socket[] = [];
  const open: Socket[] = [];
  const sockets: SocketHandlers = {
    ...IDLE,
    open: (socket) => void open.push(socket),
    close: (socket) => void closed.push(socket),
  };
  const log = NO_LOG;
  const server = await listen({ host: "127.0.0.1", port: 0, socketPath: "/v1/ws", onCall: () => {}, sockets, log });
  t.after(() => server.close());

  const dead: NetSocket = await upgrade(server.port);
  t.after(() => dead.destroy());
  const listener = new WebSocket(`ws://127.0.0.1:${server.port}/v1/ws`);
  t.after(() => listener.terminate());
  let pings = 0;
  listener.on("ping", () => pings++);
  await until("both", () => open.length === 2);

  for (let ms = PINGS_EVERY_MS; ms <= SILENT_FOR_MS; ms += PINGS_EVERY_MS) {
    assert.deepEqual(closed, [], `nobody is dropped after ${ms - PINGS_EVERY_MS} ms`);
    pass(PINGS_EVERY_MS);
    await until("the ping, and its answer", () => ms === SILENT_FOR_MS || pings === ms / PINGS_EVERY_MS);
    await until("the answer", () => ms === SILENT_FOR_MS || open[1]?.lastReceivedAt === performance.now());
  }
  await until("the dead line's end", () => closed.length > 0);
  assert.deepEqual(closed, [open[0]]);
  assert.equal(listener.readyState, WebSocket.OPEN);
});

test("many sockets are pinged, and closed when silent, over several event-loop iterations", async (t) => {
  const pass = passTime(t);
  const sockets = new OpenSockets(IDLE, NO_LOG);
  t.after(() => sockets.closeAll());
  const pinged = new Set<Socket>();
  const closed = new Set<Socket>();
  const all = Array.from({ length: 2000 }, () => {
    const socket = new Socket("127.0.0.1");
    const close = () => {
      closed.add(socket);
      sockets.close(socket);
    };
    socket.attach({ ping: () => pinged.add(socket).size, close, end: close } as unknown as RawSocket);
    sockets.open(socket);
    return socket;
  });
  const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const isSpread = async (done: Set<Socket>, count: number): Promise<void> => {
    assert.ok(done.size > 0 && done.size < count, `${done.size} in the first iteration`);
    while (done.size < count) await nextTurn();
  };
  pass(PINGS_EVERY_MS);
  await isSpread(pinged, all.length);
  pass(PINGS_EVERY_MS);
  const lively = all.at(-1) as Socket;
  lively.lastReceivedAt = performance.now();
  pass(PINGS_EVERY_MS);
  await isSpread(closed, all.length - 1);
  await nextTurn();
  assert.equal(closed.has(lively), false);
});

test("setting the machine's clock ahead drops no client", (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "Date"] });
  const sockets = new OpenSockets(IDLE, NO_LOG);
  t.after(() => sockets.closeAll());
  const socket = new Socket("127.0.0.1");
  let drops = 0;
  socket.attach({ ping: () => 1, close: () => drops++, end: () => {} } as unknown as RawSocket);
  sockets.open(socket);
  // No client was silent for that long: setting the clock takes no time.
  t.mock.timers.setTime(3_600_000);
  t.mock.timers.tick(PINGS_EVERY_MS);
  assert.equal(drops, 0);
});

test("connections beyond the limit are closed at once, and each closed one makes room for another", async (t) => {
  const log = NO_LOG;
  const server = await listen({
    ...{ host: "127.0.0.1", port: 0, socketPath: "/v1/ws", sockets: IDLE, log, maxConnections: 4 },
    onCall: (call) => call.reply(200, "{}"),
  });
  t.after(() => server.close());
  const open: NetSocket[] = [];
  t.after(() => hangUp());
  const isServed = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(server.port, "127.0.0.1");
      open.push(socket);
      socket.on("error", () => {});
      socket.once("close", () => resolve(false));
      socket.once("data", () => resolve(true));
      socket.write("GET /v1/time HTTP/1.1\r\nHost: x\r\n\r\n");
    });
  const hangUp = (): void => {
    for (const socket of open.splice(0)) socket.destroy();
  };
  open.push(await upgrade(server.port));
  for (let i = 0; i < 3; i++) assert.ok(await isServed());
  for (let i = 0; i < 3; i++) assert.equal(await isServed(), false);
  hangUp();
  await until("room for as many requests", async () => {
    const served = [await isServed(), await isServed(), await isServed()];
    hangUp();
    return served.every(Boolean);
  });
});

test("a closed WebSocket whose client keeps its side open counts towards the limit", async (t) => {
  const log = NO_LOG;
  let ends = 0;
  const handlers = { ...IDLE, close: () => void ends++ };
  const server = await listen({
    ...{ host: "127.0.0.1", port: 0, socketPath: "/v1/ws", sockets: handlers, log, maxConnections: 4 },
    onCall: () => {},
  });
  t.after(() => server.close());
  const open: NetSocket[] = [];
  t.after(() => {
    for (const socket of open) socket.destroy();
  });
  for (let i = 0; i < 4; i++) {
    const socket = await upgrade(server.port);
    open.push(socket);
    socket.write(ENDS[i % ENDS.length] as Buffer);
    await until("its end", () => ends === i + 1);
  }
  await assert.rejects(upgrade(server.port));
});

test("it counts until uWebSockets.js has closed it", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const sockets = new OpenSockets(IDLE, NO_LOG);
  t.after(() => sockets.closeAll());
  const [left, ended] = [new Socket("127.0.0.1"), new Socket("127.0.0.1")];
  for (const socket of [left, ended]) {
    socket.attach({ end: () => sockets.close(socket) } as unknown as RawSocket);
    sockets.open(socket);
  }
  ended.close(1003, "TEXT_ONLY");
  assert.equal(sockets.count, 2);
  t.mock.timers.tick(19_999);
  sockets.close(left);
  assert.equal(sockets.count, 2);
  t.mock.timers.tick(1);
  assert.equal(sockets.count, 1);
});
