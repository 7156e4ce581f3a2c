const HOUR_MS = 3_600_000;
/** The tick that settles comes by then. */
const SETTLED_WITHIN_MS = 1000;

/** Whether funding may have been settled since then: it is on the hour, whatever else happens. */
export const mayHaveSettled = (since: number): boolean =>
  Math.floor((since - SETTLED_WITHIN_MS) / HOUR_MS) !== Math.floor(Date.now() / HOUR_MS);
