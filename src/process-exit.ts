import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";

/** How long an exit waits at most: a disk that does not answer must not hold it up. */
const MAX_WAIT_MS = 1000;

/** All threads share this, from the one that has loaded this module first. */
const KEY = "perpd.processExit";
/** How many threads are in delayingExit(). */
const WORKING = 0;
const IS_EXITING = 1;

const state = shareState();

function shareState(): Int32Array {
  const known = getEnvironmentData(KEY);
  if (known instanceof SharedArrayBuffer) return new Int32Array(known);
  const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(KEY, shared);
  return new Int32Array(shared);
}

/**
 * Does short, synchronous work that exitProcess() waits for. In another thread than the main one it does not return once the process
 * exits.
 *
 * process.exit() ends the other threads wherever they are. If lmdb opens a database then, it cannot make the JavaScript values that
 * it returns, and aborts the process: the exit code would be that of a crash.
 */
export function delayingExit<T>(work: () => T): T {
  Atomics.add(state, WORKING, 1);
  try {
    if (isMainThread || Atomics.load(state, IS_EXITING) === 0) return work();
  } finally {
    Atomics.sub(state, WORKING, 1);
    Atomics.notify(state, WORKING);
  }
  Atomics.wait(state, IS_EXITING, 1);
  throw new Error("the process exits");
}

/** Ends the process, for the main thread: all that is in delayingExit() is done first. */
export function exitProcess(code: number): never {
  Atomics.store(state, IS_EXITING, 1);
  const deadline = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const working = Atomics.load(state, WORKING);
    const leftMs = deadline - performance.now();
    if (working === 0 || leftMs <= 0) process.exit(code);
    Atomics.wait(state, WORKING, working, leftMs);
  }
}
