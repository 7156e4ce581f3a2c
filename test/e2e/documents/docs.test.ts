import assert from "node:assert/strict";
import { get } from "node:http";
import { after, before, test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { Api, type Headers } from "../support/api.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let nobody: Api;
let origin: string;

before(async () => {
  server = await startServer();
  nobody = new Api(server.url);
  ({ origin } = new URL(server.url));
});
after(() => server.dispose());

test("the API reference page loads everything from the exchange, and its policy forbids other origins", async () => {
  const { text, headers } = await nobody.request("GET", "/docs");
  assert.equal(headers["content-type"], "text/html; charset=utf-8");
  const policy = String(headers["content-security-policy"]);
  assert.match(policy, /default-src 'none'; script-src 'self';/);
  assert.doesNotMatch(policy, /https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
  const named = [...text.matchAll(/(?:src|href|data-url)="(?!data:)([^"]+)"/g)].map(([, path = ""]) => path);
  assert.deepEqual(named, ["/v1/openapi.json", "/v1/asyncapi.json", "/v1/openapi.json", "/v1/docs/scalar.js"]);
  for (const path of named) {
    const { status, text } = await nobody.request("GET", path.replace(/^\/v1/, ""));
    assert.equal(status, 200, path);
    assert.ok(text.length > 1000, path);
  }
  assert.doesNotMatch(text, /https?:\/\//);
  // Scripts that stand in the page itself would not run.
  assert.doesNotMatch(text, /<script>|<script [^>]*>[^<]|\son\w+=/);
  const configuration = /data-configuration="([^"]+)"/.exec(text)?.[1]?.replaceAll("&quot;", '"') ?? "";
  assert.equal((JSON.parse(configuration) as { withDefaultFonts: boolean }).withDefaultFonts, false);
});

test("pages are compressed when the client accepts it, with the same content", async () => {
  for (const path of ["/docs", "/docs/scalar.js", "/openapi.json", "/asyncapi.json"]) {
    const plain = await nobody.request("GET", path);
    assert.equal(plain.headers["content-encoding"], undefined);
    assert.equal(plain.headers.vary, "Accept-Encoding");
    for (const accept of ["gzip;q=0", "identity", "gzipped"]) {
      const { headers } = await nobody.request("HEAD", path, undefined, { "accept-encoding": accept });
      assert.equal(headers["content-encoding"], undefined, accept);
      assert.equal(headers["content-length"], String(Buffer.byteLength(plain.text)));
    }
    const compressed = await getBytes(server.url + path, { "accept-encoding": "br;q=0, gzip;q=0.8" });
    assert.equal(gunzipSync(compressed).toString(), plain.text, path);
  }
  const script = "/docs/scalar.js";
  const compressed = await getBytes(server.url + script, { "accept-encoding": "gzip, deflate, br, zstd" });
  assert.equal(brotliDecompressSync(compressed).toString(), (await nobody.request("GET", script)).text);
});

test("asyncapi.json names the server as the client has called it, for any number of names", async () => {
  const serverFor = async (host: string): Promise<unknown> => {
    const bytes = await getBytes(`${server.url}/asyncapi.json`, { host });
    return (JSON.parse(bytes.toString()) as { servers: { exchange: object } }).servers.exchange;
  };
  const named = (host: string) => ({ host, protocol: "ws", description: "This exchange." });
  assert.deepEqual(await serverFor(new URL(server.url).host), named(new URL(server.url).host));
  for (const host of ["Exchange.example:8443", "[::1]:80", "10.0.0.7"])
    assert.deepEqual(await serverFor(host), named(host.toLowerCase()));
  for (const host of ["a b", 'x","protocol":"wss', "<script>", "a/../b", "$&", "a:99999999", "-", "x".repeat(300)])
    assert.deepEqual(await serverFor(host), named("127.0.0.1:8080"), host);
  // More names than the server keeps: these are not compressed.
  for (let i = 0; i < 10; i++) assert.deepEqual(await serverFor(`h${i}.example`), named(`h${i}.example`));
  const { headers } = await nobody.request("HEAD", "/asyncapi.json", undefined, {
    host: "one-more.example",
    "accept-encoding": "gzip",
  });
  assert.equal(headers["content-encoding"], undefined);
});

const getBytes = (url: string, headers: Headers): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const outgoing = get(url, { headers }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => resolve(Buffer.concat(chunks)));
    });
    outgoing.on("error", reject);
  });

test("/docs leads to the API reference, and / is a page for browsers", async () => {
  for (const method of ["GET", "HEAD"]) {
    const response = await fetch(`${origin}/docs`, { method, redirect: "manual" });
    assert.deepEqual([response.status, response.headers.get("location")], [302, "/v1/docs"], method);
    const page = await fetch(`${origin}/`, { method });
    assert.deepEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"], method);
  }
  assert.equal((await fetch(`${origin}/docs`)).status, 200);
  assert.equal((await fetch(`${origin}/docs`, { method: "POST" })).status, 404);
});
