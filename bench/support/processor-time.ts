import { readdirSync, readFileSync } from "node:fs";

/** Processor time of each thread so far, in us, by thread id. That of the main thread is the process id. Linux only. */
export function threadTimesUs(pid: number): Map<number, number> {
  const times = new Map<number, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const [ns] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
    times.set(Number(thread), Number(ns) / 1e3);
  }
  return times;
}

/** Of all threads that live, in us; 0 where /proc does not exist. */
export function processorUs(pid: number): number {
  if (process.platform !== "linux") return 0;
  return [...threadTimesUs(pid).values()].reduce((sum, us) => sum + us, 0);
}
