import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contribution } from "../../../src/core/accounts/contribution.ts";
import { NO_STRIPE } from "../../../src/core/accounts/margin-memory.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { readFigures } from "../../../src/front/exchange/balance-reader.ts";
import { ScriptedEngine } from "../support/scripted-engine.ts";

const ALICE = 7;

test("a change while a reader waits for the disk is not in the figures, because it may not be durable", () => {
  const engine = new ScriptedEngine();
  assert.ok(engine.marginTable.debit(ALICE, -5_000_000));
  const told: [Contribution["equity"], number][] = [];
  assert.ok(readFigures(engine, ALICE, ({ equity }, sequence) => told.push([equity, sequence])));
  const before = engine.sequence;
  assert.ok(engine.marginTable.debit(ALICE, 2_000_000));
  engine.sequence++;
  assert.deepEqual(told, []);
  engine.settle();
  assert.deepEqual(told, [[5_000_000, before]]);
});

/** An engine over a margin table in which an actor has begun a transaction: it has taken 2 of an account's 5. */
function inTheMiddle() {
  const actor = MarginTable.allocate(64);
  assert.ok(actor.debit(ALICE, -5_000_000));
  actor.begin();
  assert.ok(actor.debit(ALICE, 2_000_000));
  const engine = Object.assign(new ScriptedEngine(), { marginTable: new MarginTable(actor.buffer, 1, NO_STRIPE) });
  const told: [Contribution["equity"], number][] = [];
  assert.ok(readFigures(engine, ALICE, ({ equity }, sequence) => told.push([equity, sequence])));
  return { actor, engine, told };
}

test("figures are read between two transactions, however long the changing one takes", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { actor, engine, told } = inTheMiddle();
  for (let ms = 0; ms < 500; ms++) t.mock.timers.tick(1);
  assert.equal(engine.settle(), 0);
  actor.commit();
  engine.sequence++;
  t.mock.timers.tick(1);
  engine.settle();
  assert.deepEqual(told, [[3_000_000, engine.sequence]]);
});

test("a thread that hangs in a transaction does not block readers for ever", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { engine, told } = inTheMiddle();
  for (let ms = 0; ms < 999; ms++) t.mock.timers.tick(1);
  assert.equal(engine.settle(), 0);
  t.mock.timers.tick(1);
  engine.settle();
  assert.deepEqual(told, [[3_000_000, engine.sequence]]);
});

test("a reader that is refused because too many wait gets no figures", () => {
  const engine = new ScriptedEngine();
  engine.crowded = true;
  assert.equal(
    readFigures(engine, ALICE, () => assert.fail("nobody waits")),
    false,
  );
  engine.settle();
});
