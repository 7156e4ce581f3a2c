import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openSource } from "../../src/feed/sources.ts";

test("a ccxt exchange opens by its id, and unknown ids are refused", async () => {
  const source = await openSource({ exchange: "binance", options: { timeout: 1234 } });
  assert.equal(typeof source.fetchTicker, "function");
  assert.equal((source as unknown as { timeout: number }).timeout, 1234);
  for (const exchange of ["nowhere", "Exchange2", "version", "exchanges"])
    await assert.rejects(openSource({ exchange }), /ccxt has no exchange/);
});

test("after a failed market load the next poll loads the markets", async () => {
  const source = await openSource({ exchange: "kraken" });
  let asked = 0;
  const fetchMarkets = async () => {
    if (++asked === 1) throw new Error("no network yet");
    return [];
  };
  Object.assign(source, { fetchMarkets, fetchCurrencies: async () => ({}) });
  await assert.rejects(source.fetchTicker("BTC/USD"), /no network yet/);
  await assert.rejects(source.fetchTicker("BTC/USD"), { name: "BadSymbol" });
  assert.equal(asked, 2);
});

test("a module's default class is a source, and a module without one is refused", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-feed-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const good = join(folder, "good.mjs");
  writeFileSync(
    good,
    "export default class { constructor(o) { this.o = o; } async fetchTicker() { return { last: this.o.last }; } }",
  );
  const source = await openSource({ exchange: "mine", module: good, options: { last: 7 } });
  assert.deepEqual(await source.fetchTicker("BTC/USDT"), { last: 7 });
  const bad = join(folder, "bad.mjs");
  writeFileSync(bad, "export const x = 1;");
  await assert.rejects(openSource({ exchange: "mine", module: bad }), /no class as its default export/);
});
