import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { INSURANCE_ACCOUNT, LEDGER } from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import {
  Deposit,
  FundingPaid,
  FundingSettled,
  OpenSession,
  PlaceOrder,
  PrepareWithdrawal,
  PriceUpdated,
  type SessionView,
  SetIndexPrice,
  SetLeverage,
  Tick,
  Traded,
} from "../../../src/core/protocol/messages.ts";
import type { SymbolActor } from "../../../src/core/symbol.ts";
import { Exchange, make, START } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { compareWithReplay } from "../support/margin-run.ts";
import { BUY, HOUR_MS, SELL, Universe } from "../support/random-markets.ts";

const MARK = 650_000;
/** 1 tick is 0.01 %, and 500 lots are worth 50,000. */
const FINE = { ...PLAIN, tickSize: "0.01", maxPrice: "1000", fundingIntervalHours: 24 };
const MINUTE_MS = 60_000;

let universe: Universe;
let btc: SymbolActor;
/** The end of the interval that runs when a test begins: half an hour ahead. */
let end: number;
let holder: number;
let seller: number;
let buyer: number;

/** The holder is long 1 BTC against the seller; nobody quotes, so the rate is that of the interest. */
beforeEach(() => {
  universe = new Universe();
  [btc] = universe.symbols as [SymbolActor];
  end = Math.ceil(universe.time / HOUR_MS) * HOUR_MS;
  universe.time = end - 30 * MINUTE_MS;
  [holder, seller, buyer] = [universe.open(100_000), universe.open(100_000), universe.open(100_000)] as const;
  universe.price(btc, MARK);
  universe.order(btc, seller, SELL, MARK, 1000);
  universe.order(btc, holder, BUY, MARK, 1000);
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

test("the first turn at an interval's end settles it, whatever it is, and an order of that turn comes behind", () => {
  universe.time = end - 1;
  assert.deepEqual(settledIn(universe.order(btc, seller, SELL, MARK, 1)), []);
  universe.time = end;
  const events = universe.order(btc, buyer, BUY, MARK, 1);
  const types = events.map(({ type }) => type);
  assert.ok(types.indexOf(FundingSettled.code) < types.indexOf(Traded.code));
  const [{ fundingTime, nextFundingTime }] = settledIn(events) as [MessageOf<typeof FundingSettled>];
  assert.deepEqual([fundingTime, nextFundingTime], [end, end + HOUR_MS]);
  assert.deepEqual(paidIn(events), duePayments());
  universe.audit();
  compareWithReplay(universe, [holder, seller, buyer]);
});

test("who holds through the end pays, though they close before the next price; who buys behind it does not", () => {
  universe.time = end + 5000;
  const events = [
    ...universe.order(btc, holder, SELL, MARK, 1000),
    ...universe.order(btc, buyer, BUY, MARK, 1000),
    ...universe.price(btc, MARK),
    ...universe.tick(),
  ];
  assert.equal(settledIn(events).length, 1);
  assert.deepEqual(paidIn(events), duePayments());
});

test("a tick settles at the last mark, also when no price has come for long", () => {
  universe.time = end - 1;
  btc.state.maxIndexAgeMs = 10_000;
  const events = universe.tick();
  assert.equal(btc.state.isIndexOld(universe.time), true);
  assert.equal(settledIn(events)[0]?.markTicks, MARK);
  assert.deepEqual(paidIn(events), duePayments());
});

test("an interval without a sample costs nothing and is passed over; the next one with a sample is settled", () => {
  // A last price that is no bound to the mark.
  universe.order(btc, seller, SELL, MARK + 100, 1);
  universe.order(btc, buyer, BUY, MARK + 100, 1);
  const events: Message[] = [];
  for (; universe.time < end + 3.5 * HOUR_MS; universe.time += MINUTE_MS) events.push(...universe.tick());
  assert.deepEqual(
    settledIn(events).map(({ fundingTime }) => fundingTime),
    [end],
  );
  const priced = universe.price(btc, MARK);
  assert.deepEqual(settledIn(priced), []);
  const updated = priced.find(({ type }) => type === PriceUpdated.code) as MessageOf<typeof PriceUpdated>;
  assert.equal(updated.nextFundingTime, end + 4 * HOUR_MS);
  // The last rate stands in the mark again, by what is left of the interval: 650000 × 12.5 ppm × half.
  assert.equal(
    updated.markTicks,
    MARK + Math.round((MARK * 0.0000125 * (end + 4 * HOUR_MS - universe.time)) / HOUR_MS),
  );
  universe.time = end + 4 * HOUR_MS;
  assert.deepEqual(
    settledIn(universe.tick()).map(({ fundingTime }) => fundingTime),
    [end + 4 * HOUR_MS],
  );
  universe.audit();
});

test("the premium of an interval is the average of its samples, of which the k-th counts k", () => {
  // Nobody quotes at first; then one bids 0.19 % above the index, with enough to count.
  const bid = Math.floor(1.0019 * MARK);
  universe.price(btc, MARK);
  universe.order(btc, buyer, BUY, bid, 500);
  universe.price(btc, MARK);
  universe.price(btc, MARK);
  universe.time = end;
  const [{ premiumPpb, ratePpb }] = settledIn(universe.tick());
  const sample = Math.trunc(((bid - MARK) * 1e9) / MARK);
  assert.equal(premiumPpb, Math.trunc(((3 + 4) * sample) / (1 + 2 + 3 + 4)));
  // An eighth of 8 hours' rate, which the interest pulls down by 0.05 % at most.
  assert.equal(ratePpb, Math.trunc((premiumPpb - 500_000) / 8));
});

test("a symbol that has never had a price settles nothing", () => {
  const [, eth] = universe.symbols as [SymbolActor, SymbolActor];
  universe.time = end + HOUR_MS;
  assert.deepEqual(universe.run(eth, make(Tick)), []);
  assert.equal(eth.state.fundingTime, 0);
});

/** So many that they do not all pay at once, each long a lot that the seller has sold. */
function openMany(): void {
  for (let i = 0; i < 1200; i++) {
    const account = universe.open(100);
    universe.order(btc, seller, SELL, MARK, 1);
    universe.order(btc, account, BUY, MARK, 1);
  }
}

test("the insurance fund has neither what payments have brought it for others to come, nor lost what it has advanced", () => {
  openMany();
  universe.fund(1);
  const { state } = btc;
  const expectFund = (): void => {
    const rounded = universe.cells.equity(INSURANCE_ACCOUNT) - 1_000_000;
    assert.ok(rounded >= 0 && rounded < 1300, String(rounded));
    universe.audit();
    compareWithReplay(universe, [INSURANCE_ACCOUNT, seller]);
  };
  universe.time = end;
  universe.price(btc, MARK);
  // 500 have paid, and the seller has got nothing.
  assert.equal(state.owesFunding(state.positions.find(seller)), true);
  expectFund();
  // The seller trades and gets all at once: 1.7875 USDC, the fund has 1 of its own.
  universe.order(btc, seller, BUY, MARK, 1);
  const sold = universe.order(btc, holder, SELL, MARK, 1);
  assert.deepEqual(paidIn(sold), [
    [holder, -812_500],
    [seller, 1_787_500],
  ]);
  assert.ok(state.fundingOwed > 500);
  expectFund();
  while (state.fundingOwed > 0) {
    universe.tick();
    expectFund();
  }
});

test("what an account owes is paid before it withdraws, also when many others are to pay first", () => {
  openMany();
  universe.time = end;
  universe.price(btc, MARK);
  const { state } = btc;
  const row = state.positions.find(holder);
  assert.equal(state.owesFunding(row), true);
  const before = universe.cells.withdrawable(holder);
  const prepared = universe.run(btc, make(PrepareWithdrawal, { accountId: holder }));
  assert.deepEqual(paidIn(prepared), [[holder, -812_500]]);
  assert.equal(universe.cells.withdrawable(holder), before - 812_500);
  assert.deepEqual(paidIn(universe.run(btc, make(PrepareWithdrawal, { accountId: holder }))), []);
  universe.audit();
});

test("intervals that are configured longer in the middle of one cost nobody what they have paid for", () => {
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

test("nobody fails by the end of one long interval who has their maintenance margin, however the book was quoted", () => {
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
  // One who is alone in the book bids and asks 2 % above the index, beyond what counts.
  order(quoter, SELL, 10_000, 500);
  order(alice, BUY, 10_000, 500);
  order(quoter, BUY, 10_190, 500);
  order(quoter, SELL, 10_210, 500);
  for (let ticks = 10_000; exchange.cells.equity(alice) > 1.02 * exchange.cells.maintenance(alice); ticks--)
    price(ticks);
  assert.ok(exchange.cells.equity(alice) > exchange.cells.maintenance(alice));
  exchange.time = Math.ceil(exchange.time / (24 * HOUR_MS)) * 24 * HOUR_MS;
  const events = exchange.do(plain, make(Tick)).events;
  assert.equal(paidIn(events).length, 2);
  assert.ok(exchange.cells.equity(alice) > exchange.cells.maintenance(alice) * 0.45, `${exchange.cells.equity(alice)}`);
});
