import { appendFileSync } from "node:fs";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread, threadId } from "node:worker_threads";

/**
 * Preloaded into each thread of the server (`node --import`). Collects the garbage of the thread from time to time and
 * appends what is left to a file. So a leak of a few bytes for each request shows within minutes, and garbage does not.
 */

/** One line of the file, in bytes. */
export interface HeapSample {
  at: number;
  /** "main", or the module that the thread runs. */
  thread: string;
  heap: number;
  /** Memory outside of the heap that objects of the heap own, such as buffers. */
  external: number;
}

const { SOAK_PROBE_FILE: file, SOAK_PROBE_MS: everyMs } = process.env;
const LOOK_EVERY_MS = 1000;
const THREAD_OF_STACK = /(actor|journal|store)-(?:main|worker)\.js/;

if (file !== undefined) watch(file, Number(everyMs));

function watch(path: string, intervalMs: number): void {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  let next = performance.now() + intervalMs;
  let thread = isMainThread ? "main" : "";
  const look = (): void => {
    if (performance.now() < next) return;
    next += intervalMs;
    collectGarbage();
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    const sample: HeapSample = { at: Date.now(), thread: thread || `thread ${threadId}`, heap, external };
    appendFileSync(path, `${JSON.stringify(sample)}\n`);
  };
  setInterval(look, LOOK_EVERY_MS).unref();
  if (isMainThread) return;
  // The engine's threads never return to their event loop. They sleep in Atomics.wait.
  const { wait } = Atomics;
  Atomics.wait = ((...parameters: Parameters<typeof Atomics.wait>) => {
    thread ||= THREAD_OF_STACK.exec(new Error().stack ?? "")?.[1] ?? "compute";
    look();
    return wait(...parameters);
  }) as typeof Atomics.wait;
}
