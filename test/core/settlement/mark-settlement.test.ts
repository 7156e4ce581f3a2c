import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUY,
  CROSS,
  EXEC_ADL,
  INSURANCE_ACCOUNT,
  ISOLATED,
  LEDGER,
  MODE_CANCEL_ONLY,
  MODE_TRADING,
} from "../../../src/core/base/enums.ts";
import { HaltSymbol, ResumeSymbol, Tick, Withdraw } from "../../../src/core/protocol/commands.ts";
import { PositionTransferred, Traded } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView } from "../../../src/core/protocol/replies.ts";
import { TRACED_MS } from "../../../src/core/state/recent-fills.ts";
import { make, SnapshotStore } from "../support/exchange.ts";
import { FineMarket } from "../support/fine-market.ts";

const { A, B, MARK } = FineMarket;
const FUNDING_MS = 8 * 3_600_000;

const transfersIn = (events: readonly Message[]): MessageOf<typeof PositionTransferred>[] =>
  events.filter(({ type }) => type === PositionTransferred.code) as MessageOf<typeof PositionTransferred>[];

/** So long that the trades before are not traced. */
function forget(market: FineMarket): void {
  market.time += TRACED_MS + 1;
  for (const symbol of [A, B]) market.price(symbol, market.of(symbol).indexTicks);
}

/** A price for accounts whose loss is a fall (sign 1) or a rise (−1). */
const against = (sign: number, ticks: number): number => MARK - sign * ticks;

/**
 * The loser has 1 coin at 10,000 with so much money: a long (sign 1) or short (−1). The winner has the other side, and ten
 * times as much money as the loser needs.
 */
function opposed(usdc: number, sign = 1, marginMode = CROSS) {
  const market = FineMarket.open();
  const [loser, winner] = [market.open(usdc, 100, marginMode), market.open(10_000)];
  if (sign > 0) market.deal(A, winner, loser, 1000);
  else market.deal(A, loser, winner, 1000);
  assert.equal(market.size(A, loser), sign * 1000);
  return { market, loser, winner };
}

for (const sign of [1, -1])
  for (const marginMode of [CROSS, ISOLATED]) {
    const what = `${sign > 0 ? "long" : "short"}, ${marginMode === CROSS ? "cross" : "isolated"}`;

    test(`a price beyond the band is settled before the next command: ${what}`, () => {
      // The isolated position has 100 set aside.
      const { market, loser, winner } = opposed(marginMode === CROSS ? 100 : 400, sign, marginMode);
      const kept = market.usdc(loser) - (marginMode === CROSS ? 100 : 0);
      const said = market.price(A, against(sign, 3000)); // 300 USDC lost
      assert.deepEqual(transfersIn(said.events), [], "the price is a transaction of its own");
      assert.equal(market.symbol(A).isSettlingMark, true);
      assert.throws(
        () => market.symbol(A).decide(make(Tick), { time: market.time, emit: () => {}, reply: () => {} }),
        /settled before the next command/,
      );
      const events = market.settleMark(A);
      assert.deepEqual(
        transfersIn(events).map(({ accountId, counterpartyId, quanta, execType }) => [
          ...[accountId, counterpartyId, quanta, execType],
        ]),
        [[loser, winner, (10_000 - sign * 100) * 1e6, EXEC_ADL]],
      );
      market.finish(A);
      assert.deepEqual([market.wealth(loser), market.size(A, loser), market.size(A, winner)], [kept, 0, 0]);
      assert.equal(market.wealth(winner), 10_100);
      assert.equal(market.usdc(INSURANCE_ACCOUNT), 0);
      assert.deepEqual(market.audit(A).faults, []);
    });

    test(`a price that leaves everyone something moves no position: ${what}`, () => {
      const { market, loser } = opposed(marginMode === CROSS ? 100 : 400, sign, marginMode);
      market.price(A, against(sign, 1000)); // just what it has
      assert.deepEqual(market.settleMark(A), []);
      assert.equal(market.size(A, loser), sign * 1000);
    });
  }

/** So many accounts that one transaction of the sweep does not reach the last row. */
function crowded(): FineMarket {
  const market = FineMarket.open();
  for (let i = 0; i < 550; i++) {
    const [seller, buyer] = [market.open(1000), market.open(1000)];
    market.deal(A, seller, buyer, 1);
  }
  return market;
}

test("a price within the band looks at once at accounts below their margin, and orders wait if one is bankrupt", () => {
  const market = crowded();
  const [winner, loser] = [market.open(10_000), market.open(100)];
  market.deal(A, winner, loser, 1000);
  // First below the maintenance margin, then below zero, each time by less than 0.25 %.
  for (const ticks of [240, 480, 720, 960]) {
    market.price(A, MARK - ticks);
    market.finish(A);
  }
  assert.deepEqual([market.usdc(loser), market.size(A, loser)], [4, 1000]);
  market.price(A, MARK - 1190);
  assert.equal(market.size(A, loser), 1000);
  assert.equal(market.symbol(A).isSettlingMark, true);
  const [transfer] = transfersIn(market.settleMark(A));
  assert.deepEqual([transfer?.accountId, transfer?.counterpartyId, transfer?.quanta], [loser, winner, 9900e6]);
  market.finish(A);
  assert.deepEqual([market.usdc(loser), market.usdc(winner)], [0, 10_100]);
});

test("the band counts from the mark at which the rows stand, not from the last one", () => {
  const market = crowded();
  const [winner, loser] = [market.open(10_000), market.open(100)];
  market.deal(A, winner, loser, 1000);
  // Prices come faster than the sweep: each is within the band of the one before.
  for (let ticks = 200; ticks < 1400; ticks += 200) {
    market.settleMark(A);
    market.price(A, MARK - ticks);
  }
  market.settleMark(A);
  assert.deepEqual([market.size(A, loser), market.usdc(loser)], [0, 0]);
});

/** One long of 200 coins against 200 shorts of one, which the trace has forgotten. The next price takes twice what it has. */
function againstMany() {
  const market = FineMarket.open({ maxQuantity: "1000" });
  const loser = market.open(20_000, 100);
  const winners = Array.from({ length: 200 }, () => market.open(1000, 50));
  for (const winner of winners) market.deal(A, winner, loser, 1000);
  forget(market);
  return { market, loser, winners, price: MARK - 2000 };
}

const sum = (market: FineMarket, accounts: readonly number[]): number =>
  accounts.reduce((total, accountId) => total + market.wealth(accountId), 0);

/** The loser's position is gone, and the step's gain is all that the others have lost. */
function assertSettled(market: FineMarket, loser: number, winners: readonly number[], before: number): void {
  assert.equal(market.size(A, loser), 0);
  for (const accountId of [loser, ...winners, INSURANCE_ACCOUNT]) assert.ok(market.usdc(accountId) >= 0);
  for (const accountId of winners) assert.ok(market.usdc(accountId) >= 1000, "nobody loses what it had");
  assert.ok(Math.abs(sum(market, [loser, ...winners, INSURANCE_ACCOUNT]) - before) < 1e-6);
  for (const actorId of [LEDGER, A, B]) assert.deepEqual(market.audit(actorId).faults, []);
}

test("a settlement against many takes several transactions, and each part has the same price", () => {
  const { market, loser, winners, price } = againstMany();
  const before = sum(market, [loser, ...winners]);
  market.price(A, price);
  const parts: Message[][] = [];
  while (market.symbol(A).isSettlingMark) parts.push(market.settlePart(A).events);
  assert.ok(parts.filter((events) => events.length > 0).length >= 4);
  const transfers = transfersIn(parts.flat());
  assert.deepEqual(
    transfers.map(({ quanta, quantityLots }) => [quanta, quantityLots]),
    transfers.map(() => [9900e6, 1000]),
  );
  market.finish(A);
  assertSettled(market, loser, winners, before);
});

function snapshotsOf(market: FineMarket): Map<number, SnapshotStore> {
  return new Map(
    [LEDGER, A, B].map((actorId) => {
      const store = new SnapshotStore();
      store.take(market, actorId);
      return [actorId, store];
    }),
  );
}

test("recovery at any moment of a settlement finishes it before anyone trades", () => {
  const { market, loser, winners, price } = againstMany();
  const before = sum(market, [loser, ...winners]);
  const snapshots = snapshotsOf(market);
  const first = market.log.length;
  market.price(A, price);
  market.finish(A);
  const { digest } = market.audit(A);
  assert.ok(market.log.length - first >= 5);
  for (let records = first + 1; records <= market.log.length; records++)
    for (const from of [undefined, snapshots]) {
      const again = FineMarket.recover(market, records, from);
      const isOpen = again.of(A).positions.open.length > 0;
      assert.equal(again.symbol(A).isSettlingMark, isOpen, "all accounts are looked at");
      again.settleMark(A);
      again.finish(A);
      assertSettled(again, loser, winners, before);
      // The order of the counterparties is not in a snapshot: the same price makes it the same money.
      if (from === undefined) assert.equal(again.usdc(loser), market.usdc(loser));
      if (records === market.log.length) assert.equal(again.audit(A).digest, digest);
    }
});

test("a snapshot between a price and its settlement keeps the mark before", () => {
  const { market, loser, winners, price } = againstMany();
  const before = sum(market, [loser, ...winners]);
  market.price(A, price);
  const snapshots = snapshotsOf(market);
  const again = FineMarket.recover(market, market.log.length, snapshots);
  again.finish(A);
  assertSettled(again, loser, winners, before);
});

test("during a halt the mark stands still; at the resume it moves, and is settled before anyone trades", () => {
  const { market, loser, winner } = opposed(100);
  market.do(A, make(HaltSymbol, { mode: MODE_CANCEL_ONLY, reason: 3 }));
  market.price(A, MARK - 3000);
  assert.deepEqual([market.of(A).markTicks, market.of(A).indexTicks], [MARK, MARK - 3000]);
  assert.equal(market.symbol(A).isSettlingMark, false);
  for (let i = 0; i < 4; i++) {
    market.time += 250;
    assert.deepEqual(market.carryOut(A, make(Tick)).events, []);
  }
  assert.equal(market.usdc(loser), 100);
  const resumed = market.do(A, make(ResumeSymbol));
  assert.deepEqual(transfersIn(resumed.events), []);
  assert.equal(market.of(A).markTicks, MARK - 3000);
  assert.equal(market.symbol(A).isSettlingMark, true);
  const [transfer] = transfersIn(market.settleMark(A));
  assert.deepEqual([transfer?.accountId, transfer?.counterpartyId, transfer?.quanta], [loser, winner, 9900e6]);
  assert.equal(market.order(A, winner, BUY, MARK - 3000, 1).replies[0]?.type, OrderView.code);
});

test("after a halt those pay who took the other side before it, however many prices came meanwhile", () => {
  const market = FineMarket.open();
  const [earlier, other] = [market.open(500), market.open(10_000)];
  market.deal(A, earlier, other, 1000);
  forget(market);
  const [loser, winner] = [market.open(100), market.open(10_000)];
  market.deal(A, winner, loser, 1000);
  market.do(A, make(HaltSymbol, { mode: MODE_CANCEL_ONLY, reason: 3 }));
  for (let i = 1; i <= 30; i++) {
    market.time += 1000;
    market.price(A, MARK - 100 * i);
  }
  market.do(A, make(ResumeSymbol));
  assert.deepEqual(
    transfersIn(market.settleMark(A)).map(({ accountId, counterpartyId }) => [accountId, counterpartyId]),
    [[loser, winner]],
  );
  assert.equal(market.size(A, earlier), -1000);
});

for (const marginMode of [CROSS, ISOLATED])
  test(`a halt that ends by time is settled before anyone is liquidated: ${marginMode === CROSS ? "cross" : "isolated"}`, () => {
    const market = FineMarket.open({
      ...{ indexJumpLimit: "0", breakerLimit: "0.005", breakerMode: "CANCEL_ONLY", breakerSeconds: 5 },
    });
    const [loser, winner, bidder] = [market.open(400, 100, marginMode), market.open(10_000), market.open(10_000)];
    market.deal(A, winner, loser, 1000);
    if (marginMode === CROSS)
      market.do(LEDGER, make(Withdraw, { accountId: loser, amountQuanta: 300e6, address: "0x0" }));
    market.order(A, bidder, BUY, 97_000, 5000);
    const kept = market.usdc(loser) - (marginMode === CROSS ? 100 : 0);
    market.price(A, MARK, 1);
    market.price(A, MARK - 600, 1);
    assert.equal(market.of(A).haltMode, MODE_CANCEL_ONLY);
    market.finish(A);
    market.price(A, MARK - 3500, 1);
    assert.equal(market.of(A).markTicks, MARK - 600);
    market.time += 5000;
    const ended = market.do(A, make(Tick));
    assert.deepEqual([market.of(A).haltMode, market.of(A).markTicks], [MODE_TRADING, MARK - 3500]);
    const trades = ended.events.filter(({ type }) => type === Traded.code || type === PositionTransferred.code);
    assert.deepEqual(trades, []);
    assert.equal(market.symbol(A).isSettlingMark, true);
    const events = market.settleMark(A);
    // In the book nobody bids as much as the bankruptcy price of 9900.
    assert.deepEqual(
      transfersIn(events).map(({ counterpartyId, quanta }) => [counterpartyId, quanta]),
      [[winner, 9900e6]],
    );
    assert.equal(market.wealth(loser), kept);
  });

test("what the book takes at the bankruptcy price or better is closed there", () => {
  const { market, loser, winner } = opposed(100);
  const bidder = market.open(10_000);
  market.order(A, bidder, BUY, 99_200, 400);
  market.order(A, bidder, BUY, 98_999, 1000);
  market.price(A, MARK - 1500);
  const events = market.settleMark(A);
  const trades = events.filter(({ type }) => type === Traded.code) as MessageOf<typeof Traded>[];
  assert.deepEqual(
    trades.map(({ priceTicks, quantityLots, makerAccountId }) => [priceTicks, quantityLots, makerAccountId]),
    [[99_200, 400, bidder]],
  );
  const [transfer] = transfersIn(events);
  assert.deepEqual([transfer?.counterpartyId, transfer?.quantityLots], [winner, 600]);
  assert.equal(market.size(A, loser), 0);
  market.finish(A);
  assert.ok(market.usdc(loser) >= 0);
});

/** An account long in both symbols against a winner in each, with so much money. */
function inBoth(usdc: number) {
  const market = FineMarket.open();
  const [loser, winnerA, winnerB] = [market.open(usdc), market.open(10_000), market.open(10_000)];
  market.deal(A, winnerA, loser, 1000);
  market.deal(B, winnerB, loser, 1000);
  return { market, loser, winnerA, winnerB };
}

test("an account bankrupt by one symbol is settled there alone, with its whole deficit, and the other position stays", () => {
  const { market, loser, winnerA, winnerB } = inBoth(300);
  market.price(B, MARK - 5000); // 500 lost
  const [transfer, ...more] = transfersIn(market.settleMark(B));
  market.finish(B);
  market.finish(A);
  assert.deepEqual([transfer?.counterpartyId, transfer?.quanta, more.length], [winnerB, 9700e6, 0]);
  assert.deepEqual([market.usdc(loser), market.size(A, loser), market.size(B, loser)], [0, 1000, 0]);
  assert.deepEqual([market.usdc(winnerA), market.usdc(winnerB)], [10_000, 10_300]);
});

test("a gain that another symbol's mark has brought counts, a loss of it does not fall on this one", () => {
  const { market, loser, winnerA, winnerB } = inBoth(300);
  market.price(A, MARK + 4000);
  market.settleMark(A);
  market.finish(A);
  market.price(B, MARK - 5000);
  assert.deepEqual(transfersIn(market.settleMark(B)), [], "300 + 400 − 500 are left");
  market.price(A, MARK + 1000); // 300 lost of 200
  const [transfer, ...more] = transfersIn(market.settleMark(A));
  market.finish(A);
  market.finish(B);
  assert.deepEqual([transfer?.counterpartyId, transfer?.quanta, more.length], [winnerA, 10_200e6, 0]);
  assert.deepEqual([market.usdc(loser), market.size(A, loser), market.size(B, loser)], [0, 0, 1000]);
  // The rise has cost the winner 400. Of the fall's 300 the loser could pay 200.
  assert.deepEqual([market.usdc(winnerA), market.usdc(winnerB)], [9800, 10_500]);
});

/**
 * The middle account is long in B and, the other way than the loser, short in A. It is below its maintenance margin of 100 by
 * a fall of B, and A's scan has seen that.
 */
function weakBetween() {
  const market = FineMarket.open();
  const [middle, loser, winnerB] = [market.open(210), market.open(105), market.open(10_000)];
  market.deal(A, middle, loser, 1000);
  market.deal(B, winnerB, middle, 1000);
  for (let ticks = 240; ticks <= 1200; ticks += 240) {
    market.price(B, MARK - ticks);
    market.finish(B);
  }
  market.carryOut(A, make(Tick));
  assert.deepEqual([market.usdc(middle), market.size(A, middle), market.size(B, middle)], [90, -1000, 1000]);
  return { market, middle, loser, winnerB };
}

test("a gain does not pay for losses of another symbol before its own step is settled", () => {
  const { market, middle, loser, winnerB } = weakBetween();
  market.price(A, MARK - 3000); // 300, of which the loser has 105
  market.price(B, MARK - 3200); // 200 more lost
  assert.deepEqual([market.symbol(A).isSettlingMark, market.symbol(B).isSettlingMark], [true, true]);
  market.settleMark(B);
  market.finish(B);
  assert.deepEqual([market.usdc(middle), market.size(B, middle), market.usdc(winnerB)], [0, 0, 10_210]);
  market.settleMark(A);
  market.finish(A);
  assert.deepEqual([market.usdc(middle), market.usdc(loser), market.size(A, loser)], [105, 0, 0]);
  for (const actorId of [LEDGER, A, B]) assert.deepEqual(market.audit(actorId).faults, []);
});

test("a gain pays for losses of another symbol from the moment on in which its own step is settled", () => {
  const { market, middle, winnerB } = weakBetween();
  market.price(A, MARK - 1000); // 100, which the loser can pay
  market.finish(A);
  market.price(B, MARK - 3000); // 180 more lost
  market.settleMark(B);
  market.finish(B);
  assert.deepEqual([market.usdc(middle), market.usdc(winnerB)], [10, 10_300]);
});

/** Below its maintenance margin of 100, in a scan of A; then a small step of B takes it to −4. B has found, not settled it. */
function bankruptByTheOther() {
  const both = inBoth(200);
  const { market, loser } = both;
  market.fund(1_000_000);
  market.price(A, MARK - 600);
  market.finish(A);
  market.price(B, MARK - 1200);
  market.finish(B);
  assert.equal(market.usdc(loser), 20);
  forget(market);
  market.carryOut(A, make(Tick));
  market.price(B, MARK - 1440);
  assert.deepEqual([market.usdc(loser), market.symbol(B).isSettlingMark], [-4, true]);
  return both;
}

for (const [what, act] of [
  ["a scan", (market) => void market.carryOut(A, make(Tick))],
  [
    "a price",
    (market) => {
      market.price(A, MARK - 601);
      market.finish(A);
    },
  ],
] satisfies [string, (market: FineMarket) => void][])
  test(`a deficit that another symbol has found, and not settled, costs nobody in this one more than its own step: ${what}`, () => {
    const { market, winnerA, loser } = bankruptByTheOther();
    const before = [winnerA, INSURANCE_ACCOUNT].map((accountId) => market.usdc(accountId));
    act(market);
    assert.ok(market.usdc(winnerA) >= (before[0] as number), `${market.usdc(winnerA)} of ${before[0]}`);
    // At most the step of A's own price: a tick for 1000 lots.
    const fund = market.usdc(INSURANCE_ACCOUNT);
    assert.ok(fund >= (before[1] as number) - 0.1 - 1e-6, `the fund has ${fund}`);
    market.settleMark(B);
    market.finish(B);
    market.finish(A);
    assert.ok(market.usdc(loser) >= 0, `${market.usdc(loser)}`);
    for (const actorId of [LEDGER, A, B]) assert.deepEqual(market.audit(actorId).faults, []);
  });

test("an account that opens after a price within the band pays nothing for the step before", () => {
  const market = crowded();
  const [winner, loser, honest] = [market.open(10_000), market.open(100), market.open(10_000)];
  market.deal(A, winner, loser, 1000);
  for (const ticks of [240, 480, 720, 960]) {
    market.price(A, MARK - ticks);
    market.finish(A);
  }
  market.price(A, MARK - 1190);
  // The winner leaves with its gain before the sweep reaches the loser.
  market.deal(A, honest, winner, 1000);
  market.finish(A);
  market.finish(A);
  assert.ok(market.usdc(honest) >= 10_000, `the honest account has ${market.usdc(honest)}`);
});

for (const sign of [1, -1])
  test(`an older position does not use up what the counterparty of a latest trade owes: ${sign > 0 ? "longs" : "shorts"}`, () => {
    const market = FineMarket.open();
    const deal = (loser: number, winner: number): void =>
      sign > 0 ? market.deal(A, winner, loser, 1000) : market.deal(A, loser, winner, 1000);
    // 300 USDC will be lost: the first one lacks 10.
    const [holder, opposite] = [market.open(290), market.open(10_000)];
    deal(holder, opposite);
    forget(market);
    const [loser, winner] = [market.open(100), market.open(10_000)];
    deal(loser, winner);
    market.price(A, against(sign, 3000));
    market.finish(A);
    assert.deepEqual(
      [holder, loser].map((account) => market.usdc(account)),
      [0, 0],
    );
    assert.deepEqual(
      [winner, opposite].map((account) => market.usdc(account)),
      [10_100, 10_290],
    );
  });

for (const sign of [1, -1])
  for (const isRoundTrip of [false, true])
    test(`nor does it after ${isRoundTrip ? "a round trip" : "a trade"} of one lot: ${sign > 0 ? "longs" : "shorts"}`, () => {
      const market = FineMarket.open();
      const deal = (loser: number, winner: number, lots: number): void =>
        sign > 0 ? market.deal(A, winner, loser, lots) : market.deal(A, loser, winner, lots);
      const [holder, opposite] = [market.open(290), market.open(100_000)];
      deal(holder, opposite, 999);
      forget(market);
      // The winner has so much money that by rank all others come before it.
      const [loser, winner] = [market.open(100), market.open(1_000_000)];
      deal(loser, winner, 1000);
      deal(holder, winner, 1);
      if (isRoundTrip) deal(winner, holder, 1);
      market.price(A, against(sign, 3000));
      market.finish(A);
      assert.deepEqual(
        [holder, loser].map((account) => [market.size(A, account), market.usdc(account) < 0]),
        [
          [0, false],
          [0, false],
        ],
      );
      const gain = market.usdc(winner) - 1_000_000;
      assert.ok(gain < 101, `the winner keeps ${gain} of what the loser could not pay`);
    });

for (const sign of [1, -1])
  test(`round trips of the loser and the winner cost nobody else anything: ${sign > 0 ? "longs" : "shorts"}`, () => {
    const market = FineMarket.open();
    const deal = (from: number, to: number): void =>
      sign > 0 ? market.deal(A, from, to, 1000) : market.deal(A, to, from, 1000);
    const [loser, winner] = [market.open(100), market.open(10_000)];
    const honest = Array.from({ length: 4 }, () => market.open(10_000));
    const [first, second, third, fourth] = honest;
    deal(first, loser);
    deal(loser, second);
    deal(winner, loser);
    deal(third, winner);
    deal(winner, fourth);
    market.price(A, against(sign, 3000));
    market.finish(A);
    assert.deepEqual([market.size(A, loser), market.size(A, winner), market.wealth(winner)], [0, 0, 10_100]);
    assert.deepEqual(
      honest.map((account) => market.size(A, account)),
      [-1, 1, -1, 1].map((side) => side * sign * 1000),
    );
    assert.deepEqual(
      honest.map((account) => market.wealth(account)),
      [10_300, 9700, 10_300, 9700],
    );
  });

for (const sign of [1, -1])
  test(`each of several bankrupt accounts is closed against those who traded with it: ${sign > 0 ? "longs" : "shorts"}`, () => {
    const market = FineMarket.open();
    const deal = (loser: number, winner: number): void =>
      sign > 0 ? market.deal(A, winner, loser, 1000) : market.deal(A, loser, winner, 1000);
    // The first two lack 200 of 300, and the other two 10.
    const losers = [100, 290, 100, 290].map((usdc) => market.open(usdc));
    const winners = losers.map(() => market.open(10_000));
    const between = market.open(10_000);
    for (const [i, loser] of losers.entries())
      if (i % 2 === 1) deal(loser, winners[i] as number);
      else
        for (const [to, from] of [
          [between, winners[i] as number],
          [loser, between],
        ] as const)
          deal(to, from);
    market.price(A, against(sign, 3000));
    market.finish(A);
    for (const loser of losers) assert.deepEqual([market.size(A, loser), market.usdc(loser)], [0, 0]);
    assert.deepEqual(
      winners.map((winner) => market.usdc(winner)),
      [10_100, 10_290, 10_100, 10_290],
    );
  });

test("a scan does not charge an old step for what another symbol has taken since", () => {
  const { market, loser, winnerA } = inBoth(200);
  market.price(A, MARK - 200);
  market.finish(A);
  // An honest account takes over the winner's side after that step.
  const honest = market.open(10_000);
  market.deal(A, honest, winnerA, 1000);
  market.price(B, MARK - 1600);
  market.finish(B);
  forget(market);
  market.carryOut(A, make(Tick));
  market.price(B, MARK - 1840);
  assert.equal(market.usdc(loser), -4);
  market.carryOut(A, make(Tick));
  market.finish(A);
  assert.ok(market.usdc(honest) >= 10_000, `${market.usdc(honest)}`);
});

test("funding that an account cannot pay any more is paid by the fund, within its allowance", () => {
  const { market, loser, winnerA, winnerB } = inBoth(300);
  market.fund(1000);
  market.price(B, MARK - 5000);
  market.finish(B);
  assert.deepEqual([market.usdc(loser), market.size(A, loser)], [0, 1000]);
  // The mark stands still, and the interest of 0.01 % is paid.
  market.time = Math.ceil(market.time / FUNDING_MS) * FUNDING_MS + 1;
  market.price(A, MARK);
  market.finish(A);
  assert.equal(market.usdc(loser), -1);
  for (let i = 0; i < 4; i++) {
    market.time += 250;
    market.carryOut(A, make(Tick));
    market.finish(A);
  }
  assert.deepEqual([market.usdc(loser), market.size(A, loser)], [0, 0]);
  assert.equal(market.usdc(winnerA) + market.usdc(winnerB) + market.usdc(INSURANCE_ACCOUNT), 21_300);
});

test("a start counts gains at once: they may have been settled before, and another symbol has relied on them", () => {
  const { market, middle, winnerB } = weakBetween();
  market.price(A, MARK - 1000); // 100, which the loser can pay
  market.settleMark(A);
  market.finish(A);
  market.price(B, MARK - 3000); // 180 more lost
  market.settleMark(B);
  market.finish(B);
  assert.deepEqual([market.usdc(middle), market.size(B, middle)], [10, 1000]);
  for (const snapshots of [undefined, snapshotsOf(market)]) {
    const again = FineMarket.recover(market, market.log.length, snapshots);
    for (const symbol of [B, A])
      assert.deepEqual(transfersIn([...again.settleMark(symbol), ...again.finish(symbol)]), []);
    assert.deepEqual([again.usdc(middle), again.size(B, middle), again.usdc(winnerB)], [10, 1000, 10_300]);
  }
});

test("a maker that turns around in a settlement may use the gain of the step for it", () => {
  const market = FineMarket.open();
  const [loser, maker, winner, other] = [market.open(210), market.open(240), market.open(10_000), market.open(10_000)];
  market.deal(A, maker, other, 1000);
  market.deal(A, winner, loser, 2000);
  forget(market);
  market.order(A, maker, BUY, MARK - 1000, 2000);
  market.price(A, MARK - 2000);
  market.settleMark(A);
  market.finish(A);
  // Its short has gained 200, and the bid at 9,900 loses 100 for each of two coins.
  assert.deepEqual([market.size(A, maker), market.usdc(maker)], [1000, 240]);
  assert.deepEqual([market.size(A, loser), market.usdc(winner)], [0, 10_400]);
});
