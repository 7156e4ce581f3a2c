import { spawn } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { LMDB_SIGNALS } from "../store/database/past-rows-check.ts";
import { NewerVersionError } from "../wire/newer-version.ts";
import { DamagedError, isNotDone, NotDoneError, RefusedError } from "./errors.ts";

/** Exit codes of the child programs. */
const DONE = 0;
const DAMAGED = 1;
const REFUSED = 2;
const NOT_DONE = 3;

export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Runs a program in this folder as a child process, which LMDB may end. Rejects with NotDoneError if it cannot start. */
export function runChildProcess(
  program: "database-check-main" | "database-copy-main",
  ...args: string[]
): Promise<Outcome> {
  // The same file extension as this file: .ts or .js.
  const path = fileURLToPath(new URL(`./${program}${extname(import.meta.url)}`, import.meta.url));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", ({ message }) => reject(new NotDoneError(`${program} could not be started: ${message}`)));
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** Returns the child's output. Throws DamagedError, RefusedError or NotDoneError. It has read `databaseDir`. */
export function resultOf({ code, signal, stdout, stderr }: Outcome, databaseDir: string): string {
  if (code === DONE) return stdout;
  if (LMDB_SIGNALS.includes(signal))
    throw new DamagedError(`${databaseDir}: LMDB cannot read the database (${signal})`);
  if (signal !== null) throw new NotDoneError(`${databaseDir}: the process that read it was ended by ${signal}`);
  if (code === REFUSED) throw new RefusedError(stderr.trim());
  if (code === NOT_DONE) throw new NotDoneError(stderr.trim());
  throw new DamagedError(stderr.trim());
}

/** The main function of a child program. Prints the result of `work`, or its error with the exit code for it. */
export async function runAndAnswer(work: () => string | Promise<string>): Promise<void> {
  try {
    process.stdout.write(await work());
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    const isRefused = error instanceof RefusedError || error instanceof NewerVersionError;
    process.exitCode = isRefused ? REFUSED : isNotDone(error as Error) ? NOT_DONE : DAMAGED;
  }
}
