import type { MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";

/** The only user of piscina: it starts threads, pins work to them, and says when one dies. */

const entryOf = (name: string): string => new URL(`../../../workers/${name}.js`, import.meta.url).href;

/** One thread with one task for life. */
export interface PinnedThread {
  /** Ends when the task does; rejects when the task throws or the thread dies. */
  readonly done: Promise<void>;
  close(): Promise<void>;
  /** Ends the thread wherever it is; resolves when it has ended. */
  terminate(): Promise<void>;
}

/** `entry` is a name in workers/, or the address of a module. */
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
    // The default stops a worker's event loop between tasks; here there is one task for life.
    atomics: "disabled",
  });
  pool.on("error", onError);
  return {
    done: pool.run(task, { transferList: [port] }) as Promise<void>,
    close: () => pool.close(),
    terminate: () => pool.destroy(),
  };
}

/** More than this many wallets at once wait longer than anyone would. */
const MAX_WAITING_SIGNATURES = 64;

export interface ComputePool {
  /** The address that signed the message, or null. Rejects when the queue is full. */
  recover(message: string, signature: string): Promise<string | null>;
  close(): Promise<void>;
}

/** Stateless, heavy work: a wallet's signature takes milliseconds. The thread is started at the first one. */
export function openComputePool(): ComputePool {
  const pool = new Piscina({
    filename: entryOf("compute"),
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: 60_000,
    maxQueue: MAX_WAITING_SIGNATURES,
  });
  // Each failed task rejects its own promise; without a listener an idle thread's end would end the process.
  pool.on("error", () => {});
  return {
    recover: (message, signature) => pool.run({ message, signature }),
    close: () => pool.close(),
  };
}
