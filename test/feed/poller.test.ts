import assert from "node:assert/strict";
import { test } from "node:test";
import { combine } from "../../src/feed/combine.ts";
import { type Polled, Poller } from "../../src/feed/poller.ts";
import type { TickerLike } from "../../src/feed/sources.ts";

const NOW = 1_700_000_000_000;
const TIMEOUT_MS = 20;
const HANGS = "hangs";

/** A poller of two symbols on an exchange that answers what `tickers` holds, or fails. */
function start(tickers: Record<string, TickerLike | Error | typeof HANGS>) {
  const clock = { now: NOW, passedMs: 0 };
  const source = {
    fetchTicker: async (market: string): Promise<TickerLike> => {
      const ticker = tickers[market];
      if (ticker === HANGS) return new Promise(() => {});
      if (ticker instanceof Error || ticker === undefined) throw ticker ?? new Error(`no ${market}`);
      return ticker;
    },
  };
  const markets = new Map([
    ["BTC-PERP", "BTC/USDT"],
    ["ETH-PERP", "ETH/USDT"],
  ]);
  const clocks = { now: () => clock.now, monotonic: () => clock.passedMs };
  const poller = new Poller({
    ...{ name: "x", weight: 2, source, markets, intervalMs: 1000, timeoutMs: TIMEOUT_MS },
    ...clocks,
  });
  return { clock, tickers, poller };
}

/** Every symbol once; the answer of the one that was asked last, which knows of all. */
async function pollEach(poller: Poller): Promise<Polled> {
  let polled: Polled | undefined;
  for (const symbol of poller.symbols) polled = await poller.poll(symbol);
  return polled as Polled;
}

test("a quote is the mid of bid and ask, else the last price, and its age is never negative", async () => {
  const { poller } = start({
    "BTC/USDT": { bid: 99, ask: 101, last: 90, timestamp: NOW - 300 },
    "ETH/USDT": { last: 50, timestamp: NOW + 9000 },
  });
  assert.deepEqual(await pollEach(poller), { waitMs: 1000, failure: null });
  assert.deepEqual(poller.quote("BTC-PERP"), { source: "x", weight: 2, price: 100, time: -300 });
  assert.deepEqual(poller.quote("ETH-PERP"), { source: "x", weight: 2, price: 50, time: 0 });
  assert.equal(poller.quote("SOL-PERP"), undefined);
});

test("a quote ages correctly when the system clock is set back", async () => {
  const { poller, tickers, clock } = start({
    "BTC/USDT": { last: 100 },
    "ETH/USDT": { last: 50, timestamp: NOW - 100 },
  });
  await pollEach(poller);
  for (const market of Object.keys(tickers)) tickers[market] = new Error("down");
  clock.now -= 3_600_000;
  clock.passedMs += 9000;
  await pollEach(poller);
  const quotes = poller.symbols.flatMap((symbol) => poller.quote(symbol) ?? []);
  const { price, stale } = combine(quotes, clock.passedMs, { maxAgeMs: 8000, maxDeviation: 1, minSources: 1 });
  assert.deepEqual([price, stale], [null, ["x", "x"]]);
});

test("a failing source is polled with growing intervals until it recovers, and its last quote keeps its age", async () => {
  const { poller, tickers, clock } = start({ "BTC/USDT": { last: 100 }, "ETH/USDT": { last: 50 } });
  await pollEach(poller);
  const good = { ...tickers };
  for (const market of Object.keys(tickers)) tickers[market] = new Error("down");
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    clock.now += 1000;
    clock.passedMs += 1000;
    const { waitMs, failure } = await pollEach(poller);
    assert.equal(failure, "down");
    waits.push(waitMs);
  }
  assert.deepEqual(waits, [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  assert.equal(poller.quote("BTC-PERP")?.time, 0);
  Object.assign(tickers, good);
  assert.deepEqual(await pollEach(poller), { waitMs: 1000, failure: null });
  assert.equal(poller.quote("BTC-PERP")?.time, 8000);
});

test("an unlisted symbol is reported without delaying others, and a ticker without a price gives no quote", async () => {
  for (const nothing of [{}, { last: 0 }, { last: Number.NaN }, { bid: 1 }, new Error("not listed")]) {
    const { poller } = start({ "BTC/USDT": { last: 100 }, "ETH/USDT": nothing });
    const { failure } = await pollEach(poller);
    assert.equal((await poller.poll("BTC-PERP")).waitMs, 1000);
    assert.match(failure ?? "", /ETH\/USDT has no price|not listed/);
    assert.equal(poller.quote("BTC-PERP")?.price, 100);
    assert.equal(poller.quote("ETH-PERP"), undefined);
  }
});

test("a hanging market times out and is retried without delaying others", async () => {
  const { poller, tickers } = start({ "BTC/USDT": { last: 100 }, "ETH/USDT": HANGS });
  const hung = poller.poll("ETH-PERP");
  assert.deepEqual(await poller.poll("BTC-PERP"), { waitMs: 1000, failure: null });
  assert.deepEqual(await hung, { waitMs: 2000, failure: "ETH/USDT did not answer within 20 ms" });
  assert.equal((await poller.poll("BTC-PERP")).failure, "ETH/USDT did not answer within 20 ms");
  tickers["ETH/USDT"] = { last: 50 };
  assert.deepEqual(await poller.poll("ETH-PERP"), { waitMs: 1000, failure: null });
  assert.equal(poller.quote("ETH-PERP")?.price, 50);
});

test("anything that a source throws is reported, and the source is retried", async () => {
  const textless = Object.create(null);
  const cases: [thrown: unknown, said: string][] = [
    [textless, "an error without a message"],
    [{ message: textless }, "an error without a message"],
    [null, "null"],
    [undefined, "undefined"],
    [Symbol("x"), "Symbol(x)"],
    ["words", "words"],
  ];
  for (const [thrown, said] of cases) {
    const fail = () => {
      throw thrown;
    };
    for (const fetchTicker of [fail, async () => fail()]) {
      const poller = new Poller({
        name: "x",
        weight: 1,
        source: { fetchTicker },
        markets: new Map([["S", "M"]]),
        intervalMs: 1000,
        timeoutMs: TIMEOUT_MS,
        now: () => NOW,
        monotonic: () => 0,
      });
      assert.deepEqual(await poller.poll("S"), { waitMs: 2000, failure: said });
    }
  }
});
