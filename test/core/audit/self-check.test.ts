import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  BUY_LOTS,
  CASH,
  CONTRIBUTED,
  COST,
  ISOLATED_QUANTA,
  LEVERAGE,
  MARGIN_MODE,
  SIZE,
} from "../../../src/core/base/columns.ts";
import { BUY, HALT_REASON, LEDGER, SELL, STOP_MARKET } from "../../../src/core/base/enums.ts";
import { ExactSum } from "../../../src/core/base/exact-sum.ts";
import {
  Deposit,
  OpenSession,
  PlaceOrder,
  PlaceTrigger,
  ResumeSymbol,
  SetIndexPrice,
  Tick,
} from "../../../src/core/protocol/commands.ts";
import { LedgerUnsound, SelfCheckFailed, Traded, TradingHalted } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Refused, type SessionView } from "../../../src/core/protocol/replies.ts";
import { Crowd } from "../support/crowd.ts";
import { Exchange, make, SnapshotStore } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("self-check.test");
const CROWD = 1200;
const INTERVAL_MS = 10_000;

/** Ten seconds pass. Returns all events of the actor's background work. */
function check(crowd: Crowd, actorId: number = PLAIN.id): Message[] {
  crowd.time += INTERVAL_MS;
  const events = [...crowd.do(actorId, make(Tick)).events];
  for (let transactions = 0; transactions < 1000; transactions++) {
    const said = crowd.proceed(actorId);
    events.push(...said.events);
    if (!said.more) return events;
  }
  throw new Error("the check never ends");
}

const faultOf = (events: readonly Message[]): string | undefined =>
  (events.find(({ type }) => type === SelfCheckFailed.code) as MessageOf<typeof SelfCheckFailed> | undefined)?.fault;

test("a sound symbol passes the check without an event", () => {
  const crowd = Crowd.of(CROWD);
  for (let i = 0; i < 3; i++) assert.deepEqual(check(crowd), []);
});

/** A number that is made wrong on purpose, and the fault that the check reports. */
const BROKEN: [what: string, breaks: (crowd: Crowd, row: number) => void, fault: RegExp][] = [
  [
    "one quantum too many",
    (crowd, row) => void crowd.plain.state.positions.numbers[row + CASH]++,
    /^Σ cash is 1 quanta, not 0$/,
  ],
  [
    "one lot too many",
    (crowd, row) => void crowd.plain.state.positions.numbers[row + SIZE]++,
    /^Σ size is 1 lots, not 0$/,
  ],
  [
    "lots that were moved to another account",
    (crowd, row) => {
      const { numbers } = crowd.plain.state.positions;
      numbers[row + SIZE] -= 1;
      numbers[crowd.plain.state.positions.find(crowd.account(1)) + SIZE] += 1;
    },
    /^account \d+: contribution \d is kept as/,
  ],
  [
    "open interest",
    (crowd) => void crowd.plain.state.openInterestLots++,
    /^open interest is kept as 601 lots but is 600$/,
  ],
  [
    "a contribution",
    (crowd, row) => void crowd.plain.state.positions.numbers[row + CONTRIBUTED]++,
    /^account \d+: contribution 0 is kept as -?\d+ but is -?\d+$/,
  ],
  [
    "an order sum",
    (crowd, row) => void crowd.plain.state.positions.numbers[row + BUY_LOTS]++,
    /^account \d+: order sum 0 is kept as 1 but is 0$/,
  ],
];
for (const [what, breaks, fault] of BROKEN)
  test(`${what} is wrong: the symbol halts, reports where, and stays halted after a restart`, () => {
    const crowd = Crowd.of(CROWD);
    const { state } = crowd.plain;
    breaks(crowd, state.positions.find(crowd.account(CROWD - 1)));
    const events = check(crowd);
    assert.match(faultOf(events) ?? "", fault);
    const halted = events.find(({ type }) => type === TradingHalted.code) as MessageOf<typeof TradingHalted>;
    assert.deepEqual([halted.mode, halted.reason, halted.until], [3, HALT_REASON.SELF_CHECK, 0]);
    assert.equal(crowd.order(crowd.account(0), BUY, 99, 1).type, Refused.code);
    assert.ok(crowd.audit(PLAIN.id).faults.some((each) => each.startsWith("the self-check has halted PLAIN-PERP: ")));
    assert.deepEqual(check(crowd), [], "reports it once");

    const store = new SnapshotStore();
    store.take(crowd, PLAIN.id);
    const again = Crowd.from(crowd).plain.state;
    assert.deepEqual([again.haltMode, again.fault], [3, state.fault]);

    // The operator may resume it. The next check halts it again.
    crowd.do(PLAIN.id, make(ResumeSymbol));
    assert.equal(state.fault, "");
    assert.match(faultOf(check(crowd)) ?? "", fault);
  });

test("the digest of an audit covers every number of every position", () => {
  const crowd = Crowd.of(2);
  const { positions } = crowd.plain.state;
  const digests = [SIZE, CASH, COST, LEVERAGE, MARGIN_MODE, ISOLATED_QUANTA].map((field) => {
    positions.numbers[positions.find(crowd.account(1)) + field]++;
    return crowd.audit(PLAIN.id).digest;
  });
  assert.equal(new Set(digests).size, digests.length);
});

test("the ledger reports once that its balances do not add up", () => {
  const crowd = Crowd.of(4);
  assert.deepEqual(check(crowd, LEDGER), []);
  crowd.ledger.state.depositedQuanta += 1n;
  const [unsound] = check(crowd, LEDGER) as MessageOf<typeof LedgerUnsound>[];
  assert.equal(unsound.type, LedgerUnsound.code);
  assert.match(unsound.fault, /^Σ balances is 400000000 quanta but deposits − withdrawals are 400000001$/);
  assert.deepEqual(check(crowd, LEDGER), []);
});

test("orders and prices between the parts of a check are no fault", () => {
  const action = fc.record({
    who: fc.nat({ max: CROWD - 1 }),
    side: fc.constantFrom(BUY, SELL),
    ticks: fc.integer({ min: 97, max: 103 }),
  });
  const template = Crowd.of(CROWD, 1, 1000);
  fc.assert(
    fc.property(fc.array(action, { minLength: 20, maxLength: 60 }), (actions) => {
      const crowd = Crowd.from(template);
      for (const { who, side, ticks } of actions) {
        crowd.time += 1500;
        assert.equal(faultOf(crowd.do(PLAIN.id, make(Tick)).events), undefined);
        crowd.price(ticks);
        crowd.do(
          PLAIN.id,
          make(PlaceOrder, { accountId: crowd.account(who), side, priceTicks: ticks, quantityLots: 3 }),
        );
        assert.equal(faultOf(crowd.proceed(PLAIN.id).events), undefined);
      }
      assert.equal(crowd.plain.state.fault, "");
    }),
    { seed, numRuns: 10 },
  );
});

test("exact sums equal those of BigInt", () => {
  const safe = fc.integer({ min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(fc.array(safe, { maxLength: 200 }), (values) => {
      const sum = new ExactSum();
      for (const value of values) sum.add(value);
      assert.equal(
        sum.total,
        values.reduce((total, value) => total + BigInt(value), 0n),
      );
    }),
    { seed },
  );
});

test("orders triggered and filled in a transaction are no fault before it ends", () => {
  const exchange = new Exchange([instrument(PLAIN)]);
  const [alice, maker] = ["0xa", "0xb"].map((address) => {
    const { accountId } = exchange.ask(
      LEDGER,
      make(OpenSession, { address, tokenHash: address, expiresAt: 2 ** 50 }),
    ) as MessageOf<typeof SessionView>;
    exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 1e9 }));
    return accountId;
  });
  const mark = (indexTicks: number): void => void exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks }));
  mark(100);
  exchange.do(PLAIN.id, make(PlaceOrder, { accountId: maker, side: SELL, priceTicks: 101, quantityLots: 9 }));
  const stop = { accountId: alice, side: BUY, orderType: STOP_MARKET, quantityLots: 4, triggerTicks: 101 };
  exchange.carryOut(PLAIN.id, make(PlaceTrigger, stop));
  exchange.time += INTERVAL_MS;
  exchange.do(PLAIN.id, make(Tick)); // a check begins
  mark(101);
  const { events } = exchange.proceed(PLAIN.id);
  assert.ok(events.some(({ type }) => type === Traded.code));
  assert.equal(faultOf(events), undefined);
  assert.equal(exchange.proceed(PLAIN.id).more, false, "and the check continues after it");
});
