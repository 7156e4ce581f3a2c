import { ENGINE_ERRORS } from "./errors/engine-errors.ts";
import type { ErrorGroup, ErrorSpec } from "./errors/error-spec.ts";
import { GATEWAY_ERRORS } from "./errors/gateway-errors.ts";

/** The codes that a WebSocket and REST share. */
export const ERRORS = { ...ENGINE_ERRORS, ...GATEWAY_ERRORS };
export type ErrorCode = keyof typeof ERRORS;

/** The codes of WebSockets alone, which have no HTTP status. The socket stays open. */
export const SOCKET_ERRORS = {
  UNKNOWN_OP: {
    problem: "There is no such op.",
    remedy: "Use an op that GET /v1/asyncapi.json lists.",
    groups: [],
  },
  UNKNOWN_CHANNEL: {
    problem: "There is no such channel.",
    remedy: "Use a channel that GET /v1/asyncapi.json lists.",
    groups: ["SUBSCRIBE", "UNSUBSCRIBE"],
  },
  TOO_MANY_SUBSCRIPTIONS: {
    problem: "The socket already has the maximum number of subscriptions.",
    remedy: "Unsubscribe from a channel first, or open another socket.",
    groups: ["SUBSCRIBE"],
  },
  ALREADY_AUTHENTICATED: {
    problem: "The socket acts for another account.",
    remedy: "Open one socket for each account.",
    groups: ["SOCKET_AUTH"],
  },
} satisfies Record<string, Omit<ErrorSpec, "status">>;
export type SocketErrorCode = keyof typeof SOCKET_ERRORS;

/** The declaration of a code. Only those of ERRORS have a status. */
export const specOf = (code: ErrorCode | SocketErrorCode): Omit<ErrorSpec, "status"> =>
  code in ERRORS ? ERRORS[code as ErrorCode] : SOCKET_ERRORS[code as SocketErrorCode];

/** The message that a client reads: the problem and the remedy. */
export function messageOf(code: ErrorCode | SocketErrorCode): string {
  const { problem, remedy } = specOf(code);
  return `${problem} ${remedy}`;
}

/** The codes of any of these groups, without those of WebSockets alone. */
export const errorsIn = (...groups: ErrorGroup[]): ErrorCode[] => codesIn(ERRORS, groups);

/** The same with the codes of WebSockets alone. */
export const socketErrorsIn = (...groups: ErrorGroup[]): (ErrorCode | SocketErrorCode)[] => [
  ...codesIn(ERRORS, groups),
  ...codesIn(SOCKET_ERRORS, groups),
];

function codesIn<C extends string>(
  table: Readonly<Record<C, Pick<ErrorSpec, "groups">>>,
  groups: readonly ErrorGroup[],
): C[] {
  const codes = Object.keys(table) as C[];
  return codes.filter((code) => table[code].groups.some((group) => groups.includes(group)));
}

/** The codes of one item in the answer to a batch. A request that is wrong in itself refuses the whole batch instead. */
export const BATCH_ITEM_ERRORS = errorsIn("PLACE", "AMEND", "CANCEL", "BATCH_ITEM").filter(
  (code) => code in ENGINE_ERRORS,
);
