import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUY,
  CROSS,
  FOK,
  GTC,
  INSURANCE_ACCOUNT,
  IOC,
  ISOLATED,
  LEDGER,
  MARKET,
  REASON_FOK_UNFILLABLE,
  REDUCE_ONLY,
  SELL,
  STATUS_EXPIRED,
  STATUS_FILLED,
  STOP_MARKET,
  TAKE_PROFIT_MARKET,
} from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import {
  AmendOrder,
  CancelAll,
  ClosePosition,
  MoveMargin,
  OrderBatch,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import { type OrderClosed, OrderPlaced, Traded } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, type Refused } from "../../../src/core/protocol/replies.ts";
import type { SymbolActor } from "../../../src/core/symbol.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { make } from "../support/exchange.ts";
import { takeSeed } from "../support/seed.ts";
import { MARKS, Market } from "../support/tight-market.ts";

/*
 * While the mark is constant, orders move money between accounts. No account can lose more than it has. Otherwise an owner of
 * two accounts could let the insurance fund pay what one loses to the other.
 */

const seed = takeSeed("maker-solvency.test");
const RUNS = 40;
const STEPS = 300;
/** The fee is rounded up for each fill; a limit and a margin once for all fills. */
const QUANTA_PER_ROUNDING = 1000;
/** Distances from the mark: just within the near limit of each symbol, just beyond it, and towards the price band. */
const AWAY = [0, 0, 0.001, 0.0022, 0.0027, 0.0039, 0.01, 0.02, 0.03, 0.0495];

test("orders alone bring no account below zero", () => {
  for (let run = 0; run < RUNS; run++) {
    const random = new Random(seed + run, "own losses");
    const market = new Market();
    const accounts = [5_000_000, 5_000_000, 5000, 5000, 3000].map((usdc, i) =>
      market.open(`${i}`, usdc, i < 2 ? 20 : 100),
    );
    const placed: { symbol: SymbolActor; accountId: number; orderId: number }[] = [];
    for (let step = 0; step < STEPS; step++) {
      const accountId = random.chance(0.65) ? random.pick(accounts.slice(2)) : random.pick(accounts.slice(0, 2));
      const symbol = random.pick(market.symbols);
      const own = placed.filter((order) => order.symbol === symbol && order.accountId === accountId);
      const command = randomCommand(random, market, symbol, accountId, own.at(-1)?.orderId ?? 0);
      const isLedgers = command.type === Withdraw.code;
      const said = isLedgers ? market.exchange.do(LEDGER, command).events : market.do(symbol, command);
      for (const event of said)
        if (event.type === OrderPlaced.code)
          placed.push({ symbol, accountId, orderId: (event as MessageOf<typeof OrderPlaced>).orderId });
      for (const each of accounts)
        for (const quanta of market.equities(each))
          assert.ok(
            quanta >= -QUANTA_PER_ROUNDING,
            `seed ${seed + run}, step ${step}: ${each} has ${quanta} after ${JSON.stringify(command)}`,
          );
    }
    for (const actorId of market.exchange.actors.keys()) assert.deepEqual(market.exchange.audit(actorId).faults, []);
  }
});

function randomCommand(
  random: Random,
  market: Market,
  symbol: SymbolActor,
  accountId: number,
  orderId: number,
): Message {
  const { markTicks } = symbol.state;
  const side = random.pick([BUY, SELL]);
  const size = Math.abs(market.size(symbol, accountId));
  const perLot = markTicks * symbol.state.instrument.quantaPerTickLot;
  const most = Math.max(
    1,
    Math.floor((market.exchange.marginTable.available(accountId) * random.pick([85, 60, 30])) / perLot),
  );
  const quantityLots = Math.min(5_000_000, random.pick([most, Math.ceil(most / 3), size || most, 2 * size || most]));
  const away = random.pick(AWAY) * random.pick([1, -1]);
  const priceTicks = Math.round(markTicks * (1 + away));
  const flags = random.chance(0.15) ? REDUCE_ONLY : 0;
  const order = { accountId, side, priceTicks, quantityLots, flags, selfTradePrevention: random.pick([0, 1, 2, 3]) };
  const dice = random.uniform();
  if (dice < 0.45) return make(PlaceOrder, { ...order, timeInForce: random.pick([GTC, GTC, GTC, IOC, FOK]) });
  if (dice < 0.52) return make(PlaceOrder, { ...order, orderType: MARKET, priceTicks: 0, timeInForce: IOC });
  if (dice < 0.58)
    return make(PlaceExtended, {
      ...order,
      displayLots: Math.max(1, Math.ceil(quantityLots / random.pick([2, 5, 50]))),
    });
  if (dice < 0.64) {
    const items = [0, 1, 2].map(() => make(PlaceOrder, { ...order, side: random.pick([BUY, SELL]) }));
    return make(OrderBatch, { items });
  }
  if (dice < 0.72) {
    const orderType = random.pick([STOP_MARKET, TAKE_PROFIT_MARKET]);
    const triggerTicks = Math.round(markTicks * (1 + random.pick([0.003, -0.003, 0.02, -0.02, 0.04, -0.04])));
    return make(PlaceTrigger, { ...order, orderType, priceTicks: 0, timeInForce: IOC, triggerTicks, triggerBy: 1 });
  }
  if (dice < 0.8) return make(ClosePosition, { accountId, priceTicks: random.chance(0.5) ? 0 : priceTicks });
  if (dice < 0.86)
    return make(AmendOrder, { accountId, orderId, priceTicks, quantityLots: random.chance(0.5) ? quantityLots : 0 });
  if (dice < 0.88) return make(CancelAll, { accountId, side: random.pick([-1, BUY, SELL]) });
  if (dice < 0.9) return make(SetLeverage, { accountId, leverage: random.pick([5, 20, 50, 100, 100]) });
  if (dice < 0.94) return make(SetMarginMode, { accountId, marginMode: random.pick([CROSS, ISOLATED]) });
  if (dice < 0.96) return make(MoveMargin, { accountId, amountQuanta: Math.round(random.between(-2e9, 2e9)) });
  if (dice < 0.97) {
    const amountQuanta = Math.floor(market.exchange.marginTable.withdrawable(accountId) / 2);
    if (amountQuanta > QUANTA_PER_USDC && amountQuanta < 5_000 * QUANTA_PER_USDC)
      return make(Withdraw, { accountId, amountQuanta, address: "0x0" });
  }
  return make(Tick);
}

/** Alice has 4000 USDC. Nearly all of it is margin for a long at 100x and for asks just below the mark. */
function stretched(isolatesFirst = false): { market: Market; alice: number; bob: number; askLots: number } {
  const market = new Market();
  const [btc, eth] = market.symbols;
  const bob = market.open("bob", 2_000_000, 20);
  const alice = market.open("alice", 4000, 100);
  if (isolatesFirst) market.do(btc, make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
  market.deal(eth, bob, alice, BUY, MARKS[1], 2400);
  assert.equal(market.size(eth, alice), 2400);
  let askLots = 0;
  for (let lots = 2048; lots >= 1; ) {
    const said = market.limit(btc, alice, SELL, ASK_TICKS, lots);
    if (said.some((event) => event.type === OrderPlaced.code)) askLots += lots;
    else lots /= 2;
  }
  return { market, alice, bob, askLots };
}
const ASK_TICKS = Math.ceil(MARKS[0] * 0.9973);

for (const isIsolated of [false, true])
  test(`orders whose margin a close elsewhere has spent cost the fund nothing, ${isIsolated ? "isolated" : "cross"}`, () => {
    const { market, alice, bob, askLots } = stretched(isIsolated);
    const [btc, eth] = market.symbols;
    const fund = market.exchange.marginTable.equity(INSURANCE_ACCOUNT);
    for (let away = 0.05; market.size(eth, alice) > 0; away -= 0.0001) {
      market.limit(eth, bob, BUY, Math.ceil(MARKS[1] * (1 - away)), 2400);
      market.do(eth, make(ClosePosition, { accountId: alice }));
      market.do(eth, make(CancelAll, { accountId: bob, side: -1 }));
    }
    assert.ok(market.exchange.marginTable.available(alice) < 0);
    market.limit(btc, bob, BUY, ASK_TICKS, askLots);
    for (const quanta of market.equities(alice)) assert.ok(quanta >= 0, `${quanta} are left`);
    for (let i = 0; i < 10; i++) for (const symbol of market.symbols) market.do(symbol, make(Tick));
    assert.equal(market.exchange.marginTable.equity(INSURANCE_ACCOUNT), fund);
  });

for (const isIsolated of [false, true])
  test(`an amended order trades nothing on margin that a close elsewhere has spent, ${isIsolated ? "isolated" : "cross"}`, () => {
    const market = new Market();
    const [btc, eth] = market.symbols;
    const bob = market.open("bob", 2_000_000, 20);
    const alice = market.open("alice", 1000, 100);
    if (isIsolated) market.do(btc, make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
    market.deal(eth, bob, alice, BUY, MARKS[1], 600);
    const bid = { accountId: alice, side: BUY, priceTicks: MARKS[0] - 10, quantityLots: 1070 };
    const said = market.do(btc, make(PlaceOrder, bid));
    const { orderId } = said.find(({ type }) => type === OrderPlaced.code) as MessageOf<typeof OrderPlaced>;
    // It loses nearly all of her equity.
    market.deal(eth, bob, alice, SELL, Math.ceil(MARKS[1] * 0.951), 600);
    assert.ok(market.exchange.marginTable.equity(alice) < 150 * QUANTA_PER_USDC);
    const fund = market.exchange.marginTable.equity(INSURANCE_ACCOUNT);
    // Fewer lots at a worse price need no more margin than is reserved.
    const priceTicks = Math.floor(MARKS[0] * 1.006);
    market.limit(btc, bob, SELL, priceTicks, 640);
    const answer = market.do(btc, make(AmendOrder, { accountId: alice, orderId, priceTicks, quantityLots: 640 }));
    assert.equal((answer.at(-1) as MessageOf<typeof Refused>).code, "INSUFFICIENT_MARGIN");
    for (const quanta of market.equities(alice)) assert.ok(quanta >= 0, `${quanta} are left`);
    for (let i = 0; i < 10; i++) for (const symbol of market.symbols) market.do(symbol, make(Tick));
    assert.equal(market.exchange.marginTable.equity(INSURANCE_ACCOUNT), fund);
  });

test("a close that spends an account's margin counts for other orders that trigger in the same transaction", () => {
  const market = new Market();
  const [btc] = market.symbols;
  const mark = MARKS[0];
  const bob = market.open("bob", 2_000_000, 20);
  const carol = market.open("carol", 2_000_000, 20);
  const alice = market.open("alice", 2500, 100);
  market.deal(btc, bob, alice, BUY, mark, 1000);
  market.deal(btc, carol, bob, SELL, mark, 3000);
  // 1000 close and 2000 open: their margin exists unless the position is closed at a loss.
  market.limit(btc, alice, SELL, ASK_TICKS + 100, 2500);
  const stop = { orderType: STOP_MARKET, timeInForce: IOC, flags: REDUCE_ONLY, triggerBy: 1 };
  const waits = { ...stop, triggerTicks: mark - 2500 };
  market.do(btc, make(PlaceTrigger, { ...waits, accountId: alice, side: SELL, quantityLots: 1000 }));
  market.do(
    btc,
    make(PlaceTrigger, { ...waits, orderType: TAKE_PROFIT_MARKET, accountId: bob, side: BUY, quantityLots: 3000 }),
  );
  const dave = market.open("dave", 1_000_000, 20);
  market.limit(btc, dave, BUY, Math.ceil(mark * 0.97), 1000);
  // A trade at the trigger price of both.
  market.deal(btc, dave, carol, SELL, mark - 2500, 1);
  assert.equal(market.size(btc, alice), 0, "closed by its stop, and nothing of it opened again");
  assert.ok(market.exchange.marginTable.equity(alice) > 0);
});

/**
 * Alice is short at 100x with the rest of 1000 USDC. One bid closes the short 1.4 % above the mark and costs nearly all she
 * has. Another one turns it around just within the near limit and costs the rest.
 */
function bidding(market: Market, lots: number): { alice: number; nearTicks: number; nearLots: number } {
  const [btc] = market.symbols;
  const mark = btc.state.markTicks;
  const other = market.open("other", 2_000_000, 20);
  const alice = market.open("alice", 1000, 100);
  market.deal(btc, other, alice, SELL, mark, lots);
  const far = { accountId: alice, side: BUY, priceTicks: Math.floor(mark * 1.0139), quantityLots: lots };
  market.do(btc, make(PlaceOrder, { ...far, flags: REDUCE_ONLY }));
  const nearTicks = Math.floor(mark * 1.0027);
  let nearLots = 0;
  for (let more = 2 * lots; more >= 1; ) {
    const said = market.limit(btc, alice, BUY, nearTicks, more);
    if (said.some((event) => event.type === OrderPlaced.code)) nearLots += more;
    else more = Math.floor(more / 2);
  }
  assert.ok(nearLots > 1.9 * lots, "the margin of one position stands for both");
  assert.equal(market.size(btc, alice), -lots);
  return { alice, nearTicks, nearLots };
}

test("a maker filled far from the mark has less left for its orders near it", () => {
  const market = new Market();
  const [btc] = market.symbols;
  const lots = 1020;
  const { alice, nearTicks, nearLots } = bidding(market, lots);
  const bob = market.open("bob", 2_000_000, 20);
  const fund = market.exchange.marginTable.equity(INSURANCE_ACCOUNT);
  const order = { accountId: bob, side: SELL, priceTicks: nearTicks, quantityLots: lots + nearLots };
  const [, closed] = market.do(btc, make(PlaceOrder, { ...order, timeInForce: FOK })) as MessageOf<
    typeof OrderClosed
  >[];
  assert.equal(closed.reason, REASON_FOK_UNFILLABLE);
  market.do(btc, make(PlaceOrder, order));
  assert.ok(market.size(btc, alice) > -lots);
  assert.ok(market.exchange.marginTable.equity(alice) >= 0, `${market.exchange.marginTable.equity(alice)} are left`);
  for (let i = 0; i < 10; i++) market.do(btc, make(Tick));
  assert.equal(market.exchange.marginTable.equity(INSURANCE_ACCOUNT), fund);
});

test("a maker filled far from the mark by one liquidation has less left for the next one near it", () => {
  const market = new Market();
  const [btc] = market.symbols;
  const lots = 1020;
  const carol = market.open("carol", 2_000_000, 20);
  const failing = ["x", "y", "z"].map((name) => market.open(name, 2000, 100));
  for (const accountId of failing) {
    market.do(btc, make(SetMarginMode, { accountId, marginMode: ISOLATED }));
    market.deal(btc, carol, accountId, BUY, MARKS[0], lots);
    assert.equal(market.size(btc, accountId), lots);
  }
  market.do(btc, make(SetIndexPrice, { indexTicks: Math.round(MARKS[0] * 0.993) }));
  const { alice } = bidding(market, lots);
  const said = market.exchange.do(btc.actorId, make(Tick)).events as MessageOf<typeof OrderPlaced>[];
  const closing = said.filter(({ type }) => type === OrderPlaced.code).map(({ accountId }) => accountId);
  assert.deepEqual(closing, failing, "in one transaction");
  assert.ok(market.exchange.marginTable.equity(alice) >= 0, `${market.exchange.marginTable.equity(alice)} are left`);
});

test("a maker closed far from the mark by one liquidation needs no margin for the closed lots at the next one", () => {
  const market = new Market();
  const [btc] = market.symbols;
  const lots = 1020;
  const carol = market.open("carol", 2_000_000, 20);
  const failing = ["x", "y"].map((name) => market.open(name, 2000, 100));
  for (const accountId of failing) {
    market.do(btc, make(SetMarginMode, { accountId, marginMode: ISOLATED }));
    market.deal(btc, carol, accountId, BUY, MARKS[0], lots);
  }
  market.do(btc, make(SetIndexPrice, { indexTicks: Math.round(MARKS[0] * 0.993) }));
  const { markTicks } = btc.state;
  const alice = market.open("alice", 1400, 100);
  market.deal(btc, carol, alice, SELL, markTicks, 2 * lots);
  // Closing costs 0.82 % of the value. Each half may cost half of the backing equity, which is 1 %.
  const bid = { accountId: alice, side: BUY, priceTicks: Math.floor(markTicks * 1.008), quantityLots: 2 * lots };
  market.do(btc, make(PlaceOrder, { ...bid, flags: REDUCE_ONLY }));
  const said = market.exchange.do(btc.actorId, make(Tick)).events as MessageOf<typeof Traded>[];
  const fills = said.filter(({ type }) => type === Traded.code);
  assert.deepEqual(
    fills.map(({ takerAccountId, makerAccountId, quantityLots }) => [takerAccountId, makerAccountId, quantityLots]),
    failing.map((accountId) => [accountId, alice, lots]),
  );
  assert.ok(market.exchange.marginTable.equity(alice) > 0);
});

test("a maker closed far from the mark by one triggered order needs no margin for the closed lots at the next one", () => {
  const market = new Market();
  const [btc] = market.symbols;
  const [mark] = MARKS;
  const lots = 1020;
  const triggerTicks = Math.floor(mark * 1.009);
  const carol = market.open("carol", 2_000_000, 20);
  const firing = ["x", "y"].map((name) => market.open(name, 20_000, 20));
  const waits = { orderType: TAKE_PROFIT_MARKET, timeInForce: IOC, flags: REDUCE_ONLY, triggerBy: 1, triggerTicks };
  for (const accountId of firing) {
    market.deal(btc, carol, accountId, BUY, mark, lots);
    market.do(btc, make(PlaceTrigger, { ...waits, accountId, side: SELL, quantityLots: lots }));
  }
  const alice = market.open("alice", 1400, 100);
  market.deal(btc, carol, alice, SELL, mark, 2 * lots);
  const bid = { accountId: alice, side: BUY, priceTicks: Math.floor(mark * 1.008), quantityLots: 2 * lots };
  market.do(btc, make(PlaceOrder, { ...bid, flags: REDUCE_ONLY }));
  market.deal(btc, firing[0], carol, BUY, triggerTicks, 1);
  assert.equal(market.size(btc, alice), -1, "closed but for the one that had been sold already");
});

for (const hasWon of [false, true])
  test(`margin that an isolated position gives back covers lots that the same taker opens, ${hasWon ? "after gains" : "at first"}`, () => {
    const market = new Market();
    const [btc] = market.symbols;
    const mark = MARKS[0];
    const lots = 1000;
    const bob = market.open("bob", 2_000_000, 20);
    const alice = market.open("alice", 1000, 100);
    market.do(btc, make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
    if (hasWon) win(market, bob, alice);
    market.deal(btc, bob, alice, SELL, mark, lots);
    market.do(btc, make(MoveMargin, { accountId: alice, amountQuanta: 317 * QUANTA_PER_USDC }));
    const far = { accountId: alice, side: BUY, priceTicks: Math.floor(mark * 1.0045), quantityLots: lots };
    market.do(btc, make(PlaceOrder, { ...far, flags: REDUCE_ONLY }));
    const nearTicks = Math.floor(mark * 1.0038);
    market.limit(btc, alice, BUY, nearTicks, lots);
    const fund = market.exchange.marginTable.equity(INSURANCE_ACCOUNT);
    market.limit(btc, bob, SELL, nearTicks, 2 * lots);
    assert.equal(market.size(btc, alice), lots);
    for (const quanta of market.equities(alice)) assert.ok(quanta >= 0, `${quanta} are left`);
    for (let i = 0; i < 10; i++) market.do(btc, make(Tick));
    assert.equal(market.exchange.marginTable.equity(INSURANCE_ACCOUNT), fund);
  });

/** Alice trades with a gain, and withdraws it. */
function win(market: Market, bob: number, alice: number): void {
  const [btc] = market.symbols;
  const had = market.exchange.marginTable.equity(alice);
  for (const [seller, buyer, priceTicks] of [
    [bob, alice, MARKS[0]],
    [alice, bob, Math.floor(MARKS[0] * 1.04)],
  ]) {
    market.deal(btc, buyer, seller, SELL, priceTicks, 1000);
  }
  const amountQuanta = market.exchange.marginTable.equity(alice) - had;
  market.exchange.ask(LEDGER, make(Withdraw, { accountId: alice, amountQuanta, address: "0x0" }));
  assert.equal(market.exchange.marginTable.equity(alice), had);
}

/** Alice opens an isolated position of so many lots at the mark, against Bob, who has enough money. */
function openIsolated(market: Market, side: number, lots: number): { alice: number; bob: number } {
  const [btc] = market.symbols;
  const bob = market.open("bob", 2_000_000, 20);
  const alice = market.open("alice", 1000, 100);
  market.do(btc, make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
  market.deal(btc, bob, alice, side, MARKS[0], lots);
  return { alice, bob };
}

test("an isolated position with almost no equity left loses nothing more to a near order before its liquidation", () => {
  const market = new Market();
  const [btc] = market.symbols;
  const { nearPpm } = btc.state.instrument;
  const mark = MARKS[0];
  const lots = 1000;
  const { alice, bob } = openIsolated(market, BUY, lots);
  market.do(btc, make(MoveMargin, { accountId: alice, amountQuanta: 200 * QUANTA_PER_USDC }));
  const askTicks = Math.ceil(mark * 0.9885);
  market.limit(btc, alice, SELL, askTicks, lots);
  market.do(btc, make(MoveMargin, { accountId: alice, amountQuanta: -200 * QUANTA_PER_USDC }));
  const fund = market.exchange.marginTable.equity(INSURANCE_ACCOUNT);
  // Only the price: no liquidation scan has run yet.
  market.exchange.do(
    btc.actorId,
    make(SetIndexPrice, { indexTicks: Math.floor(askTicks * (1 + (0.9 * nearPpm) / 1e6)) }),
  );
  const [, isolatedEquity] = market.equities(alice);
  assert.ok(isolatedEquity > 0);
  market.exchange.do(
    btc.actorId,
    make(PlaceOrder, { accountId: bob, side: BUY, priceTicks: askTicks, quantityLots: lots }),
  );
  assert.equal(market.equities(alice)[1], isolatedEquity);
  assert.equal(market.size(btc, alice), lots);
  assert.equal(market.exchange.marginTable.equity(INSURANCE_ACCOUNT), fund);
});

for (const { away, status } of [
  { away: 0.0027, status: STATUS_FILLED },
  // The second fill lacks the cost of the first.
  { away: 0.0039, status: STATUS_EXPIRED },
])
  test(`a FOK order is filled completely or not at all when its first fill closes an isolated maker's position ${away} from the mark`, () => {
    const market = new Market();
    const [btc] = market.symbols;
    const mark = MARKS[0];
    const lots = 1440;
    const { alice, bob } = openIsolated(market, SELL, lots);
    const closing = { accountId: alice, side: BUY, priceTicks: Math.floor(mark * (1 + away)), quantityLots: lots };
    market.do(btc, make(PlaceOrder, { ...closing, flags: REDUCE_ONLY }));
    const priceTicks = Math.floor(mark * (1 + away - 0.0001));
    market.limit(btc, alice, BUY, priceTicks, lots);
    const order = { accountId: bob, side: SELL, priceTicks, quantityLots: 2 * lots, timeInForce: FOK };
    const said = market.do(btc, make(PlaceOrder, order));
    assert.equal((said.findLast(({ type }) => type === OrderView.code) as MessageOf<typeof OrderView>).status, status);
    assert.equal(market.size(btc, alice), status === STATUS_FILLED ? lots : -lots);
    for (const quanta of market.equities(alice)) assert.ok(quanta >= 0, `${quanta} are left`);
  });

for (const isIsolated of [false, true])
  test(`a maker closed in part far from the mark keeps the equity that backs the rest, ${isIsolated ? "isolated" : "cross"}`, () => {
    const market = new Market();
    const [btc] = market.symbols;
    const mark = MARKS[0];
    const lots = 1500;
    const bob = market.open("bob", 100_000, 20);
    const alice = market.open("alice", 10_000, 100);
    const fund = market.exchange.marginTable.equity(INSURANCE_ACCOUNT);
    if (isIsolated) market.do(btc, make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
    market.deal(btc, bob, alice, BUY, mark, lots);
    if (isIsolated) market.do(btc, make(MoveMargin, { accountId: alice, amountQuanta: 8000 * QUANTA_PER_USDC }));
    const far = { accountId: alice, side: SELL, priceTicks: Math.ceil(mark * 0.951), quantityLots: lots / 5 };
    market.do(btc, make(PlaceOrder, { ...far, flags: REDUCE_ONLY }));
    // The maker may withdraw down to the initial margin of 975 USDC, which is the loss of a fifth there.
    if (isIsolated) market.do(btc, make(MoveMargin, { accountId: alice, amountQuanta: -8000 * QUANTA_PER_USDC }));
    const amountQuanta = market.exchange.marginTable.withdrawable(alice);
    market.exchange.ask(LEDGER, make(Withdraw, { accountId: alice, amountQuanta, address: "0x0" }));
    market.limit(btc, bob, BUY, far.priceTicks, far.quantityLots);
    assert.equal(market.size(btc, alice), lots, "four fifths would be left with nothing");
    // Otherwise the fund would sell them to the same owner for less.
    market.limit(btc, bob, BUY, Math.ceil(mark * 0.999), lots);
    for (let i = 0; i < 40; i++) market.do(btc, make(Tick));
    assert.equal(market.exchange.marginTable.equity(INSURANCE_ACCOUNT), fund);
  });

for (const hasReduceOnly of [false, true])
  test(`orders far behind the mark do not use a gain that was withdrawn${hasReduceOnly ? ", next to a reduce-only order" : ""}`, () => {
    const market = new Market();
    const [btc] = market.symbols;
    const mark = MARKS[0];
    const lots = 1400;
    const bob = market.open("bob", 100_000, 20);
    const alice = market.open("alice", 1000, 100);
    const fund = market.exchange.marginTable.equity(INSURANCE_ACCOUNT);
    market.deal(btc, alice, bob, BUY, mark, lots);
    const closing = { accountId: alice, side: BUY, priceTicks: mark, quantityLots: lots };
    if (hasReduceOnly) market.do(btc, make(PlaceOrder, { ...closing, flags: REDUCE_ONLY }));
    market.limit(btc, alice, BUY, mark, 2 * lots);
    // The bids lose two or three times the gain of the short.
    market.exchange.do(
      btc.actorId,
      make(SetIndexPrice, { indexTicks: Math.ceil(mark / (hasReduceOnly ? 1.0027 : 1.0039)) }),
    );
    market.do(btc, make(Tick));
    const amountQuanta = market.exchange.marginTable.withdrawable(alice);
    assert.ok(amountQuanta > 200 * QUANTA_PER_USDC);
    market.exchange.ask(LEDGER, make(Withdraw, { accountId: alice, amountQuanta, address: "0x0" }));
    market.limit(btc, bob, SELL, mark, 3 * lots);
    const { equity, maintenance } = market.exchange.marginTableOf(alice);
    assert.ok(
      equity >= maintenance,
      `${equity} are left for ${market.size(btc, alice)} lots, which need ${maintenance}`,
    );
    market.limit(btc, bob, market.size(btc, bob) > 0 ? SELL : BUY, mark, 3 * lots);
    for (let i = 0; i < 40; i++) market.do(btc, make(Tick));
    assert.equal(market.exchange.marginTable.equity(INSURANCE_ACCOUNT), fund);
  });

for (const isMaker of [false, true])
  test(`an account below zero may close where the gain exceeds the deficit, as a ${isMaker ? "maker" : "taker"}`, () => {
    const market = new Market();
    const [btc] = market.symbols;
    const mark = MARKS[0];
    const lots = 1400;
    const [bob, carol] = ["bob", "carol"].map((name) => market.open(name, 100_000, 20));
    const alice = market.open("alice", 1700, 100);
    market.deal(btc, carol, alice, SELL, mark, lots);
    const priceTicks = mark + 2000;
    const bid = { side: BUY, priceTicks, quantityLots: lots };
    const ask = { side: SELL, priceTicks, quantityLots: lots };
    const [resting, taking] = isMaker
      ? [
          { ...bid, accountId: alice },
          { ...ask, accountId: bob, quantityLots: lots + 100 },
        ]
      : [
          { ...ask, accountId: bob },
          { ...bid, accountId: alice },
        ];
    if (isMaker) market.limit(btc, carol, BUY, priceTicks + 1, 100);
    market.do(btc, make(PlaceOrder, resting));
    market.do(btc, make(SetIndexPrice, { indexTicks: mark + 11_000 }));
    // The price leaves her a little, and another symbol takes more: that symbol settles it, but not yet.
    assert.ok(market.exchange.marginTable.equity(alice) > 0);
    market.exchange.marginTable.setContribution(alice, new Float64Array(5), 0, {
      ...{ unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 },
      equity: -700 * QUANTA_PER_USDC,
    });
    assert.ok(market.exchange.marginTable.equity(alice) < 0);
    const said = market.do(btc, make(PlaceOrder, { ...taking, timeInForce: FOK }));
    const views = said.filter(({ type }) => type === OrderView.code) as MessageOf<typeof OrderView>[];
    assert.deepEqual(
      views.map(({ status, filledLots }) => [status, filledLots]),
      [[STATUS_FILLED, taking.quantityLots]],
    );
    assert.equal(market.size(btc, alice), 0);
    assert.ok(market.exchange.marginTable.equity(alice) > 0);
  });
