import type { ChildProcess } from "node:child_process";
import type { EngineTask } from "./support/engines/engine-process.ts";
import type { Latency } from "./support/latency.ts";
import { deepStream } from "./support/orders/order-stream.ts";
import { endProcess, forkScript, outputOf, request, spawnScript } from "./support/processes.ts";
import { interleave, type Row, ratioRow } from "./support/report.ts";

const PEER = "nodejs-order-book";
/** Price range on each side of the mid: 100 USDC at a tick of 0.1. */
const RANGE_TICKS = 1000;
const OPERATIONS = 1_000_000;
/** Least duration of a rate measurement where filling the book is fast. */
const LEAST_SECONDS = 2;
const DEEP_OPERATIONS = 100_000;
const LATENCY_OPERATIONS = 200_000;
/** Enough for V8 to finish optimizing. */
const WARM_UP_OPERATIONS = 1_000_000;
/** Untimed: each pass has a new engine, for which V8 compiles some code again. An exchange keeps one engine. */
const UNTIMED_OPERATIONS = 200_000;

/**
 * The core alone, in one thread without I/O, against the npm package nodejs-order-book on the same stream. The two
 * alternate, each in its own process, so that they share neither garbage nor compiled code.
 */
export async function benchCore(rounds: number): Promise<Row[]> {
  const engines = ["perpd", "peer"].map((name) => forkScript("bench/support/engines/engine-process.js", [name]));
  const [perpd, peer] = engines as [ChildProcess, ChildProcess];
  const compare = <T>(task: EngineTask): Promise<T[][]> =>
    interleave(
      rounds,
      () => request<T>(perpd, task),
      () => request<T>(peer, task),
    );
  const compareRates = async (what: string, stream: EngineTask["stream"], leastSeconds = 0): Promise<Row> => {
    const [ours, theirs] = await compare<number>({ what: "rate", stream, leastSeconds });
    return ratioRow(`core, ${what}`, "operations/s", PEER, ours, theirs);
  };
  try {
    for (const engine of engines)
      await request(engine, { what: "rate", stream: ["warm-up", 10_000, WARM_UP_OPERATIONS, RANGE_TICKS, 1] });
    const rates = [
      await compareRates(
        "30k live orders",
        ["30k", 30_000, OPERATIONS, RANGE_TICKS, 2, UNTIMED_OPERATIONS],
        LEAST_SECONDS,
      ),
      await compareRates(
        "1.5k live orders",
        ["1.5k", 1500, OPERATIONS, RANGE_TICKS, 3, UNTIMED_OPERATIONS],
        LEAST_SECONDS,
      ),
      await compareRates("1M resting orders on 20k levels", deepStream(DEEP_OPERATIONS)),
      await compareMemory(rounds),
    ];
    const stream: EngineTask["stream"] = ["30k", 30_000, LATENCY_OPERATIONS, RANGE_TICKS, 4];
    const [ours, theirs] = await compare<Latency>({ what: "latency", stream });
    const row = (name: string, of: (latency: Latency) => number): Row =>
      ratioRow(`core, 30k live orders, one operation, ${name}`, "us", PEER, ours.map(of), theirs.map(of));
    return [...rates, row("p50", ({ p50 }) => p50), row("p99", ({ p99 }) => p99), row("p99.9", ({ p999 }) => p999)];
  } finally {
    await Promise.all(engines.map((engine) => endProcess(engine, "SIGKILL")));
  }
}

/** Memory of a million resting orders without the stream itself, each engine in its own process. */
async function compareMemory(rounds: number): Promise<Row> {
  const [ours, theirs] = await interleave(
    rounds,
    () => memoryOf("perpd"),
    () => memoryOf("peer"),
  );
  return ratioRow("core, memory of 1M resting orders", "MiB", PEER, ours, theirs);
}

async function memoryOf(engine: string): Promise<number> {
  return Number(await outputOf(spawnScript("bench/support/engines/engine-memory.js", [engine]))) / 2 ** 20;
}
