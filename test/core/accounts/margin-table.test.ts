import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AccountCells,
  CONTRIBUTION_FIELDS,
  type Contribution,
  NO_LANE,
} from "../../../src/core/accounts/margin-table.ts";
import { everyInterleaving } from "../support/interleave.ts";

const ACCOUNT = 3;
const NOTHING: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
const contribution = (changes: Partial<Contribution>): Contribution => ({ ...NOTHING, ...changes });
const given = (): Float64Array => new Float64Array(CONTRIBUTION_FIELDS);

/** An account's cells in a buffer that the interleavings can copy, with a lane for each actor. */
function start(changes: Partial<Contribution>, laneCount = 1): ArrayBuffer {
  const cells = AccountCells.allocate(8, laneCount);
  cells.move(ACCOUNT, given(), 0, contribution(changes));
  cells.flush();
  const copy = new ArrayBuffer(cells.buffer.byteLength);
  new Uint8Array(copy).set(new Uint8Array(cells.buffer));
  return copy;
}

const over = (buffer: ArrayBuffer, laneCount = 1): AccountCells =>
  new AccountCells(buffer as unknown as SharedArrayBuffer, laneCount);

test("cells are the sum of what actors contribute, and go back as contributions do", () => {
  const cells = AccountCells.allocate(8);
  const one = given();
  const other = new Float64Array(20);
  cells.move(ACCOUNT, one, 0, { equity: 100, unrealized: -5, initial: 20, positionInitial: 10, maintenance: 3 });
  cells.move(ACCOUNT, other, 10, { equity: -30, unrealized: 7, initial: 1, positionInitial: 1, maintenance: 0 });
  cells.flush();
  assert.deepEqual(read(cells), { equity: 70, unrealized: 2, initial: 21, positionInitial: 11, maintenance: 3 });
  cells.move(ACCOUNT, one, 0, NOTHING);
  cells.flush();
  assert.deepEqual(read(cells), { equity: -30, unrealized: 7, initial: 1, positionInitial: 1, maintenance: 0 });
  cells.move(ACCOUNT, other, 10, NOTHING);
  cells.flush();
  assert.deepEqual(read(cells), NOTHING);
  for (let account = 0; account < cells.maxAccounts; account++) assert.equal(cells.equity(account), 0);
});

test("what helps an account waits for the flush, what burdens it does not", () => {
  for (const [field, inFavour] of [
    ["equity", 10],
    ["unrealized", -10],
    ["initial", -10],
    // A liquidation divides the one by the other: both come with the ticket, or neither.
    ["maintenance", -10],
  ] as const) {
    const cells = AccountCells.allocate(8);
    const mine = given();
    const before = contribution({ equity: 100, unrealized: 20, initial: 30, maintenance: 20 });
    cells.move(ACCOUNT, mine, 0, before);
    cells.flush();
    cells.move(ACCOUNT, mine, 0, { ...before, [field]: before[field] + inFavour });
    assert.deepEqual(read(cells), before, `${field}, before the flush`);
    cells.flush();
    assert.deepEqual(read(cells), { ...before, [field]: before[field] + inFavour }, `${field}, behind it`);
    cells.move(ACCOUNT, mine, 0, { ...before, [field]: before[field] - inFavour });
    assert.deepEqual(read(cells), { ...before, [field]: before[field] - inFavour }, `${field}, at once`);
  }
});

test("what a part of a turn has freed counts for the parts behind it, and for others with the flush", () => {
  const cells = AccountCells.allocate(8);
  const mine = given();
  cells.move(ACCOUNT, mine, 0, contribution({ equity: 100, initial: 30, maintenance: 20 }));
  cells.flush();
  cells.begin();
  cells.move(ACCOUNT, mine, 0, contribution({ equity: 110, initial: 5, maintenance: 3 }));
  const now = () => {
    const { equity, maintenance } = cells.observed(ACCOUNT);
    return [cells.available(ACCOUNT), equity, maintenance];
  };
  assert.deepEqual(now(), [70, 100, 20]);
  cells.countFavours();
  assert.deepEqual(now(), [105, 110, 3]);
  assert.deepEqual([cells.equity(ACCOUNT), cells.maintenance(ACCOUNT)], [100, 20]);
  cells.move(ACCOUNT, mine, 0, contribution({ equity: 115, initial: 5, maintenance: 2 }));
  assert.deepEqual(now(), [105, 110, 3]);
  cells.countFavours();
  assert.deepEqual(now(), [110, 115, 2]);
  cells.flush();
  assert.deepEqual([cells.equity(ACCOUNT), cells.maintenance(ACCOUNT)], [115, 2]);
  assert.deepEqual(now(), [110, 115, 2], "and not twice");
});

test("a turn that is abandoned leaves nothing in the cells; behind its ticket it is finished instead", () => {
  const before = contribution({ equity: 100, unrealized: 20, initial: 30, positionInitial: 5, maintenance: 4 });
  const after = { equity: 60, unrealized: -5, initial: 10, positionInitial: 0, maintenance: 9 };
  const play = (cells: AccountCells, mine: Float64Array): void => {
    cells.begin();
    assert.ok(cells.reserve(ACCOUNT, 10, mine, 0));
    assert.ok(!cells.reserve(ACCOUNT, 1000, mine, 0));
    assert.ok(cells.claim(ACCOUNT, { ...before, equity: 90, initial: 50 }, mine, 0));
    assert.ok(!cells.claim(ACCOUNT, { ...before, equity: -90 }, mine, 0));
    assert.ok(cells.debit(ACCOUNT, 1));
    assert.ok(!cells.debit(ACCOUNT, 1000));
    mine[0] -= 1;
    cells.move(ACCOUNT, mine, 0, { ...after, equity: -7 });
    assert.equal(cells.cover(ACCOUNT, mine, 0), 7);
    cells.move(ACCOUNT, mine, 0, after);
    assert.notDeepEqual(read(cells), before);
  };
  for (const hasTicket of [false, true]) {
    const cells = AccountCells.allocate(8);
    const mine = given();
    cells.move(ACCOUNT, mine, 0, before);
    cells.flush();
    play(cells, mine);
    if (hasTicket) cells.flush();
    cells.abandon();
    assert.deepEqual(read(cells), hasTicket ? after : before);
    cells.flush();
    assert.deepEqual(read(cells), hasTicket ? after : before, "and nothing of it waits any more");
  }
});

test("cells that are counted anew are those that had been given, whatever stands in the old ones", () => {
  const cells = AccountCells.allocate(8);
  const sums = AccountCells.allocate(8);
  const [mine, others] = [given(), given()];
  cells.move(ACCOUNT, mine, 0, { equity: 100, unrealized: -5, initial: 20, positionInitial: 10, maintenance: 3 });
  cells.move(ACCOUNT, others, 0, contribution({ equity: -30, unrealized: 7 }));
  cells.flush();
  const whole = read(cells);
  cells.move(ACCOUNT, given(), 0, contribution({ equity: -1, maintenance: 5 }));
  sums.addAll(ACCOUNT, given(), 0);
  sums.addAll(ACCOUNT, mine, 0);
  sums.addAll(ACCOUNT, others, 0);
  cells.copyFrom(sums);
  assert.deepEqual(read(cells), whole);
  sums.clear();
  assert.deepEqual(read(sums), NOTHING);
});

test("amounts up to 2^53 survive the cells", () => {
  const cells = AccountCells.allocate(8);
  const mine = given();
  for (const equity of [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 1]) {
    cells.move(ACCOUNT, mine, 0, contribution({ equity }));
    cells.flush();
    assert.equal(cells.equity(ACCOUNT), equity);
  }
});

test("withdrawable is what margin leaves, or what unrealised gains leave, and never below zero", () => {
  for (const [equity, unrealized, initial, expected] of [
    [100, 0, 0, 100],
    [100, 0, 30, 70],
    [100, 40, 30, 60],
    [100, -40, 30, 70],
    [100, 130, 0, 0],
    [100, 0, 130, 0],
    [-5, -5, 0, 0],
  ]) {
    const cells = over(start({ equity, unrealized, initial }));
    assert.equal(cells.withdrawable(ACCOUNT), expected);
    assert.equal(cells.available(ACCOUNT), equity - initial);
    // What may be withdrawn is exactly what is debited.
    assert.equal(cells.debit(ACCOUNT, expected + 1), false);
    assert.equal(cells.debit(ACCOUNT, expected), equity >= Math.max(initial, unrealized, 0));
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
      [first, second].map((amount) => (cells: AccountCells) => reserve(cells, amount)),
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
    [50, 50, 40].map((amount) => (cells: AccountCells) => reserve(cells, amount)),
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
      [(cells) => reserve(cells, margin), (cells) => cells.debit(ACCOUNT, amount)],
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

test("a withdrawal never takes an unrealised gain, however it comes between the steps of a mark price", () => {
  for (const isLogged of [false, true]) {
    const endings = everyInterleaving<boolean>(
      start({ equity: 50 }, 2),
      [
        (cells) => {
          cells.move(ACCOUNT, given(), 0, contribution({ equity: 50, unrealized: 50, initial: 5 }), isLogged);
          cells.flush();
          return true;
        },
        (cells) => cells.debit(ACCOUNT, 51),
      ],
      ({ results, schedule }) => assert.equal(results[1], false, `in order ${schedule}, is logged: ${isLogged}`),
    );
    assert.ok(endings > 20, `${endings} orders`);
  }
});

test("a withdrawal never takes what a loss has taken, when the margin of what was lost comes free", () => {
  everyInterleaving<boolean>(
    start({ equity: 100, initial: 50 }, 2),
    [
      (cells) => {
        const mine = Float64Array.of(100, 0, 50, 0, 0);
        cells.move(ACCOUNT, mine, 0, contribution({ equity: 40 }));
        cells.flush();
        return true;
      },
      (cells) => cells.debit(ACCOUNT, 51),
    ],
    ({ results, schedule }) => assert.equal(results[1], false, `in order ${schedule}`),
  );
});

for (const [what, take] of [
  ["withdrawal", (cells) => cells.debit(ACCOUNT, 30)],
  ["claim", (cells) => cells.claim(ACCOUNT, contribution({ equity: -30 }), given(), 0)],
] satisfies [string, (cells: AccountCells) => boolean][])
  test(`a ${what} takes no unrealised gain that a mark price is taking away`, () => {
    everyInterleaving<boolean>(
      start({ equity: 60, unrealized: 50 }, 2),
      [
        (cells) => {
          const mine = Float64Array.of(60, 50, 0, 0, 0);
          cells.move(ACCOUNT, mine, 0, contribution({ equity: 20, unrealized: 10 }), true);
          cells.flush();
          return true;
        },
        take,
      ],
      ({ results, schedule }) => assert.equal(results[1], false, `in order ${schedule}`),
    );
  });

test("a claim takes what burdens the account if equity and realised money cover it, and nothing otherwise", () => {
  for (const [what, given, to, passes] of [
    ["all that is free", {}, { equity: -70 }, true],
    ["more", {}, { equity: -71 }, false],
    ["margin up to equity", {}, { initial: 70 }, true],
    ["more margin", {}, { initial: 71 }, false],
    ["both", {}, { equity: -30, initial: 40 }, true],
    ["one too many", {}, { equity: -31, initial: 40 }, false],
    ["its own margin comes free", { initial: 30 }, { equity: -100 }, true],
    ["margin for what it brings", {}, { equity: 50, initial: 120 }, true],
    ["too much for what it brings", {}, { equity: 50, initial: 121 }, false],
    ["a gain that stays", { unrealized: 80 }, { equity: -21, unrealized: 80 }, false],
    ["a gain that goes along", { unrealized: 80 }, { equity: -70 }, true],
    ["a loss that goes along leaves a gain", { unrealized: -60 }, { equity: -50 }, false],
  ] as const) {
    // Of 100 and 30 bound; of the gain of 60 in the last row the loss hides all.
    const others = { equity: 100, initial: 30, unrealized: what.startsWith("a loss") ? 60 : 0 };
    const mine = contribution(given);
    const array = start({
      equity: others.equity + mine.equity,
      initial: others.initial,
      unrealized: others.unrealized + mine.unrealized,
    });
    const cells = over(array);
    const before = read(cells);
    const numbers = Float64Array.of(0, mine.unrealized, mine.initial, 0, 0);
    assert.equal(cells.claim(ACCOUNT, contribution(to), numbers, 0), passes, what);
    if (!passes) {
      assert.deepEqual(read(cells), before, what);
      continue;
    }
    const after = read(cells);
    const due = contribution(to);
    assert.equal(after.equity, before.equity + Math.min(0, due.equity), `${what}: favours wait`);
    cells.move(ACCOUNT, numbers, 0, due);
    cells.flush();
    assert.equal(read(cells).equity, others.equity + due.equity, what);
    assert.equal(read(cells).initial, others.initial - mine.initial + due.initial, what);
    assert.equal(read(cells).unrealized, others.unrealized + due.unrealized, what);
  }
});

test("claims, reservations and withdrawals at once never take the same money", () => {
  const claim = (cells: AccountCells, to: Partial<Contribution>): boolean =>
    cells.claim(ACCOUNT, contribution(to), given(), 0);
  const outcomes = new Set<string>();
  for (const other of [
    (cells: AccountCells): boolean => claim(cells, { equity: -60 }),
    (cells: AccountCells): boolean => claim(cells, { equity: -30, initial: 30 }),
    (cells: AccountCells): boolean => reserve(cells, 60),
    (cells: AccountCells): boolean => cells.debit(ACCOUNT, 60),
  ])
    everyInterleaving<boolean>(
      start({ equity: 100 }, 2),
      [(cells) => claim(cells, { equity: -40, initial: 20 }), other],
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

test("a deficit is lifted to zero once, whoever comes with it at the same time", () => {
  const cover = (cells: AccountCells): number => cells.cover(ACCOUNT, given(), 0);
  everyInterleaving<number>(start({ equity: -30 }, 2), [cover, cover], ({ buffer, results, schedule }) => {
    assert.equal(over(buffer, 2).equity(ACCOUNT), 0, `in order ${schedule}`);
    assert.deepEqual(results.toSorted(), [0, 30]);
  });
  // A further loss at the same moment: what is lifted is what was missing then.
  const lose = (cells: AccountCells): number => {
    cells.move(ACCOUNT, given(), 0, contribution({ equity: -5 }));
    return 0;
  };
  everyInterleaving<number>(start({ equity: -30 }, 2), [cover, lose], ({ buffer, results, schedule }) => {
    assert.equal(over(buffer, 2).equity(ACCOUNT), results[0] - 35, `in order ${schedule}`);
    assert.ok([30, 35].includes(results[0]), `${results[0]} in order ${schedule}`);
  });
  assert.equal(cover(over(start({ equity: 0 }))), 0);
  assert.equal(cover(over(start({ equity: 7 }))), 0);
});

test("what another thread is in the middle of is not observed, however its steps fall: neither what is refused nor half of a turn", () => {
  const before = contribution({ equity: 100, initial: 30, maintenance: 20 });
  const after = contribution({ equity: 90, initial: 10, maintenance: 15 });
  const turns: [what: string, turn: (cells: AccountCells) => void, then: Contribution][] = [
    ["a withdrawal that is refused", (cells) => cells.debit(ACCOUNT, 900), before],
    ["a reservation that is refused", (cells) => reserve(cells, 900), before],
    [
      "burdens at once and favours with the ticket",
      (cells) => cells.move(ACCOUNT, Float64Array.of(100, 0, 30, 0, 20), 0, after),
      after,
    ],
  ];
  for (const [what, turn, then] of turns) {
    const seen = new Set<string>();
    everyInterleaving<string>(
      start(before, 2),
      [
        (cells) => {
          cells.begin();
          turn(cells);
          cells.flush();
          return "";
        },
        (cells) => {
          const isQuiet = cells.observe(ACCOUNT);
          return (isQuiet ? "" : "for now ") + figuresOf(cells.observed(ACCOUNT));
        },
      ],
      ({ results, schedule }) => {
        // Where a look is in vain, which another one would not be here, it says so.
        const whole = [figuresOf(before), figuresOf(then)];
        const isWhole = whole.includes(results[1].replace("for now ", ""));
        assert.ok(isWhole || results[1].startsWith("for now "), `${what}: ${results[1]} in order ${schedule}`);
        seen.add(results[1]);
      },
    );
    for (const each of [figuresOf(before), `for now ${figuresOf(before)}`, figuresOf(then)])
      assert.ok(seen.has(each), `${what}: ${each}`);
  }
});

test("nobody covers a deficit that is only the middle of a turn", () => {
  const cover = (cells: AccountCells): number => cells.cover(ACCOUNT, given(), 0);
  everyInterleaving<number>(
    start({ equity: 100 }, 2),
    [
      (cells) => {
        cells.begin();
        const granted = cells.debit(ACCOUNT, 900);
        cells.flush();
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

test("an account is short of margin as long as another thread's turn may be spending it", () => {
  const cells = AccountCells.allocate(8, 2, 0);
  const mine = given();
  cells.move(ACCOUNT, mine, 0, contribution({ equity: 100, initial: 60 }));
  cells.flush();
  const other = new AccountCells(cells.buffer, 2, 1);
  assert.equal(other.isShort(ACCOUNT), false);
  cells.begin();
  assert.ok(cells.spend(ACCOUNT, 60, mine, 0));
  assert.equal(other.isShort(ACCOUNT), true);
  other.observe(ACCOUNT);
  assert.equal(other.observed(ACCOUNT).equity, 100);
  assert.equal(other.equityLeft(ACCOUNT), 40);
  cells.move(ACCOUNT, mine, 0, contribution({ equity: 70 }));
  cells.flush();
  assert.equal(other.isShort(ACCOUNT), false);
});

test("a close leaves another thread's orders what they have reserved while a turn there may fill them, and positions theirs", () => {
  const closer = AccountCells.allocate(8, 2, 0);
  const mine = given();
  closer.move(ACCOUNT, mine, 0, contribution({ equity: 100 }));
  closer.flush();
  const other = new AccountCells(closer.buffer, 2, 1);
  other.move(ACCOUNT, given(), 0, contribution({ initial: 60, positionInitial: 20, maintenance: 10 }));
  other.flush();
  other.begin();
  other.engage(ACCOUNT);
  closer.begin();
  assert.equal(closer.spend(ACCOUNT, 51, mine, 0), false);
  assert.equal(closer.spend(ACCOUNT, 50, mine, 0), true);
  other.flush();
  assert.equal(closer.spend(ACCOUNT, 41, mine, 0), false);
  assert.equal(closer.spend(ACCOUNT, 40, mine, 0), true);
});

test("who only reads observes all lanes, and who has one its own as it stands", () => {
  const [one, two] = [0, 1].map((lane) => [lane, given()] as const);
  const reader = AccountCells.allocate(8, 2, NO_LANE);
  const actors = [one, two].map(([lane]) => new AccountCells(reader.buffer, 2, lane));
  for (const [lane, mine] of [one, two]) {
    actors[lane].begin();
    actors[lane].move(ACCOUNT, mine, 0, contribution({ equity: -5 * (lane + 1), maintenance: 1 }));
  }
  assert.equal(reader.observe(ACCOUNT), false);
  assert.deepEqual(reader.observed(ACCOUNT), NOTHING, "as it was before");
  assert.deepEqual(read(reader), contribution({ equity: -15, maintenance: 2 }), "as it stands");
  actors[1].flush();
  assert.equal(reader.observe(ACCOUNT), false);
  assert.ok(actors[0].observe(ACCOUNT));
  actors[0].move(ACCOUNT, one[1], 0, contribution({ equity: -7, maintenance: 1 }));
  assert.equal(actors[0].observed(ACCOUNT).equity, -17);
  actors[0].abandon();
  assert.ok(reader.observe(ACCOUNT), "a turn that is taken back is over, too");
  assert.deepEqual(reader.observed(ACCOUNT), contribution({ equity: -10, maintenance: 1 }));
});

test("who dies while covering a deficit leaves it to others behind the next recount", () => {
  const cells = AccountCells.allocate(8, 2, 1);
  const mine = given();
  cells.move(ACCOUNT, mine, 0, contribution({ equity: -30 }));
  const dying = new DyingCells(cells.buffer, 2, 0);
  dying.begin();
  assert.throws(() => dying.cover(ACCOUNT, given(), 0), /died/);
  dying.abandon();
  assert.equal(cells.equity(ACCOUNT), -30);
  assert.equal(cells.cover(ACCOUNT, mine, 0), 0);
  const sums = AccountCells.allocate(8, 2, 1);
  sums.addAll(ACCOUNT, mine, 0);
  cells.copyFrom(sums);
  assert.equal(cells.cover(ACCOUNT, mine, 0), 30);
  assert.equal(cells.equity(ACCOUNT), 0);
});

class DyingCells extends AccountCells {
  protected override put(): void {
    throw new Error("died");
  }
}

test("the interleavings catch a reservation that looks before it takes", () => {
  let caught = false;
  const careless = (cells: AccountCells): boolean => {
    if (cells.equity(ACCOUNT) < cells.initial(ACCOUNT) + 60) return false;
    cells.move(ACCOUNT, given(), 0, contribution({ initial: 60 }));
    return true;
  };
  everyInterleaving(start({ equity: 100 }, 2), [careless, careless], ({ results }) => {
    caught ||= results[0] && results[1];
  });
  assert.ok(caught);
});

const figuresOf = ({ equity, maintenance }: Contribution): string => `${equity} for ${maintenance}`;

const reserve = (cells: AccountCells, amount: number): boolean => cells.reserve(ACCOUNT, amount, given(), 0);

const read = (cells: AccountCells): Contribution => ({
  equity: cells.equity(ACCOUNT),
  unrealized: cells.unrealized(ACCOUNT),
  initial: cells.initial(ACCOUNT),
  positionInitial: cells.positionInitial(ACCOUNT),
  maintenance: cells.maintenance(ACCOUNT),
});
