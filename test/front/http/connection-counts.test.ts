import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { WebSocket } from "ws";
import { printAddress, remoteOf } from "../../../src/front/http/connection-counts.ts";
import { listen } from "../../../src/front/http/server.ts";
import { TrustedProxies } from "../../../src/front/http/trusted-proxies.ts";
import { until } from "../../e2e/support/wait.ts";

const MAX = 3;
const FLOOD = 12;

const line = (local: string, remote: string, state: string, inode: number): string =>
  `   5: ${local}:1F90 ${remote}:B61A ${state} 00000000:00005BE8 02:0000001A 00000000  1000        0 ${inode} 2 00000000 22 4`;

test("the kernel's tables are read like the addresses of the HTTP library", () => {
  const table: [remote: string, address: string][] = [
    ["0200007F", "127.0.0.2"],
    ["507100CB", "203.0.113.80"],
    ["B80D0120000007000000000001000000", "2001:0db8:0007:0000:0000:0000:0000:0001"],
    ["0000000000000000FFFF0000507100CB", "203.0.113.80"],
  ];
  for (const [remote, address] of table) {
    assert.equal(printAddress(remoteOf(line("0100007F", remote, "01", 7), 8080) ?? ""), address);
    assert.equal(remoteOf(line("0100007F", remote, "01", 7), 8081), null, "another port");
  }
  const remote = "507100CB";
  assert.equal(remoteOf(line("00000000", remote, "08", 7), 8080), remote, "the client has closed, the server has not");
  assert.equal(remoteOf(line("00000000", remote, "0A", 7), 8080), null, "the listening socket");
  assert.equal(remoteOf(line("00000000", remote, "06", 0), 8080), null, "TIME_WAIT");
  assert.equal(remoteOf("  sl  local_address rem_address   st tx_queue", 8080), null);
});

test("an address has a limited number of connections, also of those that never send a byte", async (t) => {
  if (process.platform !== "linux") return t.skip("needs the kernel's tables of connections, and 127.0.0.2");
  const server = await listen({
    ...{ host: "127.0.0.1", port: 0, socketPath: "/ws", onCall: (call) => call.reply(200, "{}") },
    sockets: { admit() {}, open() {}, message() {}, control() {}, drain() {}, close() {} },
    log: { error: assert.fail },
    connectionLimit: { max: MAX, covers: (address) => address !== "127.0.0.4" },
    proxies: new TrustedProxies(["127.0.0.6"]),
  });
  const opened: Socket[] = [];
  t.after(async () => {
    for (const socket of opened) socket.destroy();
    await server.close();
  });
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port: server.port, host: "127.0.0.1", localAddress }).on("error", () => {});
    opened.push(socket);
    await once(socket, "connect");
    return socket;
  };
  const answers = async (localAddress: string): Promise<boolean> => {
    const socket = await open(localAddress);
    socket.write("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const answered = once(socket, "data").then(() => true);
    return Promise.race([answered, once(socket, "close").then(() => false)]);
  };
  const silent = await Promise.all(Array.from({ length: FLOOD }, () => open("127.0.0.2")));
  await until("the others to be closed", () => silent.filter(({ closed }) => closed).length === FLOOD - MAX);
  assert.equal(await answers("127.0.0.2"), false);
  assert.equal(await answers("127.0.0.3"), true, "another address");
  for (let i = 0; i < 2 * MAX; i++) assert.equal(await answers("127.0.0.4"), true, "an address without a limit");
  const shared = await Promise.all(Array.from({ length: FLOOD }, () => open("127.0.0.6")));
  assert.equal(await answers("127.0.0.6"), true, "a trusted proxy");
  assert.ok(shared.every(({ closed }) => !closed));

  const webSockets = Array.from(
    { length: MAX },
    () => new WebSocket(`ws://127.0.0.1:${server.port}/ws`, { localAddress: "127.0.0.5" }),
  );
  await Promise.all(webSockets.map((socket) => once(socket, "open")));
  // Until the kernel was asked again, connections of the last moment count twice.
  await until("WebSockets not to count", () => answers("127.0.0.5"));
  for (const socket of webSockets) socket.terminate();

  // Closed connections make room, as soon as the kernel was asked again.
  for (const socket of silent) socket.destroy();
  await until("room for another connection", () => answers("127.0.0.2"));
});
