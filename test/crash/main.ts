import { newSeed } from "../core/support/seed.ts";
import { runCrashRounds } from "./harness.ts";

/** `make crash`: kills a server under load repeatedly, and reports whether anything acknowledged was lost. */

/**
 * All rounds use one data folder. Small segments and frequent snapshots make crashes hit every part of the storage's
 * work; several workers put actors on several threads.
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
