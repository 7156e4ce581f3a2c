import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTRIBUTION_FIELDS, type Contribution, noMargin } from "../../../src/core/accounts/contribution.ts";
import { NO_STRIPE } from "../../../src/core/accounts/margin-memory.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { everyInterleaving } from "../support/interleave.ts";

const ACCOUNT = 3;
const NOTHING: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
const contribution = (changes: Partial<Contribution>): Contribution => ({ ...NOTHING, ...changes });
const contributed = (): Float64Array => new Float64Array(CONTRIBUTION_FIELDS);

/** An account's stripes in a buffer that the interleavings can copy. */
function start(changes: Partial<Contribution>, stripeCount = 1, more: Partial<Contribution> = {}): ArrayBuffer {
  const marginTable = MarginTable.allocate(8, stripeCount);
  for (const each of [changes, more]) marginTable.setContribution(ACCOUNT, contributed(), 0, contribution(each));
  marginTable.commit();
  const copy = new ArrayBuffer(marginTable.buffer.byteLength);
  new Uint8Array(copy).set(new Uint8Array(marginTable.buffer));
  return copy;
}

const over = (buffer: ArrayBuffer, stripeCount = 1): MarginTable =>
  new MarginTable(buffer as unknown as SharedArrayBuffer, stripeCount);

test("totals are the sum of all contributions, and fall when contributions fall", () => {
  const marginTable = MarginTable.allocate(8);
  const one = contributed();
  const other = new Float64Array(20);
  marginTable.setContribution(ACCOUNT, one, 0, {
    equity: 100,
    unrealized: -5,
    initial: 20,
    positionInitial: 10,
    maintenance: 3,
  });
  marginTable.setContribution(ACCOUNT, other, 10, {
    equity: -30,
    unrealized: 7,
    initial: 1,
    positionInitial: 1,
    maintenance: 0,
  });
  marginTable.commit();
  assert.deepEqual(read(marginTable), { equity: 70, unrealized: 2, initial: 21, positionInitial: 11, maintenance: 3 });
  marginTable.setContribution(ACCOUNT, one, 0, NOTHING);
  marginTable.commit();
  assert.deepEqual(read(marginTable), { equity: -30, unrealized: 7, initial: 1, positionInitial: 1, maintenance: 0 });
  marginTable.setContribution(ACCOUNT, other, 10, NOTHING);
  marginTable.commit();
  assert.deepEqual(read(marginTable), NOTHING);
  for (let account = 0; account < marginTable.maxAccounts; account++) assert.equal(marginTable.equity(account), 0);
});

test("credits wait for the commit, debits apply at once", () => {
  for (const [field, credit] of [
    ["equity", 10],
    ["unrealized", -10],
    ["initial", -10],
    // A liquidation divides equity by maintenance margin: both change at the commit.
    ["maintenance", -10],
  ] as const) {
    const marginTable = MarginTable.allocate(8);
    const recorded = contributed();
    const before = contribution({ equity: 100, unrealized: 20, initial: 30, maintenance: 20 });
    marginTable.setContribution(ACCOUNT, recorded, 0, before);
    marginTable.commit();
    marginTable.setContribution(ACCOUNT, recorded, 0, { ...before, [field]: before[field] + credit });
    assert.deepEqual(read(marginTable), before, `${field}, before the commit`);
    marginTable.commit();
    assert.deepEqual(read(marginTable), { ...before, [field]: before[field] + credit }, `${field}, after it`);
    marginTable.setContribution(ACCOUNT, recorded, 0, { ...before, [field]: before[field] - credit });
    assert.deepEqual(read(marginTable), { ...before, [field]: before[field] - credit }, `${field}, at once`);
  }
});

test("deferred credits count for the rest of the transaction at once, and for others at the commit", () => {
  const marginTable = MarginTable.allocate(8);
  const recorded = contributed();
  marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity: 100, initial: 30, maintenance: 20 }));
  marginTable.commit();
  marginTable.begin();
  marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity: 110, initial: 5, maintenance: 3 }));
  const now = () => {
    const { equity, maintenance } = marginTable.consistent(ACCOUNT);
    return [marginTable.available(ACCOUNT), equity, maintenance];
  };
  assert.deepEqual(now(), [70, 100, 20]);
  marginTable.useDeferred();
  assert.deepEqual(now(), [105, 110, 3]);
  assert.deepEqual([marginTable.equity(ACCOUNT), marginTable.maintenance(ACCOUNT)], [100, 20]);
  marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity: 115, initial: 5, maintenance: 2 }));
  assert.deepEqual(now(), [105, 110, 3]);
  marginTable.useDeferred();
  assert.deepEqual(now(), [110, 115, 2]);
  marginTable.commit();
  assert.deepEqual([marginTable.equity(ACCOUNT), marginTable.maintenance(ACCOUNT)], [115, 2]);
  assert.deepEqual(now(), [110, 115, 2], "and not twice");
});

test("a rollback removes a transaction without a sequence, and finishes one that has its sequence", () => {
  const before = contribution({ equity: 100, unrealized: 20, initial: 30, positionInitial: 5, maintenance: 4 });
  const after = { equity: 60, unrealized: -5, initial: 10, positionInitial: 0, maintenance: 9 };
  const play = (marginTable: MarginTable, recorded: Float64Array): void => {
    marginTable.begin();
    assert.ok(marginTable.reserve(ACCOUNT, 10, recorded, 0));
    assert.ok(!marginTable.reserve(ACCOUNT, 1000, recorded, 0));
    assert.ok(marginTable.reserveChange(ACCOUNT, { ...before, equity: 90, initial: 50 }, recorded, 0));
    assert.ok(!marginTable.reserveChange(ACCOUNT, { ...before, equity: -90 }, recorded, 0));
    assert.ok(marginTable.debit(ACCOUNT, 1));
    assert.ok(!marginTable.debit(ACCOUNT, 1000));
    recorded[0] -= 1;
    marginTable.setContribution(ACCOUNT, recorded, 0, { ...after, equity: -7 });
    assert.ok(marginTable.claim(ACCOUNT));
    assert.equal(marginTable.consistent(ACCOUNT).equity, -7);
    marginTable.setContribution(ACCOUNT, recorded, 0, after);
    assert.notDeepEqual(read(marginTable), before);
  };
  for (const hasSequence of [false, true]) {
    const marginTable = MarginTable.allocate(8);
    const recorded = contributed();
    marginTable.setContribution(ACCOUNT, recorded, 0, before);
    marginTable.commit();
    play(marginTable, recorded);
    if (hasSequence) marginTable.commit();
    marginTable.rollback();
    assert.deepEqual(read(marginTable), hasSequence ? after : before);
    marginTable.commit();
    assert.deepEqual(read(marginTable), hasSequence ? after : before, "nothing is deferred any more");
  }
});

test("a recount restores the contributions, whatever the table held before", () => {
  const marginTable = MarginTable.allocate(8);
  const sums = MarginTable.allocate(8);
  const [recorded, others] = [contributed(), contributed()];
  marginTable.setContribution(ACCOUNT, recorded, 0, {
    equity: 100,
    unrealized: -5,
    initial: 20,
    positionInitial: 10,
    maintenance: 3,
  });
  marginTable.setContribution(ACCOUNT, others, 0, contribution({ equity: -30, unrealized: 7 }));
  marginTable.commit();
  const whole = read(marginTable);
  marginTable.setContribution(ACCOUNT, contributed(), 0, contribution({ equity: -1, maintenance: 5 }));
  sums.addAll(ACCOUNT, contributed(), 0);
  sums.addAll(ACCOUNT, recorded, 0);
  sums.addAll(ACCOUNT, others, 0);
  marginTable.copyFrom(sums);
  assert.deepEqual(read(marginTable), whole);
  sums.clear();
  assert.deepEqual(read(sums), NOTHING);
});

test("amounts up to 2^53 stay exact", () => {
  const marginTable = MarginTable.allocate(8);
  const recorded = contributed();
  for (const equity of [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 1]) {
    marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity }));
    marginTable.commit();
    assert.equal(marginTable.equity(ACCOUNT), equity);
  }
});

test("additional margin of all threads stays in the account when money leaves, and new margin may use it", () => {
  const marginTable = over(start({ equity: 100, initial: 30 }, 2), 2);
  const other = new MarginTable(marginTable.buffer, 2, 1);
  const third = 2;
  marginTable.addAdditional(ACCOUNT, 15);
  other.addAdditional(ACCOUNT, 5);
  other.addAdditional(third, 7);
  assert.deepEqual([marginTable.additional(ACCOUNT), other.additional(third)], [20, 7]);
  for (const each of [marginTable, other]) {
    assert.equal(each.withdrawable(ACCOUNT), 50);
    assert.equal(each.debit(ACCOUNT, 51), false);
    const leaves = (endedAdditional: number) =>
      each.reserveChange(ACCOUNT, contribution({ equity: -51 }), contributed(), 0, endedAdditional);
    assert.equal(leaves(0), false);
    assert.equal(each.available(ACCOUNT), 70);
  }
  assert.equal(reserve(other, 60), true);
  assert.equal(marginTable.withdrawable(ACCOUNT), 0);
  assert.equal(marginTable.reserveChange(ACCOUNT, contribution({ equity: -5 }), contributed(), 0, 20), true);
  assert.deepEqual([marginTable.equity(ACCOUNT), marginTable.equity(third)], [95, 0]);
  const copy = over(start({}, 2), 2);
  copy.copyFrom(marginTable);
  assert.equal(copy.additional(ACCOUNT), 20);
  copy.clear();
  assert.equal(copy.additional(ACCOUNT), 0);
});

test("withdrawable is equity less margin or less unrealised gains, and never below zero", () => {
  for (const [equity, unrealized, initial, expected] of [
    [100, 0, 0, 100],
    [100, 0, 30, 70],
    [100, 40, 30, 60],
    [100, -40, 30, 70],
    [100, 130, 0, 0],
    [100, 0, 130, 0],
    [-5, -5, 0, 0],
  ]) {
    const marginTable = over(start({ equity, unrealized, initial }));
    assert.equal(marginTable.withdrawable(ACCOUNT), expected);
    assert.equal(marginTable.available(ACCOUNT), equity - initial);
    // debit() accepts exactly what withdrawable() says.
    assert.equal(marginTable.debit(ACCOUNT, expected + 1), false);
    assert.equal(marginTable.debit(ACCOUNT, expected), equity >= Math.max(initial, unrealized, 0));
  }
});

test("two symbols that reserve at once never get more than there is", () => {
  for (const [equity, first, second] of [
    [100, 60, 60],
    [100, 40, 60],
    [100, 100, 1],
    [50, 60, 60],
  ]) {
    const endings = everyInterleaving(
      start({ equity }, 2),
      [first, second].map((amount) => (marginTable: MarginTable) => reserve(marginTable, amount)),
      ({ buffer, results, schedule }) => {
        const taken = (results[0] ? first : 0) + (results[1] ? second : 0);
        assert.ok(taken <= equity, `${taken} of ${equity} in order ${schedule}`);
        assert.equal(over(buffer, 2).initial(ACCOUNT), taken, `in order ${schedule}`);
      },
    );
    assert.ok(endings >= 6, `${endings} orders`);
  }
});

test("three symbols that reserve at once never get more than there is", () => {
  everyInterleaving(
    start({ equity: 100, initial: 10 }, 3),
    [50, 50, 40].map((amount) => (marginTable: MarginTable) => reserve(marginTable, amount)),
    ({ buffer, results, schedule }) => {
      const taken = [50, 50, 40].reduce((sum, amount, i) => sum + (results[i] ? amount : 0), 10);
      assert.ok(taken <= 100, `${taken} in order ${schedule}`);
      assert.equal(over(buffer, 3).initial(ACCOUNT), taken);
    },
  );
});

test("a withdrawal and a reservation never spend the same money", () => {
  for (const [equity, margin, amount] of [
    [100, 60, 60],
    [100, 40, 60],
    [100, 1, 100],
  ]) {
    const outcomes = new Set<string>();
    everyInterleaving<boolean>(
      start({ equity }, 2),
      [(marginTable) => reserve(marginTable, margin), (marginTable) => marginTable.debit(ACCOUNT, amount)],
      ({ buffer, results, schedule }) => {
        const after = read(over(buffer, 2));
        assert.equal(after.equity, equity - (results[1] ? amount : 0), `in order ${schedule}`);
        assert.equal(after.initial, results[0] ? margin : 0, `in order ${schedule}`);
        assert.ok(after.equity >= after.initial, `${JSON.stringify(after)} in order ${schedule}`);
        outcomes.add(String(results));
      },
    );
    // Each of them can be the one that gets it.
    assert.ok(outcomes.has("true,false") || margin + amount <= equity);
    assert.ok(outcomes.has("false,true") || margin + amount <= equity);
  }
});

test("isolated orders that reserve at once, and a withdrawal, never get more than what is no unrealised gain", () => {
  const reserveIsolated = (marginTable: MarginTable, amount: number): boolean =>
    marginTable.reserve(ACCOUNT, amount, contributed(), 0, 0, true);
  for (const other of [
    (marginTable: MarginTable) => reserveIsolated(marginTable, 30),
    (marginTable: MarginTable) => marginTable.debit(ACCOUNT, 30),
    (marginTable: MarginTable) => marginTable.reserveChange(ACCOUNT, contribution({ equity: -30 }), contributed(), 0),
  ]) {
    const outcomes = new Set<string>();
    everyInterleaving<boolean>(
      // With three stripes, adding them up is one step.
      start({ equity: 100, unrealized: 50 }, 3),
      [(marginTable) => reserveIsolated(marginTable, 40), other, () => true],
      ({ buffer, results, schedule }) => {
        const marginTable = over(buffer, 3);
        assert.equal(marginTable.usableReserved(ACCOUNT), marginTable.initial(ACCOUNT));
        assert.ok(marginTable.unreserved(ACCOUNT) >= 0, `${results} in order ${schedule}`);
        outcomes.add(String(results.slice(0, 2)));
      },
    );
    assert.ok(outcomes.has("true,false") && outcomes.has("false,true"), [...outcomes].join(" "));
  }
});

test("what isolated orders reserve is a part of initial margin, and stays out of it when they are gone", () => {
  const marginTable = over(start({ equity: 100, unrealized: 60 }));
  const recorded = contributed();
  const set = (changes: Partial<Contribution>): void =>
    marginTable.setContribution(ACCOUNT, recorded, 0, contribution(changes), false, true);
  assert.equal(marginTable.reserve(ACCOUNT, 41, recorded, 0, 0, true), false);
  assert.equal(marginTable.reserve(ACCOUNT, 30, recorded, 0, 0, true), true);
  set({ initial: 25 });
  assert.equal(marginTable.usableReserved(ACCOUNT), 30, "until the end of the transaction");
  marginTable.commit();
  assert.deepEqual([marginTable.usableReserved(ACCOUNT), marginTable.withdrawable(ACCOUNT)], [25, 15]);
  assert.equal(marginTable.reserve(ACCOUNT, -5, recorded, 0, 0, true), true);
  const sums = MarginTable.allocate(8);
  sums.addAll(ACCOUNT, recorded, 0, true);
  assert.deepEqual([sums.usableReserved(ACCOUNT), sums.initial(ACCOUNT)], [25, 25]);
  const lower = contribution({ initial: 41 });
  assert.equal(marginTable.reserveChange(ACCOUNT, lower, recorded, 0, 0, true), false);
  assert.equal(marginTable.usableReserved(ACCOUNT), 25);
  assert.equal(marginTable.reserveChange(ACCOUNT, { ...lower, initial: 40 }, recorded, 0, 0, true), true);
  assert.deepEqual([marginTable.usableReserved(ACCOUNT), marginTable.unreserved(ACCOUNT)], [40, 0]);
  set({ equity: -40 });
  marginTable.commit();
  assert.deepEqual([marginTable.usableReserved(ACCOUNT), marginTable.unreserved(ACCOUNT)], [0, 0]);
});

test("a withdrawal never takes an unrealised gain, at whatever step of a mark change it runs", () => {
  for (const isLogged of [false, true]) {
    const endings = everyInterleaving<boolean>(
      start({ equity: 50 }, 2),
      [
        (marginTable) => {
          marginTable.setContribution(
            ACCOUNT,
            contributed(),
            0,
            contribution({ equity: 50, unrealized: 50, initial: 5 }),
            isLogged,
          );
          marginTable.commit();
          return true;
        },
        (marginTable) => marginTable.debit(ACCOUNT, 51),
      ],
      ({ results, schedule }) => assert.equal(results[1], false, `in order ${schedule}, is logged: ${isLogged}`),
    );
    assert.ok(endings > 20, `${endings} orders`);
  }
});

test("a withdrawal never takes money that a loss took while it freed margin", () => {
  everyInterleaving<boolean>(
    start({ equity: 100, initial: 50 }, 2),
    [
      (marginTable) => {
        const recorded = Float64Array.of(100, 0, 50, 0, 0);
        marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity: 40 }));
        marginTable.commit();
        return true;
      },
      (marginTable) => marginTable.debit(ACCOUNT, 51),
    ],
    ({ results, schedule }) => assert.equal(results[1], false, `in order ${schedule}`),
  );
});

for (const [what, take] of [
  ["withdrawal", (marginTable) => marginTable.debit(ACCOUNT, 30)],
  [
    "change of a contribution",
    (marginTable) => marginTable.reserveChange(ACCOUNT, contribution({ equity: -30 }), contributed(), 0),
  ],
] satisfies [string, (marginTable: MarginTable) => boolean][])
  test(`a ${what} takes no unrealised gain that a mark price is taking away`, () => {
    everyInterleaving<boolean>(
      start({ equity: 60, unrealized: 50 }, 2),
      [
        (marginTable) => {
          const recorded = Float64Array.of(60, 50, 0, 0, 0);
          marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity: 20, unrealized: 10 }), true);
          marginTable.commit();
          return true;
        },
        take,
      ],
      ({ results, schedule }) => assert.equal(results[1], false, `in order ${schedule}`),
    );
  });

test("losses of one position are not set off against gains of another, for withdrawals too", () => {
  const marginTable = over(start({ equity: 100, unrealized: 60 }, 1, { equity: -20, unrealized: -50 }));
  assert.equal(marginTable.unrealized(ACCOUNT), 10);
  assert.equal(marginTable.usableGains(ACCOUNT), 60);
  assert.equal(marginTable.withdrawable(ACCOUNT), 20);
  assert.equal(marginTable.debit(ACCOUNT, 21), false);
  assert.equal(marginTable.debit(ACCOUNT, 20), true);
});

test("reserveChange takes the debits if equity and realised money cover them, and nothing otherwise", () => {
  for (const [what, from, to, passes] of [
    ["all that is free", {}, { equity: -70 }, true],
    ["more", {}, { equity: -71 }, false],
    ["margin up to equity", {}, { initial: 70 }, true],
    ["more margin", {}, { initial: 71 }, false],
    ["both", {}, { equity: -30, initial: 40 }, true],
    ["one too many", {}, { equity: -31, initial: 40 }, false],
    ["its recorded margin comes free", { initial: 30 }, { equity: -100 }, true],
    ["margin for what it brings", {}, { equity: 50, initial: 120 }, true],
    ["too much for what it brings", {}, { equity: 50, initial: 121 }, false],
    ["a gain that stays", { unrealized: 80 }, { equity: -21, unrealized: 80 }, false],
    ["a gain that leaves with the equity", { unrealized: 80 }, { equity: -70 }, true],
    ["a loss that leaves with the equity shows a gain", { unrealized: -60 }, { equity: -50 }, false],
  ] as const) {
    // Equity 100, of which 30 are margin. In the last row a loss hides all of a gain of 60.
    const others = { equity: 100, initial: 30, unrealized: what.startsWith("a loss") ? 60 : 0 };
    const recorded = contribution(from);
    const array = start({ ...others, initial: others.initial - recorded.initial }, 1, from);
    const marginTable = over(array);
    const before = read(marginTable);
    const numbers = Float64Array.of(0, recorded.unrealized, recorded.initial, 0, 0);
    assert.equal(marginTable.reserveChange(ACCOUNT, contribution(to), numbers, 0), passes, what);
    if (!passes) {
      assert.deepEqual(read(marginTable), before, what);
      continue;
    }
    const after = read(marginTable);
    const due = contribution(to);
    assert.equal(after.equity, before.equity + Math.min(0, due.equity), `${what}: credits wait`);
    marginTable.setContribution(ACCOUNT, numbers, 0, due);
    marginTable.commit();
    assert.equal(read(marginTable).equity, others.equity + due.equity, what);
    assert.equal(read(marginTable).initial, others.initial - recorded.initial + due.initial, what);
    assert.equal(read(marginTable).unrealized, others.unrealized + due.unrealized, what);
  }
});

test("changes, reservations and withdrawals at once never take the same money", () => {
  const change = (marginTable: MarginTable, to: Partial<Contribution>): boolean =>
    marginTable.reserveChange(ACCOUNT, contribution(to), contributed(), 0);
  const outcomes = new Set<string>();
  for (const other of [
    (marginTable: MarginTable): boolean => change(marginTable, { equity: -60 }),
    (marginTable: MarginTable): boolean => change(marginTable, { equity: -30, initial: 30 }),
    (marginTable: MarginTable): boolean => reserve(marginTable, 60),
    (marginTable: MarginTable): boolean => marginTable.debit(ACCOUNT, 60),
  ])
    everyInterleaving<boolean>(
      start({ equity: 100 }, 2),
      [(marginTable) => change(marginTable, { equity: -40, initial: 20 }), other],
      ({ buffer, results, schedule }) => {
        const { equity, initial } = read(over(buffer, 2));
        assert.ok(equity >= initial, `${equity} for ${initial} in order ${schedule}`);
        assert.ok(!(results[0] && results[1]), `in order ${schedule}`);
        assert.equal(equity - initial, 100 - (results[0] || results[1] ? 60 : 0), `in order ${schedule}`);
        outcomes.add(String(results));
      },
    );
  assert.ok(outcomes.has("true,false") && outcomes.has("false,true"));
});

/** Raises an equity below zero to zero, as the settlement of a mark does. Returns by how much. */
function cover(marginTable: MarginTable, recorded = contributed()): number {
  marginTable.begin();
  const deficit = marginTable.claim(ACCOUNT) ? Math.max(0, -marginTable.consistent(ACCOUNT).equity) : 0;
  marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity: recorded[0] + deficit }));
  marginTable.commit();
  return deficit;
}

test("a deficit is covered once, when two threads try at the same time", () => {
  everyInterleaving<number>(start({ equity: -30 }, 2), [cover, cover], ({ buffer, results, schedule }) => {
    assert.equal(over(buffer, 2).equity(ACCOUNT), 0, `in order ${schedule}`);
    assert.deepEqual(results.toSorted(), [0, 30]);
  });
  // With a further loss at the same moment, the covered amount is the deficit at the time of the cover.
  const lose = (marginTable: MarginTable): number => {
    marginTable.setContribution(ACCOUNT, contributed(), 0, contribution({ equity: -5 }));
    return 0;
  };
  everyInterleaving<number>(start({ equity: -30 }, 2), [cover, lose], ({ buffer, results, schedule }) => {
    assert.equal(over(buffer, 2).equity(ACCOUNT), results[0] - 35, `in order ${schedule}`);
    assert.ok([30, 35].includes(results[0]), `${results[0]} in order ${schedule}`);
  });
  assert.equal(cover(over(start({ equity: 0 }))), 0);
  assert.equal(cover(over(start({ equity: 7 }))), 0);
});

test("a consistent read never shows the middle of another thread's transaction, nor what is refused there", () => {
  const before = contribution({ equity: 100, initial: 30, maintenance: 20 });
  const after = contribution({ equity: 90, initial: 10, maintenance: 15 });
  const transactions: [what: string, transaction: (marginTable: MarginTable) => void, then: Contribution][] = [
    ["a withdrawal that is refused", (marginTable) => marginTable.debit(ACCOUNT, 900), before],
    ["a reservation that is refused", (marginTable) => reserve(marginTable, 900), before],
    [
      "debits at once and credits at the commit",
      (marginTable) => marginTable.setContribution(ACCOUNT, Float64Array.of(100, 0, 30, 0, 20), 0, after),
      after,
    ],
  ];
  for (const [what, transaction, then] of transactions) {
    const seen = new Set<string>();
    everyInterleaving<string>(
      start(before, 2),
      [
        (marginTable) => {
          marginTable.begin();
          transaction(marginTable);
          marginTable.commit();
          return "";
        },
        (marginTable) => {
          const isAtRest = marginTable.readConsistent(ACCOUNT);
          return (isAtRest ? "" : "busy: ") + figuresOf(marginTable.consistent(ACCOUNT));
        },
      ],
      ({ results, schedule }) => {
        // A read that fails says so. The test allows one attempt only.
        const whole = [figuresOf(before), figuresOf(then)];
        const isWhole = whole.includes(results[1].replace("busy: ", ""));
        assert.ok(isWhole || results[1].startsWith("busy: "), `${what}: ${results[1]} in order ${schedule}`);
        seen.add(results[1]);
      },
    );
    for (const each of [figuresOf(before), `busy: ${figuresOf(before)}`, figuresOf(then)])
      assert.ok(seen.has(each), `${what}: ${each}`);
  }
});

test("a deficit in the middle of a transaction is not covered", () => {
  everyInterleaving<number>(
    start({ equity: 100 }, 2),
    [
      (marginTable) => {
        marginTable.begin();
        const granted = marginTable.debit(ACCOUNT, 900);
        marginTable.commit();
        return Number(granted);
      },
      cover,
    ],
    ({ buffer, results, schedule }) => {
      assert.deepEqual(results, [0, 0], `in order ${schedule}`);
      assert.equal(over(buffer, 2).equity(ACCOUNT), 100, `in order ${schedule}`);
    },
  );
});

test("an account is short of margin while another thread's transaction may be spending it", () => {
  const marginTable = MarginTable.allocate(8, 2, 0);
  const recorded = contributed();
  marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity: 100, initial: 60 }));
  marginTable.commit();
  const other = new MarginTable(marginTable.buffer, 2, 1);
  assert.equal(other.isShort(ACCOUNT), false);
  marginTable.begin();
  assert.ok(marginTable.spend(ACCOUNT, 60, recorded, 0));
  assert.equal(other.isShort(ACCOUNT), true);
  other.readConsistent(ACCOUNT);
  assert.equal(other.consistent(ACCOUNT).equity, 100);
  assert.equal(other.remainingEquity(ACCOUNT), 40);
  marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity: 70 }));
  marginTable.commit();
  assert.equal(other.isShort(ACCOUNT), false);
});

test("spend leaves the margin of another thread's positions, and that of its orders while they may be filled", () => {
  const closer = MarginTable.allocate(8, 2, 0);
  const recorded = contributed();
  closer.setContribution(ACCOUNT, recorded, 0, contribution({ equity: 100 }));
  closer.commit();
  const other = new MarginTable(closer.buffer, 2, 1);
  other.setContribution(ACCOUNT, contributed(), 0, contribution({ initial: 60, positionInitial: 20, maintenance: 10 }));
  other.commit();
  other.begin();
  other.beginFilling(ACCOUNT);
  closer.begin();
  assert.equal(closer.spend(ACCOUNT, 51, recorded, 0), false);
  assert.equal(closer.spend(ACCOUNT, 50, recorded, 0), true);
  other.commit();
  assert.equal(closer.spend(ACCOUNT, 41, recorded, 0), false);
  assert.equal(closer.spend(ACCOUNT, 40, recorded, 0), true);
});

test("a reader without a stripe sees all stripes consistently, a thread with one sees its own as it stands", () => {
  const [one, two] = [0, 1].map((stripe) => [stripe, contributed()] as const);
  const reader = MarginTable.allocate(8, 2, NO_STRIPE);
  const actors = [one, two].map(([stripe]) => new MarginTable(reader.buffer, 2, stripe));
  for (const [stripe, recorded] of [one, two]) {
    actors[stripe].begin();
    actors[stripe].setContribution(ACCOUNT, recorded, 0, contribution({ equity: -5 * (stripe + 1), maintenance: 1 }));
  }
  assert.equal(reader.readConsistent(ACCOUNT), false);
  assert.deepEqual(reader.consistent(ACCOUNT), noMargin(), "as it was before");
  assert.deepEqual(read(reader), contribution({ equity: -15, maintenance: 2 }), "as it stands");
  actors[1].commit();
  assert.equal(reader.readConsistent(ACCOUNT), false);
  assert.ok(actors[0].readConsistent(ACCOUNT));
  actors[0].setContribution(ACCOUNT, one[1], 0, contribution({ equity: -7, maintenance: 1 }));
  assert.equal(actors[0].consistent(ACCOUNT).equity, -17);
  actors[0].rollback();
  assert.ok(reader.readConsistent(ACCOUNT), "a rollback ends the transaction, too");
  assert.deepEqual(reader.consistent(ACCOUNT), { ...noMargin(), equity: -10, maintenance: 1 });
});

test("a thread that dies while covering a deficit leaves it to others after the next recount", () => {
  const marginTable = MarginTable.allocate(8, 2, 1);
  const recorded = contributed();
  marginTable.setContribution(ACCOUNT, recorded, 0, contribution({ equity: -30 }));
  const dying = new FailingMarginTable(marginTable.buffer, 2, 0);
  dying.begin();
  assert.throws(() => dying.claim(ACCOUNT), /died/);
  assert.equal(marginTable.equity(ACCOUNT), -30);
  assert.equal(cover(marginTable, recorded), 0);
  const sums = MarginTable.allocate(8, 2, 1);
  sums.addAll(ACCOUNT, recorded, 0);
  marginTable.copyFrom(sums);
  assert.equal(cover(marginTable, recorded), 30);
  assert.equal(marginTable.equity(ACCOUNT), 0);
});

class FailingMarginTable extends MarginTable {
  protected override addTo(): void {
    throw new Error("died");
  }
}

test("the interleavings catch a reservation that checks before it takes", () => {
  let caught = false;
  const careless = (marginTable: MarginTable): boolean => {
    if (marginTable.equity(ACCOUNT) < marginTable.initial(ACCOUNT) + 60) return false;
    marginTable.setContribution(ACCOUNT, contributed(), 0, contribution({ initial: 60 }));
    return true;
  };
  everyInterleaving(start({ equity: 100 }, 2), [careless, careless], ({ results }) => {
    caught ||= results[0] && results[1];
  });
  assert.ok(caught);
});

const figuresOf = ({ equity, maintenance }: Contribution): string => `${equity} for ${maintenance}`;

const reserve = (marginTable: MarginTable, amount: number): boolean =>
  marginTable.reserve(ACCOUNT, amount, contributed(), 0);

const read = (marginTable: MarginTable): Contribution => ({
  equity: marginTable.equity(ACCOUNT),
  unrealized: marginTable.unrealized(ACCOUNT),
  initial: marginTable.initial(ACCOUNT),
  positionInitial: marginTable.positionInitial(ACCOUNT),
  maintenance: marginTable.maintenance(ACCOUNT),
});
