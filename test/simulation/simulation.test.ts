import assert from "node:assert/strict";
import { test } from "node:test";
import { takeSeed } from "../core/support/seed.ts";
import { MUTANTS } from "./mutants.ts";
import { runSimulation } from "./run.ts";

const seed = takeSeed("simulation.test");
const RUNS = 12;
const STEPS = 500;
/** The rarest one is noticed in one of 30 runs. */
const MUTANT_RUNS = 200;

test("in any order of threads, killed at any point: nothing is lost, doubled, invented or shown too early", async (t) => {
  const totals = {
    transactions: 0,
    replies: 0,
    kills: 0,
    powerCuts: 0,
    diskFaults: 0,
    unseen: 0,
    switches: 0,
    throws: 0,
  };
  for (let run = 0; run < RUNS; run++) {
    const report = await runSimulation(seed + run, STEPS);
    assert.deepEqual(report.findings, [], `seed ${seed + run}`);
    for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += report[name];
  }
  t.diagnostic(JSON.stringify(totals));
  // A run that reaches none of a kind of event proves nothing about it.
  for (const [name, count] of Object.entries(totals)) assert.ok(count > 0, `no ${name} in any run`);
});

test("one seed is one history", async () => {
  const first = await runSimulation(seed, STEPS);
  const again = await runSimulation(seed, STEPS);
  assert.deepEqual(again, first);
  assert.notEqual((await runSimulation(seed + 1, STEPS)).digest, first.digest);
});

for (const [what, tampering] of Object.entries(MUTANTS))
  test(`the auditor notices that ${what}`, async (t) => {
    for (let run = 0; run < MUTANT_RUNS; run++) {
      const { findings } = await runSimulation(seed + run, STEPS, tampering);
      if (findings.length === 0) continue;
      t.diagnostic(`run ${run}: ${findings[0]?.slice(0, 160)}`);
      return;
    }
    assert.fail(`not in ${MUTANT_RUNS} runs from seed ${seed}`);
  });
