import assert from "node:assert/strict";
import { test } from "node:test";
import { takeSeed } from "../../core/support/seed.ts";
import { runReplication } from "./cluster.ts";
import { REPLICATION_MUTANTS } from "./mutants.ts";

const seed = takeSeed("replication-simulation.test");
const RUNS = 200;
const MUTANT_RUNS = 250;
const PARTITION_RUNS = 30;

test("with any faults of nodes, network and stream: nothing is lost or doubled, and one node answers at a time", async (t) => {
  const totals: Record<string, number> = {};
  for (let run = 0; run < RUNS; run++) {
    const { findings, counts } = await runReplication(seed + run);
    assert.deepEqual(findings, [], `seed ${seed + run}`);
    for (const [name, count] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + count;
  }
  t.diagnostic(JSON.stringify(totals));
  // A run that reaches none of a kind of event proves nothing about it.
  for (const [name, count] of Object.entries(totals)) assert.ok(count > 0, `no ${name} in any run`);
});

test("with partitions about as long as a lease one node answers at a time", async () => {
  for (let run = 0; run < PARTITION_RUNS; run++) {
    const { findings } = await runReplication(seed + run, { partitionsOnly: true });
    assert.deepEqual(findings, [], `seed ${seed + run}`);
  }
});

test("one seed is one history of nodes and stream", async () => {
  const first = await runReplication(seed);
  const again = await runReplication(seed);
  assert.deepEqual(again, first);
  assert.notEqual((await runReplication(seed + 1)).digest, first.digest);
});

for (const [what, tampering] of Object.entries(REPLICATION_MUTANTS))
  test(`the auditor of the stream notices that ${what}`, async (t) => {
    for (let run = 0; run < MUTANT_RUNS; run++) {
      const { findings } = await runReplication(seed + run, tampering);
      if (findings.length === 0) continue;
      t.diagnostic(`run ${run}: ${findings[0]?.slice(0, 160)}`);
      return;
    }
    assert.fail(`not in ${MUTANT_RUNS} runs from seed ${seed}`);
  });
