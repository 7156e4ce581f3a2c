import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { INSURANCE_ACCOUNT, LEDGER } from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import {
  Deposit,
  OpenSession,
  PlaceOrder,
  PrepareWithdrawal,
  SetIndexPrice,
  SetLeverage,
  Tick,
} from "../../../src/core/protocol/commands.ts";
import { FundingPaid, FundingSettled, PriceUpdated, Traded } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { SessionView } from "../../../src/core/protocol/replies.ts";
import type { SymbolActor } from "../../../src/core/symbol.ts";
import { Exchange, make, START } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { compareWithReplay } from "../support/margin-run.ts";
import { BUY, HOUR_MS, Markets, SELL } from "../support/random-markets.ts";

const MARK = 650_000;
/** 1 tick is 0.01 %, and 500 lots are worth 50,000. */
const FINE = { ...PLAIN, tickSize: "0.01", maxPrice: "1000", fundingIntervalHours: 24 };
const MINUTE_MS = 60_000;

let markets: Markets;
let btc: SymbolActor;
/** The end of the interval in which a test begins, half an hour later. */
let end: number;
let holder: number;
let seller: number;
let buyer: number;

/** The holder is long 1 BTC against the seller. There are no quotes, so the rate is the interest. */
beforeEach(() => {
  markets = new Markets();
  [btc] = markets.symbols as [SymbolActor];
  end = Math.ceil(markets.time / HOUR_MS) * HOUR_MS;
  markets.time = end - 30 * MINUTE_MS;
  [holder, seller, buyer] = [markets.open(100_000), markets.open(100_000), markets.open(100_000)] as const;
  markets.price(btc, MARK);
  markets.order(btc, seller, SELL, MARK, 1000);
  markets.order(btc, holder, BUY, MARK, 1000);
});

const settledIn = (events: Message[]) =>
  events.filter(({ type }) => type === FundingSettled.code) as MessageOf<typeof FundingSettled>[];
const paidIn = (events: Message[]) =>
  (events.filter(({ type }) => type === FundingPaid.code) as MessageOf<typeof FundingPaid>[]).map(
    ({ accountId, amountQuanta }) => [accountId, amountQuanta],
  );
/** 65,000 USDC × 12.5 ppm, by the list of open positions. */
const duePayments = () => [
  [seller, 812_500],
  [holder, -812_500],
];

test("the first transaction after an interval's end settles it, before its own order", () => {
  markets.time = end - 1;
  assert.deepEqual(settledIn(markets.order(btc, seller, SELL, MARK, 1)), []);
  markets.time = end;
  const events = markets.order(btc, buyer, BUY, MARK, 1);
  const types = events.map(({ type }) => type);
  assert.ok(types.indexOf(FundingSettled.code) < types.indexOf(Traded.code));
  const [{ fundingTime, nextFundingTime }] = settledIn(events) as [MessageOf<typeof FundingSettled>];
  assert.deepEqual([fundingTime, nextFundingTime], [end, end + HOUR_MS]);
  assert.deepEqual(paidIn(events), duePayments());
  markets.audit();
  compareWithReplay(markets, [holder, seller, buyer]);
});

test("a holder at the end pays, even when closing before the next price; a later buyer does not pay", () => {
  markets.time = end + 5000;
  const events = [
    ...markets.order(btc, holder, SELL, MARK, 1000),
    ...markets.order(btc, buyer, BUY, MARK, 1000),
    ...markets.price(btc, MARK),
    ...markets.tick(),
  ];
  assert.equal(settledIn(events).length, 1);
  assert.deepEqual(paidIn(events), duePayments());
});

test("a tick settles at the last mark, however old it is", () => {
  markets.time = end - 1;
  btc.state.maxIndexAgeMs = 10_000;
  const events = markets.tick();
  assert.equal(btc.state.isIndexOld(markets.time), true);
  assert.equal(settledIn(events)[0]?.markTicks, MARK);
  assert.deepEqual(paidIn(events), duePayments());
});

test("an interval without samples costs nothing and is skipped; the next one with samples is settled", () => {
  // A last price that does not bound the mark.
  markets.order(btc, seller, SELL, MARK + 100, 1);
  markets.order(btc, buyer, BUY, MARK + 100, 1);
  const events: Message[] = [];
  for (; markets.time < end + 3.5 * HOUR_MS; markets.time += MINUTE_MS) events.push(...markets.tick());
  assert.deepEqual(
    settledIn(events).map(({ fundingTime }) => fundingTime),
    [end],
  );
  const priced = markets.price(btc, MARK);
  assert.deepEqual(settledIn(priced), []);
  const updated = priced.find(({ type }) => type === PriceUpdated.code) as MessageOf<typeof PriceUpdated>;
  assert.equal(updated.nextFundingTime, end + 4 * HOUR_MS);
  // The last rate is in the mark again, by the time left: 650000 × 12.5 ppm × half.
  assert.equal(updated.markTicks, MARK + Math.round((MARK * 0.0000125 * (end + 4 * HOUR_MS - markets.time)) / HOUR_MS));
  markets.time = end + 4 * HOUR_MS;
  assert.deepEqual(
    settledIn(markets.tick()).map(({ fundingTime }) => fundingTime),
    [end + 4 * HOUR_MS],
  );
  markets.audit();
});

test("the premium of an interval is the average of its samples, each weighted by the time until the next one", () => {
  // No quotes at first; then one bid 0.19 % above the index, large enough to count.
  const bid = Math.floor(1.0019 * MARK);
  // The sample of beforeEach stood for half an hour, less this: it counts for 10 s.
  markets.time = end - 9000;
  markets.price(btc, MARK);
  markets.time = end - 7000;
  markets.order(btc, buyer, BUY, bid, 500);
  markets.price(btc, MARK);
  markets.time = end - 4000;
  markets.price(btc, MARK);
  markets.time = end + 2000;
  const [{ premiumPpb, ratePpb }] = settledIn(markets.tick());
  const sample = Math.trunc(((bid - MARK) * 1e9) / MARK);
  // 10 s and 2 s without a premium, 3 s and 4 s with it: the last sample counts until the end of the interval.
  assert.equal(premiumPpb, Math.trunc(((3 + 4) * sample) / (10 + 2 + 3 + 4)));
  // An eighth of the 8-hour rate, which the interest lowers by at most 0.05 %.
  assert.equal(ratePpb, Math.trunc((premiumPpb - 500_000) / 8));
});

test("a symbol without a price settles nothing", () => {
  const [, eth] = markets.symbols as [SymbolActor, SymbolActor];
  markets.time = end + HOUR_MS;
  assert.deepEqual(markets.run(eth, make(Tick)), []);
  assert.equal(eth.state.funding.lastTime, 0);
});

/** More holders than can pay in one transaction. Each is long one lot against the seller. */
function openMany(): void {
  for (let i = 0; i < 1200; i++) {
    const account = markets.open(100);
    markets.order(btc, seller, SELL, MARK, 1);
    markets.order(btc, account, BUY, MARK, 1);
  }
}

test("funding payments in transit change the insurance fund's equity neither up nor down", () => {
  openMany();
  markets.fund(1);
  const { state } = btc;
  const expectFund = (): void => {
    const rounded = markets.marginTable.equity(INSURANCE_ACCOUNT) - 1_000_000;
    assert.ok(rounded >= 0 && rounded < 1300, String(rounded));
    // Its allowance for losses in the symbol follows from this.
    assert.equal(state.fundEquity(), rounded);
    markets.audit();
    compareWithReplay(markets, [INSURANCE_ACCOUNT, seller]);
  };
  markets.time = end;
  markets.price(btc, MARK);
  // 500 have paid, and the seller has received nothing.
  assert.equal(state.funding.owes(state.positions.find(seller)), true);
  expectFund();
  // The seller trades and receives everything at once: 1.7875 USDC. The fund itself has 1.
  markets.order(btc, seller, BUY, MARK, 1);
  const sold = markets.order(btc, holder, SELL, MARK, 1);
  assert.deepEqual(paidIn(sold), [
    [holder, -812_500],
    [seller, 1_787_500],
  ]);
  assert.ok(state.funding.owingCount > 500);
  expectFund();
  while (state.funding.owingCount > 0) {
    markets.tick();
    expectFund();
  }
});

test("an account pays owed funding before it withdraws, also when many others are to pay first", () => {
  openMany();
  markets.time = end;
  markets.price(btc, MARK);
  const { state } = btc;
  const row = state.positions.find(holder);
  assert.equal(state.funding.owes(row), true);
  const before = markets.marginTable.withdrawable(holder);
  const prepared = markets.run(btc, make(PrepareWithdrawal, { accountId: holder }));
  assert.deepEqual(paidIn(prepared), [[holder, -812_500]]);
  assert.equal(markets.marginTable.withdrawable(holder), before - 812_500);
  assert.deepEqual(paidIn(markets.run(btc, make(PrepareWithdrawal, { accountId: holder }))), []);
  markets.audit();
});

test("a change to longer intervals in the middle of one charges no period twice", () => {
  const from = Math.ceil(START / (8 * HOUR_MS)) * 8 * HOUR_MS;
  const price = (exchange: Exchange, time: number): Message[] => {
    exchange.time = time;
    return exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 100 })).events;
  };
  const hourly = new Exchange([instrument(PLAIN, { fundingIntervalHours: 1 })]);
  for (let halves = 0; halves < 4; halves++) price(hourly, from + (halves * HOUR_MS) / 2);
  /** 0.01 % for eight hours. */
  const ofHours = (hours: number): number => hours * 12_500;
  for (const [resumedMs, settledHours] of [
    [HOUR_MS * 1.75, 7], // goes on until the eighth hour; the first one is paid for
    [HOUR_MS * 2.5, 1], // ended as it was begun
  ] as const) {
    const longer = new Exchange([instrument(PLAIN, { fundingIntervalHours: 8 })]);
    longer.replay(hourly.log);
    longer.restored();
    const events = [resumedMs, 8 * HOUR_MS].flatMap((ms) => price(longer, from + ms));
    const [settled] = settledIn(events);
    assert.equal(settled?.ratePpb, ofHours(settledHours));
    assert.equal(longer.audit(PLAIN.id).faults.length, 0);
  }
});

test("funding of one long interval liquidates no account that had its maintenance margin, however the book was quoted", () => {
  const [exchange, plain] = [new Exchange([instrument(FINE)]), FINE.id];
  const open = (name: string, usdc: number): number => {
    const session = make(OpenSession, { address: name, tokenHash: name, expiresAt: 2 ** 50 });
    const { accountId } = exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: usdc * QUANTA_PER_USDC }));
    exchange.do(plain, make(SetLeverage, { accountId, leverage: 50 }));
    return accountId;
  };
  const [alice, quoter] = [open("alice", 1300), open("quoter", 1e6)];
  const order = (accountId: number, side: number, priceTicks: number, quantityLots: number): void =>
    void exchange.do(plain, make(PlaceOrder, { accountId, side, priceTicks, quantityLots }));
  const price = (indexTicks: number): void => void exchange.carryOut(plain, make(SetIndexPrice, { indexTicks }));
  price(10_000);
  // A lone quoter bids and asks 2 % above the index, beyond the limit of the premium.
  order(quoter, SELL, 10_000, 500);
  order(alice, BUY, 10_000, 500);
  order(quoter, BUY, 10_190, 500);
  order(quoter, SELL, 10_210, 500);
  for (let ticks = 10_000; exchange.marginTable.equity(alice) > 1.02 * exchange.marginTable.maintenance(alice); ticks--)
    price(ticks);
  assert.ok(exchange.marginTable.equity(alice) > exchange.marginTable.maintenance(alice));
  exchange.time = Math.ceil(exchange.time / (24 * HOUR_MS)) * 24 * HOUR_MS;
  const events = exchange.do(plain, make(Tick)).events;
  assert.equal(paidIn(events).length, 2);
  assert.ok(
    exchange.marginTable.equity(alice) > exchange.marginTable.maintenance(alice) * 0.45,
    `${exchange.marginTable.equity(alice)}`,
  );
});
