import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { traceCounterparties } from "../../../src/core/settlement/counterparty-trace.ts";
import { TRACED_MS } from "../../../src/core/state/recent-fills.ts";
import { SymbolState } from "../../../src/core/state/symbol-state.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("counterparty-trace.test");
const START = 1_000_000;
const [LOSER, WINNER, CAROL, DAVE, ERIN, OTHER_LOSER] = [10, 20, 30, 40, 50, 60];

type Trade = [seller: number, buyer: number, lots: number];

/** The lots by row that bankrupt longs took from others in these trades, one a millisecond, or bankrupt shorts in their mirror. */
function trace(trades: readonly Trade[], bankrupt: readonly number[] = [LOSER], now = START): [number, number][] {
  const [longs, shorts] = [true, false].map((isLong) => {
    const state = new SymbolState(instrument(PLAIN), MarginTable.allocate(8));
    trades.forEach(([seller, buyer, lots], i) => {
      if (isLong) state.recentFills.add(START - trades.length + i, i, buyer, seller, lots);
      else state.recentFills.add(START - trades.length + i, i, seller, buyer, lots);
    });
    const bankruptRows = new Map(bankrupt.map((row) => [row, 0]));
    return [...traceCounterparties(state, bankruptRows, isLong, now - TRACED_MS)].sort(([a], [b]) => a - b);
  });
  assert.deepEqual(shorts, longs, "both sides are alike");
  return longs as [number, number][];
}

test("a trade with the bankrupt account counts against the account that gave the position", () => {
  assert.deepEqual(trace([[WINNER, LOSER, 10]]), [[WINNER, 10]]);
  assert.deepEqual(
    trace([
      [WINNER, LOSER, 10],
      [CAROL, LOSER, 3],
      [WINNER, LOSER, 2],
    ]),
    [
      [WINNER, 12],
      [CAROL, 3],
    ],
  );
});

test("a position that is passed on takes its count along, all of it or a part", () => {
  assert.deepEqual(
    trace([
      [WINNER, LOSER, 10],
      [CAROL, WINNER, 10],
    ]),
    [[CAROL, 10]],
  );
  assert.deepEqual(
    trace([
      [WINNER, LOSER, 10],
      [CAROL, WINNER, 4],
      [DAVE, CAROL, 3],
      [ERIN, DAVE, 9],
    ]),
    [
      [WINNER, 6],
      [CAROL, 1],
      [ERIN, 3],
    ],
  );
});

test("more lots than the count are the account's own trade: nobody is charged for them", () => {
  assert.deepEqual(
    trace([
      [WINNER, LOSER, 10],
      [CAROL, WINNER, 25],
      [DAVE, CAROL, 25],
    ]),
    [[DAVE, 10]],
  );
});

test("third parties are not charged: those that trade among themselves, or with the loser as a giver", () => {
  assert.deepEqual(
    trace([
      [CAROL, DAVE, 5],
      [WINNER, LOSER, 10],
      [LOSER, ERIN, 6],
      [DAVE, CAROL, 5],
    ]),
    [[WINNER, 10]],
  );
});

test("a count is passed on in whatever order the trades were made: through makers, chains and circles", () => {
  assert.deepEqual(
    trace([
      [CAROL, WINNER, 7],
      [WINNER, LOSER, 10],
    ]),
    [
      [WINNER, 3],
      [CAROL, 7],
    ],
  );
  assert.deepEqual(
    trace([
      [ERIN, DAVE, 9],
      [CAROL, WINNER, 10],
      [WINNER, LOSER, 10],
      [DAVE, CAROL, 8],
    ]),
    [
      [CAROL, 2],
      [ERIN, 8],
    ],
  );
  const circle: Trade[] = [
    [CAROL, DAVE, 1e6],
    [DAVE, ERIN, 1e6],
    [ERIN, CAROL, 1e6],
  ];
  assert.deepEqual(
    trace([...circle, [CAROL, LOSER, 1], [WINNER, CAROL, 1]]).reduce((sum, [, lots]) => sum + lots, 0),
    1,
    "a circle ends",
  );
});

test("trades between bankrupt accounts count against nobody", () => {
  assert.deepEqual(trace([[OTHER_LOSER, LOSER, 10]], [LOSER, OTHER_LOSER]), []);
  assert.deepEqual(
    trace(
      [
        [WINNER, LOSER, 10],
        [OTHER_LOSER, WINNER, 4],
        [CAROL, OTHER_LOSER, 3],
      ],
      [LOSER, OTHER_LOSER],
    ),
    [
      [WINNER, 10],
      [CAROL, 3],
    ],
  );
});

test("a trade is traced for its time, and not longer", () => {
  const trades: Trade[] = [[WINNER, LOSER, 10]];
  assert.deepEqual(trace(trades, [LOSER], START - 1 + TRACED_MS), [[WINNER, 10]]);
  assert.deepEqual(trace(trades, [LOSER], START + TRACED_MS), []);
});

test("a thousand trades of one lot count as one of a thousand, also when they are passed on one by one", () => {
  const taken = Array.from({ length: 1000 }, (): Trade => [WINNER, LOSER, 1]);
  assert.deepEqual(trace(taken), [[WINNER, 1000]]);
  const passed = Array.from({ length: 600 }, (): Trade => [CAROL, WINNER, 1]);
  assert.deepEqual(trace([...taken, ...passed]), [
    [WINNER, 400],
    [CAROL, 600],
  ]);
});

test("whatever is traded, the counts add up to what the bankrupt took, and nobody is charged more than it has given", () => {
  const account = fc.integer({ min: 1, max: 8 });
  const trades = fc.array(
    fc.tuple(account, account, fc.integer({ min: 1, max: 20 })).filter(([seller, buyer]) => seller !== buyer),
    { minLength: 10, maxLength: 60 },
  );
  let charged = 0;
  fc.assert(
    fc.property(trades, (all) => {
      const bankrupt = [1, 2];
      const traced = trace(all, bankrupt);
      const isBankrupt = (row: number): boolean => bankrupt.includes(row);
      const taken = all.filter(([seller, buyer]) => isBankrupt(buyer) && !isBankrupt(seller));
      const sum = (list: readonly Trade[]): number => list.reduce((lots, [, , more]) => lots + more, 0);
      assert.equal(
        traced.reduce((lots, [, more]) => lots + more, 0),
        sum(taken),
      );
      for (const [row, lots] of traced) {
        assert.ok(!isBankrupt(row) && lots > 0);
        assert.ok(lots <= sum(all.filter(([seller]) => seller === row)), `${row} gave less than ${lots}`);
      }
      charged += traced.length;
    }),
    { seed, numRuns: 500 },
  );
  assert.ok(charged > 500);
});
