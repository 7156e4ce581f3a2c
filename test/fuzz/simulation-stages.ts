import { search } from "../coalition/search.ts";
import { Tally } from "../coalition/tally.ts";
import { runMargin } from "../core/support/margin-run.ts";
import { runReplication } from "../simulation/replication/cluster.ts";
import { runSimulation } from "../simulation/run.ts";
import type { FuzzStage } from "./stage.ts";

const SIMULATION_STEPS = 1000;
const MARGIN_STEPS = 4000;
const COALITION_RUNS = 100;

/**
 * The exchange under a scheduler that kills threads, delays them and cuts the power: test/simulation. One input is one
 * step.
 */
const simulation: FuzzStage = {
  name: "simulation",
  runs: 250_000,
  async run(seed, runs, say) {
    const totals = { transactions: 0, replies: 0, kills: 0, powerCuts: 0, stops: 0, diskFaults: 0, switches: 0 };
    for (let done = 0, own = seed; done < runs; done += SIMULATION_STEPS, own++) {
      const report = await runSimulation(own, Math.min(SIMULATION_STEPS, runs - done));
      if (report.findings.length > 0)
        throw new Error(`SEED=${own} RUNS=${SIMULATION_STEPS} repeats it:\n${report.findings.join("\n")}`);
      for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += report[name];
    }
    say(`${JSON.stringify(totals)}: 0 lost, 0 invented, 0 doubled, conservation error 0`);
  },
};

/** Nodes that replicate through a stream, with faults of all: test/simulation/replication. One input is one run. */
const replication: FuzzStage = {
  name: "replication",
  runs: 10_000,
  async run(seed, runs, say) {
    const totals: Record<string, number> = {};
    for (let own = seed; own < seed + runs; own++) {
      const { findings, counts } = await runReplication(own);
      if (findings.length > 0) throw new Error(`SEED=${own} RUNS=1 repeats it:\n${findings.join("\n")}`);
      for (const [name, count] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + count;
    }
    say(`${JSON.stringify(totals)}: 0 lost, 0 doubled, 0 acknowledged by two leaders`);
  },
};

/** Funding and liquidations: random markets, audited, closed and replayed. One input is one step. */
const margin: FuzzStage = {
  name: "margin",
  runs: 1_000_000,
  async run(seed, runs, say) {
    const totals = { liquidations: 0, adl: 0, funding: 0, covered: 0, isolatedEnds: 0 };
    for (let done = 0, own = seed; done < runs; done += MARGIN_STEPS, own++) {
      try {
        const seen = runMargin(own, Math.min(MARGIN_STEPS, runs - done));
        for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += seen[name];
      } catch (cause) {
        throw new Error(`SEED=${own} RUNS=${MARGIN_STEPS} repeats it`, { cause });
      }
    }
    say(`${JSON.stringify(totals)}: conservation error 0`);
  },
};

/** Accounts that trade with one another and know the next prices search for profit: test/coalition. One input is one run. */
const coalition: FuzzStage = {
  name: "coalition",
  runs: 100_000,
  async run(seed, runs, say) {
    const tally = new Tally();
    for (let done = 0, own = seed; done < runs; done += COALITION_RUNS, own++) {
      const before = tally.broken.length;
      search(own, Math.min(COALITION_RUNS, runs - done), null, (found) => {
        tally.note(found);
        return false;
      });
      if (tally.broken.length > before) say(tally.broken[before]);
    }
    const { counts, takes, broken, ...worst } = tally;
    say(`${JSON.stringify(counts)}: conservation error 0, solvency errors ${broken.length}`);
    say(`largest take by attack, in quanta: ${JSON.stringify(takes)}`);
    say(`at worst, in quanta: ${JSON.stringify(worst)}`);
    if (broken.length > 0)
      throw new Error(`RUNS=${COALITION_RUNS} and the SEED of a line repeat it:\n${broken.join("\n")}`);
  },
};

export const SIMULATION_STAGES: readonly FuzzStage[] = [simulation, replication, margin, coalition];
