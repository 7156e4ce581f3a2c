export const DONE = 0;
/** The exchange refused or could not be reached, or the result could not be printed. */
export const FAILED = 1;
/** Nothing was sent. */
export const MISUSED = 2;
