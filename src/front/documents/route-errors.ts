import { ERRORS, type ErrorCode, errorsIn, messageOf, type SocketErrorCode, specOf } from "../../wire/error-codes.ts";
import type { ErrorGroup } from "../../wire/errors/error-spec.ts";
import type { Route } from "../routing/route.ts";
import type { Json } from "./schemas.ts";

/** The codes that a route may answer with: its own, and those that follow from what it takes and who may use it. */
export function errorsOf(route: Route): ErrorCode[] {
  const { query, body, access, errors = [] } = route;
  const groups: ErrorGroup[] = ["HTTP", body === undefined ? "NO_BODY" : "BODY"];
  if (access !== "PUBLIC") groups.push(access);
  if (query !== undefined || body !== undefined) groups.push("FIELDS");
  if (query !== undefined && "startTime" in query.properties) groups.push("START_TIME");
  if (query !== undefined && "minSequence" in query.properties) groups.push("READS");
  if (namesSymbol(route)) groups.push("SYMBOL");
  return [...new Set([...errorsIn(...groups), ...errors])];
}

const namesSymbol = ({ path, query, body }: Route): boolean =>
  path.includes(":symbol") || [query, body].some((fields) => fields !== undefined && "symbol" in fields.properties);

export function byStatus(codes: readonly ErrorCode[]): [status: number, codes: ErrorCode[]][] {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERRORS[code];
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return [...groups].sort(([a], [b]) => a - b);
}

/** A table of codes and what they mean, in Markdown. */
export function errorTable(codes: readonly (ErrorCode | SocketErrorCode)[]): string {
  const rows = codes.map((code) => {
    return `| \`${code}\` | ${messageOf(code)}${specOf(code).retryable ? " *Retryable.*" : ""} |`;
  });
  return ["| code | meaning |", "| --- | --- |", ...rows].join("\n");
}

/** An error as a client sees it, for each of these codes: the document's examples refer to them. */
export function errorExamples(codes: Iterable<ErrorCode>): Json {
  return Object.fromEntries(
    [...codes].sort().map((code) => {
      const message = messageOf(code);
      const { retryable = false } = specOf(code);
      const value = { code, message, retryable, requestId: "5f0c8a1b-2s", serverTime: 1_790_000_000_000 };
      return [code, { summary: message, value }];
    }),
  );
}
