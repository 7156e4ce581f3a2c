import { readlinkSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import { basename } from "node:path";

/**
 * Lets the other threads of the process go before these when all processors are busy. `niceness`: above that of the calling thread.
 * Linux has a priority for each thread; elsewhere nothing changes.
 */
export function lowerPriority(threads: () => readonly number[], niceness: number): void {
  if (process.platform !== "linux") return;
  try {
    const lowered = Math.min(getPriority() + niceness, constants.priority.PRIORITY_LOW);
    for (const thread of threads()) setPriority(thread, lowered);
  } catch {
    // A container may forbid it. Then they keep the priority of all others.
  }
}

/** The calling thread. The link points to PID/task/THREAD. */
export const ownThread = (): readonly number[] => [Number(basename(readlinkSync("/proc/thread-self")))];
