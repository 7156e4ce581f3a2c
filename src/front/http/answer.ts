import type { ApiError } from "../common/errors.ts";
import type { Log } from "./call.ts";

/** Whoever waits for the result of a request: an HTTP call, or a request on a WebSocket. */
export interface Answer {
  /** Answered, or nobody is there to be answered. */
  readonly done: boolean;
  /** The result as JSON text, with the HTTP status that says what it is. */
  reply(status: number, json: string): void;
  refuse(error: ApiError): void;
  /** For whatever a handler threw: an ApiError is the answer, anything else is a bug that is logged. */
  fail(thrown: unknown, log: Log): void;
}
