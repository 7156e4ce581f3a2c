import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUY,
  HALT_REASON,
  LEDGER,
  MODE_CANCEL_ONLY,
  MODE_HALTED,
  MODE_REDUCE_ONLY,
  SELL,
} from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import {
  CancelOrder,
  Deposit,
  HaltSymbol,
  OpenSession,
  PlaceOrder,
  ResumeSymbol,
  SamplePremium,
  SetIndexPrice,
  Tick,
} from "../../../src/core/protocol/commands.ts";
import { FundingSettled, PriceUpdated } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Exchange, make, SnapshotStore } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { withoutLastFields } from "../support/old-logs.ts";
import { HOUR_MS } from "../support/random-markets.ts";

const INDEX = 10_000;
/** A tick is 0.01 %, the mark limit 0.5 %, the impact notional 10,000 USDC, and one lot is worth 100 USDC. */
const HOURLY = instrument(PLAIN, {
  tickSize: "0.01",
  fundingIntervalHours: 1,
  riskTiers: [{ maxNotional: "100000000", maxLeverage: 50, maintenanceMarginRate: "0.01" }],
  maxQuantity: "1000000",
  maxPrice: "200",
});
/** 0.5 % above the index: as much as counts. */
const HIGH_BID = 10_050;
const SAMPLE_PPB = 5_000_000;

class Market {
  readonly exchange: Exchange;
  /** The end of the interval. */
  readonly end: number;
  readonly long: number;
  readonly short: number;
  readonly quoter: number;

  constructor(of = HOURLY, maxIndexAgeMs = Number.POSITIVE_INFINITY) {
    this.exchange = new Exchange([of], undefined, undefined, maxIndexAgeMs);
    this.long = this.open("long");
    this.short = this.open("short");
    this.quoter = this.open("quoter");
    this.exchange.time = Math.ceil(this.exchange.time / HOUR_MS) * HOUR_MS;
    this.end = this.exchange.time + HOUR_MS;
    this.price(this.exchange.time);
  }

  price(time: number): MessageOf<typeof FundingSettled> | undefined {
    this.exchange.time = time;
    const { events } = this.exchange.carryOut(HOURLY.id, make(SetIndexPrice, { indexTicks: INDEX }));
    return events.find(({ type }) => type === FundingSettled.code) as MessageOf<typeof FundingSettled> | undefined;
  }

  /** A sample between index prices. Returns how many events it has. */
  sample(time: number): number {
    this.exchange.time = time;
    return this.exchange.do(HOURLY.id, make(SamplePremium)).events.length;
  }

  order(accountId: number, side: number, priceTicks: number, quantityLots: number, clientOrderId = ""): void {
    this.exchange.do(HOURLY.id, make(PlaceOrder, { accountId, side, priceTicks, quantityLots, clientOrderId }));
  }

  /** The premium is 0.5 % from here on. */
  bid(lots: number): void {
    this.order(this.quoter, BUY, HIGH_BID, lots, "bid");
  }

  unbid(): void {
    this.exchange.do(HOURLY.id, make(CancelOrder, { accountId: this.quoter, clientOrderId: "bid" }));
  }

  private open(name: string): number {
    const opened = this.exchange.ask(LEDGER, make(OpenSession, { address: name, tokenHash: name }));
    const { accountId } = opened as unknown as { accountId: number };
    this.exchange.do(LEDGER, make(Deposit, { accountId, amountQuanta: 100_000_000 * QUANTA_PER_USDC }));
    return accountId;
  }
}

/** The rate of one hour with this average premium: Binance, with the interest at 0.01 % per 8 hours. */
const hourlyRate = (average: number): number => {
  const pull = Math.max(-500_000, Math.min(500_000, 100_000 - average));
  return Math.trunc((average + pull) / 8);
};

/** The average of samples with the weights of earlier programs: the k-th counts k times. */
const byCount = (samples: readonly number[]): number => {
  const weighted = samples.reduce((sum, sample, i) => sum + (i + 1) * sample, 0);
  return Math.trunc((2 * weighted) / (samples.length * (samples.length + 1)));
};

test("A8: a bid in the last seconds of an interval earns its share of the time, and not that of a late sample", () => {
  const market = new Market();
  const { end } = market;
  const lots = 45_000; // 4.5 million USDC
  market.order(market.long, BUY, INDEX, lots);
  market.order(market.short, SELL, INDEX, lots);
  const samples = [0];
  for (let time = end - HOUR_MS + 600_000; time < end; time += 600_000) {
    market.price(time);
    samples.push(0);
  }
  market.exchange.time = end - 2000;
  market.bid(2000);
  market.price(end - 2000);
  samples.push(SAMPLE_PPB);
  const settled = market.price(end) as MessageOf<typeof FundingSettled>;
  // Six samples without a premium counted for 10 s each, the last one for 2 s.
  assert.equal(settled.premiumPpb, Math.trunc((2 * SAMPLE_PPB) / 62));
  assert.equal(settled.ratePpb, hourlyRate(settled.premiumPpb));
  const gainOf = (ratePpb: number): number => ((ratePpb - hourlyRate(0)) * lots * INDEX) / 100 / 1e9;
  // Before: a quarter of all weights, which lifted the rate from 0.00125 % to 0.0094 % and brought 365 USDC. Now: nothing.
  const before = gainOf(hourlyRate(byCount(samples)));
  assert.equal(Math.floor(before), 365);
  assert.equal(gainOf(settled.ratePpb), 0);
});

test("A8: quotes count from a share of the open interest on, which the instrument sets", () => {
  const premiumOf = (impactNotionalRate: string, openLots: number, bidLots: number): number => {
    const market = new Market(instrument(HOURLY.config, { impactNotionalRate }));
    market.order(market.long, BUY, INDEX, openLots);
    market.order(market.short, SELL, INDEX, openLots);
    market.bid(bidLots);
    market.price(market.exchange.time);
    return market.exchange.symbol(HOURLY.id).state.funding.premiumPpb;
  };
  // 200 USDC × 50x are 100 lots, and 1 % of 45,000 lots are 450. A lot of the bid is worth 0.5 % more than one at the index.
  assert.equal(premiumOf("0", 45_000, 99), 0);
  assert.equal(premiumOf("0", 45_000, 100), SAMPLE_PPB);
  assert.equal(premiumOf("0.01", 45_000, 447), 0);
  assert.equal(premiumOf("0.01", 45_000, 448), SAMPLE_PPB);
  assert.equal(premiumOf("0.02", 45_000, 895), 0);
  assert.equal(premiumOf("0.02", 45_000, 896), SAMPLE_PPB);
  // With less open interest 100 lots are enough.
  assert.equal(premiumOf("0.01", 10_000, 100), SAMPLE_PPB);
});

test("bids below the index lower the premium of a thin bid above it, as if all were sold to", () => {
  const market = new Market();
  const { funding } = market.exchange.symbol(HOURLY.id).state;
  market.bid(60);
  market.order(market.long, BUY, INDEX - 20, 100);
  market.price(market.exchange.time);
  // 10,000 USDC: 60 lots at 100.50, 39.78 at 99.80. So 40 lots, as a lot is the smallest part: 100.22 on average.
  assert.equal(funding.premiumPpb, 2_200_000);
  market.order(market.quoter, BUY, INDEX - 19, 200, "more");
  market.unbid();
  market.price(market.exchange.time);
  assert.equal(funding.premiumPpb, 0);
});

test("a premium counts for the time that it stands, however many samples there are and however far apart", () => {
  const market = new Market();
  const { end } = market;
  // One second apart without a premium, then one with it for 6 s, then 20 samples in one second without it.
  for (let i = 1; i <= 30; i++) market.price(end - HOUR_MS + i * 1000);
  const from = end - HOUR_MS + 30_000;
  market.exchange.time = from;
  market.bid(200);
  market.price(from);
  market.exchange.time = from + 5000;
  market.unbid();
  for (let i = 1; i <= 20; i++) market.price(from + 6000 + i * 50);
  const settled = market.price(end) as MessageOf<typeof FundingSettled>;
  // 30 s before, 6.05 s with the premium, 0.95 s and then at most 10 s without it.
  assert.equal(settled.premiumPpb, Math.trunc((6050 * SAMPLE_PPB) / (30_000 + 6050 + 950 + 10_000)));
});

test("A8: with samples at times of their own, a bid that stands only around each index price makes no premium", () => {
  const market = new Market();
  const { exchange, end } = market;
  const { funding } = exchange.symbol(HOURLY.id).state;
  const start = exchange.time;
  for (let i = 1; i <= 60; i++) {
    assert.equal(market.sample(start + i * 1000 - 300), 0, "a sample is no event");
    exchange.time = start + i * 1000 - 1;
    market.bid(200);
    market.price(start + i * 1000);
    assert.equal(funding.premiumPpb, 0);
    exchange.time++;
    market.unbid();
  }
  assert.equal(funding.averagePremiumPpb(end), 0);
});

test("an index price records the average of the samples since the one before, or that one's if there are none", () => {
  const market = new Market();
  const { exchange } = market;
  const { funding } = exchange.symbol(HOURLY.id).state;
  const start = exchange.time;
  const recordAt = (time: number): number => {
    market.price(time);
    return funding.premiumPpb;
  };
  market.sample(start + 100);
  market.bid(200);
  market.sample(start + 200);
  market.sample(start + 300);
  assert.equal(recordAt(start + 1000), Math.trunc((2 * SAMPLE_PPB) / 3));
  market.unbid();
  assert.equal(recordAt(start + 2000), Math.trunc((2 * SAMPLE_PPB) / 3));
  assert.equal(recordAt(start + 10_300), Math.trunc((2 * SAMPLE_PPB) / 3));
  // No sample for more than 10 s: the premium of the moment is all that there is.
  assert.equal(recordAt(start + 10_301), 0);
  market.sample(start + 10_400);
  market.bid(200);
  assert.equal(recordAt(start + 11_000), 0);
});

test("no samples are taken while the index is stale or a jump waits", () => {
  const recordAfter = (spoil: (exchange: Exchange) => void, maxIndexAgeMs: number): number => {
    const market = new Market(HOURLY, maxIndexAgeMs);
    const { exchange } = market;
    market.sample(exchange.time + 1000);
    spoil(exchange);
    market.bid(200);
    market.sample(exchange.time + 10);
    market.price(exchange.time + 1000);
    return exchange.symbol(HOURLY.id).state.funding.premiumPpb;
  };
  assert.equal(
    recordAfter(() => {}, 100_000),
    SAMPLE_PPB / 2,
  );
  const jump = make(SetIndexPrice, { indexTicks: 2 * INDEX, isGuarded: 1 });
  assert.equal(
    recordAfter((exchange) => void exchange.do(HOURLY.id, jump), 100_000),
    0,
  );
  const age = (exchange: Exchange): void => {
    exchange.time += 1001;
    exchange.do(HOURLY.id, make(Tick));
    assert.ok(exchange.symbol(HOURLY.id).state.isIndexStale);
  };
  assert.equal(recordAfter(age, 2000), 0);
});

test("quotes make no premium while a halt keeps takers away from them", () => {
  for (const mode of [MODE_REDUCE_ONLY, MODE_CANCEL_ONLY, MODE_HALTED])
    for (const isSampled of [false, true]) {
      const market = new Market();
      const { exchange } = market;
      const recordAt = (time: number): number => {
        exchange.time = time;
        if (isSampled) market.sample(time);
        market.price(time);
        return exchange.symbol(HOURLY.id).state.funding.premiumPpb;
      };
      market.bid(200);
      const { time } = exchange;
      assert.equal(recordAt(time + 1000), SAMPLE_PPB);
      exchange.do(HOURLY.id, make(HaltSymbol, { mode, reason: HALT_REASON.OPERATOR }));
      assert.equal(recordAt(time + 2000), 0);
      exchange.do(HOURLY.id, make(ResumeSymbol));
      assert.equal(recordAt(time + 3000), SAMPLE_PPB);
    }
});

test("a log of an earlier program replays to its state, and the next sample counts by time", () => {
  const market = new Market();
  const { exchange, end } = market;
  market.bid(200);
  // Each price at the time of the one before: nothing has stood yet, so both programs have the same state.
  for (let i = 0; i < 3; i++) market.price(exchange.time);
  const again = new Exchange([HOURLY]);
  again.replay(withoutLastFields(exchange.log, PriceUpdated, 1));
  again.restored();
  assert.equal(again.audit(HOURLY.id).digest, exchange.audit(HOURLY.id).digest);
  const { funding } = again.symbol(HOURLY.id).state;
  assert.deepEqual([funding.premiumCount, funding.premiumMs, funding.premiumPpb], [4, 0, SAMPLE_PPB]);
  again.time = end;
  const { events } = again.carryOut(HOURLY.id, make(SetIndexPrice, { indexTicks: INDEX }));
  const settled = events.find(({ type }) => type === FundingSettled.code) as MessageOf<typeof FundingSettled>;
  assert.equal(settled.premiumPpb, SAMPLE_PPB);
});

test("the samples of an interval survive a snapshot", () => {
  const market = new Market();
  const { exchange, end } = market;
  market.price(exchange.time + 4000);
  market.bid(200);
  market.price(exchange.time + 4000);
  const store = new SnapshotStore();
  store.take(exchange, HOURLY.id);
  const loaded = new Exchange([HOURLY]);
  store.load(loaded.symbol(HOURLY.id));
  loaded.time = exchange.time;
  assert.equal(loaded.audit(HOURLY.id).digest, exchange.audit(HOURLY.id).digest);
  for (const { state } of [exchange.symbol(HOURLY.id), loaded.symbol(HOURLY.id)])
    assert.equal(state.funding.averagePremiumPpb(end), Math.trunc((10_000 * SAMPLE_PPB) / 18_000));
});
