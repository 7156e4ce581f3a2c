import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { WebSocket } from "ws";
import { listen } from "../../../src/front/http/server.ts";
import { TrustedProxies } from "../../../src/front/http/trusted-proxies.ts";
import { bodyOf, sendAndWait, statusOf } from "../support/raw.ts";

const CLIENT = "203.0.113.7";

test("the client is the last entry of X-Forwarded-For that no trusted proxy has", () => {
  const proxies = new TrustedProxies(["127.0.0.1", "10.0.0.0/8", "2001:db8:7::/48"]);
  const rows: [forwardedFor: string, client: string][] = [
    ["", "127.0.0.1"],
    [CLIENT, CLIENT],
    [`6.6.6.6, ${CLIENT}`, CLIENT],
    [`6.6.6.6,127.0.0.1, ${CLIENT} `, CLIENT],
    [`6.6.6.6, ${CLIENT}, 10.1.2.3,10.0.0.1`, CLIENT],
    [`6.6.6.6, ${CLIENT}, 2001:db8:7::1`, CLIENT],
    ["10.1.2.3, 10.0.0.1", "10.1.2.3"],
    [`${CLIENT}:5000`, CLIENT],
    [`::ffff:${CLIENT}`, CLIENT],
    ["2001:DB8::1", "2001:0db8:0000:0000:0000:0000:0000:0001"],
    ["[2001:db8::1]:443", "2001:0db8:0000:0000:0000:0000:0000:0001"],
    ["::1", "0000:0000:0000:0000:0000:0000:0000:0001"],
    ["::", "0000:0000:0000:0000:0000:0000:0000:0000"],
    ["1:2:3:4:5:6:7:8", "0001:0002:0003:0004:0005:0006:0007:0008"],
    ["unknown", "127.0.0.1"],
    [`${CLIENT}, unknown`, "127.0.0.1"],
    [`${CLIENT}, unknown, 10.0.0.1`, "10.0.0.1"],
    [`${CLIENT},`, "127.0.0.1"],
    [`${CLIENT}, fe80::1%eth0`, "127.0.0.1"],
    [`${CLIENT}, 1.2.3.4.5`, "127.0.0.1"],
    [`${CLIENT}${",10.0.0.1".repeat(100_000)}`, "10.0.0.1"],
  ];
  for (const [forwardedFor, client] of rows)
    assert.equal(proxies.clientOf("127.0.0.1", forwardedFor), client, forwardedFor.slice(0, 60));
  assert.equal(proxies.clientOf("127.0.0.2", CLIENT), "127.0.0.2", "nobody trusts this one");
  for (let i = 0; i < 10_000; i++) assert.equal(proxies.has(`8.8.${i >> 8}.${i & 255}`), false);
  assert.equal(proxies.has("10.255.0.1"), true);
  assert.throws(() => new TrustedProxies(["proxy.local"]));
});

/** A header of the PROXY protocol, version 2, that names 6.6.6.6. */
const PROXY_HEADER = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x06\x06\x06\x06\x7f\0\0\x01\x10\x00\x1f\x90".padEnd(28, "\0");

test("a trusted proxy is believed, others are not, over HTTP and WebSocket alike", async (t) => {
  const admitted: string[] = [];
  const opened: string[] = [];
  const options = {
    ...{ host: "127.0.0.1", port: 0, socketPath: "/ws", log: { error: assert.fail } },
    sockets: {
      admit: (address: string) => void admitted.push(address),
      open: (socket: { remoteAddress: string }) => void opened.push(socket.remoteAddress),
      ...{ message() {}, control() {}, drain() {}, close() {} },
    },
  };
  const servers = await Promise.all(
    [["127.0.0.1"], ["127.0.0.9"]].map((trusted) =>
      listen({
        ...{ ...options, proxies: new TrustedProxies(trusted) },
        onCall: (call) => call.reply(200, JSON.stringify({ from: call.remoteAddress() })),
      }),
    ),
  );
  t.after(() => Promise.all(servers.map((server) => server.close())));
  const [trusting = 0, other = 0] = servers.map(({ port }) => port);

  const get = (...headers: string[]): string =>
    ["GET /a HTTP/1.1", "Host: h", "Connection: close", ...headers, "", ""].join("\r\n");
  const from = async (port: number, text: string) => bodyOf(await sendAndWait(port, text))?.from;
  const claims = ["X-Forwarded-For: 6.6.6.6", `x-forwarded-for:  ${CLIENT}`];
  assert.equal(await from(trusting, get()), "127.0.0.1");
  assert.equal(await from(trusting, get(...claims)), CLIENT);
  assert.equal(await from(other, get(...claims)), "127.0.0.1");

  // Any client may send a header of the PROXY protocol, and uWebSockets.js reads it.
  assert.equal(await from(other, PROXY_HEADER + get()), "127.0.0.1");
  assert.equal(await from(other, PROXY_HEADER + get(...claims)), "127.0.0.1");
  assert.equal(await from(trusting, PROXY_HEADER + get(...claims)), CLIENT);
  const told = await sendAndWait(trusting, PROXY_HEADER + get());
  assert.deepEqual([statusOf(told), told.closed], [400, true]);
  assert.match(String(bodyOf(told)?.message), /X-Forwarded-For/);

  for (const [port, address] of [
    [trusting, CLIENT],
    [other, "127.0.0.1"],
  ] as const) {
    const headers = { "X-Forwarded-For": `6.6.6.6, ${CLIENT}` };
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers });
    await once(socket, "open");
    assert.deepEqual([admitted.pop(), opened.pop()], [address, address]);
    socket.terminate();
  }
});
