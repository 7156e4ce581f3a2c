import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

const EXIT_CODE = 7;
/** A process that does not end is killed after this time. */
const DEADLINE_MS = 20_000;

/** Runs a program of ../support/ in a new folder. It must end with EXIT_CODE. */
function requireExit(t: TestContext, program: string, ...args: number[]): void {
  const folder = mkdtempSync(join(tmpdir(), "perpd-exit-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = fileURLToPath(new URL(`../support/${program}.js`, import.meta.url));
  const { status, signal, stderr } = spawnSync(
    process.execPath,
    [path, folder, String(EXIT_CODE), ...args.map(String)],
    { encoding: "utf8", timeout: DEADLINE_MS, killSignal: "SIGKILL" },
  );
  assert.deepEqual({ status, signal, stderr }, { status: EXIT_CODE, signal: null, stderr: "" });
}

test("a process that exits while its threads open, read and close the database has its exit code", (t) => {
  for (let i = 0; i < 3; i++) requireExit(t, "exit-child");
});

test("a process that exits while a thread commits ends, with its exit code", (t) => {
  for (const afterMs of [0, 1, 2, 4, 8]) requireExit(t, "commit-exit-child", afterMs);
});
