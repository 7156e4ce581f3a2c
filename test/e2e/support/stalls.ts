import assert from "node:assert/strict";

/** One iteration of the gateway's event loop, including idle time. */
export interface Stall {
  /** Start, in milliseconds since the epoch. */
  readonly at: number;
  readonly ms: number;
  /** Part of it on a processor. */
  readonly runMs: number;
  /** Part of it ready to run without a free processor: other work on a small machine. */
  readonly queueMs: number;
}

/** Prefix of the line of standard output in which watched-main.ts reports. */
export const STALLS_PREFIX = "stalls: ";

/** Iterations of an ended, watched server that overlap the period, longest own time first. */
export function stallsBetween(from: number, until: number, stdout: string): Stall[] {
  const line = stdout.split("\n").find((each) => each.startsWith(STALLS_PREFIX));
  assert.ok(line !== undefined, "the server has reported its long iterations");
  const all = JSON.parse(line.slice(STALLS_PREFIX.length)) as Stall[];
  return all.filter(({ at, ms }) => at + ms >= from && at <= until).sort((a, b) => ownMs(b) - ownMs(a));
}

/** Duration of an iteration without waiting for a processor. */
export const ownMs = ({ ms, queueMs }: Stall): number => ms - queueMs;
