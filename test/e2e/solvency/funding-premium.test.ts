import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ticker } from "../../../src/client/types.ts";
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

const price = ({ symbol, index }: Market) => operator.setIndex(symbol, index);
const rateOf = async ({ symbol }: Market): Promise<number> =>
  Number((await operator.get<Ticker>(`/market/ticker?symbol=${symbol}`)).fundingRate);

/** Somebody is long, the coalition short, and one account of it has no position yet. Returns it, and since when it goes on. */
async function openMarket(market: Market): Promise<{ quoter: Trader; since: number }> {
  const { symbol, index } = market;
  await price(market);
  const since = performance.now();
  const [honest, short, quoter] = await Promise.all([1, 2, 3].map(() => openTrader(server, "1000000")));
  for (const quantity of market.open) {
    await short.sell(quantity, index, { symbol });
    await honest.buy(quantity, index, { symbol });
  }
  return { quoter, since };
}

/** The rate after a bid has stood as long as there was none before. */
async function rateWithBid(market: Market, quoter: Trader, quantity: string, since: number): Promise<number> {
  const { symbol, bid } = market;
  const { orderId } = await quoter.buy(quantity, bid, { symbol });
  await price(market);
  const from = performance.now();
  do {
    await sleep(50);
    await price(market);
  } while (performance.now() - from < from - since);
  const rate = await rateOf(market);
  await quoter.cancel(orderId);
  return rate;
}

test("A8: a bid that is thin for the open interest sets no funding rate, a large one does", async () => {
  const { quoter, since } = await openMarket(BTC);
  assert.equal(await rateWithBid(BTC, quoter, BTC.thin, since), INTEREST);
  // 1 % of the open interest, and a little more.
  const rate = await rateWithBid(BTC, quoter, "1.01", since);
  assert.ok(rate > INTEREST, `rate: ${rate}`);
});

test("A8: without the rule the thin bid sets it, and the longs pay that to the coalition", async () => {
  const { quoter, since } = await openMarket(ETH);
  const rate = await rateWithBid(ETH, quoter, ETH.thin, since);
  assert.ok(rate > INTEREST, `rate: ${rate}`);
});

test("A8: a bid just before a sample counts for the time until the next one, and no more than that", async () => {
  const market: Market = { symbol: "SOL-PERP", index: "150", bid: "150.75", open: ["1000"], thin: "200" };
  const { quoter, since } = await openMarket(market);
  for (let i = 0; i < 3; i++) {
    await sleep(1000);
    await price(market);
  }
  const begin = performance.now();
  const { orderId } = await quoter.buy(market.thin, market.bid, { symbol: market.symbol });
  await price(market);
  const premium = 0.005;
  // The sample has not stood for any time yet.
  assert.equal(await rateOf(market), INTEREST);
  await quoter.cancel(orderId);
  await price(market);
  const end = performance.now();
  // In whole milliseconds of another clock.
  const share = (end - begin + 2) / (end - since - 2);
  const rate = await rateOf(market);
  assert.ok(rate <= hourlyRate(premium * share) + 1e-9, `rate: ${rate}, share of the time: ${share}`);
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
