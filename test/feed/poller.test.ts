import assert from "node:assert/strict";
import { test } from "node:test";
import { Poller } from "../../src/feed/poller.ts";
import type { TickerLike } from "../../src/feed/sources.ts";

const NOW = 1_700_000_000_000;

/** A poller of two symbols on an exchange that answers what `tickers` holds, or fails. */
function start(tickers: Record<string, TickerLike | Error>) {
  const clock = { now: NOW };
  const source = {
    fetchTicker: async (market: string): Promise<TickerLike> => {
      const ticker = tickers[market];
      if (ticker instanceof Error || ticker === undefined) throw ticker ?? new Error(`no ${market}`);
      return ticker;
    },
  };
  const markets = new Map([
    ["BTC-PERP", "BTC/USDT"],
    ["ETH-PERP", "ETH/USDT"],
  ]);
  return { clock, tickers, poller: new Poller("x", 2, source, markets, 1000, () => clock.now) };
}

test("the middle of bid and ask, else the last price; the younger of both clocks", async () => {
  const { poller } = start({
    "BTC/USDT": { bid: 99, ask: 101, last: 90, timestamp: NOW - 300 },
    "ETH/USDT": { last: 50, timestamp: NOW + 9000 },
  });
  assert.deepEqual(await poller.poll(), { waitMs: 1000, failure: null });
  assert.deepEqual(poller.quote("BTC-PERP"), { source: "x", weight: 2, price: 100, time: NOW - 300 });
  assert.deepEqual(poller.quote("ETH-PERP"), { source: "x", weight: 2, price: 50, time: NOW });
  assert.equal(poller.quote("SOL-PERP"), undefined);
});

test("while it fails it is asked less and less often, then at its pace again; its last quote stays as old as it is", async () => {
  const { poller, tickers, clock } = start({ "BTC/USDT": { last: 100 }, "ETH/USDT": { last: 50 } });
  await poller.poll();
  const good = { ...tickers };
  for (const market of Object.keys(tickers)) tickers[market] = new Error("down");
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    clock.now += 1000;
    const { waitMs, failure } = await poller.poll();
    assert.equal(failure, "down");
    waits.push(waitMs);
  }
  assert.deepEqual(waits, [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  assert.equal(poller.quote("BTC-PERP")?.time, NOW);
  Object.assign(tickers, good);
  assert.deepEqual(await poller.poll(), { waitMs: 1000, failure: null });
  assert.equal(poller.quote("BTC-PERP")?.time, NOW + 8000);
});

test("a symbol that is not listed is said and slows nobody down; no price is no quote", async () => {
  for (const nothing of [{}, { last: 0 }, { last: Number.NaN }, { bid: 1 }, new Error("not listed")]) {
    const { poller } = start({ "BTC/USDT": { last: 100 }, "ETH/USDT": nothing });
    const { waitMs, failure } = await poller.poll();
    assert.equal(waitMs, 1000);
    assert.match(failure ?? "", /ETH\/USDT has no price|not listed/);
    assert.equal(poller.quote("BTC-PERP")?.price, 100);
    assert.equal(poller.quote("ETH-PERP"), undefined);
  }
});
