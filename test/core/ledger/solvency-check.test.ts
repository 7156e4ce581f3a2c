import assert from "node:assert/strict";
import { test } from "node:test";
import { GATE, INSURANCE_ACCOUNT, LEDGER } from "../../../src/core/base/enums.ts";
import { Deposit, OpenSession, Tick, Withdraw } from "../../../src/core/protocol/commands.ts";
import { SolvencyChanged, WithdrawalCompleted, WithdrawalSent } from "../../../src/core/protocol/events.ts";
import type { InstrumentConfig } from "../../../src/core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Refused } from "../../../src/core/protocol/replies.ts";
import { Exchange, LEDGER_SETTINGS, make, SnapshotStore } from "../support/exchange.ts";
import { FineMarket } from "../support/fine-market.ts";

const { A, B, MARK } = FineMarket;
const SECOND_MS = 1000;
const USDC = 1_000_000;
const WORDS = {
  fund: "the insurance fund is below zero",
  deficits: "accounts below zero owe more than the insurance fund has",
  positions: "the insurance fund's positions are larger than its equity",
};

/** A ledger whose margin table has what symbols might contribute. */
class Bank extends Exchange {
  private readonly contributed = new Map<number, Float64Array>();

  constructor(maxAccounts = 64) {
    super([], { ...LEDGER_SETTINGS, withdrawalDelayMs: 5 * SECOND_MS }, maxAccounts);
  }

  open(quanta: number): number {
    const name = `t${this.ledger.state.nextAccountId}`;
    this.do(LEDGER, make(OpenSession, { address: name, tokenHash: name, expiresAt: 2 ** 50 }));
    const accountId = this.ledger.state.nextAccountId - 1;
    if (quanta > 0) this.do(LEDGER, make(Deposit, { accountId, amountQuanta: quanta }));
    return accountId;
  }

  fund(quanta: number): void {
    this.do(LEDGER, make(Deposit, { accountId: INSURANCE_ACCOUNT, amountQuanta: quanta }));
  }

  /** From now on symbols contribute so much equity, and such an initial margin of positions. */
  contributeOf(accountId: number, equity: number, positionInitial = 0): void {
    const contributed = this.contributed.get(accountId) ?? new Float64Array(5);
    this.contributed.set(accountId, contributed);
    const to = { unrealized: 0, initial: positionInitial, positionInitial, maintenance: 0, equity };
    this.marginTable.setContribution(accountId, contributed, 0, to, true);
  }

  /** One second later: the events of the tick and of the check. */
  second(): Message[] {
    this.time += SECOND_MS;
    return this.carryOut(LEDGER, make(Tick)).events;
  }

  /** The refusal of a withdrawal; null if it is accepted. */
  refusal(accountId: number, amountQuanta = 1, reference = ""): MessageOf<typeof Refused> | null {
    const reply = this.ask(LEDGER, make(Withdraw, { accountId, amountQuanta, reference, address: "0xaa" }));
    return reply.type === Refused.code ? (reply as MessageOf<typeof Refused>) : null;
  }

  assertGated(accountId: number, reason: string): void {
    const refusal = this.refusal(accountId);
    assert.equal(refusal?.code, "WITHDRAWALS_GATED");
    assert.equal(refusal?.details?.reason, reason);
  }
}

const changes = (events: readonly Message[]): MessageOf<typeof SolvencyChanged>[] =>
  events.filter(({ type }) => type === SolvencyChanged.code) as MessageOf<typeof SolvencyChanged>[];

test("deficits that the fund cannot cover gate withdrawals when they have lasted for a second, until they are gone", () => {
  const bank = new Bank();
  bank.fund(100 * USDC);
  const [alice, debtor] = [bank.open(50 * USDC), bank.open(0)];
  bank.contributeOf(debtor, -102 * USDC);
  assert.deepEqual(changes(bank.second()), [], "it may be gone in a moment");
  assert.equal(bank.refusal(alice), null);
  const [change, ...more] = changes(bank.second());
  assert.deepEqual(more, []);
  assert.deepEqual(change, {
    type: SolvencyChanged.code,
    gate: GATE.DEFICITS,
    deficitQuanta: 102 * USDC,
    fundEquityQuanta: 100 * USDC,
    fundNotionalQuanta: 0,
  });
  bank.time += 300;
  const refusal = bank.refusal(alice);
  assert.deepEqual(
    [refusal?.code, refusal?.field, refusal?.details],
    [
      "WITHDRAWALS_GATED",
      "",
      {
        reason: WORDS.deficits,
        deficitQuanta: 102 * USDC,
        fundEquityQuanta: 100 * USDC,
        fundNotionalQuanta: 0,
        retryAfterMs: 700,
      },
    ],
  );
  assert.deepEqual(changes(bank.second()), [], "nothing new");
  bank.assertGated(alice, WORDS.deficits);
  // The fund is given more, and can cover it.
  bank.fund(USDC);
  assert.deepEqual(
    changes(bank.second()).map(({ gate, deficitQuanta }) => [gate, deficitQuanta]),
    [[GATE.OPEN, 102 * USDC]],
  );
  assert.equal(bank.refusal(alice), null);
});

test("rounding gates nothing: up to 1 USDC more than the fund has, in all accounts together", () => {
  const bank = new Bank();
  const alice = bank.open(USDC);
  const debtors = Array.from({ length: 10 }, () => bank.open(0));
  for (const debtor of debtors) bank.contributeOf(debtor, -USDC / 10);
  for (let i = 0; i < 3; i++) bank.second();
  assert.equal(bank.ledger.state.deficitQuanta, USDC);
  assert.equal(bank.refusal(alice), null);
  bank.contributeOf(alice, -USDC);
  bank.second();
  assert.equal(bank.ledger.state.gate, GATE.OPEN, "one check");
  bank.second();
  // Alice owes one quantum: her withdrawal took it.
  assert.equal(bank.ledger.state.deficitQuanta, USDC + 1);
  bank.assertGated(alice, WORDS.deficits);
});

test("deficits of milliseconds gate nothing, even if each check meets some: they are of other accounts", () => {
  const bank = new Bank();
  const alice = bank.open(USDC);
  const debtors = Array.from({ length: 6 }, () => bank.open(0));
  for (const debtor of debtors) {
    bank.contributeOf(debtor, -1000 * USDC);
    assert.deepEqual(changes(bank.second()), []);
    bank.contributeOf(debtor, 0);
    assert.equal(bank.refusal(alice), null);
  }
  // The same account again and again, with a clean check in between.
  for (let i = 0; i < 4; i++) {
    bank.contributeOf(debtors[0], i % 2 === 0 ? -1000 * USDC : 0);
    bank.second();
  }
  assert.equal(bank.ledger.state.gate, GATE.OPEN);
});

test("a fund below zero, or with positions larger than its equity, gates withdrawals", () => {
  const bank = new Bank();
  bank.fund(100 * USDC);
  const alice = bank.open(USDC);
  const expectAfter = (contribution: [number, number], reason: string | null): void => {
    bank.contributeOf(INSURANCE_ACCOUNT, ...contribution);
    bank.second();
    bank.second();
    if (reason === null) assert.equal(bank.refusal(alice), null);
    else bank.assertGated(alice, reason);
  };
  expectAfter([0, 100 * USDC], null);
  expectAfter([-100 * USDC, 0], null);
  expectAfter([-100 * USDC - 1, 0], WORDS.fund);
  expectAfter([0, 100 * USDC + 1], WORDS.positions);
  expectAfter([-USDC, 99 * USDC], null);
});

test("while withdrawals are gated nothing is sent that has not left, and a repeated one returns the first", () => {
  const bank = new Bank();
  const [alice, debtor] = [bank.open(USDC), bank.open(0)];
  assert.equal(bank.refusal(alice, 1, "before"), null);
  for (let i = 0; i < 5; i++) bank.second();
  // The first is SENT. The second waits when the deficit appears, shortly before its time.
  assert.equal(bank.refusal(alice, 1, "later"), null);
  for (let i = 0; i < 4; i++) bank.second();
  bank.contributeOf(debtor, -2 * USDC);
  const types = bank.second().map(({ type }) => type);
  assert.deepEqual(types, [WithdrawalCompleted.code], "one check holds back what the gate will hold back");
  assert.equal(bank.ledger.state.gate, GATE.OPEN);
  for (let i = 0; i < 3; i++) bank.second();
  bank.assertGated(alice, WORDS.deficits);
  assert.equal(bank.refusal(alice, 1, "later"), null, "it was accepted");
  assert.equal(bank.refusal(alice, 2, "later")?.code, "REFERENCE_REUSED");
  bank.contributeOf(debtor, 0);
  assert.deepEqual(
    bank.second().map(({ type }) => type),
    [SolvencyChanged.code, WithdrawalSent.code],
  );
});

test("the gate survives a restart from the log or a snapshot, and opens at the first check that finds nothing", () => {
  const bank = new Bank();
  const [alice, debtor] = [bank.open(USDC), bank.open(0)];
  bank.contributeOf(debtor, -2 * USDC);
  for (let i = 0; i < 2; i++) bank.second();
  const store = new SnapshotStore();
  store.take(bank, LEDGER);
  const { digest } = bank.audit(LEDGER);
  for (const isReplay of [true, false]) {
    const again = new Bank();
    if (isReplay) again.replay(bank.log);
    else store.load(again.ledger);
    again.time = bank.time;
    again.restored();
    assert.equal(again.audit(LEDGER).digest, digest);
    assert.equal(again.ledger.state.deficitQuanta, 2 * USDC);
    again.contributeOf(debtor, -2 * USDC);
    again.assertGated(alice, WORDS.deficits);
    again.second();
    again.assertGated(alice, WORDS.deficits);
    again.contributeOf(debtor, -1);
    again.second();
    assert.equal(again.refusal(alice), null);
  }
});

test("many accounts are looked at in parts, and commands come in between", () => {
  const bank = new Bank(30_000);
  const accounts = Array.from({ length: 12_000 }, () => bank.open(0));
  const alice = bank.open(USDC);
  const [first, last] = [accounts[0], accounts.at(-1) as number];
  for (const debtor of [first, last]) bank.contributeOf(debtor, -2 * USDC);
  bank.time += SECOND_MS;
  let parts = 0;
  for (let round = 0; round < 2; round++) {
    bank.do(LEDGER, make(Tick));
    for (let more = true; more; parts++) {
      assert.equal(bank.refusal(alice), null);
      more = bank.proceed(LEDGER).more;
    }
    bank.time += SECOND_MS;
  }
  assert.equal(parts, 4);
  assert.equal(bank.ledger.state.deficitQuanta, 4 * USDC);
  bank.assertGated(alice, WORDS.deficits);
});

test("the audit has the figures of its moment, before any check", () => {
  const bank = new Bank();
  bank.fund(3 * USDC);
  const debtor = bank.open(0);
  bank.contributeOf(debtor, -2 * USDC);
  bank.contributeOf(INSURANCE_ACCOUNT, -USDC, 7);
  assert.deepEqual(bank.audit(LEDGER).solvency, {
    fundEquityQuanta: 2 * USDC,
    deficitQuanta: 2 * USDC,
    fundNotionalQuanta: 7,
  });
});

/** Accounts with a leveraged long against one winner; the symbol's book is empty. */
function crowd(size: number, fundUsdc: number, config: Partial<InstrumentConfig> = {}) {
  const market = FineMarket.open(config);
  market.fund(fundUsdc);
  const winner = market.open(10_000_000);
  const losers = Array.from({ length: size }, (_, i) => market.open(100 + i));
  for (const loser of losers) market.deal(A, winner, loser, 1000);
  return { market, winner, losers };
}

for (const fundUsdc of [0, 100_000])
  test(`honest withdrawals go on while hundreds of accounts are liquidated; the fund has ${fundUsdc}`, () => {
    const { market, losers } = crowd(300, fundUsdc);
    const honest = market.open(1000);
    const withdraw = (): void => {
      market.time += SECOND_MS;
      market.do(LEDGER, make(Tick));
      const reply = market.ask(LEDGER, make(Withdraw, { accountId: honest, amountQuanta: USDC, address: "0xaa" }));
      assert.notEqual(reply.type, Refused.code, JSON.stringify(reply));
    };
    let below = 0;
    for (let step = 1; step <= 8; step++) {
      market.price(A, MARK - step * 500);
      // The ledger's thread looks at accounts while the mark is settled.
      for (let part = 0; market.symbol(A).isSettlingMark; part++) {
        below = Math.max(below, losers.filter((account) => market.usdc(account) < -0.001).length);
        if (part % 20 === 0) withdraw();
        market.settlePart(A);
      }
      market.finish(A);
      withdraw();
    }
    assert.ok(below > 10, `${below} accounts were below zero for a moment`);
    assert.equal(losers.filter((account) => market.size(A, account) !== 0).length, 0);
    const { solvency } = market.audit(LEDGER);
    assert.ok((solvency?.deficitQuanta ?? 0) < 1000, JSON.stringify(solvency));
  });

test("by default the fund's positions in all symbols together are no larger than its equity", () => {
  const { market, winner, losers } = crowd(3, 10_000, { fundLossLimit: "1" });
  for (const symbol of [A, B]) market.of(symbol).instrument.fundMaxNotionalQuanta = null;
  const others = [market.open(100), market.open(100)];
  for (const other of others) market.deal(B, winner, other, 500);
  for (const symbol of [A, B]) {
    market.price(symbol, MARK - 900);
    market.finish(symbol);
    for (let scan = 0; scan < 8; scan++) {
      market.time += 250;
      market.carryOut(symbol, make(Tick));
      const notional = market.marginTable.positionInitial(INSURANCE_ACCOUNT);
      assert.ok(notional <= market.marginTable.equity(INSURANCE_ACCOUNT), `${notional} in ${symbol}`);
    }
  }
  assert.ok(market.marginTable.positionInitial(INSURANCE_ACCOUNT) > 0, "it holds something");
  assert.equal(losers.filter((account) => market.usdc(account) < 0).length, 0);
});
