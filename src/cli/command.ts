import type { PerpdClient, SignMessage } from "../client/client.ts";
import { isOutcomeUnknown, PerpdError } from "../client/error.ts";
import type { Terminal } from "./terminal.ts";

/** An invalid command line: nothing was sent. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Part of the request failed; the results of the rest have been printed. The message has a line for each failure. */
export class PartlyFailedError extends Error {
  override name = "PartlyFailedError";
}

/** Explains to the user why a command failed, one entry per line. */
export function errorLines(error: Error): readonly string[] {
  if (error instanceof PartlyFailedError) return error.message.split("\n");
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

export interface Option {
  /** Placeholder for its value in the help text. An option without one takes no value. */
  argument?: string;
  description: string;
}

export type Values = Readonly<Record<string, string | boolean | undefined>>;

export interface Call {
  client: PerpdClient;
  /** Their number is checked against the command's usage. */
  positionals: readonly string[];
  values: Values;
  terminal: Terminal;
  /** The wallet in the environment, if there is one. */
  signMessage: SignMessage | undefined;
  /** Print the exchange's reply unchanged, as JSON. */
  asJson: boolean;
  /** Prints the reply as JSON or as a text, whichever was asked for. */
  show<T>(reply: T, print: (reply: T) => string): void;
}

export interface Command {
  name: string;
  /** Arguments after the name, without options; `[...]` = optional. Absent when there are none. */
  usage?: string;
  summary: string;
  options?: Readonly<Record<string, Option>>;
  /** True when it needs no account. */
  isPublic?: boolean;
  /** True when it needs an operator's token instead of an account. */
  isForOperators?: boolean;
  run(call: Call): Promise<void>;
}

/** An option's text; undefined when absent. */
export const text = (values: Values, name: string): string | undefined => {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
};

/** An option's whole number, 1 or more; undefined when absent. Throws UsageError. */
export function count(values: Values, name: string): number | undefined {
  const given = text(values, name);
  if (given === undefined) return undefined;
  if (!/^[1-9][0-9]{0,8}$/.test(given)) throw new UsageError(`${name}: "${given}" is not a whole number of 1 or more`);
  return Number(given);
}

/** The word of `words` that `given` equals, ignoring case. Throws UsageError. */
export function oneOf<const W extends string>(what: string, given: string, words: readonly W[]): W {
  const found = words.find((word) => word === given.toUpperCase());
  if (found === undefined) throw new UsageError(`${what}: "${given}" is not one of ${words.join(", ").toLowerCase()}`);
  return found;
}

/** The fields that are not undefined. */
export const defined = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
