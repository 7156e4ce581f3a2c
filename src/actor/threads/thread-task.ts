import type { MessagePort } from "node:worker_threads";

/**
 * The task of a thread. Each main function (`*-main.ts`) has a file of its own, so that a thread loads only what it runs.
 * The function posts a message when it is ready, then runs until the exchange stops. An error ends the thread and reaches
 * the host. The host rebuilds an actor thread (see actor-threads.ts). Without one of the other threads the exchange ends.
 */
export interface ThreadTask {
  port: MessagePort;
  control: SharedArrayBuffer;
  doorbell: SharedArrayBuffer;
}
