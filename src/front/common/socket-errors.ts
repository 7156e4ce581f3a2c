import type { TimeMs } from "../../core/base/units.ts";

/** Refusals that only a WebSocket knows, beside those it shares with REST (errors.ts). The socket stays open. */
export const SOCKET_ERRORS = {
  UNKNOWN_OP: "There is no such op.",
  UNKNOWN_CHANNEL: "There is no such channel.",
  TOO_MANY_SUBSCRIPTIONS: "The socket has as many subscriptions as it may.",
  ALREADY_AUTHENTICATED: "The socket acts for another account. Open one for each account.",
} as const;
export type SocketErrorCode = keyof typeof SOCKET_ERRORS;

/** Anything that a client is told of a request that failed. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly field?: string | undefined;
  readonly details?: object | undefined;
  readonly retryable?: boolean | undefined;
}

/** `id`: that of the request. */
export function errorJson(id: string | number | null, problem: Problem, serverTime: TimeMs): string {
  const { code, message, field, details, retryable = false } = problem;
  return JSON.stringify({ op: "error", id, code, message, field, details, retryable, serverTime });
}

/** Why the exchange closes a socket: the code of the close frame and its reason. */
export const CLOSE_RATE_LIMITED = 1008;
/** The client does not read what it is sent. */
export const CLOSE_SLOW_CONSUMER = 1013;
/** The session ended or expired, or the API key was revoked: log in again. */
export const CLOSE_CREDENTIAL_ENDED = 4401;

/** An answer other than success, thrown like an ApiError. */
export class SocketRefusal {
  readonly code: SocketErrorCode;
  readonly message: string;
  readonly field: string | undefined;
  readonly retryable = false;

  constructor(code: SocketErrorCode, field?: string, message: string = SOCKET_ERRORS[code]) {
    this.code = code;
    this.message = message;
    this.field = field;
  }
}
