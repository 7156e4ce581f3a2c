import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startServer, type TestServer } from "../support/server.ts";

/** The pages of the terminal and the console, and their files, as the exchange serves them. */

let server: TestServer;

before(async () => {
  server = await startServer();
});
after(() => server.dispose());

const PAGE_HEADERS = [
  ...["content-type", "cache-control", "vary", "content-security-policy"],
  ...["x-content-type-options", "referrer-policy"],
];
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; " +
  "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Its name has a hash of its content, so it is kept for ever, in each encoding. */
async function checkAsset(url: string): Promise<void> {
  assert.match(url, /-[A-Za-z0-9]{8}\.(js|css)$/);
  const texts: string[] = [];
  for (const [accepted, encoding] of [
    ["identity", null],
    ...["br", "gzip"].map((name) => [name, name] as const),
  ] as const) {
    const reply = await fetch(url, { headers: { "Accept-Encoding": accepted } });
    assert.equal(reply.headers.get("content-encoding"), encoding);
    assert.equal(reply.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(reply.headers.get("vary"), "Accept-Encoding");
    assert.equal(reply.headers.get("x-content-type-options"), "nosniff");
    texts.push(await reply.text());
  }
  assert.equal(new Set(texts).size, 1);
}

test("the page and its files come from memory, with the headers that keep them and nothing else", async () => {
  const { origin } = new URL(server.url);
  for (const page of ["/", "/operator"]) {
    const main = await fetch(origin + page);
    const html = await main.text();
    assert.deepEqual(
      PAGE_HEADERS.map((name) => main.headers.get(name)),
      ["text/html; charset=utf-8", "no-cache", "Accept-Encoding", POLICY, "nosniff", "no-referrer"],
    );
    assert.match(main.headers.get("permissions-policy") ?? "", /camera=\(\).*microphone=\(\)/);
    const etag = main.headers.get("etag") ?? "";
    const again = await fetch(origin + page, { headers: { "If-None-Match": etag } });
    assert.deepEqual([again.status, again.headers.get("etag"), await again.text()], [304, etag, ""]);
    const named = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
    assert.ok(named.some((path) => path.endsWith(".js")) && named.some((path) => path.endsWith(".css")));
    for (const path of named) await checkAsset(origin + path);
    const script = /<script type="module" src="([^"]+)"/.exec(html)?.[1] ?? "";
    const imported = (await (await fetch(origin + script)).text()).matchAll(/(?:from|import)"\.\/([^"]+)"/g);
    for (const [, name] of imported)
      assert.ok(html.includes(`<link rel="modulepreload" href="/assets/${name}">`), name);
  }
  for (const path of ["/assets/none.js", "/assets/", "/index.html", "/assets/../package.json", "/nothing"]) {
    const missing = await fetch(origin + path);
    assert.equal(missing.status, 404, path);
    assert.match(missing.headers.get("content-type") ?? "", /json/);
  }
});
