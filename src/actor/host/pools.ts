import type { MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";

/**
 * This is the only file that uses piscina. It starts a thread, loads a module there and runs its default export. It
 * returns a promise that rejects when the thread dies, and limits its queue. We use it in two ways:
 *
 * - A pinned thread is a pool of one thread that runs one task for as long as the exchange lives. So we know which thread
 *   runs which actors. There is one for the store, one for the journal and one for each actor worker.
 * - The compute pool checks wallet signatures, which take milliseconds each. Its queue is bounded, and its only thread
 *   starts with the first signature and ends after a minute without one.
 */

const entryOf = (name: string): string => new URL(`../../../workers/${name}.js`, import.meta.url).href;

export interface PinnedThread {
  /** Resolves when the task ends. Rejects when the task throws or the thread dies. */
  readonly done: Promise<void>;
  /** Lets the thread end after its task. */
  close(): Promise<void>;
  /** Ends the thread wherever it is. Resolves when it has ended. */
  terminate(): Promise<void>;
}

/** Starts a thread for one task. `entry` is a name in workers/ or the URL of a module. `port` moves to the thread. */
export function pinThread(
  entry: string,
  task: object,
  port: MessagePort,
  onError: (error: Error) => void,
): PinnedThread {
  const pool = new Piscina({
    filename: entry.startsWith("file:") ? entry : entryOf(entry),
    minThreads: 1,
    maxThreads: 1,
    // The default blocks the thread's event loop between tasks. Here there is only one task.
    atomics: "disabled",
  });
  pool.on("error", onError);
  return {
    done: pool.run(task, { transferList: [port] }) as Promise<void>,
    close: () => pool.close(),
    terminate: () => pool.destroy(),
  };
}

/** With more signatures than this in the queue, the last one would wait longer than a person does. */
const MAX_WAITING_SIGNATURES = 64;
const IDLE_TIMEOUT_MS = 60_000;

export interface ComputePool {
  /** Resolves with the address that signed the message, or null for a bad signature. Rejects when the queue is full. */
  recover(message: string, signature: string): Promise<string | null>;
  close(): Promise<void>;
}

export function openComputePool(): ComputePool {
  const pool = new Piscina({
    filename: entryOf("compute"),
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: IDLE_TIMEOUT_MS,
    maxQueue: MAX_WAITING_SIGNATURES,
  });
  // Each failed task rejects its own promise. Without a listener the end of an idle thread would end the process.
  pool.on("error", () => {});
  return {
    recover: (message, signature) => pool.run({ message, signature }),
    close: () => pool.close(),
  };
}
