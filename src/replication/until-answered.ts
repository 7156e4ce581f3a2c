import { setTimeout as sleep } from "node:timers/promises";
import { UnknownOutcomeError } from "./stream.ts";

const RETRY_MS = 20;
const MAX_RETRY_MS = 1000;
/** A server's replica that lags behind may not answer the first reads. That is not worth a word. */
const QUIET_RETRY_MS = 200;

/** Repeats the work at a start while no server answers: it may start at the same time, or another one must be asked for. */
export async function untilAnswered<T>(work: () => Promise<T>, onSilence: (reason: string) => void): Promise<T> {
  for (let retryMs = RETRY_MS; ; retryMs = Math.min(2 * retryMs, MAX_RETRY_MS))
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnknownOutcomeError)) throw error;
      if (retryMs > QUIET_RETRY_MS) onSilence(error.message);
      await sleep(retryMs);
    }
}
