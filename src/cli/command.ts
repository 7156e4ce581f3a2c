import type { PerpdClient } from "../client/client.ts";
import type { Terminal } from "./terminal.ts";

/** A command line that cannot be meant. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Some of what was asked for could not be done, and what could has been printed. */
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
  /** Stands for the value in the help text. */
  argument?: string;
  description: string;
}

export type Values = Readonly<Record<string, string | boolean | undefined>>;

/** What a command runs with. */
export interface Call {
  client: PerpdClient;
  /** As many as the command's usage names. */
  positionals: readonly string[];
  values: Values;
  terminal: Terminal;
  /** Print what the exchange says as it is, as JSON. */
  asJson: boolean;
}

export interface Command {
  name: string;
  /** What follows the name, options left out; `[...]` = may be left out. */
  usage: string;
  summary: string;
  options?: Readonly<Record<string, Option>>;
  /** It is about an account. */
  needsCredentials: boolean;
  run(call: Call): Promise<void>;
}

/** An option's text; undefined when it was not given. */
export const text = (values: Values, name: string): string | undefined => {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
};

/** An option's whole number from 1 on; undefined when it was not given. */
export function count(values: Values, name: string): number | undefined {
  const given = text(values, name);
  if (given === undefined) return undefined;
  if (!/^[1-9][0-9]{0,8}$/.test(given)) throw new UsageError(`${name}: "${given}" is not a whole number from 1 on`);
  return Number(given);
}

/** One of these words, however it is written. */
export function oneOf<const W extends string>(what: string, given: string, words: readonly W[]): W {
  const found = words.find((word) => word === given.toUpperCase());
  if (found === undefined) throw new UsageError(`${what}: "${given}" is none of ${words.join(", ").toLowerCase()}`);
  return found;
}
