import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ticker } from "../../../src/client/types.ts";
import { mayHaveSettled } from "../support/funding.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

/**
 * Attack A8: a coalition holds short positions and quotes above the index, so that the longs pay it funding. In ETH-PERP the
 * open interest does not count, as it did not before impactNotionalRate.
 */
let server: TestServer;
let operator: Operator;

before(async () => {
  const instruments = {
    "BTC-PERP": { fundingRateCap: "0.04" },
    "ETH-PERP": { fundingRateCap: "0.04", impactNotionalRate: "0" },
    "SOL-PERP": { fundingRateCap: "0.04" },
  };
  server = await startServer({ instruments });
  operator = new Operator(server);
});
after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

/** Interest alone: 0.01 % per 8 hours, in intervals of an hour. */
const INTEREST = 0.01 / 100 / 8;

/** The rate of an hour with this average premium. Formula: Binance, see docs/trading/funding.md. */
const hourlyRate = (average: number): number => (average + Math.max(-0.0005, Math.min(0.0005, 0.0001 - average))) / 8;

/** An index price, and a bid above it by what counts at most in this symbol. */
interface Market {
  readonly symbol: string;
  readonly index: string;
  readonly bid: string;
  /** 6 million USDC. */
  readonly open: readonly string[];
  /** 25,000 USDC: above 200 × 100x, below 1 % of the open interest. */
  readonly thin: string;
}
const BTC: Market = { symbol: "BTC-PERP", index: "60000", bid: "60300", open: ["100"], thin: "0.42" };
const ETH: Market = { symbol: "ETH-PERP", index: "3000", bid: "3015", open: ["1000", "1000"], thin: "8.4" };
const SOL: Market = { symbol: "SOL-PERP", index: "150", bid: "150.75", open: ["1000"], thin: "200" };
/** The most that counts, which is the mark limit. */
const ETH_PREMIUM = 0.0025;
const SOL_PREMIUM = 0.005;

const price = ({ symbol, index }: Market) => operator.setIndex(symbol, index);
const rateOf = async ({ symbol }: Market): Promise<number> =>
  Number((await operator.get<Ticker>(`/market/ticker?symbol=${symbol}`)).fundingRate);

/** Somebody is long, the coalition short. Returns an account of it that has no position yet. */
async function openMarket(market: Market): Promise<Trader> {
  const { symbol, index } = market;
  await price(market);
  const [honest, short, quoter] = await Promise.all([1, 2, 3].map(() => openTrader(server, "1000000")));
  for (const quantity of market.open) {
    await short.sell(quantity, index, { symbol });
    await honest.buy(quantity, index, { symbol });
  }
  return quoter;
}

/** Lets a bid stand and sends index prices, until the rate is above the interest or so many ms are over. Returns the rate. */
async function rateWithBid(market: Market, quoter: Trader, quantity: string, ms: number): Promise<number> {
  const { symbol, bid } = market;
  const { orderId } = await quoter.buy(quantity, bid, { symbol });
  const from = performance.now();
  let rate = INTEREST;
  while (rate === INTEREST && performance.now() - from < ms) {
    await sleep(100);
    await price(market);
    rate = await rateOf(market);
  }
  await quoter.cancel(orderId);
  return rate;
}
/** Samples are taken twice a second on average. */
const LONG = 5000;
const AS_LONG_AS_IT_TAKES = 60_000;

test("A8: a bid that is thin for the open interest sets no funding rate, a large one does", async () => {
  const quoter = await openMarket(BTC);
  assert.equal(await rateWithBid(BTC, quoter, BTC.thin, LONG), INTEREST);
  // 1 % of the open interest, and a little more.
  const rate = await rateWithBid(BTC, quoter, "1.01", AS_LONG_AS_IT_TAKES);
  assert.ok(rate > INTEREST, `rate: ${rate}`);
});

/** In ETH-PERP. */
let quoter: Trader;
test("A8: a bid counts for the time for which it stands, however many index prices come meanwhile", async () => {
  quoter = await openMarket(ETH);
  const [since, sinceMs] = [performance.now(), Date.now()];
  await sleep(6000);
  await price(ETH);
  const begin = performance.now();
  const { orderId } = await quoter.buy(ETH.thin, ETH.bid, { symbol: ETH.symbol });
  while (performance.now() - begin < 2000) await price(ETH);
  const end = performance.now();
  const rate = await rateOf(ETH);
  await quoter.cancel(orderId);
  // The exchange counts whole milliseconds.
  const share = (end - begin + 2) / (end - since - 2);
  if (mayHaveSettled(sinceMs)) return;
  assert.ok(rate <= hourlyRate(ETH_PREMIUM * share) + 1e-9, `rate: ${rate}, share of the time: ${share}`);
});

test("A8: without the rule the thin bid sets it, and the longs pay that to the coalition", async () => {
  const rate = await rateWithBid(ETH, quoter, ETH.thin, AS_LONG_AS_IT_TAKES);
  assert.ok(rate > INTEREST, `rate: ${rate}`);
});

test("A8: a bid that stands only around each index price does not make the premium", async () => {
  const quoter = await openMarket(SOL);
  for (let i = 0; i < 12; i++) {
    await sleep(500);
    const { orderId } = await quoter.buy(SOL.thin, SOL.bid, { symbol: SOL.symbol });
    await price(SOL);
    await quoter.cancel(orderId);
  }
  // If index prices took the samples, nearly all would have the premium.
  const rate = await rateOf(SOL);
  assert.ok(rate < hourlyRate(0.8 * SOL_PREMIUM), `rate: ${rate}`);
});

test("the share of the open interest is among the limits of the symbol", async () => {
  const { data } = await operator.get<{ data: { symbol: string; impactNotionalRate: string }[] }>("/market/symbols");
  const rates = data.map(({ symbol, impactNotionalRate }) => [symbol, impactNotionalRate]);
  assert.deepEqual(rates, [
    ["BTC-PERP", "0.01"],
    ["ETH-PERP", "0"],
    ["SOL-PERP", "0.01"],
  ]);
});
