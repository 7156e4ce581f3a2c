import { spawnSync } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseCorruptError } from "../files/genesis.ts";

/** The child program, with the same file extension as this file: .ts or .js. */
const PROGRAM = fileURLToPath(new URL(`./database-probe-main${extname(import.meta.url)}`, import.meta.url));

/**
 * Reads all that a start reads in a child process, because LMDB answers a damaged file with SIGSEGV, SIGBUS or an abort. Rows
 * that a start leaves on disk are checked later: see past-rows-check.ts. There is no limit for the whole: the child ends itself
 * when a row takes too long. Throws DatabaseCorruptError.
 */
export function probeDatabase(dir: string): void {
  const { status, signal, stderr, error } = spawnSync(process.execPath, [PROGRAM, dir], { encoding: "utf8" });
  if (error !== undefined) throw new Error(`the check of the database in ${dir} could not be run: ${error.message}`);
  if (status === 0) return;
  const end = signal === null ? `exit code ${status}` : signal;
  throw new DatabaseCorruptError(`${dir}: the database cannot be read (${end}): ${stderr.trim()}`);
}
