import { alignColumns } from "../config/columns.ts";
import type { Command, Option } from "./command.ts";

export const DEFAULT_URL = "http://127.0.0.1:8080/v1";

/** Options of every command. */
export const GLOBAL_OPTIONS: Readonly<Record<string, Option>> = {
  url: { argument: "URL", description: `of the exchange (PERPD_URL; default ${DEFAULT_URL})` },
  token: { argument: "TOKEN", description: "of a session (PERPD_TOKEN)" },
  "api-key": { argument: "KEY", description: "instead of a token (PERPD_API_KEY)" },
  secret: { argument: "SECRET", description: "of the API key (PERPD_SECRET)" },
  json: { description: "print the exchange's reply as JSON" },
  help: { description: "explain the command" },
};

/** The trading part of `perpd help`. */
export function commandsHelp(commands: readonly Command[]): string {
  const rows = commands.map(({ name, usage = "", summary }) => [`${name} ${usage}`.trimEnd(), summary] as const);
  return `Commands for trading on a running exchange (perpd help COMMAND explains one):
${alignColumns(rows, "  perpd ")}

Options of every command:
${alignColumns(optionRows(GLOBAL_OPTIONS), "  ")}

Exit code 0: done; 1: refused, or the exchange could not be reached; 2: invalid command, nothing was sent.
Other users of the machine can see a token or secret on the command line: pass it in the environment.
`;
}

export function commandHelp({ name, usage = "", summary, options = {} }: Command): string {
  const commandOptions = Object.keys(options).length === 0 ? "" : `${alignColumns(optionRows(options), "  ")}\n`;
  const all = `${commandOptions}${alignColumns(optionRows(GLOBAL_OPTIONS), "  ")}`;
  return [`usage: perpd ${name} ${usage}`.trimEnd(), summary, all].join("\n\n");
}

const optionRows = (options: Readonly<Record<string, Option>>): [string, string][] =>
  Object.entries(options).map(([name, { argument, description }]) => [
    argument === undefined ? `--${name}` : `--${name} ${argument}`,
    description,
  ]);
