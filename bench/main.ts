import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { tuneV8 } from "../src/tune-v8.ts";
import { benchCascade } from "./cascade.ts";
import { benchCodec } from "./codec.ts";
import { benchCore } from "./core.ts";
import { benchDisk } from "./disk.ts";
import { benchFairness } from "./fairness.ts";
import { benchFanOut } from "./fan-out.ts";
import { benchGateway } from "./gateway.ts";
import { benchGatewayFanOut } from "./gateway-fan-out.ts";
import { benchGrowth } from "./growth.ts";
import { benchPipeline } from "./pipeline.ts";
import { benchRecovery } from "./recovery.ts";
import { benchReplication } from "./replication.ts";
import { benchStart } from "./start.ts";
import { isInMemory } from "./support/folder.ts";
import { markdownTable, type Row } from "./support/report.ts";
import { benchTerminal } from "./terminal.ts";
import { benchWebSocket } from "./websocket.ts";

/**
 * Runs all stages, or those named on the command line. Only figures of one run are comparable, since the machine's
 * speed varies. Prints a table and writes dist/bench-results.json.
 */
const ROUNDS = 5;
const STAGES = {
  core: () => benchCore(ROUNDS),
  codec: () => benchCodec(ROUNDS),
  pipeline: () => benchPipeline(ROUNDS),
  gateway: () => benchGateway(ROUNDS),
  websocket: () => benchWebSocket(ROUNDS),
  fairness: () => benchFairness(ROUNDS),
  "fan-out": () => benchFanOut(ROUNDS),
  "gateway-fan-out": () => benchGatewayFanOut(ROUNDS),
  recovery: () => benchRecovery(ROUNDS),
  start: () => benchStart(ROUNDS),
  growth: () => benchGrowth(ROUNDS),
  cascade: () => benchCascade(ROUNDS),
  disk: benchDisk,
  replication: () => benchReplication(ROUNDS),
  terminal: () => benchTerminal(ROUNDS),
};
type StageName = keyof typeof STAGES;

tuneV8();

// Exit in order, so that child processes and folders are removed.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const wanted = process.argv.slice(2);
const names = Object.keys(STAGES) as StageName[];
const unknown = wanted.find((name) => !names.includes(name as StageName));
if (unknown !== undefined) {
  console.error(`unknown stage ${unknown}; the stages are ${names.join(", ")}`);
  process.exit(1);
}
if (isInMemory()) console.error("the temporary folder is in memory: set TMPDIR to a folder on a disk");

const rows: (Row & { stage: StageName })[] = [];
for (const name of names) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const from = performance.now();
  for (const row of await STAGES[name]()) rows.push({ stage: name, ...row });
  console.error(`${name}: ${((performance.now() - from) / 1e3).toFixed(0)} s`);
}

const machine = {
  processors: `${cpus().length} × ${cpus()[0]?.model ?? "?"}`,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  commit: spawnSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).stdout?.trim() || "unknown",
};
writeFileSync(new URL("../bench-results.json", import.meta.url), `${JSON.stringify({ machine, rows }, null, 2)}\n`);
const { processors, memoryGiB, node, commit } = machine;
console.log(`${processors}, ${memoryGiB} GiB, Node ${node}, commit ${commit}; medians of ${ROUNDS} rounds\n`);
console.log(markdownTable(rows));
console.log("\nRatio: perpd ÷ the other figure. For rates (…/s) more is better, for times and sizes less.");
process.exit(0);
