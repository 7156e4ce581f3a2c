import { readFileSync } from "node:fs";

/**
 * Loaded into every thread of a server (`--import`). Its clock is ahead of the machine's by the milliseconds in the
 * file CLOCK_FILE, which a test may change at any time.
 */
const LOOK_EVERY_MS = 10;

const file = process.env.CLOCK_FILE ?? "";
const machine = Date.now;
let aheadMs = 0;
let lookedAt = Number.NEGATIVE_INFINITY;

Date.now = () => {
  if (performance.now() - lookedAt > LOOK_EVERY_MS) {
    lookedAt = performance.now();
    aheadMs = Number(readFileSync(file, "utf8"));
  }
  return machine() + aheadMs;
};
