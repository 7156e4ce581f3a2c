import { ERRORS, type ErrorCode, type ErrorSpec } from "../common/errors.ts";
import { SOCKET_ERRORS, type SocketErrorCode } from "../common/socket-errors.ts";
import type { Route } from "../routing/router.ts";
import type { Json } from "./schemas.ts";

/** Any request may be answered with these, whatever it asks for. */
export const GENERAL: readonly ErrorCode[] = [
  "BAD_REQUEST",
  "BAD_ENCODING",
  "BAD_QUERY",
  "UNKNOWN_FIELD",
  "DUPLICATE_FIELD",
  "REQUEST_TIMEOUT",
  "BODY_TOO_LARGE",
  "RATE_LIMITED",
  "INTERNAL",
  "OVERLOADED",
  "STORAGE_FULL",
  "UNAVAILABLE",
  "NOT_READY",
  "TIMEOUT",
];

/** Of no endpoint: there is none at that path, or it answers to another method. */
export const ELSEWHERE: readonly ErrorCode[] = ["NOT_FOUND", "METHOD_NOT_ALLOWED"];

/** The codes that a route may answer with: its own, and those that follow from what it takes and who may use it. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>([...GENERAL, ...(route.errors ?? [])]);
  const add = (...more: ErrorCode[]) => more.forEach((code) => void codes.add(code));
  if (route.query !== undefined || route.body !== undefined) add("MISSING_FIELD", "BAD_TYPE", "BAD_VALUE");
  // From a time that lies behind the one up to which.
  if (route.query !== undefined && "startTime" in route.query.properties) add("BAD_COMBINATION");
  if (route.body === undefined) add("UNEXPECTED_BODY");
  else add("BAD_JSON", "BAD_NUMBER");
  switch (route.access) {
    case "PUBLIC":
      break;
    case "OPERATOR":
      add("OPERATOR_REQUIRED");
      break;
    case "SESSION":
      add("UNAUTHENTICATED", "INVALID_TOKEN", "SESSION_REQUIRED");
      break;
    case "TRADE":
    case "WITHDRAW":
      add("SIGNATURE_REPLAYED", ...KEY_ERRORS);
      break;
    default:
      add(...KEY_ERRORS);
  }
  return [...codes];
}

const KEY_ERRORS: readonly ErrorCode[] = [
  "UNAUTHENTICATED",
  "INVALID_TOKEN",
  "INVALID_KEY_OR_SIGNATURE",
  "KEY_EXPIRED",
  "TIMESTAMP_OUT_OF_WINDOW",
  "PERMISSION_DENIED",
  "IP_NOT_ALLOWED",
  "BAD_VALUE",
];

export function byStatus(codes: readonly ErrorCode[]): [status: number, codes: ErrorCode[]][] {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERRORS[code];
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return [...groups].sort(([a], [b]) => a - b);
}

/** What is said of a code of a REST answer or of a WebSocket's. */
export const specOf = (code: ErrorCode | SocketErrorCode): ErrorSpec | { message: string; retryable?: boolean } =>
  code in ERRORS ? ERRORS[code as ErrorCode] : { message: SOCKET_ERRORS[code as SocketErrorCode] };

/** A table of codes and what they mean, in Markdown. */
export function errorTable(codes: readonly (ErrorCode | SocketErrorCode)[]): string {
  const rows = codes.map((code) => {
    const { message, retryable = false } = specOf(code);
    return `| \`${code}\` | ${message}${retryable ? " *Retryable.*" : ""} |`;
  });
  return ["| code | meaning |", "| --- | --- |", ...rows].join("\n");
}

/** An error as a client sees it, for each code: the document's examples refer to these. */
export function errorExamples(): Json {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  return Object.fromEntries(
    codes.map((code) => {
      const { message, retryable = false } = specOf(code);
      const value = { code, message, retryable, requestId: "5f0c8a1b-2s", serverTime: 1_790_000_000_000 };
      return [code, { summary: message, value }];
    }),
  );
}
