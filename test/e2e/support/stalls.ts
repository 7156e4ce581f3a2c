import assert from "node:assert/strict";

/** One turn of the front's event loop, its idle time included. */
export interface Stall {
  /** When it began; milliseconds since the epoch. */
  readonly at: number;
  readonly ms: number;
  /** Of it on a processor. */
  readonly runMs: number;
  /** Of it ready to run, with no processor free: others' work, on a machine that has too few. */
  readonly queueMs: number;
}

/** Behind this stands what watched-main.ts has seen, in the last line of its standard output. */
export const STALLS_PREFIX = "stalls: ";

/** The turns of a watched server that has ended which began between two moments; the longest of its own making first. */
export function stallsBetween(from: number, until: number, stdout: string): Stall[] {
  const line = stdout.split("\n").find((each) => each.startsWith(STALLS_PREFIX));
  assert.ok(line !== undefined, "the server has said how long its turns took");
  const all = JSON.parse(line.slice(STALLS_PREFIX.length)) as Stall[];
  return all.filter(({ at, ms }) => at + ms >= from && at <= until).sort((a, b) => ownMs(b) - ownMs(a));
}

/** What a turn would have taken on a machine of its own. */
export const ownMs = ({ ms, queueMs }: Stall): number => ms - queueMs;
