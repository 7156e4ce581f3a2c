import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../support/exit-child.js", import.meta.url));
const EXIT_CODE = 7;

test("a process that exits while its threads open the database has its exit code", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-exit-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (let i = 0; i < 3; i++) {
    const { status, signal, stderr } = spawnSync(
      process.execPath,
      [PROGRAM, join(folder, String(i)), String(EXIT_CODE)],
      {
        encoding: "utf8",
      },
    );
    assert.deepEqual({ status, signal, stderr }, { status: EXIT_CODE, signal: null, stderr: "" });
  }
});
