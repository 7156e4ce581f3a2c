import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";

const OUTPUT = new URL("../src/output.js", import.meta.url).href;
const LINE = "x".repeat(1000);
const LINES = 2000;
/** Writes more than what may wait, then a fatal line, says so, and ends when everything is written. */
const PROGRAM = `
  import { Output } from ${JSON.stringify(OUTPUT)};
  import { writeSync } from "node:fs";
  const output = new Output(2);
  output.onDropped = (lines) => output.write(JSON.stringify({ lines, total: output.droppedLines }) + "\\n");
  for (let i = 0; i < ${LINES}; i++) output.write("${LINE}\\n");
  output.write('{"level":60}\\n');
  writeSync(1, "written");
  await output.flush(60_000);
`;

function run(stderr: "pipe" | number): ChildProcess {
  return spawn(process.execPath, ["--input-type=module", "-e", PROGRAM], { stdio: ["ignore", "pipe", stderr] });
}

test("what is not read waits up to a bound, the rest is counted where it is missing, and a fatal line is kept", async () => {
  const child = run("pipe");
  assert.ok(child.stdout !== null && child.stderr !== null);
  await once(child.stdout, "data");
  const lines = (await text(child.stderr)).trimEnd().split("\n");
  const dropped = LINES - lines.filter((line) => line === LINE).length;
  assert.ok(dropped > LINES / 4 && dropped < LINES / 2, `${dropped} lines`);
  assert.deepEqual(lines.slice(LINES - dropped), ['{"level":60}', JSON.stringify({ lines: dropped, total: dropped })]);
});

test("a file gets whole lines in their order, and the count", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-output-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "log");
  const fd = openSync(path, "a");
  const child = run(fd);
  closeSync(fd);
  assert.deepEqual(await once(child, "exit"), [0, null]);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const kept = lines.filter((line) => line === LINE).length;
  assert.deepEqual(lines.slice(kept), ['{"level":60}', JSON.stringify({ lines: LINES - kept, total: LINES - kept })]);
});
