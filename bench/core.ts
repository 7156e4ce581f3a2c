import { type Engine, peerEngine, perpdEngine } from "./support/engines.ts";
import { collectGarbage } from "./support/garbage.ts";
import { type Latency, latencyOf, newHistogram } from "./support/latency.ts";
import { outputOf, startScript } from "./support/processes.ts";
import { type Row, ratioRow, sideBySide } from "./support/report.ts";
import { deepStream, type OrderStream, orderStream } from "./support/stream.ts";

const PEER = "nodejs-order-book";
/** The market's range on each side of the mid: 100 USDC at a tick of 0.1. */
const RANGE_TICKS = 1000;
const LATENCY_OPERATIONS = 200_000;
const WARM_UP_OPERATIONS = 50_000;

/** The core alone, in one thread without I/O, against the npm package nodejs-order-book on the same stream. */
export async function benchCore(rounds: number): Promise<Row[]> {
  for (const make of [perpdEngine, peerEngine])
    rate(make, orderStream("warm-up", 10_000, WARM_UP_OPERATIONS, RANGE_TICKS, 1));
  return [
    await compareRates("30k live orders", orderStream("30k", 30_000, 1_000_000, RANGE_TICKS, 2), rounds),
    await compareRates("1.5k live orders", orderStream("1.5k", 1500, 1_000_000, RANGE_TICKS, 3), rounds),
    await compareRates("1M resting orders on 20k levels", deepStream(100_000), rounds),
    await compareMemory(),
    ...(await compareLatencies(
      "30k live orders",
      orderStream("30k", 30_000, LATENCY_OPERATIONS, RANGE_TICKS, 4),
      rounds,
    )),
  ];
}

type MakeEngine = (stream: OrderStream) => Engine;

async function compareRates(what: string, stream: OrderStream, rounds: number): Promise<Row> {
  const [ours, theirs] = await sideBySide(
    rounds,
    () => rate(perpdEngine, stream),
    () => rate(peerEngine, stream),
  );
  return ratioRow(`core, ${what}`, "operations/s", PEER, ours, theirs);
}

/** Operations a second once the book is filled. */
export function rate(make: MakeEngine, stream: OrderStream): number {
  const engine = make(stream);
  for (let i = 0; i < stream.prefill; i++) engine.run(i);
  collectGarbage();
  const from = performance.now();
  for (let i = stream.prefill; i < stream.length; i++) engine.run(i);
  const seconds = (performance.now() - from) / 1e3;
  engine.fills.mustEqual(stream.fills, engine.name);
  return (stream.length - stream.prefill) / seconds;
}

/** In a pass of its own, since looking at the clock costs about as much as an order does; that is in both figures. */
async function compareLatencies(what: string, stream: OrderStream, rounds: number): Promise<Row[]> {
  const [ours, theirs] = await sideBySide(
    rounds,
    () => latency(perpdEngine, stream),
    () => latency(peerEngine, stream),
  );
  const row = (name: string, of: (latency: Latency) => number): Row =>
    ratioRow(`core, ${what}, one operation, ${name}`, "us", PEER, ours.map(of), theirs.map(of));
  return [row("p50", ({ p50 }) => p50), row("p99", ({ p99 }) => p99), row("p99.9", ({ p999 }) => p999)];
}

function latency(make: MakeEngine, stream: OrderStream): Latency {
  const histogram = newHistogram();
  const engine = make(stream);
  for (let i = 0; i < stream.prefill; i++) engine.run(i);
  collectGarbage();
  for (let i = stream.prefill; i < stream.length; i++) {
    const from = performance.now();
    engine.run(i);
    histogram.recordValue((performance.now() - from) * 1e6);
  }
  engine.fills.mustEqual(stream.fills, engine.name);
  return latencyOf(histogram);
}

/** What a million resting orders take beyond the stream itself, each engine in a process of its own. */
async function compareMemory(): Promise<Row> {
  const [ours, theirs] = await sideBySide(
    1,
    () => memoryOf("perpd"),
    () => memoryOf("peer"),
  );
  return ratioRow("core, memory of 1M resting orders", "MiB", PEER, ours, theirs);
}

async function memoryOf(engine: string): Promise<number> {
  return Number(await outputOf(startScript("bench/support/memory.js", [engine]))) / 2 ** 20;
}
