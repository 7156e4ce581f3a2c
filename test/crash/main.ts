import { newSeed } from "../core/support/seed.ts";
import { NATS_SERVER } from "../e2e/replication/nats-server.ts";
import { runFailovers } from "./failover/failover.ts";
import { runCrashRounds } from "./harness.ts";
import type { Findings } from "./model.ts";

/**
 * `make crash`: kills a server under load repeatedly, and reports whether anything acknowledged was lost. `restart` starts
 * the same server again; `failover` has a standby that takes over.
 */

/**
 * All rounds use the same data folders. Small segments and frequent snapshots make crashes hit every part of the storage's
 * work; several workers put actors on several threads.
 */
const EAGER = { PERPD_SEGMENT_BYTES: "65536", PERPD_SNAPSHOT_INTERVAL_MS: "100" };
const ENVIRONMENTS = [{}, EAGER, { ...EAGER, PERPD_WORKERS: "3" }];

const STAGES = {
  restart: { kills: 200, run: restart },
  failover: { kills: 100, run: failover },
};
type StageName = keyof typeof STAGES;

const onRound = (text: string): void => {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[Kkill ${text}`);
};
const clearLine = (): void => {
  if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
};

async function restart(kills: number, seed: number): Promise<Findings> {
  const { findings, ...report } = await runCrashRounds({ kills, seed, environments: ENVIRONMENTS, onRound });
  clearLine();
  console.log(
    `${report.kills} kills, ${report.acknowledged} acknowledged, ${findings.lost.length} lost, ` +
      `${findings.invented.length} invented, ${findings.unbalanced.length} conservation errors`,
  );
  return findings;
}

async function failover(kills: number, seed: number): Promise<Findings | null> {
  if (NATS_SERVER === null) {
    console.log("no nats-server 2.10 or later is installed: the stage is left out");
    return null;
  }
  const report = await runFailovers({ faults: kills, seed, environments: ENVIRONMENTS, onRound });
  clearLine();
  const { findings, lost } = report;
  const faults = Object.entries(lost).map(([fault, count]) => `${count} ${fault}`);
  console.log(
    `leaders lost: ${faults.join(", ")}; NATS server killed ${report.outages} times; ${report.acknowledged} acknowledged, ` +
      `${findings.lost.length} lost, ${findings.invented.length} doubled or invented, ${report.lateAnswers} by two leaders, ` +
      `${report.lateReads} reads of an old leader, ${findings.unbalanced.length} conservation errors; ${report.refusedChecks} checks asked again`,
  );
  console.log(`first order at the next leader: ${distribution(report.takeoverMs)}`);
  console.log(`the same, with the NATS server killed: ${distribution(report.takeoverInOutageMs)}`);
  return findings;
}

function distribution(timesMs: readonly number[]): string {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const at = (share: number): string => `${Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)} ms`;
  return sorted.length === 0 ? "never" : `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} of ${sorted.length}`;
}

const names = process.argv.slice(2);
const unknown = names.find((name) => !(name in STAGES));
const kills = Number(process.env.KILLS || 0);
if (unknown !== undefined || !Number.isInteger(kills) || kills < 0) {
  console.error(`usage: [SEED=n] [KILLS=n] main.js [STAGE...]; stages: ${Object.keys(STAGES).join(", ")}`);
  process.exit(2);
}
const seed = newSeed();
console.log(`seed ${seed} (SEED=${seed} repeats the choices, not the timing)`);
let failed = false;
for (const name of Object.keys(STAGES) as StageName[]) {
  if (names.length > 0 && !names.includes(name)) continue;
  const findings = await STAGES[name].run(kills || STAGES[name].kills, seed);
  for (const text of findings?.all.slice(0, 20) ?? []) console.log(`  ${text}`);
  failed ||= (findings?.all.length ?? 0) > 0;
}
process.exit(failed ? 1 : 0);
