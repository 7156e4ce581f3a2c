import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { PerpdClient } from "../../src/client/client.ts";
import type { PerpdError } from "../../src/client/error.ts";
import type { Stream } from "../../src/client/stream.ts";
import { type HandshakeRefusal, SocketServer } from "./support/socket-server.ts";

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
  const cases: [refusal: HandshakeRefusal, error: object][] = [
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
    server.refusal = each;
    const [reason] = await reasons(client, 1);
    assert.throws(() => {
      throw reason;
    }, error);
    await assert.rejects(stream!.ready, error);
    await assert.rejects(stream!.ping(), error);
  }
  assert.equal(server.refused, cases.length);
});

test("a temporary handshake refusal is retried, and the reason is reported", async () => {
  const busy = { code: "TOO_MANY_SOCKETS", message: "This address has too many.", retryable: true };
  const cases: [refusal: HandshakeRefusal, code: string][] = [
    [{ status: 502, text: "<html>Bad Gateway</html>" }, "NOT_PERPD"],
    [{ status: 429, text: JSON.stringify(busy) }, "TOO_MANY_SOCKETS"],
    [{ status: 429 }, "NOT_PERPD"],
  ];
  for (const [each, code] of cases) {
    server.refusal = each;
    const told = await reasons(client, 2);
    assert.deepEqual(
      told.map((reason) => [reason.status, reason.code]),
      Array(2).fill([each.status, code]),
    );
    server.refusal = null;
    await stream!.ready;
    stream!.close();
  }
});

test("a stream that was connected before retries after any refusal", async () => {
  const lost = reasons(client, 3);
  await stream!.ready;
  server.refusal = { status: 404, text: "<html>being deployed</html>" };
  server.sockets[0]!.close(1001, "GOING_AWAY");
  const [first, ...others] = await lost;
  assert.match(String(first?.message), /the connection was lost: GOING_AWAY/);
  assert.deepEqual(
    others.map(({ status }) => status),
    [404, 404],
  );
  server.refusal = null;
  await server.requestCount(4);
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
