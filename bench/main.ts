import { cpus, totalmem } from "node:os";
import { benchCore } from "./core.ts";
import { benchGateway } from "./gateway.ts";
import { printTable, type Row } from "./support/report.ts";

/** Everything, one stage after the other, in one run: only ratios taken side by side hold. */
const ROUNDS = 5;
const CORE_OPERATIONS = 1_000_000;
const SECONDS_PER_LOAD = 3;

const rows: Row[] = [];
for (const stage of [() => benchCore(ROUNDS, CORE_OPERATIONS), () => benchGateway(ROUNDS, SECONDS_PER_LOAD)])
  rows.push(...(await stage()));

const [cpu] = cpus();
console.log(
  `${cpus().length} × ${cpu?.model ?? "?"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}\n`,
);
console.log(printTable(rows));
process.exit(0);
