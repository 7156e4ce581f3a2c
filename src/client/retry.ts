import { setTimeout as sleep } from "node:timers/promises";
import { isOutcomeUnknown, isSignatureReplay, PerpdError } from "./error.ts";

export interface RetryOptions {
  /** How often a request is sent again that was limited, or got no answer. Default 3; 0 = never. */
  retries?: number;
  /** The longest wait before that; an exchange that asks for more is not waited for. Default 10,000. */
  maxWaitMs?: number;
}

const FIRST_WAIT_MS = 250;

/**
 * Sends requests again that the exchange had no room for or that got no answer: after what `Retry-After` asks
 * for, else after a wait that doubles. Only those of which two do what one does: an order placed twice is two orders. But
 * whatever another client's signature stood in the way of is signed and sent again. That there was no room for the last
 * try says nothing of one that got no answer: then it is that one's error.
 */
export class Retry {
  private readonly retries: number;
  private readonly maxWaitMs: number;

  constructor({ retries = 3, maxWaitMs = 10_000 }: RetryOptions) {
    this.retries = retries;
    this.maxWaitMs = maxWaitMs;
  }

  async run<T>(isRepeatable: boolean, send: () => Promise<T>): Promise<T> {
    let unanswered: Error | undefined;
    for (let tries = 0; ; tries++) {
      try {
        return await send();
      } catch (error) {
        if (error instanceof Error && isOutcomeUnknown(error)) unanswered ??= error;
        const mayRepeat = isSignatureReplay(error) || (isRepeatable && isTransient(error));
        if (!mayRepeat) throw error;
        if (tries >= this.retries) throw unanswered ?? error;
        const asked = error instanceof PerpdError ? error.retryAfterMs : undefined;
        const waitMs = asked ?? jittered(FIRST_WAIT_MS * 2 ** tries);
        if (waitMs > this.maxWaitMs) throw unanswered ?? error;
        await sleep(waitMs);
      }
    }
  }
}

/** Limited, too busy, or behind a proxy that got no answer from it. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** What fetch itself throws is a connection that failed or took too long. */
const isTransient = (error: unknown): boolean =>
  error instanceof PerpdError ? TRANSIENT_STATUSES.has(error.status) : error instanceof Error;

/** Half of it at least: clients that were turned away together do not come back together. */
export const jittered = (waitMs: number): number => waitMs * (0.5 + Math.random() / 2);
