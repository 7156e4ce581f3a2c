import type { TimeMs } from "../../core/base/units.ts";
import { messageOf, type SocketErrorCode } from "../../wire/error-codes.ts";

/** The part of an error that a WebSocket client reads. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly field?: string | undefined;
  readonly details?: object | undefined;
  readonly retryable?: boolean | undefined;
}

/** The id of a client's request; null when it has none. */
export type RequestId = string | number | null;

/** JSON of an error answer on a WebSocket. `id`: the request's. */
export function errorJson(id: RequestId, problem: Problem, serverTime: TimeMs): string {
  const { code, message, field, details, retryable = false } = problem;
  return JSON.stringify({ op: "error", id, code, message, field, details, retryable, serverTime });
}

// Codes of the close frames with which the exchange closes a socket.
/** The process stops, or cannot go on with what it has sent so far: connect again. */
export const CLOSE_GOING_AWAY = 1001;
export const CLOSE_RATE_LIMITED = 1008;
/** The client does not read its messages fast enough. */
export const CLOSE_SLOW_CONSUMER = 1013;
/** The session ended or expired, or the API key was revoked: log in again. */
export const CLOSE_CREDENTIAL_ENDED = 4401;

/** An error that only a WebSocket knows. It is thrown like an ApiError, and the socket stays open. */
export class SocketRefusal {
  readonly code: SocketErrorCode;
  readonly message: string;
  readonly field: string | undefined;
  readonly retryable = false;

  constructor(code: SocketErrorCode, field?: string, message: string = messageOf(code)) {
    this.code = code;
    this.message = message;
    this.field = field;
  }
}
