import { newSeed } from "../core/support/seed.ts";
import { runCrashRounds } from "./harness.ts";

/** Kills a loaded server again and again (`make crash`), and says whether anything that it had acknowledged was lost. */

/**
 * All on one data folder; each start with the settings that it would have, or with small segments and eager snapshots, so
 * that crashes fall into every part of the storage's work, and with its actors on one thread or on several.
 */
const EAGER = { PERPD_SEGMENT_BYTES: "65536", PERPD_SNAPSHOT_INTERVAL_MS: "100" };
const ENVIRONMENTS = [{}, EAGER, { ...EAGER, PERPD_WORKERS: "3" }];

const kills = Number(process.argv[2] ?? 200);
if (!Number.isInteger(kills) || kills < 1) {
  console.error("usage: main.js [KILLS]");
  process.exit(2);
}
const seed = newSeed();
console.log(`seed ${seed} (SEED=${seed} repeats the choices, not the timing)`);
const onRound = (text: string): void => {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[Kkill ${text}`);
};
const { findings, ...report } = await runCrashRounds({ kills, seed, environments: ENVIRONMENTS, onRound });
if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
console.log(
  `${report.kills} kills, ${report.acknowledged} acknowledged, ${findings.lost.length} lost, ` +
    `${findings.invented.length} invented, ${findings.unbalanced.length} conservation errors`,
);
for (const text of findings.all.slice(0, 20)) console.log(`  ${text}`);
process.exit(findings.all.length > 0 ? 1 : 0);
