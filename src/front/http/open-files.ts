import { existsSync, readFileSync } from "node:fs";

/** Linux. */
const LIMITS = "/proc/self/limits";
/** Files that the log, the database and the rest of the process need: without them the log could not go on. */
const RESERVED_FILES = 256;

/** How many connections the process may have open, a file each. Infinite where the system does not tell its limit. */
export function maxOpenConnections(): number {
  if (!existsSync(LIMITS)) return Number.POSITIVE_INFINITY;
  const limit = /^Max open files +(\d+)/m.exec(readFileSync(LIMITS, "utf8"))?.[1];
  const files = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  return Math.max(files - RESERVED_FILES, Math.floor(files / 2));
}
