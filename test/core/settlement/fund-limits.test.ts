import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, EXEC_ADL, EXEC_LIQUIDATION, INSURANCE_ACCOUNT, LEDGER, SELL } from "../../../src/core/base/enums.ts";
import { mayFundTake } from "../../../src/core/liquidation/fund-limits.ts";
import { fundAllowance } from "../../../src/core/margin/deficit.ts";
import { Tick } from "../../../src/core/protocol/commands.ts";
import { PositionTransferred } from "../../../src/core/protocol/events.ts";
import type { InstrumentConfig } from "../../../src/core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { TRACED_MS } from "../../../src/core/state/recent-fills.ts";
import { make } from "../support/exchange.ts";
import { FineMarket } from "../support/fine-market.ts";

const { A, MARK } = FineMarket;
const HOUR_MS = 3_600_000;

/** Accounts with 1 coin at 10,000 and 100 USDC each, long (sign 1) or short, against one winner; the trace has forgotten them. */
function losers(count: number, fund: number, sign = 1, changes: Partial<InstrumentConfig> = {}) {
  const market = FineMarket.open(changes);
  market.fund(fund);
  const winner = market.open(1_000_000);
  const accounts = Array.from({ length: count }, () => market.open(100));
  for (const account of accounts)
    if (sign > 0) market.deal(A, winner, account, 1000);
    else market.deal(A, account, winner, 1000);
  market.time += TRACED_MS + 1;
  market.price(A, MARK);
  return { market, winner, accounts };
}

const transfersIn = (events: readonly Message[]): MessageOf<typeof PositionTransferred>[] =>
  events.filter(({ type }) => type === PositionTransferred.code) as MessageOf<typeof PositionTransferred>[];

const receivers = (events: readonly Message[]): number[] =>
  transfersIn(events).map(({ counterpartyId }) => counterpartyId);

/** A price against the accounts, and all that follows from it. */
function fall(market: FineMarket, sign: number, ticks: number): Message[] {
  market.price(A, MARK - sign * ticks);
  return market.finish(A);
}

function scan(market: FineMarket): Message[] {
  market.time += 250;
  return market.carryOut(A, make(Tick)).events;
}

const allowance = (market: FineMarket): number => fundAllowance(market.of(A)) / 1e6;

for (const sign of [1, -1])
  test(`the fund takes over within its allowance, and the other side does the rest: ${sign > 0 ? "longs" : "shorts"}`, () => {
    // One percent of 10,000: two deficits of 40 fit, a third does not.
    const { market, winner, accounts } = losers(3, 10_000, sign);
    assert.equal(allowance(market), 100);
    const events = fall(market, sign, 1400);
    assert.deepEqual(receivers(events), [INSURANCE_ACCOUNT, INSURANCE_ACCOUNT, winner]);
    assert.deepEqual(
      transfersIn(events).map(({ execType }) => execType),
      [EXEC_LIQUIDATION, EXEC_LIQUIDATION, EXEC_ADL],
    );
    for (const account of accounts) assert.equal(market.usdc(account), 0);
    assert.equal(market.usdc(INSURANCE_ACCOUNT), 10_000 - 80);
    assert.equal(allowance(market), 19.2);
    assert.equal(market.usdc(winner), 1_000_000 + 3 * 140 - 40);
  });

for (const sign of [1, -1])
  test(`a start does not close for the old step what the fund has taken over in it: ${sign > 0 ? "longs" : "shorts"}`, () => {
    const { market, winner } = losers(1, 10_000, sign);
    market.time += 1000;
    fall(market, sign, 1400);
    assert.deepEqual([market.size(A, INSURANCE_ACCOUNT), market.usdc(INSURANCE_ACCOUNT)], [sign * 1000, 10_000 - 40]);
    const again = FineMarket.recover(market, market.log.length);
    again.settleMark(A);
    assert.deepEqual(transfersIn(again.finish(A)), []);
    assert.equal(again.usdc(INSURANCE_ACCOUNT), market.usdc(INSURANCE_ACCOUNT));
    assert.equal(again.usdc(winner), market.usdc(winner));
    assert.equal(again.audit(A).digest, market.audit(A).digest);
  });

test("a start settles a step against the fund's position that no settlement has reached yet", () => {
  const { market } = losers(1, 10_000);
  fall(market, 1, 1400);
  market.time += 1000;
  market.price(A, MARK - 3000);
  const again = FineMarket.recover(market, market.log.length);
  const transfers = transfersIn([...again.settleMark(A), ...again.finish(A)]);
  assert.deepEqual(
    transfers.map(({ accountId }) => accountId),
    [INSURANCE_ACCOUNT],
  );
  // The takeover has cost 40. The step costs nothing, since the position stood at a loss before.
  assert.equal(again.usdc(INSURANCE_ACCOUNT), 10_000 - 40);
});

test("a start goes on with the fund's position after a crash in the middle of its settlement", () => {
  const market = FineMarket.open({ maxQuantity: "1000" });
  market.fund(1_000_000);
  const loser = market.open(2000);
  const winners = Array.from({ length: 80 }, () => market.open(1000, 50));
  for (const winner of winners) market.deal(A, winner, loser, 250);
  market.time += TRACED_MS + 1;
  market.price(A, MARK);
  fall(market, 1, 1100);
  assert.equal(market.size(A, INSURANCE_ACCOUNT), 20_000);
  const before = market.usdc(INSURANCE_ACCOUNT);
  market.time += 1000;
  market.price(A, MARK - 6000);
  const first = market.log.length;
  market.settleMark(A);
  market.finish(A);
  assert.ok(market.log.length - first >= 2, "it takes several transactions");
  for (let records = first; records <= market.log.length; records++) {
    const again = FineMarket.recover(market, records);
    again.settleMark(A);
    again.finish(A);
    assert.ok(again.usdc(INSURANCE_ACCOUNT) >= before, `${again.usdc(INSURANCE_ACCOUNT)} of ${before}`);
  }
});

test("another hour brings another allowance, from what the fund has then", () => {
  const { market, winner } = losers(3, 10_000);
  fall(market, 1, 1400);
  assert.deepEqual([market.size(A, INSURANCE_ACCOUNT), allowance(market)], [2000, 19.2]);
  const more = market.open(100);
  market.deal(A, winner, more, 1000);
  market.time = (Math.floor(market.time / HOUR_MS) + 1) * HOUR_MS;
  market.price(A, MARK - 1400);
  assert.equal(allowance(market), 99.2);
  // The other side closes what it holds, at the mark before.
  const events = fall(market, 1, 1700);
  assert.deepEqual(receivers(events), [winner]);
  assert.equal(allowance(market), 99.2);
});

test("a step against a position of the fund that stands at a loss closes it at the mark before, and costs it nothing", () => {
  const { market, winner } = losers(2, 10_000);
  fall(market, 1, 1400);
  assert.equal(market.size(A, INSURANCE_ACCOUNT), 2000);
  const before = market.usdc(INSURANCE_ACCOUNT) + market.usdc(winner);
  const won = market.usdc(winner);
  const events = fall(market, 1, 1520);
  // It has paid deficits of 80, and the step of 24 is not its loss.
  const [transfer, ...more] = transfersIn(events);
  assert.deepEqual(
    [more.length, transfer?.accountId, transfer?.counterpartyId, transfer?.quantityLots, transfer?.execType],
    [0, INSURANCE_ACCOUNT, winner, 2000, EXEC_ADL],
  );
  assert.equal(transfer?.quanta, 2 * 9860e6);
  assert.ok(market.usdc(winner) >= won, "a part of its gain of the step");
  assert.equal(market.usdc(INSURANCE_ACCOUNT) + market.usdc(winner), before);
  assert.equal(allowance(market), 19.2);
  assert.deepEqual(market.audit(A).faults, []);
});

test("gains of the fund make good for its losses of the hour, but never raise the allowance above its share", () => {
  const { market } = losers(2, 10_000);
  fall(market, 1, 1400);
  assert.equal(allowance(market), 19.2);
  fall(market, 1, 1200); // 40 of the 80 come back
  assert.equal(allowance(market), 59.6);
  fall(market, 1, 0); // 280 of gain in all
  assert.equal(Math.round(allowance(market) * 10), 1020);
});

test("it takes over no more than its largest position, with what it holds, in either direction", () => {
  // Accounts that are below their margin, not bankrupt: they bring equity along, so the allowance is not asked.
  for (const sign of [1, -1]) {
    const { market, winner, accounts } = losers(3, 1_000_000, sign, { fundMaxNotional: "20500" });
    fall(market, sign, 980);
    scan(market);
    const events = scan(market);
    assert.deepEqual(receivers(events).toSorted(), [INSURANCE_ACCOUNT, INSURANCE_ACCOUNT, winner].toSorted());
    assert.equal(market.size(A, INSURANCE_ACCOUNT), sign * 2000);
    for (const account of accounts) assert.equal(market.usdc(account), 0);
  }
});

test("with a largest position of 0 it takes over nothing", () => {
  const { market, winner } = losers(2, 1_000_000, 1, { fundMaxNotional: "0" });
  const transfers = transfersIn(fall(market, 1, 1400));
  assert.deepEqual(
    transfers.map(({ counterpartyId }) => counterpartyId),
    [winner, winner],
  );
  assert.equal(market.size(A, INSURANCE_ACCOUNT), 0);
});

test("what makes its position smaller it may always take, as far as its allowance goes", () => {
  const { market } = losers(2, 10_000, 1, { fundMaxNotional: "20000" });
  fall(market, 1, 1400);
  const { state } = market.symbol(A);
  const row = market.row(A, INSURANCE_ACCOUNT);
  market.marginTable.readConsistent(INSURANCE_ACCOUNT);
  assert.equal(market.size(A, INSURANCE_ACCOUNT), 2000);
  const may = (lots: number, usdc: number): boolean => mayFundTake(state, row, lots, usdc * 1e6);
  assert.deepEqual([may(-1000, 0), may(-1000, -19.2), may(-1000, -19.3)], [true, true, false]);
  assert.deepEqual([may(-4000, 0), may(-4100, 0)], [true, false], "turned around, up to the cap");
  assert.deepEqual([may(27, 0), may(29, 0)], [true, false]);
});

test("a price that carries its position over the cap makes it close the excess at the mark", () => {
  // Two longs at the mark of 9902 are worth 19,804. At 10,400 they are worth 20,800: 28 lots too many, and a part of one.
  const { market, winner } = losers(2, 1_000_000, 1, { fundMaxNotional: "20500" });
  fall(market, 1, 980);
  scan(market);
  scan(market);
  assert.equal(market.size(A, INSURANCE_ACCOUNT), 2000);
  fall(market, 1, -4000);
  const before = [INSURANCE_ACCOUNT, winner].map((accountId) => market.usdc(accountId));
  const [transfer, ...more] = transfersIn(scan(market));
  const most = Math.floor((20_500 * 1000) / 10_400);
  assert.deepEqual([transfer?.accountId, transfer?.quantityLots, more.length], [INSURANCE_ACCOUNT, 2000 - most, 0]);
  assert.equal(market.size(A, INSURANCE_ACCOUNT), most);
  assert.deepEqual(
    [INSURANCE_ACCOUNT, winner].map((accountId) => market.usdc(accountId)),
    before,
  );
});

test("it takes over only what leaves it its maintenance margin, and without money nothing", () => {
  // A position of 9902 needs 49.51 and brings 2.
  for (const [fund, takes] of [
    [0, false],
    [47.5, false],
    [47.6, true],
  ] as const) {
    const { market, winner } = losers(1, fund);
    fall(market, 1, 980);
    scan(market);
    const events = scan(market);
    assert.deepEqual(receivers(events), [takes ? INSURANCE_ACCOUNT : winner], `with ${fund}`);
  }
});

for (const sign of [1, -1])
  test(`whatever the step, the fund is never below zero, and its position goes to the other side: ${sign > 0 ? "long" : "short"}`, () => {
    for (const ticks of [3000, 10_000, 40_000]) {
      const { market, winner } = losers(1, 100, sign);
      fall(market, sign, 980);
      scan(market);
      scan(market);
      assert.deepEqual([market.size(A, INSURANCE_ACCOUNT), market.usdc(INSURANCE_ACCOUNT)], [sign * 1000, 102]);
      const before = market.usdc(winner);
      market.price(A, MARK - sign * ticks);
      assert.equal(market.symbol(A).isSettlingMark, true);
      const events = market.settleMark(A);
      assert.deepEqual(receivers(events), [winner]);
      market.finish(A);
      // What the position brought along is gone, and nothing that the fund had before.
      assert.deepEqual([market.size(A, INSURANCE_ACCOUNT), market.usdc(INSURANCE_ACCOUNT)], [0, 100]);
      assert.equal(market.usdc(winner), before + 2);
      for (const actorId of [LEDGER, A]) assert.deepEqual(market.audit(actorId).faults, []);
    }
  });

test("each symbol has its own allowance", () => {
  const { market } = losers(2, 10_000);
  fall(market, 1, 1400);
  assert.equal(allowance(market), 19.2);
  assert.equal(fundAllowance(market.of(FineMarket.B)) / 1e6, 99.2);
});

test("what funding, or another symbol, left below zero is covered within the allowance only", () => {
  const market = FineMarket.open();
  market.fund(10_000);
  const [account, other] = [market.open(100), market.open(10_000)];
  market.order(A, account, BUY, MARK - 100, 1);
  market.order(A, other, SELL, MARK + 100, 1);
  const elsewhere = new Float64Array(5);
  market.marginTable.setContribution(account, elsewhere, 0, {
    ...{ unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 },
    equity: -350e6,
  });
  for (let i = 0; i < 4; i++) scan(market);
  assert.equal(market.usdc(INSURANCE_ACCOUNT), 9900, "one percent");
  assert.ok(market.usdc(account) < -149, `${market.usdc(account)}`);
  market.time = (Math.floor(market.time / HOUR_MS) + 1) * HOUR_MS;
  market.price(A, MARK);
  for (let i = 0; i < 4; i++) scan(market);
  assert.equal(market.usdc(INSURANCE_ACCOUNT), 9801);
});
