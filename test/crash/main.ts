import { newSeed } from "../e2e/support/random.ts";
import { crashAgainAndAgain } from "./harness.ts";

/** Kills a loaded server again and again (`make crash`), and says whether anything that it had acknowledged was lost. */

/** Small segments and eager snapshots: crashes fall into every part of the storage's work. */
const EAGER = { PERPD_SEGMENT_BYTES: "65536", PERPD_SNAPSHOT_INTERVAL_MS: "100" };

const kills = Number(process.argv[2] ?? 200);
if (!Number.isInteger(kills) || kills < 1) {
  console.error("usage: main.js [KILLS]");
  process.exit(2);
}
const seed = newSeed();
console.log(`seed ${seed} (TEST_SEED=${seed} repeats the choices, not the timing)`);
let bad = false;
for (const [name, share, environment] of [
  ["eager storage", Math.ceil(kills / 2), EAGER],
  ["default settings", Math.floor(kills / 2), {}],
] as const) {
  if (share === 0) continue;
  const onRound = (text: string): void => {
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${name}: kill ${text}`);
  };
  const report = await crashAgainAndAgain({ kills: share, seed, environment, onRound });
  const { findings, acknowledged } = report;
  if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
  console.log(
    `${name}: ${report.kills} kills, ${acknowledged} acknowledged, ${findings.lost.length} lost, ` +
      `${findings.invented.length} invented, ${findings.unbalanced.length} conservation errors`,
  );
  for (const text of findings.all.slice(0, 20)) console.log(`  ${text}`);
  if (findings.all.length > 0) bad = true;
}
process.exit(bad ? 1 : 0);
