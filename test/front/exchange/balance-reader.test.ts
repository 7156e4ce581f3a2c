import assert from "node:assert/strict";
import { test } from "node:test";
import { AccountCells, type Contribution, NO_LANE } from "../../../src/core/accounts/margin-table.ts";
import { readFigures } from "../../../src/front/exchange/balance-reader.ts";
import { ScriptedRoad } from "../support/scripted-engine.ts";

const ALICE = 7;

test("what is done while a reader waits for the disk is not in the figures: nothing says yet that it is durable", () => {
  const road = new ScriptedRoad();
  assert.ok(road.cells.debit(ALICE, -5_000_000));
  const told: [Contribution["equity"], number][] = [];
  assert.ok(readFigures(road, ALICE, ({ equity }, sequence) => told.push([equity, sequence])));
  const before = road.sequence;
  assert.ok(road.cells.debit(ALICE, 2_000_000));
  road.sequence++;
  assert.deepEqual(told, []);
  road.settle();
  assert.deepEqual(told, [[5_000_000, before]]);
});

/** A road that reads the cells that an actor works on, which has just begun a turn by taking 2 of an account's 5. */
function inTheMiddle() {
  const actor = AccountCells.allocate(64);
  assert.ok(actor.debit(ALICE, -5_000_000));
  actor.begin();
  assert.ok(actor.debit(ALICE, 2_000_000));
  const road = Object.assign(new ScriptedRoad(), { cells: new AccountCells(actor.buffer, 1, NO_LANE) });
  const told: [Contribution["equity"], number][] = [];
  assert.ok(readFigures(road, ALICE, ({ equity }, sequence) => told.push([equity, sequence])));
  return { actor, road, told };
}

test("figures are of between two turns, however long the one takes that changes them", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { actor, road, told } = inTheMiddle();
  for (let ms = 0; ms < 500; ms++) t.mock.timers.tick(1);
  assert.equal(road.settle(), 0);
  actor.flush();
  road.sequence++;
  t.mock.timers.tick(1);
  road.settle();
  assert.deepEqual(told, [[3_000_000, road.sequence]]);
});

test("a thread that hangs in the middle of a turn keeps nobody waiting for his figures for ever", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { road, told } = inTheMiddle();
  for (let ms = 0; ms < 999; ms++) t.mock.timers.tick(1);
  assert.equal(road.settle(), 0);
  t.mock.timers.tick(1);
  road.settle();
  assert.deepEqual(told, [[3_000_000, road.sequence]]);
});

test("whoever is told at once that too many wait is told nothing else", () => {
  const road = new ScriptedRoad();
  road.crowded = true;
  assert.equal(
    readFigures(road, ALICE, () => assert.fail("nobody waits")),
    false,
  );
  road.settle();
});
