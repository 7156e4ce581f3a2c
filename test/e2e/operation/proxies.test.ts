import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { WebSocket } from "ws";
import type { CreatedApiKey } from "../../../src/client/types.ts";
import { makeCertificate } from "../support/certificate.ts";
import { openKey, signed } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { isInstalled, type RunningProxy, startProxy } from "./proxy-servers.ts";

/** Clients connect from these addresses of this machine. No proxy is trusted there. */
const [HOME, ELSEWHERE] = ["127.0.0.2", "127.0.0.3"];
const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.01" };

let server: TestServer;
let alice: Trader;
/** Valid from HOME only. */
let key: CreatedApiKey;

before(async () => {
  server = await startServer({ environment: { PERPD_TRUSTED_PROXIES: "127.0.0.1" } });
  await new Operator(server).setIndex("BTC-PERP", "65000");
  alice = await openTrader(server);
  ({ key } = await openKey(server, alice, ["READ", "TRADE"], { allowedIps: [HOME] }));
});

after(() => server.dispose());

interface Reply {
  status: number;
  body: Record<string, unknown>;
}

function connectFrom({ port, ca }: RunningProxy, localAddress: string): ClientHttp2Session {
  const createConnection = () =>
    connectTls({ socket: connect({ port, host: "127.0.0.1", localAddress }), ca, ALPNProtocols: ["h2"] });
  return connectHttp2(`https://localhost:${port}`, { createConnection });
}

/** Without a `content-length`, as HTTP/2 allows. */
async function ask(session: ClientHttp2Session, method: string, path: string, headers: OutgoingHttpHeaders, body = "") {
  const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body === "" });
  if (body !== "") stream.end(body);
  return replyOf(stream);
}

async function replyOf(stream: ReturnType<ClientHttp2Session["request"]>): Promise<Reply> {
  let text = "";
  stream.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  const [[headers]] = await Promise.all([once(stream, "response"), once(stream, "end")]);
  return { status: Number(headers[":status"]), body: text.startsWith("{") ? JSON.parse(text) : {} };
}

async function checkAddresses(proxy: RunningProxy): Promise<void> {
  const claim = { "x-forwarded-for": HOME };
  for (const [address, headers, status] of [
    [HOME, {}, 200],
    [ELSEWHERE, {}, 403],
    [ELSEWHERE, claim, 403],
  ] as const) {
    const session = connectFrom(proxy, address);
    const path = "/account/balance";
    const reply = await ask(session, "GET", `/v1${path}`, { ...signed(key, "GET", path), ...headers });
    assert.equal(reply.status, status, JSON.stringify([address, headers, reply.body]));
    session.destroy();
    assert.equal(await authenticateSocket(proxy, address, headers), status === 200, `WebSocket from ${address}`);
  }
}

/** Logs in with the key over a WebSocket. Returns whether the key is valid from the address. */
async function authenticateSocket({ port, ca }: RunningProxy, localAddress: string, headers: object): Promise<boolean> {
  const origin = `https://127.0.0.1:${port}`;
  const socket = new WebSocket(`wss://127.0.0.1:${port}/v1/ws`, { ca, localAddress, origin, headers: { ...headers } });
  await once(socket, "open");
  const { "x-timestamp": timestamp, "x-signature": signature } = signed(key, "GET", "/ws");
  socket.send(JSON.stringify({ op: "auth", apiKey: key.apiKey, timestamp: Number(timestamp), signature }));
  const [message] = await once(socket, "message");
  socket.terminate();
  return !("code" in JSON.parse(String(message)));
}

/** Clients of one proxy share its connections, so nothing that one sends may answer another. nginx refuses trailers. */
async function checkTrailers(proxy: RunningProxy, session: ClientHttp2Session): Promise<void> {
  const bearer = { authorization: `Bearer ${alice.token}`, "content-type": "application/json" };
  for (let i = 0; i < 2; i++) {
    const attacker = connectFrom(proxy, ELSEWHERE).on("error", () => {});
    const stream = attacker.request({ ":method": "POST", ":path": "/v1/orders", ...bearer }, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ xx: "/v1/orders HTTP/1.1", host: "h", ...bearer }));
    const ended = new Promise((resolve) => stream.once("close", resolve));
    stream.on("error", () => {}).resume();
    stream.end(JSON.stringify({ ...ORDER, quantity: "0" }));
    const others = Array.from({ length: 5 }, () => ask(session, "GET", "/v1/time", {}));
    await ended;
    for (const { status, body } of await Promise.all(others))
      assert.ok(status === 200 && typeof body.serverTime === "number", JSON.stringify([status, body]));
    attacker.destroy();
  }
}

for (const program of ["nginx", "haproxy"] as const)
  test(`behind ${program} with TLS and HTTP/2, configured as docs/operating/proxy.md says`, async (t: TestContext) => {
    if (!isInstalled(program)) return t.skip(`${program} is not installed: nothing behind it was tested`);
    if (process.platform !== "linux") return t.skip("needs 127.0.0.2");
    const proxy = await startProxy(program, server.port);
    t.after(() => proxy.stop());
    const session = connectFrom(proxy, HOME);
    t.after(() => session.destroy());
    await until(
      "the exchange behind the proxy",
      async () => (await ask(session, "GET", "/v1/time", {})).status === 200,
    );
    assert.equal(session.alpnProtocol, "h2");
    assert.equal((await ask(session, "GET", "/v1/health/ready", {})).status, 200);

    const bearer = { authorization: `Bearer ${alice.token}`, "content-type": "application/json" };
    const { body } = await ask(session, "GET", "/v1/asyncapi.json", { "x-forwarded-proto": "http" });
    const { exchange } = body.servers as { exchange: { host: string; protocol: string } };
    assert.deepEqual([exchange.host, exchange.protocol], [`localhost:${proxy.port}`, "wss"]);
    for (const [origin, status] of [
      [`https://localhost:${proxy.port}`, 200],
      ["https://evil.example", 403],
    ] as const)
      assert.equal((await ask(session, "GET", "/v1/account/balance", { ...bearer, origin })).status, status, origin);
    const placed = await ask(session, "POST", "/v1/orders", bearer, JSON.stringify(ORDER));
    assert.equal(placed.status, 201, JSON.stringify(placed.body));
    await checkTrailers(proxy, session);
    const { data } = await alice.openOrders();
    assert.deepEqual(
      data.map(({ orderId }) => orderId),
      [placed.body.orderId],
    );
    await alice.cancel(String(placed.body.orderId));
    await checkAddresses(proxy);
  });

test("addresses that clients claim themselves are not believed", async () => {
  const path = "/account/balance";
  const direct = await fetch(server.url + path, { headers: { ...signed(key, "GET", path), "x-forwarded-for": HOME } });
  assert.equal(direct.status, 200, "from 127.0.0.1, which is trusted");
  const headers = { ...signed(key, "GET", path), "x-forwarded-for": HOME };
  const [answer] = await once(get(server.url + path, { headers, localAddress: ELSEWHERE }), "response");
  assert.equal(answer.resume().statusCode, 403);
});

test("with a certificate the exchange speaks https and wss, and names them", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-tls-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { cert, key: privateKey } = makeCertificate("perpd");
  writeFileSync(join(folder, "tls.crt"), cert);
  writeFileSync(join(folder, "tls.key"), privateKey, { mode: 0o600 });
  await server.stop();
  const files = { PERPD_TLS_CERT_FILE: join(folder, "tls.crt"), PERPD_TLS_KEY_FILE: join(folder, "tls.key") };
  server.environment = { ...server.environment, ...files };
  await server.start();
  assert.match(server.url, /^https:/);
  assert.match(server.wsUrl, /^wss:/);
  const body = await new Promise<string>((resolve, reject) => {
    const sent = httpsRequest(`${server.url}/auth/challenge`, { method: "POST", ca: cert }, (answer) => {
      let text = "";
      answer.on("data", (piece) => (text += piece)).on("end", () => resolve(text));
    });
    // In chunks, as Node's http.request sends a body of unknown length.
    sent.on("error", reject);
    sent.write(`{"address":`);
    sent.end(`"${alice.address}"}`);
  });
  assert.match(body, /URI: https:\/\/127\.0\.0\.1/);
  const socket = new WebSocket(server.wsUrl, { ca: cert });
  await once(socket, "open");
  socket.terminate();
  assert.doesNotMatch(server.stderr, /tlsKeyFile/);
});
