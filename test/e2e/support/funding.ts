import assert from "node:assert/strict";

const HOUR_MS = 3_600_000;
/** The tick that settles comes by then. */
const SETTLED_WITHIN_MS = 10_000;

/** Whether funding may have been settled since then: it is on the hour, whatever else happens. */
export const mayHaveSettled = (since: number): boolean =>
  Math.floor((since - SETTLED_WITHIN_MS) / HOUR_MS) !== Math.floor(Date.now() / HOUR_MS);

/** All is as it was then, unless the hour has struck since. */
export function assertUnchanged(since: number, now: unknown, then: unknown, message?: string): void {
  if (!mayHaveSettled(since)) assert.deepEqual(now, then, message);
}
