/** The exchange's clock. Computers that are hours wrong exist, and a time that an order names is the exchange's. */

let aheadMs = 0;
/** At most so far from the truth. */
let errorMs = Number.POSITIVE_INFINITY;

/** `serverTime` was read by the exchange at some moment of the round trip that has just ended. */
export function noteServerTime(serverTime: number, roundTripMs: number): void {
  const found = serverTime + roundTripMs / 2 - Date.now();
  const error = roundTripMs / 2;
  // A slow answer says less than a fast one before it, unless the computer's clock was set meanwhile.
  if (error > errorMs && Math.abs(found - aheadMs) <= error + errorMs) return;
  aheadMs = found;
  errorMs = error;
}

/** Milliseconds since the epoch. Before the first answer: by this computer's clock. */
export const exchangeNow = (): number => Date.now() + Math.round(aheadMs);
