import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const TUNE_V8 = new URL("../src/tune-v8.js", import.meta.url).href;

/** Prints the niceness of the main thread, of a worker thread and of all others, each relative to that of this process. */
const PRINT_NICENESS = `
  import { readdirSync } from "node:fs";
  import { getPriority } from "node:os";
  import { Worker } from "node:worker_threads";
  import { tuneV8 } from "${TUNE_V8}";
  const before = getPriority();
  const helpers = readdirSync("/proc/self/task").filter((thread) => Number(thread) !== process.pid);
  tuneV8();
  const ask = "data:text/javascript," + encodeURIComponent(
    "import { getPriority } from 'node:os'; import { parentPort } from 'node:worker_threads'; parentPort.postMessage(getPriority())",
  );
  const worker = new Worker(new URL(ask));
  worker.once("message", (ofWorker) => {
    const ofHelpers = helpers.map((thread) => getPriority(Number(thread)) - before);
    console.log(JSON.stringify({ ofMain: getPriority() - before, ofWorker: ofWorker - before, ofHelpers }));
  });`;

test("the threads that compile and collect garbage give way to the main thread and its workers", {
  skip: process.platform !== "linux" && "only Linux has a priority for each thread",
}, () => {
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", PRINT_NICENESS], { encoding: "utf8" });
  const { ofMain, ofWorker, ofHelpers } = JSON.parse(output);
  assert.deepEqual([ofMain, ofWorker], [0, 0]);
  assert.ok(ofHelpers.length >= 4, `${ofHelpers}`);
  for (const niceness of ofHelpers) assert.ok(niceness > 0, `${ofHelpers}`);
});
