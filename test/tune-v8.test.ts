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

/** Prints the bytes of the young generation of the main thread and of a worker when much of what was allocated has survived. */
const PRINT_YOUNG_GENERATIONS = `
  import { once } from "node:events";
  import { setImmediate } from "node:timers/promises";
  import { Worker } from "node:worker_threads";
  import { boundYoungGeneration } from "${TUNE_V8}";
  boundYoungGeneration();
  const allocate = async (v8, turn) => {
    const survivors = [];
    for (let i = 0; i < 1e6; i++) {
      survivors.push({ i });
      if (i % 1e4 === 0) await turn();
    }
    return v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").space_size;
  };
  const ask = "data:text/javascript," + encodeURIComponent(
    "import { setImmediate } from 'node:timers/promises'; import v8 from 'node:v8';" +
      "import { parentPort } from 'node:worker_threads'; parentPort.postMessage(await (" + allocate + ")(v8, setImmediate))",
  );
  const worker = new Worker(new URL(ask));
  const [ofWorker] = await once(worker, "message");
  console.log(JSON.stringify([ofWorker, await allocate(await import("node:v8"), setImmediate)]));`;

test("the young generation stays small, so that a collection is short", () => {
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", PRINT_YOUNG_GENERATIONS], {
    encoding: "utf8",
  });
  // It would have 32 MiB or more. A collection may come before the next turn of the event loop.
  for (const bytes of JSON.parse(output)) assert.ok(bytes <= 16 * 1024 * 1024, output);
});
