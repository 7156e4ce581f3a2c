import { spawnSync } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseCorruptError } from "../files/genesis.ts";

/** The program, beside this file, in the form that this file was loaded in. */
const PROGRAM = fileURLToPath(new URL(`./database-probe-main${extname(import.meta.url)}`, import.meta.url));
const TIMEOUT_MS = 120_000;

/**
 * Reads all that recovery will rest on, in a process of its own: LMDB answers a damaged file with SIGSEGV, SIGBUS or an
 * abort, which would take this process with it. Throws DatabaseCorruptError.
 */
export function probeDatabase(dir: string): void {
  const { status, signal, stderr, error } = spawnSync(process.execPath, [PROGRAM, dir], {
    encoding: "utf8",
    timeout: TIMEOUT_MS,
  });
  if (error !== undefined) throw new Error(`the probe of the database in ${dir} did not run: ${error.message}`);
  if (status === 0) return;
  const end = signal === null ? `exit code ${status}` : signal;
  throw new DatabaseCorruptError(`${dir}: the database cannot be read (${end}): ${stderr.trim()}`);
}
