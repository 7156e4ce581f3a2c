import type { ErrorBody } from "./types.ts";

export type { ErrorBody } from "./types.ts";

/**
 * A request that failed. When the exchange refused it, nothing was done. With five codes the outcome is unknown:
 * - TIMEOUT: no reply came in time, or the exchange itself waited too long.
 * - INTERNAL: the exchange failed.
 * - NOT_PERPD: something other than the exchange answered.
 * - DISCONNECTED: a stream lost its connection before the reply came.
 * - SIGNATURE_REPLAYED: the exchange had received the same signed request before. A proxy or browser on the way may have sent
 *   it twice.
 */
export class PerpdError extends Error {
  override name = "PerpdError";
  /** The HTTP status; 0 on a WebSocket. */
  readonly status: number;
  /** Stable: compare this, not the message. */
  readonly code: string;
  /** The request field at fault. */
  readonly field: string | undefined;
  /** Figures by name: what was required, what is available, the limit. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** True when the same request may succeed later. */
  readonly retryable: boolean;
  readonly requestId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly serverTime: number | undefined;
  /** How long to wait before repeating the request; undefined when the exchange did not say. */
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
    // A WebSocket has no headers.
    const { retryAfterMs: detailMs } = body.details ?? {};
    this.retryAfterMs = retryAfterMs ?? (typeof detailMs === "number" ? detailMs : undefined);
  }
}

/** The HTTP response of a server that refused the handshake of a WebSocket. */
export interface Rejection {
  statusCode?: number | undefined;
  headers: Record<string, string | string[] | undefined>;
  setEncoding(encoding: "utf8"): AsyncIterable<string>;
}

/**
 * The copy was refused. The first one may have been ours, sent twice on the way, or that of another client of the same key that
 * signed the same request in the same millisecond. Only what may be repeated may be signed again.
 */
export const isSignatureReplay = (error: unknown): boolean =>
  error instanceof PerpdError && error.code === "SIGNATURE_REPLAYED";

/** Codes of errors after which the request may have been carried out. */
export const UNKNOWN_OUTCOMES: ReadonlySet<string> = new Set([
  "TIMEOUT",
  "INTERNAL",
  "NOT_PERPD",
  "DISCONNECTED",
  "SIGNATURE_REPLAYED",
]);
/** Codes of fetch() errors that come before anything was sent. */
const NOT_CONNECTED: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** True when the request may have been carried out although it failed. */
export const isOutcomeUnknown = (error: Error): boolean =>
  error instanceof PerpdError
    ? UNKNOWN_OUTCOMES.has(error.code)
    : !NOT_CONNECTED.has((error.cause as { code?: string } | undefined)?.code);
