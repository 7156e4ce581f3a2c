import { spawn } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseCorruptError } from "../files/genesis.ts";
import { ClientIdFilter } from "./client-id-filter.ts";
import type { SharedPastIds } from "./past-client-ids.ts";

/** The child program, with the same file extension as this file: .ts or .js. */
const PROGRAM = fileURLToPath(new URL(`./past-rows-check-main${extname(import.meta.url)}`, import.meta.url));
const DAMAGED = 1;
/** The signals with which LMDB ends a process that reads damaged pages. */
export const LMDB_SIGNALS: readonly unknown[] = ["SIGSEGV", "SIGBUS", "SIGABRT"];

/**
 * Checks the rows that a start leaves on disk, in a child process of low priority, and fills the filter of client order ids.
 * Calls `onEnd` once: with null, with a DatabaseCorruptError, or with the reason why the check was not done. Returns a function
 * that ends the check. Then `onEnd` is not called.
 */
export function checkPastRows(dir: string, past: SharedPastIds, onEnd: (error: Error | null) => void): () => void {
  const filter = new ClientIdFilter(past.filter);
  const child = spawn(process.execPath, [PROGRAM, dir, String(past.count)], { stdio: ["ignore", "pipe", "pipe"] });
  let filled = 0;
  let stderr = "";
  child.stdout.on("data", (bytes: Buffer) => {
    filter.bytes.set(bytes, filled);
    filled += bytes.length;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  let isOver = false;
  const end = (error: Error | null): void => {
    if (!isOver) onEnd(error);
    isOver = true;
  };
  child.on("error", (error) => end(error));
  child.on("close", (code, signal) => {
    const how = `${signal ?? `exit code ${code}`}`;
    if (code === DAMAGED || LMDB_SIGNALS.includes(signal))
      return end(new DatabaseCorruptError(`${dir}: the database cannot be read (${how}): ${stderr.trim()}`));
    if (code !== 0 || filled !== filter.bytes.length) return end(new Error(`${how}: ${stderr.trim()}`));
    filter.setReady();
    end(null);
  });
  return () => {
    isOver = true;
    child.kill("SIGKILL");
  };
}
