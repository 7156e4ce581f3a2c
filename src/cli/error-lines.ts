import { isOutcomeUnknown, PerpdError } from "../client/error.ts";
import { PartlyFailedError, UsageError } from "./command.ts";

/** Explains to the user why a command failed, one entry per line. */
export function errorLines(error: Error): readonly string[] {
  if (error instanceof PartlyFailedError) return error.lines;
  if (error instanceof PerpdError) {
    const field = error.field === undefined ? "" : ` (${error.field})`;
    const details = Object.entries(error.details ?? {}).map(([name, value]) => `  ${name}: ${value}`);
    return [`${error.message}${field}`, ...details];
  }
  if (error instanceof UsageError) return [error.message];
  if (!isOfFetch(error)) return [`unexpected: ${error}`];
  // fetch() hides the reason in `cause`.
  const cause = error.cause instanceof Error ? error.cause : error;
  const why = cause.message || (cause as NodeJS.ErrnoException).code;
  if (!isOutcomeUnknown(error)) return [`the exchange cannot be reached: ${why}`];
  return [`the exchange did not answer and may have carried out the request: ${why}`];
}

/** fetch() reports a failed connection as a TypeError with a cause, and a timeout as TimeoutError. */
const isOfFetch = (error: Error): boolean =>
  error.name === "TimeoutError" || (error instanceof TypeError && error.cause instanceof Error);
