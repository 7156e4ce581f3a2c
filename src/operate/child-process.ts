import { spawn } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { NewerVersionError } from "../wire/newer-version.ts";
import { DamagedError, isNotDone, NotDoneError, RefusedError } from "./errors.ts";

/** How LMDB ends a process that reads damaged pages. Other signals come from elsewhere. */
const LMDB_ENDS_WITH: readonly unknown[] = ["SIGSEGV", "SIGBUS", "SIGABRT"];
/** Exit codes of the programs. */
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

/** Runs a program that lies beside this file, in a process of its own, which LMDB may end. Throws NotDoneError if it does not run. */
export function runChildProcess(
  program: "database-check-main" | "database-copy-main",
  ...args: string[]
): Promise<Outcome> {
  // In the form that this file was loaded in.
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
    child.on("error", ({ message }) => reject(new NotDoneError(`${program} did not run: ${message}`)));
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** What it has answered. Throws DamagedError, RefusedError or NotDoneError. `databaseDir`: what it has read. */
export function resultOf({ code, signal, stdout, stderr }: Outcome, databaseDir: string): string {
  if (code === DONE) return stdout;
  if (LMDB_ENDS_WITH.includes(signal)) throw new DamagedError(`${databaseDir}: LMDB cannot read it (${signal})`);
  if (signal !== null) throw new NotDoneError(`${databaseDir}: who read it was ended with ${signal}`);
  if (code === REFUSED) throw new RefusedError(stderr.trim());
  if (code === NOT_DONE) throw new NotDoneError(stderr.trim());
  throw new DamagedError(stderr.trim());
}

/** What such a program does: `work`, whose result is the answer. */
export async function runAndAnswer(work: () => string | Promise<string>): Promise<void> {
  try {
    process.stdout.write(await work());
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    const isRefused = error instanceof RefusedError || error instanceof NewerVersionError;
    process.exitCode = isRefused ? REFUSED : isNotDone(error as Error) ? NOT_DONE : DAMAGED;
  }
}
