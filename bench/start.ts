import { readdirSync, readFileSync } from "node:fs";
import { temporaryFolder } from "./support/folder.ts";
import { addPastIds } from "./support/past-ids.ts";
import { endProcess, spawnScript, waitForLine } from "./support/processes.ts";
import { type Row, ratioRow } from "./support/report.ts";

const IDS = 10_000_000;
/** Of the first instrument. */
const INSTRUMENT = 1;
/** The check of what a start leaves on disk begins when the exchange is ready. */
const LOOK_MS = 20;

/** How a start grows with remembered client order ids: against an empty folder. */
export async function benchStart(rounds: number): Promise<Row[]> {
  const [empty, full] = [temporaryFolder(), temporaryFolder()];
  try {
    for (const folder of [empty, full]) await start(folder.path);
    const count = Number(process.env.IDS ?? IDS);
    await addPastIds(full.path, INSTRUMENT, count);
    const starts: [Start[], Start[]] = [[], []];
    for (let round = 0; round < rounds; round++)
      for (const [i, { path }] of [full, empty].entries()) starts[i]?.push(await start(path));
    const what = `start, ${count / 1e6}M remembered client order ids`;
    const row = (name: string, unit: string, read: (start: Start) => number): Row =>
      ratioRow(`${what}, ${name}`, unit, "none", starts[0].map(read), starts[1].map(read));
    return [
      row("ready", "ms", ({ readyMs }) => readyMs),
      row("processor time until ready", "ms", ({ cpuMs }) => cpuMs),
      row("memory when ready", "MB", ({ megabytes }) => megabytes),
      row("all checked", "ms", ({ checkedMs }) => checkedMs),
      row("memory when all is checked", "MB", ({ checkedMegabytes }) => checkedMegabytes),
    ];
  } finally {
    empty.remove();
    full.remove();
  }
}

interface Start {
  readyMs: number;
  /** With that of its child processes that have ended. */
  cpuMs: number;
  megabytes: number;
  /** Since the start. */
  checkedMs: number;
  checkedMegabytes: number;
}

async function start(dataFolder: string): Promise<Start> {
  const from = performance.now();
  const flags = ["--port", "0", "--no-bots", "--data", dataFolder];
  const child = spawnScript("src/main.js", ["start", ...flags]);
  await waitForLine(child, /perpd is ready/);
  const pid = child.pid as number;
  const ready = { readyMs: performance.now() - from, cpuMs: cpuMsOf(pid), megabytes: megabytesOf(pid) };
  do await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  while (childrenOf(pid) > 0);
  const checked = { checkedMs: performance.now() - from, checkedMegabytes: megabytesOf(pid) };
  await endProcess(child, "SIGTERM");
  return { ...ready, ...checked };
}

/** Linux counts in hundredths of a second. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + 10 * Number(ticks), 0);
}

/** Without the pages of files, which the system takes back when it needs them. */
const megabytesOf = (pid: number): number =>
  Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

const childrenOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (count, task) => count + readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").length - 1,
    0,
  );
