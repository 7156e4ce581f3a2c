import { readlinkSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import { basename } from "node:path";

/** Above that of the threads that an order passes: it leaves a third of their weight. */
const NICENESS = 5;

/**
 * Lets the other threads of the process go first when all processors are busy: for a thread that no order waits for. Linux has a
 * priority for each thread; elsewhere nothing changes.
 */
export function giveWay(): void {
  if (process.platform !== "linux") return;
  try {
    // It points to PID/task/THREAD.
    const thread = Number(basename(readlinkSync("/proc/thread-self")));
    setPriority(thread, Math.min(getPriority() + NICENESS, constants.priority.PRIORITY_LOW));
  } catch {
    // A container may forbid it. Then the thread keeps the priority of all others.
  }
}
