import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { SIZE } from "../../../src/core/base/columns.ts";
import { traceCounterparties } from "../../../src/core/settlement/counterparty-trace.ts";
import { TRACED_MS } from "../../../src/core/state/recent-fills.ts";
import { SymbolState } from "../../../src/core/state/symbol-state.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("counterparty-trace.test");
const START = 1_000_000;
const [LOSER, WINNER, CAROL, DAVE, ERIN, OTHER_LOSER] = [10, 20, 30, 40, 50, 60];

type Trade = [seller: number, buyer: number, lots: number];

const sum = (list: readonly Trade[]): number => list.reduce((lots, [, , more]) => lots + more, 0);

/** The lots that a row bought in these trades, less those that it sold. */
const bought = (trades: readonly Trade[], row: number): number =>
  sum(trades.filter(([, buyer]) => buyer === row)) - sum(trades.filter(([seller]) => seller === row));

interface Setting {
  bankrupt?: readonly number[];
  /** The lots that a bankrupt row holds: those that it bought, if nothing else is said. */
  held?: (row: number) => number;
  now?: number;
}

/** The lots by row that bankrupt longs took from others in these trades, one a millisecond, or bankrupt shorts in their mirror. */
function trace(trades: readonly Trade[], setting: Setting = {}): [number, number][] {
  const { bankrupt = [LOSER], held = (row) => bought(trades, row), now = START } = setting;
  const [longs, shorts] = [true, false].map((isLong) => {
    const state = new SymbolState(instrument(PLAIN), MarginTable.allocate(8));
    trades.forEach(([seller, buyer, lots], i) => {
      const time = START - trades.length + i;
      if (isLong) state.recentFills.add(time, i, buyer, seller, lots);
      else state.recentFills.add(time, i, seller, buyer, lots);
    });
    for (const row of bankrupt) state.positions.numbers[row + SIZE] = isLong ? held(row) : -held(row);
    const bankruptRows = new Map(bankrupt.map((row) => [row, 0]));
    const kept = new Map<number, number>();
    for (const { rows, lots } of traceCounterparties(state, bankruptRows, isLong, now - TRACED_MS).values())
      for (const [i, row] of rows.entries()) kept.set(row, (kept.get(row) ?? 0) + lots[i]);
    return [...kept].sort(([a], [b]) => a - b);
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
    [[WINNER, 4]],
  );
});

test("a round trip of the bankrupt account costs those nothing that it does not hold lots from any more", () => {
  for (const buyer of [DAVE, CAROL])
    assert.deepEqual(
      trace([
        [CAROL, LOSER, 4600],
        [LOSER, buyer, 4600],
        [WINNER, LOSER, 4600],
      ]),
      [[WINNER, 4600]],
    );
});

test("an account that sold more than it bought keeps the difference, whatever it bought after that", () => {
  assert.deepEqual(
    trace([
      [WINNER, LOSER, 4600],
      [CAROL, WINNER, 4600],
      [WINNER, DAVE, 4600],
    ]),
    [[WINNER, 4600]],
  );
  assert.deepEqual(
    trace([
      [WINNER, LOSER, 10],
      [CAROL, WINNER, 10],
      [WINNER, DAVE, 6],
      [WINNER, LOSER, 3],
    ]),
    [
      [WINNER, 9],
      [CAROL, 4],
    ],
  );
});

test("a bankrupt account passes on no more than it holds, the latest trades first", () => {
  const trades: Trade[] = [
    [CAROL, LOSER, 10],
    [WINNER, LOSER, 10],
  ];
  const holding = (lots: number): [number, number][] => trace(trades, { held: () => lots });
  assert.deepEqual(holding(10), [[WINNER, 10]], "the first trades closed a position of the other side");
  assert.deepEqual(holding(13), [
    [WINNER, 10],
    [CAROL, 3],
  ]);
  assert.deepEqual(holding(30), [
    [WINNER, 10],
    [CAROL, 10],
  ]);
  assert.deepEqual(holding(-10), [], "it is bankrupt by a position of the other side");
});

test("lots that go round in a circle do not keep a chain from its end", () => {
  const [first, second] = [70, 80];
  const circle: Trade[] = [
    [ERIN, CAROL, 1],
    [CAROL, DAVE, 1e6],
    [DAVE, CAROL, 1e6],
    [CAROL, LOSER, 1],
  ];
  const chain: Trade[] = [
    [second, LOSER, 4599],
    [first, second, 4599],
    [WINNER, first, 4599],
  ];
  for (const trades of [
    [...circle, ...chain],
    [...chain, ...circle],
  ]) {
    const traced = trace(trades);
    assert.equal(new Map(traced).get(WINNER), 4599);
    assert.equal(sum(traced.map(([row, lots]) => [row, LOSER, lots])), 4600);
  }
});

test("circles of single lots among many accounts do not stop a large count on its way through a chain", () => {
  const circle = Array.from({ length: 100 }, (_, i) => 100 * (i + 1));
  const chain = Array.from({ length: 40 }, (_, i) => 100_000 + 100 * i);
  const { length } = circle;
  const trades: Trade[] = [];
  // Each account of the circle is flat: it sells one lot to the loser, and one less in the circle than it buys.
  for (const [i, buyer] of chain.entries()) trades.push([i === 0 ? WINNER : chain[i - 1], buyer, 10_000]);
  trades.push([chain[chain.length - 1], LOSER, 10_000 - length], [chain[chain.length - 1], circle[0], length]);
  for (const seller of [...circle].reverse()) trades.push([seller, LOSER, 1]);
  for (const [i, seller] of circle.entries()) trades.push([seller, circle[(i + 1) % length], 2 * length - 1 - i]);
  assert.ok([...circle, ...chain].every((row) => bought(trades, row) === 0));
  assert.deepEqual(trace(trades), [[WINNER, 10_000]]);
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

test("bankrupt accounts are not charged: they pass counts on like others, and what they would keep falls on nobody", () => {
  const bankrupt = [LOSER, OTHER_LOSER];
  assert.deepEqual(trace([[OTHER_LOSER, LOSER, 10]], { bankrupt }), []);
  const passed: Trade[] = [
    [WINNER, OTHER_LOSER, 10],
    [OTHER_LOSER, LOSER, 10],
  ];
  assert.deepEqual(trace(passed, { bankrupt, held: () => 10 }), [[WINNER, 10]], "the other one holds older lots");
  assert.deepEqual(
    trace(
      [
        [WINNER, LOSER, 10],
        [OTHER_LOSER, WINNER, 4],
        [CAROL, OTHER_LOSER, 3],
      ],
      { bankrupt },
    ),
    [
      [WINNER, 6],
      [CAROL, 3],
    ],
  );
});

test("each bankrupt account has its own counterparties, and the largest one is first where two took lots of the same account", () => {
  const state = new SymbolState(instrument(PLAIN), MarginTable.allocate(8));
  const trades: Trade[] = [
    [WINNER, DAVE, 5],
    [DAVE, LOSER, 5],
    [CAROL, OTHER_LOSER, 9],
    [ERIN, DAVE, 7],
    [DAVE, OTHER_LOSER, 7],
  ];
  for (const [i, [seller, buyer, lots]] of trades.entries()) state.recentFills.add(START + i, i, buyer, seller, lots);
  for (const row of [LOSER, OTHER_LOSER]) state.positions.numbers[row + SIZE] = bought(trades, row);
  const traced = traceCounterparties(state, new Map([LOSER, OTHER_LOSER].map((row) => [row, 0])), true, START);
  assert.deepEqual(traced.get(LOSER), { countedLots: 5, rows: [WINNER], lots: [5], next: 0 });
  assert.deepEqual(traced.get(OTHER_LOSER), { countedLots: 16, rows: [CAROL, ERIN], lots: [9, 7], next: 0 });
});

test("many small counts in circles do not use up the passes of a large one", () => {
  const circle = Array.from({ length: 60 }, (_, i) => 200_000 + 32 * i);
  const small = circle.map((_, i) => 100 + 8 * i);
  const chain = Array.from({ length: 30 }, (_, i) => 100_000 + 32 * i);
  const { length } = circle;
  const trades: Trade[] = [];
  for (const [i, buyer] of chain.entries()) trades.push([i === 0 ? WINNER : chain[i - 1], buyer, 1000]);
  const last = chain[chain.length - 1];
  trades.push([last, LOSER, 1000 - length], [last, circle[0], length]);
  for (const [i, seller] of circle.entries()) trades.push([seller, small[i], 1]);
  for (const [i, seller] of circle.entries()) trades.push([seller, circle[(i + 1) % length], 10_000 - i]);
  assert.ok([...circle, ...chain].every((row) => bought(trades, row) === 0));
  const kept = new Map(trace(trades, { bankrupt: [...small, LOSER] })).get(WINNER) ?? 0;
  assert.ok(kept >= 1000 - length, `${kept} of ${1000 - length}`);
});

test("a trade is traced for its time, and not longer", () => {
  const trades: Trade[] = [[WINNER, LOSER, 10]];
  assert.deepEqual(trace(trades, { now: START - 1 + TRACED_MS }), [[WINNER, 10]]);
  assert.deepEqual(trace(trades, { now: START + TRACED_MS }), []);
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

test("whatever is traded, nobody is charged more than it sold beyond what it bought, and no count is lost", () => {
  const account = fc.integer({ min: 1, max: 8 });
  const trades = fc.array(
    fc.tuple(account, account, fc.integer({ min: 1, max: 20 })).filter(([seller, buyer]) => seller !== buyer),
    { minLength: 10, maxLength: 60 },
  );
  const bankrupt = [1, 2];
  let charged = 0;
  fc.assert(
    fc.property(trades, fc.tuple(fc.nat(100), fc.nat(100)), (all, sizes) => {
      const held = (row: number): number => sizes[row - 1];
      const traced = trace(all, { bankrupt, held });
      for (const [row, lots] of traced) {
        assert.ok(!bankrupt.includes(row) && lots > 0);
        assert.ok(lots <= -bought(all, row), `${row} sold less than ${lots}`);
      }
      const most = bankrupt.map((row) => Math.max(0, Math.min(held(row), bought(all, row))));
      const counted = traced.reduce((lots, [, more]) => lots + more, 0);
      assert.ok(counted <= most[0] + most[1]);
      if (bankrupt.every((row) => bought(all, row) >= 0)) assert.equal(counted, most[0] + most[1]);
      charged += traced.length;
    }),
    { seed, numRuns: 500 },
  );
  assert.ok(charged > 500);
});
