import { openSync, readSync, writeSync } from "node:fs";
import { STALLS_PREFIX, type Stall } from "../stalls.ts";

/**
 * perpd with a watch on the event loop of its gateway thread. At exit it prints every long iteration, and how much of
 * it the thread was ready but had no processor.
 */

const LOOK_EVERY_MS = 5;
const LONG_MS = 20;

const schedstat = openSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, "r");
const text = Buffer.alloc(128);
const stalls: Stall[] = [];
let from = performance.now();
let before = usage();

setInterval(() => {
  const now = performance.now();
  const after = usage();
  const ms = now - from;
  if (ms > LONG_MS)
    stalls.push({
      at: performance.timeOrigin + from,
      ms,
      runMs: after.runMs - before.runMs,
      queueMs: after.queueMs - before.queueMs,
    });
  from = now;
  before = after;
}, LOOK_EVERY_MS).unref();

process.on("exit", () => writeSync(1, `${STALLS_PREFIX}${JSON.stringify(stalls)}\n`));

/** Time of this thread so far: on a processor, and ready but waiting for one. */
function usage(): { runMs: number; queueMs: number } {
  const [run, queue] = text.toString("latin1", 0, readSync(schedstat, text, 0, text.length, 0)).split(" ");
  return { runMs: Number(run) / 1e6, queueMs: Number(queue) / 1e6 };
}

await import("../../../../src/main.ts");
