import assert from "node:assert/strict";

const HOUR_MS = 3_600_000;
/** Time by which the settling tick has run. */
const SETTLED_WITHIN_MS = 10_000;

/** True when funding may have been settled since then: it happens every full hour. */
export const mayHaveSettled = (since: number): boolean =>
  Math.floor((since - SETTLED_WITHIN_MS) / HOUR_MS) !== Math.floor(Date.now() / HOUR_MS);

/** Asserts that nothing changed, unless funding may have been settled. */
export function assertUnchanged(since: number, now: unknown, then: unknown, message?: string): void {
  if (!mayHaveSettled(since)) assert.deepEqual(now, then, message);
}
