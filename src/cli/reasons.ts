import { isOutcomeUnknown, PerpdError } from "../client/error.ts";
import { PartlyFailedError, UsageError } from "./command.ts";

/** Why a command failed, in lines for the person who gave it. */
export function errorLines(error: Error): readonly string[] {
  if (error instanceof PartlyFailedError) return error.lines;
  if (error instanceof PerpdError) {
    const field = error.field === undefined ? "" : ` (${error.field})`;
    const details = Object.entries(error.details ?? {}).map(([name, value]) => `  ${name}: ${value}`);
    return [`${error.message}${field}`, ...details];
  }
  if (error instanceof UsageError) return [error.message];
  if (!isOfFetch(error)) return [`unexpected: ${error}`];
  // fetch says only that it failed; why is what lies beneath.
  const cause = error.cause instanceof Error ? error.cause : error;
  const why = cause.message || (cause as NodeJS.ErrnoException).code;
  if (!isOutcomeUnknown(error)) return [`the exchange cannot be reached: ${why}`];
  return [`the exchange did not answer, and may have done what was asked: ${why}`];
}

/** A connection that failed is a TypeError with its cause; one that took too long says so by name. Neither is a bug of ours. */
const isOfFetch = (error: Error): boolean =>
  error.name === "TimeoutError" || (error instanceof TypeError && error.cause instanceof Error);
