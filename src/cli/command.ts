import type { PerpdClient } from "../client/client.ts";
import type { Terminal } from "./terminal.ts";

/** An invalid command line: nothing was sent. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Part of the request failed; the results of the rest have been printed. */
export class PartlyFailedError extends Error {
  override name = "PartlyFailedError";
  /** One for each failure. */
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}

export interface Option {
  type: "string" | "boolean";
  /** Placeholder for the value in the help text. */
  argument?: string;
  description: string;
}

export type Values = Readonly<Record<string, string | boolean | undefined>>;

/** The input of a command. */
export interface Call {
  client: PerpdClient;
  /** Their number is checked against the command's usage. */
  positionals: readonly string[];
  values: Values;
  terminal: Terminal;
  /** Print the exchange's reply unchanged, as JSON. */
  asJson: boolean;
}

export interface Command {
  name: string;
  /** Arguments after the name, without options; `[...]` = optional. */
  usage: string;
  summary: string;
  options?: Readonly<Record<string, Option>>;
  /** True when it needs an account. */
  needsCredentials: boolean;
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
