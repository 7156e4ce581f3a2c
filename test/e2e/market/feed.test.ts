import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Ticker } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { startAndFail, startServer } from "../support/server.ts";
import { until } from "../support/wait.ts";

/** An exchange of another house, over HTTP: what it answers for each market, or nothing at all. */
class OtherExchange {
  prices: Record<string, number> | null = { "BTC/USDT": 65_000, "ETH/USDT": 3200, "SOL/USDT": 150 };
  private readonly server: Server = createServer((request, response) => {
    const market = new URL(request.url ?? "", "http://x").searchParams.get("market") ?? "";
    response.statusCode = this.prices === null ? 503 : 200;
    response.end(JSON.stringify({ last: this.prices?.[market] }));
  });

  async listen(): Promise<string> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** What a source is: one class with ccxt's fetchTicker. */
const MODULE = `export default class {
  constructor({ url }) { this.url = url; }
  async fetchTicker(market) {
    const answer = await fetch(this.url + "/?market=" + encodeURIComponent(market));
    if (!answer.ok) throw new Error("status " + answer.status);
    return answer.json();
  }
}`;

test("the index combines several exchanges without the outlier, and becomes stale when too few answer", async (t) => {
  const [first, second, third] = [new OtherExchange(), new OtherExchange(), new OtherExchange()];
  const exchanges = [first, second, third];
  t.after(() => exchanges.forEach((exchange) => void exchange.close()));
  const urls = await Promise.all(exchanges.map((exchange) => exchange.listen()));
  const folder = mkdtempSync(join(tmpdir(), "perpd-feed-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const module = join(folder, "source.mjs");
  const config = join(folder, "config.json");
  writeFileSync(module, MODULE);
  const sources = urls.map((url, i) => ({ exchange: `other-${i}`, module, weight: i + 1, options: { url } }));
  const feed = { sources, pollMs: 50, maxAgeMs: 2000, maxDeviation: "0.01", minSources: 2 };
  writeFileSync(config, JSON.stringify({ priceSource: "feed", bots: false, maxIndexAgeMs: 3000, feed }));
  const server = await startServer({ quiet: false, flags: ["--config", config] });
  t.after(() => server.dispose());
  const index = async () => (await new Api(server.url).get<Ticker>("/market/ticker?symbol=BTC-PERP")).indexPrice;
  const reason = async () => (await new Api(server.url).get<Ticker>("/market/ticker?symbol=BTC-PERP")).statusReason;

  await until("the first index", async () => (await index()) === "65000");
  // (65000 + 2 × 65030 + 3 × 65060) ÷ 6
  for (const [i, exchange] of exchanges.entries())
    exchange.prices = { ...exchange.prices, "BTC/USDT": 65_000 + 30 * i };
  await until("the weighted mean", async () => (await index()) === "65040");
  first.prices = { ...first.prices, "BTC/USDT": 90_000 };
  // (2 × 65030 + 3 × 65060) ÷ 5
  await until("the mean of the two that agree", async () => (await index()) === "65048");
  await server.logs(/"outliers":\["other-0"\].*quotes were left out/);

  second.prices = null;
  await server.logs(/other-1.*a price source has failed/);
  await until("the index to grow stale", async () => (await reason()) === "STALE_INDEX");
  first.prices = { "BTC/USDT": 65_060, "ETH/USDT": 3200, "SOL/USDT": 150 };
  await until("the index to be fresh again", async () => (await reason()) === null);
});

test("a start without a usable price source fails with the reason", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-feed-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, "config.json");
  const feed = { sources: [{ exchange: "nowhere" }], pollMs: 50, maxAgeMs: 2000, maxDeviation: "0.01", minSources: 1 };
  writeFileSync(config, JSON.stringify({ priceSource: "feed", bots: false, feed }));
  const { code, output } = await startAndFail({ quiet: false, flags: ["--config", config] });
  assert.equal(code, 1);
  assert.match(output, /perpd cannot start: feed: ccxt has no exchange "nowhere"/);
});
