import { spawnSync } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** The child program, with the same file extension as this file: .ts or .js. */
const PROGRAM = fileURLToPath(new URL(`./latest-commit-main${extname(import.meta.url)}`, import.meta.url));

/** Has a child process open the database, while nobody commits: see Database.requireLatest(). */
export function noteLatestCommit(dir: string): void {
  const { status, signal, stderr, error } = spawnSync(process.execPath, [PROGRAM, dir], { encoding: "utf8" });
  if (status === 0) return;
  throw new Error(`${dir}: the latest commit was not found: ${error?.message ?? signal ?? stderr.trim()}`);
}
