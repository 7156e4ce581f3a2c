import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { Doorbell } from "../../wire/ring.ts";
import type { Control } from "../threads/control.ts";
import type { ThreadTask } from "../threads/thread-task.ts";
import { type PinnedThread, pinThread } from "./pools.ts";

export interface Thread {
  readonly pinned: PinnedThread;
  readonly port: MessagePort;
  readonly doorbell: Doorbell;
  /** By an error, or because its task is done. */
  hasEnded: boolean;
}

export interface Spawned {
  readonly thread: Thread;
  /** Resolves with the thread's first message. Rejects when it ends before. */
  ready<R>(): Promise<R>;
  /** Rejects when the thread ends. */
  readonly ended: Promise<never>;
}

/** Starts a thread with one task. `onDeath` runs once, if the task throws or the thread dies. */
export function spawnThread<T extends ThreadTask>(
  entry: string,
  control: Control,
  doorbell: Doorbell,
  rest: Omit<T, keyof ThreadTask>,
  onDeath: (error: Error) => void,
): Spawned {
  const { port1, port2 } = new MessageChannel();
  const task = { ...rest, port: port2, control: control.buffer, doorbell: doorbell.buffer };
  const die = (error: Error): void => {
    if (thread.hasEnded) return;
    thread.hasEnded = true;
    onDeath(error);
  };
  const pinned = pinThread(entry, task, port2, die);
  const thread: Thread = { pinned, port: port1, doorbell, hasEnded: false };
  const first = new Promise((resolve) => port1.once("message", resolve));
  const ended = pinned.done.then(() => {
    thread.hasEnded = true;
    throw new Error(`the ${entry} thread ended before it was ready`);
  });
  pinned.done.catch(die);
  return { thread, ended, ready: <R>() => Promise.race([first, ended]) as Promise<R> };
}

/** Sets the phase, which tells these threads to end, and waits until they have. */
export async function stopThreads(control: Control, phase: number, threads: readonly Thread[]): Promise<void> {
  control.phase = phase;
  for (const thread of threads) thread.doorbell.wake();
  await Promise.all(threads.map((thread) => thread.pinned.done));
  for (const thread of threads) {
    thread.port.close();
    await thread.pinned.close();
  }
}
