import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contribution } from "../../src/core/cells.ts";
import { readFigures } from "../../src/front/figures.ts";
import { ScriptedRoad } from "./scripted-road.ts";

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

test("whoever is told at once that too many wait is told nothing else", () => {
  const road = new ScriptedRoad();
  road.crowded = true;
  assert.equal(
    readFigures(road, ALICE, () => assert.fail("nobody waits")),
    false,
  );
  road.settle();
});
