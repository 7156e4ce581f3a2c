import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";

/** How long an exit waits at most: a disk that does not answer must not hold it up. */
const MAX_WAIT_MS = 1000;

/** All threads share this, from the one that has loaded this module first. */
const KEY = "perpd.processExit";
/** How many threads do work that an exit waits for. */
const WORKING = 0;
const IS_EXITING = 1;

const state = shareState();
/** Of this thread: such work may begin within other such work. */
let depth = 0;

function shareState(): Int32Array {
  const known = getEnvironmentData(KEY);
  if (known instanceof SharedArrayBuffer) return new Int32Array(known);
  const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(KEY, shared);
  return new Int32Array(shared);
}

/**
 * Does short, synchronous work that exitProcess() waits for. In another thread than the main one it does not return once the process
 * exits. Each call of lmdb needs it.
 *
 * process.exit() ends the other threads wherever they are. From then on lmdb cannot make the JavaScript objects that most of its
 * functions return, and aborts the process: the exit code would be that of a crash.
 * If a thread is within a transaction that writes, lmdb waits for the lock that this thread holds, and the process never ends.
 */
export function delayingExit<T>(work: () => T): T {
  enter();
  try {
    return work();
  } finally {
    leave();
  }
}

/** The same for work that gives a promise. */
export async function delayingExitUntil<T>(work: () => Promise<T>): Promise<T> {
  enter();
  try {
    return await work();
  } finally {
    leave();
  }
}

/** The same for each step of a loop. */
export function* delayingExitEach<T>(items: Iterable<T>): Generator<T, void> {
  const steps = delayingExit(() => items[Symbol.iterator]());
  for (;;) {
    const { done, value } = delayingExit(() => steps.next());
    if (done) return;
    let goesOn = false;
    try {
      yield value;
      goesOn = true;
    } finally {
      if (!goesOn) delayingExit(() => steps.return?.());
    }
  }
}

function enter(): void {
  if (depth++ > 0) return;
  Atomics.add(state, WORKING, 1);
  if (isMainThread || Atomics.load(state, IS_EXITING) === 0) return;
  leave();
  // The exit ends this thread.
  Atomics.wait(state, IS_EXITING, 1);
}

function leave(): void {
  if (--depth > 0) return;
  Atomics.sub(state, WORKING, 1);
  Atomics.notify(state, WORKING);
}

/** Ends the process, for the main thread, after all work in delayingExit() and delayingExitUntil(). */
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
