import { isOutcomeUnknown, isSignatureReplay, PerpdError } from "./error.ts";

/**
 * The effect of a request that is sent twice:
 * - NEVER: it acts twice, so it is not repeated.
 * - READ: it changes nothing.
 * - KNOWN: the exchange recognises the second, by its clientOrderId or reference, before it checks anything else. A cancel
 *   counts as one: if the second is refused, the order is not open. So a refusal is true of both.
 * - STATE: the state is as after one. But the second may be refused because of what the first did.
 */
export type Repetition = "NEVER" | "READ" | "KNOWN" | "STATE";

export interface RetryOptions {
  /** How often a request is retried that was limited or got no response. Default 3; 0 = never. */
  retries?: number | undefined;
  /**
   * The longest wait between tries, in milliseconds. When `Retry-After` asks for more, the request fails. Default
   * 10,000.
   */
  maxWaitMs?: number;
}

const FIRST_WAIT_MS = 250;
/** Between two rounds of all addresses: the first wait, and the longest. */
const FIRST_ROUND_MS = 50;
const MAX_ROUND_MS = 250;
/** About ten seconds. A standby needs two to take over. */
const MAX_MOVES = 120;

/**
 * Retries requests that the exchange limited or did not answer: after `Retry-After`, or after a wait that doubles.
 * Only repeatable requests are retried, since an order placed twice is two orders. The exceptions were not executed:
 * NOT_LEADER, NOT_READY, and with several addresses a failed connection. They are signed and sent again. When one try got no
 * response and a later one was refused, the caller gets the first error: its outcome is unknown. Only if the refusal is true
 * of the first try, too, the caller gets the refusal.
 */
export class Retry {
  private readonly retries: number;
  private readonly addresses: number;
  private readonly maxMoves: number;
  private readonly maxWaitMs: number;

  /** `addresses`: with several, a request is sent to the next one if one does not answer or does not lead. Default 1. */
  constructor({ retries, maxWaitMs = 10_000, addresses = 1 }: RetryOptions & { addresses?: number }) {
    this.retries = retries ?? 3;
    this.addresses = addresses;
    this.maxMoves = addresses > 1 ? (retries ?? MAX_MOVES) : 0;
    this.maxWaitMs = maxWaitMs;
  }

  async run<T>(repetition: Repetition, send: () => Promise<T>): Promise<T> {
    let unknownOutcome: Error | undefined;
    for (let tries = 0, moves = 0; ; ) {
      try {
        return await send();
      } catch (error) {
        if (error instanceof Error && isOutcomeUnknown(error)) unknownOutcome ??= error;
        const isMove = this.addresses > 1 && (isElsewhere(error) || !(error instanceof PerpdError));
        const isUndone = isElsewhere(error) || (isMove && !isSent(error));
        const mayPass = repetition !== "NEVER" && (isTransient(error) || isSignatureReplay(error));
        if (!isUndone && !mayPass) throw isTrueOfAll(error, repetition) ? error : (unknownOutcome ?? error);
        if (isMove ? moves >= this.maxMoves : tries >= this.retries) throw unknownOutcome ?? error;
        // The next address may have asked for no wait.
        const asked = error instanceof PerpdError && !isMove ? error.retryAfterMs : undefined;
        const nextMs = isMove ? this.waitOfMove(++moves) : FIRST_WAIT_MS * 2 ** tries++;
        const waitMs = asked ?? jittered(nextMs);
        if (waitMs > this.maxWaitMs) throw unknownOutcome ?? error;
        await new Promise((later) => setTimeout(later, waitMs));
      }
    }
  }

  /** The next address is tried at once; after the last one there is a wait. */
  private waitOfMove(move: number): number {
    const round = move / this.addresses;
    return Number.isInteger(round) ? Math.min(FIRST_ROUND_MS * 2 ** (round - 1), MAX_ROUND_MS) : 0;
  }
}

/** Nothing was done: another process leads, or will in a moment. */
const isElsewhere = (error: unknown): boolean => error instanceof PerpdError && LEAVING.has(error.code);

/** Refusals of a process that another one may replace. */
export const LEAVING: ReadonlySet<string> = new Set(["NOT_LEADER", "NOT_READY"]);

/** The address of the process that leads, if the refusal names it. */
export function leaderOf({ details }: PerpdError): string | undefined {
  const leader = details?.leader;
  return typeof leader === "string" ? leader : undefined;
}

/** False if there was no connection. */
const isSent = (error: unknown): boolean => !(error instanceof Error) || isOutcomeUnknown(error);

/**
 * True if the refusal of one try says that no try was carried out. Credentials are checked before a name is recognised, and
 * they may have ended in between. A request that must have the wallet's signature had it in no try.
 */
function isTrueOfAll(error: unknown, repetition: Repetition): boolean {
  if (repetition === "READ" || !(error instanceof PerpdError)) return true;
  if (error.code === "WALLET_SIGNATURE_REQUIRED") return true;
  return repetition === "KNOWN" && error.status !== 401 && error.status !== 403;
}

/** Limited, overloaded, or no response from behind a proxy. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** An error of fetch() itself is a failed connection or a timeout. */
const isTransient = (error: unknown): boolean =>
  error instanceof PerpdError ? TRANSIENT_STATUSES.has(error.status) : error instanceof Error;

/** Between half of `waitMs` and all of it, so that clients that were refused together do not return together. */
export const jittered = (waitMs: number): number => waitMs * (0.5 + Math.random() / 2);
