import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import { CONTRIBUTION_FIELDS } from "../../../src/core/accounts/contribution.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import {
  BUY,
  INSURANCE_ACCOUNT,
  ISOLATED,
  REASON_INSUFFICIENT_MARGIN,
  REDUCE_ONLY,
  SELL,
  STATUS_CANCELED,
  STATUS_EXPIRED,
} from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import type { Transaction } from "../../../src/core/protocol/actor.ts";
import {
  AmendOrder,
  PlaceOrder,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
} from "../../../src/core/protocol/commands.ts";
import { OrderClosed, type OrderPlaced, PositionTransferred, Traded } from "../../../src/core/protocol/events.ts";
import { compileInstrument } from "../../../src/core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { TRACED_MS } from "../../../src/core/state/recent-fills.ts";
import { SymbolActor } from "../../../src/core/symbol.ts";
import { make, START } from "../support/exchange.ts";
import { MARKS } from "../support/tight-market.ts";

/*
 * The cases of maker-solvency.test.ts, while another thread works on the same account.
 */

/** Runs a transaction of another thread right after the equity of an account was read. */
class InterruptedMarginTable extends MarginTable {
  afterLookAt = (_accountId: number): void => {};

  override usableEquity(accountId: number): number {
    const equity = super.usableEquity(accountId);
    this.afterLookAt(accountId);
    return equity;
  }

  override usableEquityAfterFence(accountId: number): number {
    const equity = super.usableEquityAfterFence(accountId);
    this.afterLookAt(accountId);
    return equity;
  }
}

/** BTC-PERP on one thread. Deposits, withdrawals and positions elsewhere come from another thread. */
class Threads {
  readonly marginTable = new InterruptedMarginTable(MarginTable.allocate(64, 2).buffer, 2, 0);
  private readonly others = new MarginTable(this.marginTable.buffer, 2, 1);
  private readonly btc = new SymbolActor(
    compileInstrument({ ...DEFAULT_INSTRUMENTS[0], fundMaxNotional: "3000000" }),
    this.marginTable,
  );
  private readonly contributed = new Float64Array(64 * CONTRIBUTION_FIELDS);
  private sequence = 0;
  private time = START;

  /** So long that a settlement does not trace the trades before it. */
  forgetTrades(): void {
    this.time += TRACED_MS + 1;
    this.run(make(SetIndexPrice, { indexTicks: this.btc.state.indexTicks }));
  }

  /** With the unrealised gain of positions on the other thread, which is a part of it. */
  has(accountId: number, usdc: number, gainUsdc = 0): void {
    const [equity, unrealized] = [usdc * QUANTA_PER_USDC, gainUsdc * QUANTA_PER_USDC];
    const to = { equity, unrealized, initial: 0, positionInitial: 0, maintenance: 0 };
    this.others.setContribution(accountId, this.contributed, accountId * CONTRIBUTION_FIELDS, to);
    this.others.commit();
  }

  /** The other thread reserves margin for an order that it is filling. */
  reserves(accountId: number, usdc: number): boolean {
    this.others.begin();
    return this.others.reserve(accountId, usdc * QUANTA_PER_USDC, this.contributed, accountId * CONTRIBUTION_FIELDS);
  }

  /** An order of the other thread comes to rest. */
  rests(accountId: number, usdc: number): void {
    assert.ok(this.reserves(accountId, usdc));
    this.others.commit();
  }

  /** By a price, in a transaction that stays open. */
  loses(accountId: number, usdc: number): void {
    const [equity, unrealized, initial, positionInitial, maintenance] = this.contributed.subarray(
      accountId * CONTRIBUTION_FIELDS,
    );
    const lost = { equity: equity - usdc * QUANTA_PER_USDC, unrealized, initial, positionInitial, maintenance };
    this.others.begin();
    this.others.setContribution(accountId, this.contributed, accountId * CONTRIBUTION_FIELDS, lost);
  }

  opens(accountId: number, usdc: number, initialUsdc: number): void {
    const [equity, initial] = [usdc * QUANTA_PER_USDC, initialUsdc * QUANTA_PER_USDC];
    const to = { equity, unrealized: 0, initial, positionInitial: initial, maintenance: initial / 2 };
    this.others.setContribution(accountId, this.contributed, accountId * CONTRIBUTION_FIELDS, to);
    this.others.commit();
  }

  /** Whether a close on the other thread, in a transaction that stays open, may lose so much. */
  spends(accountId: number, usdc: number): boolean {
    this.others.begin();
    return this.others.spend(accountId, usdc * QUANTA_PER_USDC, this.contributed, accountId * CONTRIBUTION_FIELDS);
  }

  withdraws(accountId: number, usdc: number): boolean {
    return this.others.debit(accountId, usdc * QUANTA_PER_USDC);
  }

  equity(accountId: number): number {
    return this.marginTable.equity(accountId);
  }

  usdc(accountId: number): number {
    return this.equity(accountId) / QUANTA_PER_USDC;
  }

  /** Also settles the mark that the command has moved. `whenTraded` runs in the middle of a transaction. */
  run(command: Message, whenTraded = (): void => {}): Message[] {
    const said: Message[] = [];
    const emit = (event: Message): void => {
      said.push({ ...event });
      if (event.type === Traded.code || event.type === PositionTransferred.code) whenTraded();
    };
    const transaction: Transaction = { time: this.time, emit, reply: () => {} };
    this.transaction(() => this.btc.decide(command, transaction));
    while (this.btc.isSettlingMark) this.transaction(() => this.btc.settleMark(transaction));
    return said;
  }

  private transaction(run: () => void): void {
    this.marginTable.begin();
    run();
    this.btc.settle(++this.sequence, this.time);
    this.marginTable.commit();
  }
}

/** Alice has so many USDC at 100x, Bob has enough; the first mark is set. */
function aliceAndBob(usdc: number) {
  const threads = new Threads();
  const [mark] = MARKS;
  const [alice, bob] = [20, 21];
  threads.has(alice, usdc);
  threads.has(bob, 100_000);
  threads.run(make(SetIndexPrice, { indexTicks: mark }));
  threads.run(make(SetLeverage, { accountId: alice, leverage: 100 }));
  return { threads, mark, alice, bob };
}

test("a taker trades only what its own margin covers when another thread spends a maker's margin", () => {
  const threads = new Threads();
  const [mark] = MARKS;
  const [alice, bob, carol, dave] = [20, 21, 22, 23];
  for (const [accountId, usdc] of [
    [alice, 1000],
    [bob, 1000],
    [carol, 100_000],
    [dave, 1000],
  ])
    threads.has(accountId, usdc);
  threads.run(make(SetIndexPrice, { indexTicks: mark }));
  for (const accountId of [alice, bob]) threads.run(make(SetLeverage, { accountId, leverage: 100 }));
  const farTicks = Math.floor(mark * 1.049);
  const ask = { side: SELL, quantityLots: 1300 };
  threads.run(make(PlaceOrder, { ...ask, accountId: carol, priceTicks: farTicks }));
  threads.run(make(PlaceOrder, { ...ask, accountId: bob, priceTicks: mark + 1 }));
  threads.run(make(PlaceOrder, { ...ask, accountId: dave, priceTicks: mark, quantityLots: 1 }));
  const order = make(PlaceOrder, { accountId: alice, side: BUY, priceTicks: farTicks, quantityLots: 1300 });
  const said = threads.run(order, () => threads.has(bob, 1));
  const ends = said.filter(({ type }) => type === OrderClosed.code) as MessageOf<typeof OrderClosed>[];
  assert.deepEqual(
    ends.map(({ accountId, status, reason }) => [accountId, status, reason]),
    [
      [bob, STATUS_CANCELED, REASON_INSUFFICIENT_MARGIN],
      [alice, STATUS_EXPIRED, REASON_INSUFFICIENT_MARGIN],
    ],
  );
  assert.equal(said.filter(({ type }) => type === Traded.code).length, 1, "with Dave, and with nobody dearer than Bob");
  assert.ok(threads.equity(alice) > 0);
});

for (const isMaker of [false, true])
  test(`a ${isMaker ? "maker" : "taker"} cannot withdraw a coming loss before the transaction is over`, () => {
    const threads = new Threads();
    const [mark] = MARKS;
    const [alice, bob, carol] = [20, 21, 22];
    for (const accountId of [alice, bob, carol]) threads.has(accountId, accountId === alice ? 10_000 : 100_000);
    threads.run(make(SetIndexPrice, { indexTicks: mark }));
    threads.run(make(SetLeverage, { accountId: alice, leverage: 100 }));
    const lots = 1300;
    threads.run(make(PlaceOrder, { accountId: bob, side: SELL, priceTicks: mark, quantityLots: lots }));
    threads.run(make(PlaceOrder, { accountId: alice, side: BUY, priceTicks: mark, quantityLots: lots }));
    const far = { priceTicks: Math.ceil(mark * 0.951), quantityLots: lots };
    const closing = make(PlaceOrder, { ...far, accountId: alice, side: SELL, flags: REDUCE_ONLY });
    const bid = make(PlaceOrder, { ...far, accountId: carol, side: BUY });
    const [first, second] = isMaker ? [closing, bid] : [bid, closing];
    threads.run(first);
    let withdrawals = 0;
    const said = threads.run(second, () => {
      if (threads.withdraws(alice, 8000)) withdrawals++;
    });
    assert.equal(said.filter(({ type }) => type === Traded.code).length, 1);
    assert.equal(withdrawals, 0, `${threads.equity(alice)} are left`);
    assert.ok(threads.equity(alice) > 0);
    assert.ok(threads.withdraws(alice, 5000), "what is left of it is free");
  });

/** A step of the mark takes 3000 ticks from Alice's long of 1.3 BTC: 390 USDC, which is this much more than she has. */
const STEP_TICKS = 3000;
const DEFICIT_USDC = 150;

/** Alice has 240 USDC left behind her long against Bob's short; the next step will make her bankrupt. There are no bids. */
function aboutToSettle() {
  const { threads, mark, alice, bob } = aliceAndBob(3000);
  threads.run(make(SetLeverage, { accountId: bob, leverage: 100 }));
  const order = { priceTicks: mark, quantityLots: 1300 };
  threads.run(make(PlaceOrder, { ...order, accountId: bob, side: SELL }));
  threads.run(make(PlaceOrder, { ...order, accountId: alice, side: BUY }));
  threads.has(alice, 3000 - threads.usdc(alice) + 390 - DEFICIT_USDC);
  assert.equal(threads.usdc(alice), 390 - DEFICIT_USDC);
  threads.forgetTrades();
  return { threads, alice, bob, step: make(SetIndexPrice, { indexTicks: mark - STEP_TICKS }) };
}

const receivers = (said: readonly Message[]): number[] =>
  (said.filter(({ type }) => type === PositionTransferred.code) as MessageOf<typeof PositionTransferred>[]).map(
    ({ counterpartyId }) => counterpartyId,
  );

test("two threads that transfer to the fund at the same time do not spend its money twice", () => {
  const { threads, alice, bob, step } = aboutToSettle();
  // An hour's allowance of 200.
  threads.has(INSURANCE_ACCOUNT, 20_000);
  let looks = 0;
  // The other thread spends nearly all of it, after this one has found that the fund may pay.
  threads.marginTable.afterLookAt = (accountId) => {
    if (accountId !== INSURANCE_ACCOUNT || looks++ > 0) return;
    threads.has(INSURANCE_ACCOUNT, 100);
  };
  assert.deepEqual(receivers(threads.run(step)), [bob], "deleveraged");
  assert.ok(looks > 1, "it looked again");
  assert.equal(threads.usdc(INSURANCE_ACCOUNT), 100);
  assert.equal(threads.usdc(alice), 0);
});

for (const mayTake of [true, false])
  test(`the fund takes over only what leaves it the margin of its positions on another thread: ${mayTake}`, () => {
    const { threads, alice, bob, step } = aboutToSettle();
    // After the deficit 19,850 are left. The position needs 336 of maintenance margin, those on the other thread the rest.
    threads.opens(INSURANCE_ACCOUNT, 20_000, 2 * (19_850 - 336 + (mayTake ? -1 : 1)));
    assert.deepEqual(receivers(threads.run(step)), [mayTake ? INSURANCE_ACCOUNT : bob]);
    assert.ok(Math.abs(threads.usdc(INSURANCE_ACCOUNT) - (mayTake ? 19_850 : 20_000)) < 1e-6);
    assert.equal(threads.usdc(alice), 0);
  });

for (const [what, takes] of [
  ["withdrawn", (threads, bob, usdc) => threads.withdraws(bob, usdc)],
  ["lost by another thread's close", (threads, bob, usdc) => threads.spends(bob, usdc)],
] satisfies [string, (threads: Threads, bob: number, usdc: number) => boolean][])
  test(`a gain that deleveraging takes is not ${what} before the transaction is over`, () => {
    const { threads, bob, step } = aboutToSettle();
    threads.has(bob, 3000 + 100_000 - threads.usdc(bob));
    const before = threads.usdc(bob);
    let taken = 0;
    let tries = 0;
    const said = threads.run(step, () => {
      tries++;
      // The step has given him 390, of which he keeps 240.
      if (takes(threads, bob, before + 100)) taken++;
    });
    assert.deepEqual(receivers(said), [bob]);
    assert.deepEqual([tries, taken], [1, 0]);
    assert.equal(threads.usdc(bob), before + 390 - DEFICIT_USDC);
    assert.ok(threads.withdraws(bob, before + 390 - DEFICIT_USDC), "what is left of it is free");
  });

test("a counterparty that withdraws all it can is deleveraged all the same, and keeps what it had", () => {
  const { threads, bob, step } = aboutToSettle();
  threads.has(bob, 3000 + 100_000 - threads.usdc(bob));
  let withdrawnUsdc = 0;
  const before = threads.usdc(bob);
  const said = threads.run(step, () => {
    for (let usdc = before; usdc > 1; usdc /= 2)
      if (threads.withdraws(bob, Math.floor(usdc))) withdrawnUsdc += Math.floor(usdc);
  });
  assert.deepEqual(receivers(said), [bob]);
  assert.ok(withdrawnUsdc > 1800);
  assert.equal(threads.usdc(bob) + withdrawnUsdc, before + 390 - DEFICIT_USDC);
  assert.ok(threads.usdc(bob) >= 390 - DEFICIT_USDC);
});

test("a close leaves the margin of an order that another thread is filling", () => {
  const { threads, mark, alice, bob } = aliceAndBob(1000);
  const order = { priceTicks: mark, quantityLots: 300 };
  threads.run(make(PlaceOrder, { ...order, accountId: bob, side: SELL }));
  threads.run(make(PlaceOrder, { ...order, accountId: alice, side: BUY }));
  // Alice loses nearly everything there.
  const far = { priceTicks: Math.ceil(mark * 0.951), quantityLots: 300 };
  threads.run(make(PlaceOrder, { ...far, accountId: bob, side: BUY }));
  assert.ok(threads.reserves(alice, 700));
  const closing = make(PlaceOrder, { ...far, accountId: alice, side: SELL, flags: REDUCE_ONLY });
  assert.equal(threads.run(closing).filter(({ type }) => type === Traded.code).length, 0);
  threads.opens(alice, 1000, 700);
  assert.ok(threads.equity(alice) >= 700 * QUANTA_PER_USDC, `${threads.equity(alice)} are left`);
});

test("a close is not blocked while another thread moves its positions to a new mark", () => {
  const { threads, mark, alice, bob } = aliceAndBob(1000);
  const order = { priceTicks: mark, quantityLots: 300 };
  threads.run(make(PlaceOrder, { ...order, accountId: bob, side: SELL }));
  threads.run(make(PlaceOrder, { ...order, accountId: alice, side: BUY }));
  threads.rests(alice, 700);
  // She is short of margin now: closing uses what the order there has reserved.
  threads.loses(alice, 250);
  const near = { priceTicks: Math.ceil(mark * 0.995), quantityLots: 300 };
  threads.run(make(PlaceOrder, { ...near, accountId: bob, side: BUY }));
  const closing = make(PlaceOrder, { ...near, accountId: alice, side: SELL, flags: REDUCE_ONLY });
  assert.equal(threads.run(closing).filter(({ type }) => type === Traded.code).length, 1);
});

for (const isMaker of [false, true])
  test(`a position that a ${isMaker ? "maker" : "taker"} opens keeps its margin when another thread closes at the same time`, () => {
    const { threads, mark, alice, bob } = aliceAndBob(1000);
    const order = { priceTicks: mark, quantityLots: 1000 };
    const [maker, taker] = isMaker ? [alice, bob] : [bob, alice];
    threads.run(make(PlaceOrder, { ...order, accountId: maker, side: SELL }));
    let closes = 0;
    threads.run(make(PlaceOrder, { ...order, accountId: taker, side: BUY }), () => {
      if (threads.spends(alice, 900)) closes++;
    });
    assert.equal(closes, 0, `${threads.equity(alice)} are left`);
    assert.ok(threads.spends(alice, 300));
  });

test("so does a position that an amended order opens with the margin it had reserved", () => {
  const { threads, mark, alice, bob } = aliceAndBob(1000);
  const bid = { accountId: alice, side: BUY, priceTicks: mark - 10, quantityLots: 1000 };
  const [placed] = threads.run(make(PlaceOrder, bid)) as MessageOf<typeof OrderPlaced>[];
  threads.run(make(PlaceOrder, { accountId: bob, side: SELL, priceTicks: mark, quantityLots: 900 }));
  const { orderId } = placed;
  let closes = 0;
  threads.run(make(AmendOrder, { accountId: alice, orderId, priceTicks: mark, quantityLots: 900 }), () => {
    if (threads.spends(alice, 900)) closes++;
  });
  assert.equal(closes, 0, `${threads.equity(alice)} are left`);
  assert.ok(threads.spends(alice, 300));
});

for (const isIsolated of [false, true])
  test(`an order trades only on the margin that another thread's close leaves, ${isIsolated ? "isolated" : "cross"}`, () => {
    const { threads, mark, alice, bob } = aliceAndBob(1000);
    if (isIsolated) threads.run(make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
    const order = { priceTicks: mark, quantityLots: 1000 };
    threads.run(make(PlaceOrder, { ...order, accountId: alice, side: BUY }));
    assert.ok(threads.spends(alice, 900));
    const said = threads.run(make(PlaceOrder, { ...order, accountId: bob, side: SELL }));
    assert.equal(said.filter(({ type }) => type === Traded.code).length, 0);
    assert.ok(threads.equity(alice) >= 100 * QUANTA_PER_USDC, `${threads.equity(alice)} are left`);
  });

test("an isolated position sets aside no margin that another thread's close has spent", () => {
  const { threads, mark, alice, bob } = aliceAndBob(1000);
  threads.run(make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
  const order = { priceTicks: mark, quantityLots: 1000 };
  threads.run(make(PlaceOrder, { ...order, accountId: alice, side: BUY }));
  // Of its 650 of margin, more than the maintenance margin is left.
  assert.ok(threads.spends(alice, 500));
  const said = threads.run(make(PlaceOrder, { ...order, accountId: bob, side: SELL }));
  assert.equal(said.filter(({ type }) => type === Traded.code).length, 1);
  assert.ok(threads.equity(alice) >= 0, `${threads.equity(alice)} are left`);
});

for (const isMaker of [false, true])
  test(`nor does a ${isMaker ? "maker" : "taker"} set aside what another thread takes in the same moment`, () => {
    const { threads, mark, alice, bob } = aliceAndBob(1000);
    threads.run(make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
    const order = { priceTicks: mark, quantityLots: 1000 };
    const [maker, taker] = isMaker ? [alice, bob] : [bob, alice];
    threads.run(make(PlaceOrder, { ...order, accountId: maker, side: SELL }));
    let taken = 0;
    // The other thread takes 600 when this one has looked at the equity, and has not set anything aside yet.
    const take = (accountId: number): void => {
      if (accountId === alice && isTraded && taken++ === 0) threads.has(alice, 400);
    };
    let isTraded = false;
    threads.marginTable.afterLookAt = take;
    const said = threads.run(make(PlaceOrder, { ...order, accountId: taker, side: BUY }), () => {
      isTraded = true;
    });
    assert.equal(said.filter(({ type }) => type === Traded.code).length, 1);
    assert.ok(taken > 0);
    assert.ok(threads.equity(alice) >= 0, `${threads.equity(alice)} are left`);
  });

type Order = MessageOf<typeof PlaceOrder>;

/** Runs all but the command in which Alice's bid meets the ask, and returns that one. */
const MEETINGS: Record<string, (threads: Threads, bid: Order, ask: Order) => Message> = {
  "an opening taker": (threads, bid, ask) => {
    threads.run(ask);
    return bid;
  },
  "a closing taker": (threads, bid, ask) => {
    const atMark = { priceTicks: MARKS[0], quantityLots: bid.quantityLots };
    threads.run(make(PlaceOrder, { ...atMark, accountId: ask.accountId, side: BUY }));
    threads.run(make(PlaceOrder, { ...atMark, accountId: bid.accountId, side: SELL }));
    threads.run(ask);
    return bid;
  },
  "an amending taker": (threads, bid, ask) => {
    const { accountId, priceTicks } = bid;
    const [placed] = threads.run({ ...bid, priceTicks: MARKS[0] - 6000 } as Order) as MessageOf<typeof OrderPlaced>[];
    threads.run(ask);
    return make(AmendOrder, { accountId, orderId: placed.orderId, priceTicks });
  },
  "a maker": (threads, bid, ask) => {
    threads.run(bid);
    return ask;
  },
};

for (const [who, meet] of Object.entries(MEETINGS))
  for (const isInterrupted of [false, true])
    test(`${who} loses ${isInterrupted ? "no settled money that another thread takes in the same moment" : "what is settled"}`, () => {
      const { threads, mark, alice, bob } = aliceAndBob(6000);
      const order = { priceTicks: mark + 6000, quantityLots: 1300 };
      const bid = make(PlaceOrder, { ...order, accountId: alice, side: BUY });
      const last = meet(threads, bid, make(PlaceOrder, { ...order, accountId: bob, side: SELL }));
      // Of her equity a thousand are settled. Her fill loses 780 of them.
      const equity = threads.usdc(alice);
      threads.has(alice, 6000, equity - 1000);
      // A maker's equity is looked at twice by the preview, then for its margin.
      let looks = who === "a maker" ? 4 : 1;
      threads.marginTable.afterLookAt = (accountId) => {
        if (isInterrupted && accountId === alice && --looks === 0) threads.has(alice, 6000 - 780, equity - 1000);
      };
      const said = threads.run(last);
      assert.equal(looks <= 0, isInterrupted);
      assert.equal(said.filter(({ type }) => type === Traded.code).length, isInterrupted ? 0 : 1);
      assert.ok(threads.usdc(alice) > equity - 1000, `${threads.usdc(alice)} of ${equity} are left`);
      if (isInterrupted) assert.equal(threads.usdc(alice), equity - 780, "what was taken for the order is given back");
    });
