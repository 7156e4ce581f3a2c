import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer, type TestServer } from "../e2e/support/server.ts";

export const MAIN = fileURLToPath(new URL("../../src/main.js", import.meta.url));

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the program with these arguments, to its end. */
export const perpd = (...args: string[]): Promise<Outcome> => perpdWith({}, ...args);

/** With these variables in its environment, beside those of this process. */
export function perpdWith(variables: Record<string, string>, ...args: string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...variables };
    const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** Small segments and many snapshots, so that the log is trimmed all the time. */
export function startSmall(dataFolder?: string, environment: Record<string, string> = {}): Promise<TestServer> {
  return startServer({
    quiet: false,
    flags: ["--no-bots", "--price-source", "operator", "--rate-limit", "off"],
    environment: { PERPD_SEGMENT_BYTES: "65536", PERPD_SNAPSHOT_INTERVAL_MS: "50", ...environment },
    ...(dataFolder !== undefined && { dataFolder }),
  });
}

/** A folder for one test file. */
export const temporaryFolder = (): string => fs.mkdtempSync(join(tmpdir(), "perpd-operate-"));

/** All that lies below a folder: every file with a hash of its content, and the lock of a process, if one has left its own. */
export function contentOf(dir: string): Record<string, string> {
  const entries = fs.readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  const rows = entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const hash = () => createHash("sha256").update(fs.readFileSync(path)).digest("hex");
    return [path.slice(dir.length), entry.isFile() ? hash() : "no file"] as const;
  });
  return Object.fromEntries(rows.sort());
}

/** The digests that verify has printed, in the order of its lines. */
export const digestsIn = (stdout: string): string[] => stdout.match(/\b[0-9a-f]{64}\b/g) ?? [];
