import type { ErrorBody } from "./types.ts";

export type { ErrorBody } from "./types.ts";

/**
 * A request that the exchange refused: nothing was done. What came of it is not known with the codes TIMEOUT and INTERNAL,
 * with NOT_PERPD, where something else has answered in its place, and with DISCONNECTED, of what was on its way when a stream
 * lost its connection; see Stream.
 */
export class PerpdError extends Error {
  override name = "PerpdError";
  /** The HTTP status; 0 on a WebSocket. */
  readonly status: number;
  /** Stable: switch on this, not on the message. */
  readonly code: string;
  /** The part of the request at fault. */
  readonly field: string | undefined;
  /** What was required, what there is, the limit. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** The same request may succeed a moment later. */
  readonly retryable: boolean;
  readonly requestId: string | undefined;
  readonly serverTime: number | undefined;
  /** How long to wait before the same request; undefined when the exchange did not say. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, body: Partial<ErrorBody>, retryAfterMs?: number) {
    const code = body.code ?? "UNKNOWN_ERROR";
    super(`${code}: ${body.message ?? `status ${status}`}`);
    this.status = status;
    this.code = code;
    this.field = body.field;
    this.details = body.details;
    this.retryable = body.retryable ?? false;
    this.requestId = body.requestId;
    this.serverTime = body.serverTime;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Another request with the same key had the same signature: one like it, signed in the same millisecond. Nothing was
 * done, and signed again it is another one.
 */
export const isSignatureReplay = (error: unknown): boolean =>
  error instanceof PerpdError && error.code === "SIGNATURE_REPLAYED";

const UNKNOWN_OUTCOMES: ReadonlySet<string> = new Set(["TIMEOUT", "INTERNAL", "NOT_PERPD", "DISCONNECTED"]);
/** What fetch says of a connection that it could not make. */
const NOT_CONNECTED: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether what was asked for was done is not known. */
export const isOutcomeUnknown = (error: Error): boolean =>
  error instanceof PerpdError
    ? UNKNOWN_OUTCOMES.has(error.code)
    : !NOT_CONNECTED.has((error.cause as NodeJS.ErrnoException | undefined)?.code);
