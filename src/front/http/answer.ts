import type { ApiError } from "../common/errors.ts";

/** The part of pino that the front uses. */
export interface Log {
  error(fields: object, message: string): void;
}

/** The part that names operators and refused attempts. */
export interface OperatorLog extends Log {
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

/** The receiver of a request's result: an HTTP call, or a request on a WebSocket. */
export interface Answer {
  /** It was answered, or the client has gone. */
  readonly done: boolean;
  /** `json`: the result as JSON text. `status`: its HTTP status. */
  reply(status: number, json: string): void;
  refuse(error: ApiError): void;
  /** Answers with an ApiError as it is. Anything else is a bug: it is logged and answered with INTERNAL. */
  fail(thrown: unknown, log: Log): void;
}
