import assert from "node:assert/strict";
import { test } from "node:test";
import { takeSeed } from "../core/support/seed.ts";
import { COUNTED } from "./measure.ts";
import { MUTANTS } from "./mutants.ts";
import { runCoalition } from "./run.ts";
import { makeScenario } from "./scenario.ts";
import { huntMutant, search } from "./search.ts";
import { Tally } from "./tally.ts";

const seed = takeSeed("coalition.test");
const CAMPAIGNS = 60;
const RUNS_PER_CAMPAIGN = 50;
const MUTANT_RUNS = 6000;
const MUTANT_RUNS_PER_SCENARIO = 20;

test("a coalition that searches for profit takes out nothing that nobody paid in, and money is conserved", (t) => {
  const tally = new Tally();
  for (let i = 0; i < CAMPAIGNS; i++)
    search(seed + i, RUNS_PER_CAMPAIGN, null, (found) => {
      tally.note(found);
      return false;
    });
  const { counts, broken, takes } = tally;
  t.diagnostic(JSON.stringify({ counts, takes }));
  assert.deepEqual(broken, []);
  // A kind of event that no run reaches is not tested.
  for (const name of COUNTED) if (name !== "covered") assert.ok(counts[name] > 0, `no ${name} in any run`);
});

test("one seed is one history", () => {
  const { best } = search(seed, 20);
  const again = search(seed, 20);
  assert.deepEqual(again.best.strategy, best.strategy);
  const traced = runCoalition(makeScenario(seed), best.strategy, null, true);
  const { trace, ...figures } = traced;
  const { trace: _, ...expected } = best.outcome;
  assert.deepEqual(figures, expected);
  assert.deepEqual(runCoalition(makeScenario(seed), best.strategy, null, true).trace, trace);
});

for (const [what, mutant] of Object.entries(MUTANTS))
  test(`the search finds that it pays if ${what}`, (t) => {
    const caught = huntMutant(seed, mutant, MUTANT_RUNS, MUTANT_RUNS_PER_SCENARIO);
    assert.ok(caught !== null, `not in ${MUTANT_RUNS} runs from seed ${seed}`);
    const { found, runs, faults } = caught;
    t.diagnostic(`run ${runs}, seed ${found.seed}, ${found.strategy.origin}: ${faults.join("; ")}`);
  });
