import { isOutcomeUnknown, isSignatureReplay, PerpdError } from "./error.ts";

export interface RetryOptions {
  /** How often a request is retried that was limited or got no response. Default 3; 0 = never. */
  retries?: number;
  /**
   * The longest wait between tries, in milliseconds. When `Retry-After` asks for more, the request fails. Default
   * 10,000.
   */
  maxWaitMs?: number;
}

const FIRST_WAIT_MS = 250;

/**
 * Retries requests that the exchange limited or did not answer: after `Retry-After`, or after a wait that doubles.
 * Only repeatable requests are retried, since an order placed twice is two orders. The exception is a refused signature
 * that another client used first: that request was not executed, so it is signed and sent again. When one try got no
 * response and a later one was refused, the caller gets the first error: its outcome is unknown.
 */
export class Retry {
  private readonly retries: number;
  private readonly maxWaitMs: number;

  constructor({ retries = 3, maxWaitMs = 10_000 }: RetryOptions) {
    this.retries = retries;
    this.maxWaitMs = maxWaitMs;
  }

  async run<T>(isRepeatable: boolean, send: () => Promise<T>): Promise<T> {
    let unknownOutcome: Error | undefined;
    for (let tries = 0; ; tries++) {
      try {
        return await send();
      } catch (error) {
        if (error instanceof Error && isOutcomeUnknown(error)) unknownOutcome ??= error;
        const mayRepeat = isSignatureReplay(error) || (isRepeatable && isTransient(error));
        if (!mayRepeat) throw error;
        if (tries >= this.retries) throw unknownOutcome ?? error;
        const asked = error instanceof PerpdError ? error.retryAfterMs : undefined;
        const waitMs = asked ?? jittered(FIRST_WAIT_MS * 2 ** tries);
        if (waitMs > this.maxWaitMs) throw unknownOutcome ?? error;
        await new Promise((later) => setTimeout(later, waitMs));
      }
    }
  }
}

/** Limited, overloaded, or no response from behind a proxy. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** An error of fetch() itself is a failed connection or a timeout. */
const isTransient = (error: unknown): boolean =>
  error instanceof PerpdError ? TRANSIENT_STATUSES.has(error.status) : error instanceof Error;

/** Between half of `waitMs` and all of it, so that clients that were refused together do not return together. */
export const jittered = (waitMs: number): number => waitMs * (0.5 + Math.random() / 2);
