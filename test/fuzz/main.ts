import { newSeed } from "../core/support/seed.ts";
import { corruption } from "./corruption/stage.ts";
import { limitStalls } from "./hostile/attacked-exchange.ts";
import { CLIENT_STAGES, HOSTILE_STAGES } from "./hostile/stages.ts";
import { OVERLOAD } from "./overload/stage.ts";
import { RESUMING_STAGE } from "./resuming-stage.ts";
import { SIMULATION_STAGES } from "./simulation-stages.ts";
import { SOAK } from "./soak/stage.ts";
import type { FuzzStage } from "./stage.ts";

/** `make fuzz`: all randomised tests, stage by stage. SEED= repeats a run, RUNS= sets the number of inputs. */

const STAGES: readonly FuzzStage[] = [
  ...SIMULATION_STAGES,
  corruption,
  ...HOSTILE_STAGES,
  ...CLIENT_STAGES,
  RESUMING_STAGE,
  OVERLOAD,
  SOAK,
];

const MAX_STALL_MS = 50;

const names = process.argv.slice(2);
const unknown = names.find((name) => !STAGES.some((stage) => stage.name === name));
const runs = Number(process.env.RUNS || 0);
if (unknown !== undefined || !Number.isInteger(runs) || runs < 0) {
  console.error(`usage: [SEED=n] [RUNS=n] main.js [STAGE...]; stages: ${STAGES.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
const seed = newSeed();
console.log(`seed ${seed} (SEED=${seed} repeats the inputs)`);
limitStalls(MAX_STALL_MS);
for (const stage of STAGES) {
  if (names.length > 0 && !names.includes(stage.name)) continue;
  const count = runs === 0 ? stage.runs : runs;
  const startedAt = Date.now();
  try {
    await stage.run(seed, count, (line) => console.log(`  ${line}`));
  } catch (fault) {
    console.error(`${stage.name}: FAILED with seed ${seed}\n`, fault);
    process.exit(1);
  }
  console.log(`${stage.name}: ${count} inputs in ${((Date.now() - startedAt) / 1000).toFixed(1)} s, no fault`);
}
