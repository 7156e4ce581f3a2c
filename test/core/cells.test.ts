import assert from "node:assert/strict";
import { test } from "node:test";
import { AccountCells, CONTRIBUTION_FIELDS, type Contribution } from "../../src/core/cells.ts";
import { everyInterleaving } from "./support/interleave.ts";

const ACCOUNT = 3;
const NOTHING: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
const contribution = (changes: Partial<Contribution>): Contribution => ({ ...NOTHING, ...changes });
const given = (): Float64Array => new Float64Array(CONTRIBUTION_FIELDS);

/** An account's cells as an array that the interleavings can copy. */
function start(changes: Partial<Contribution>): BigInt64Array {
  const cells = AccountCells.allocate(8);
  cells.move(ACCOUNT, given(), 0, contribution(changes));
  cells.flush();
  return new BigInt64Array(cells.buffer).slice();
}

/** AccountCells over an array: same memory, so the interleavings see each step. */
const over = (array: BigInt64Array): AccountCells => new AccountCells(array.buffer as unknown as SharedArrayBuffer);

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
  ] as const) {
    const cells = AccountCells.allocate(8);
    const mine = given();
    const before = contribution({ equity: 100, unrealized: 20, initial: 30 });
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
      start({ equity }),
      [first, second].map((amount) => (array: BigInt64Array) => reserve(array, amount)),
      ({ cells, results, schedule }) => {
        const taken = (results[0] ? first : 0) + (results[1] ? second : 0);
        assert.ok(taken <= equity, `${taken} of ${equity} in order ${schedule}`);
        assert.equal(over(cells).initial(ACCOUNT), taken, `in order ${schedule}`);
      },
    );
    assert.ok(endings >= 6, `${endings} orders`);
  }
});

test("three symbols that reserve at once never get more than there is", () => {
  everyInterleaving(
    start({ equity: 100, initial: 10 }),
    [50, 50, 40].map((amount) => (array: BigInt64Array) => reserve(array, amount)),
    ({ cells, results, schedule }) => {
      const taken = [50, 50, 40].reduce((sum, amount, i) => sum + (results[i] ? amount : 0), 10);
      assert.ok(taken <= 100, `${taken} in order ${schedule}`);
      assert.equal(over(cells).initial(ACCOUNT), taken);
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
      start({ equity }),
      [(array) => reserve(array, margin), (array) => over(array).debit(ACCOUNT, amount)],
      ({ cells, results, schedule }) => {
        const after = read(over(cells));
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
  const endings = everyInterleaving<boolean>(
    start({ equity: 50 }),
    [
      (array) => {
        const cells = over(array);
        cells.move(ACCOUNT, given(), 0, contribution({ equity: 50, unrealized: 50, initial: 5 }));
        cells.flush();
        return true;
      },
      (array) => over(array).debit(ACCOUNT, 51),
    ],
    ({ results, schedule }) => assert.equal(results[1], false, `in order ${schedule}`),
  );
  assert.ok(endings > 20, `${endings} orders`);
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
  const claim = (array: BigInt64Array, to: Partial<Contribution>): boolean =>
    over(array).claim(ACCOUNT, contribution(to), given(), 0);
  const outcomes = new Set<string>();
  for (const other of [
    (array: BigInt64Array): boolean => claim(array, { equity: -60 }),
    (array: BigInt64Array): boolean => claim(array, { equity: -30, initial: 30 }),
    (array: BigInt64Array): boolean => reserve(array, 60),
    (array: BigInt64Array): boolean => over(array).debit(ACCOUNT, 60),
  ])
    everyInterleaving<boolean>(
      start({ equity: 100 }),
      [(array) => claim(array, { equity: -40, initial: 20 }), other],
      ({ cells, results, schedule }) => {
        const { equity, initial } = read(over(cells));
        assert.ok(equity >= initial, `${equity} for ${initial} in order ${schedule}`);
        assert.ok(!(results[0] && results[1]), `in order ${schedule}`);
        assert.equal(equity - initial, 100 - (results[0] || results[1] ? 60 : 0), `in order ${schedule}`);
        outcomes.add(String(results));
      },
    );
  assert.ok(outcomes.has("true,false") && outcomes.has("false,true"));
});

test("a deficit is lifted to zero once, whoever comes with it at the same time", () => {
  const cover = (array: BigInt64Array): number => over(array).cover(ACCOUNT, given(), 0);
  everyInterleaving<number>(start({ equity: -30 }), [cover, cover], ({ cells, results, schedule }) => {
    assert.equal(over(cells).equity(ACCOUNT), 0, `in order ${schedule}`);
    assert.deepEqual(results.toSorted(), [0, 30]);
  });
  // A further loss at the same moment: what is lifted is what was missing then.
  const lose = (array: BigInt64Array): number => {
    over(array).move(ACCOUNT, given(), 0, contribution({ equity: -5 }));
    return 0;
  };
  everyInterleaving<number>(start({ equity: -30 }), [cover, lose], ({ cells, results, schedule }) => {
    assert.equal(over(cells).equity(ACCOUNT), results[0] - 35, `in order ${schedule}`);
    assert.ok([0, 30, 35].includes(results[0]), `${results[0]} in order ${schedule}`);
  });
  assert.equal(cover(start({ equity: 0 })), 0);
  assert.equal(cover(start({ equity: 7 })), 0);
});

test("the interleavings catch a reservation that looks before it takes", () => {
  let caught = false;
  const careless = (array: BigInt64Array): boolean => {
    if (Atomics.load(array, ACCOUNT * 8) < Atomics.load(array, ACCOUNT * 8 + 2) + 60n) return false;
    Atomics.add(array, ACCOUNT * 8 + 2, 60n);
    return true;
  };
  everyInterleaving(start({ equity: 100 }), [careless, careless], ({ results }) => {
    caught ||= results[0] && results[1];
  });
  assert.ok(caught);
});

const reserve = (array: BigInt64Array, amount: number): boolean => over(array).reserve(ACCOUNT, amount, given(), 0);

const read = (cells: AccountCells): Contribution => ({
  equity: cells.equity(ACCOUNT),
  unrealized: cells.unrealized(ACCOUNT),
  initial: cells.initial(ACCOUNT),
  positionInitial: cells.positionInitial(ACCOUNT),
  maintenance: cells.maintenance(ACCOUNT),
});
