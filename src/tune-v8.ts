import { readdirSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { lowerPriority } from "./actor/threads/thread-priority.ts";
import { must } from "./assert.ts";

const MIB = 1024 * 1024;

/** Above that of the other threads: it leaves a tenth of their weight. */
const HELPER_NICENESS = 10;

/**
 * Of one half of a thread's young generation. A collection takes 5 to 20 ms with V8's 16 MiB (32 and more in Node 24), and orders
 * wait meanwhile. With 1 MiB the rate at saturation would be half: too much is still in use at each collection.
 */
const SEMI_SPACE_MIB = 4;

/**
 * Bounds the young generation of this thread, and of those that start later. Call it before the modules are loaded: they make it
 * grow. It never shrinks the one of this thread.
 */
export function boundYoungGeneration(): void {
  // V8 reads these two when a thread starts.
  setFlagsFromString(`--min-semi-space-size=${SEMI_SPACE_MIB}`);
  setFlagsFromString(`--max-semi-space-size=${SEMI_SPACE_MIB}`);
  limitGrowth();
  // A collection may make it grow. The start of a thread sets the flag back.
  new PerformanceObserver(limitGrowth).observe({ entryTypes: ["gc"] });
}

/** V8 has no bound that can be set while a thread runs. It multiplies the size by this flag. */
function limitGrowth(): void {
  const { space_size: bytes } = must(getHeapSpaceStatistics().find(isYoung), "the young generation");
  setFlagsFromString(`--semi-space-growth-factor=${bytes < 2 * SEMI_SPACE_MIB * MIB ? 2 : 1}`);
}

const isYoung = ({ space_name: name }: { space_name: string }): boolean => name === "new_space";

/** Sets V8 up for all threads of the process. Call it before any of them is busy, and before there are worker threads. */
export function tuneV8(): void {
  lowerPriority(helperThreads, HELPER_NICENESS);
  // Each thread collects its young generation by itself, in about a millisecond. By default V8 uses helper threads and
  // waits for them. When all processors are busy that takes several milliseconds, and every client waits for the gateway.
  setFlagsFromString("--no-parallel-scavenge");
  setFlagsFromString("--no-concurrent-array-buffer-sweeping");
  // An order passes through many small functions. These flags inline more of them than the default, also where few orders
  // pass. The two bounds go together: with the default of the absolute one (4600) a larger cumulative one has no effect. The core
  // takes 0.86 of the processor time that it takes with 3000 and 4600; twice as much of both brings nothing more.
  setFlagsFromString("--max-inlined-bytecode-size-cumulative=9000");
  setFlagsFromString("--max-inlined-bytecode-size-absolute=20000");
  setFlagsFromString("--min-inlining-frequency=0.02");
  // Code is optimized after three times as much work as by default. After a start everything becomes hot at the same
  // time. When all processors are busy the first orders would wait for the compiler.
  setFlagsFromString("--interrupt-budget=400000");
  // The old generation may grow to four times its live size before it is collected. V8 does that until the process is idle
  // for the first time; afterwards it allows only one and a half times. At 100,000 orders a second every client would then
  // wait some ten milliseconds every two or three seconds.
  setFlagsFromString("--heap-growing-percent=300");
}

/**
 * V8's helper threads compile and collect garbage for all threads. When all processors are busy, four of them would keep an
 * order waiting for a time slice each, of some milliseconds. The threads that read files for Node are among them; no order waits
 * for those.
 */
const helperThreads = (): readonly number[] =>
  readdirSync("/proc/self/task")
    .map(Number)
    .filter((thread) => thread !== process.pid);
