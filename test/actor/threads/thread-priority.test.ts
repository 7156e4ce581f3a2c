import assert from "node:assert/strict";
import { once } from "node:events";
import { getPriority } from "node:os";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

const THREAD_PRIORITY = new URL("../../../src/actor/threads/thread-priority.js", import.meta.url).href;

/** Posts the niceness of its own thread before and after. */
const PROGRAM = `
  import { getPriority } from "node:os";
  import { parentPort } from "node:worker_threads";
  import { lowerPriority, ownThread } from "${THREAD_PRIORITY}";
  const before = getPriority();
  lowerPriority(ownThread, 5);
  parentPort.postMessage([before, getPriority()]);`;

test("a thread gives way to the others of its process", {
  skip: process.platform !== "linux" && "only Linux has a priority for each thread",
}, async () => {
  const ofMain = getPriority();
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`));
  const [[before, after]] = (await once(worker, "message")) as [[number, number]];
  assert.deepEqual([before, getPriority()], [ofMain, ofMain]);
  assert.ok(after > before, `${before} ${after}`);
});
