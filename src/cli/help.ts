import type { Command, Option } from "./command.ts";

export const DEFAULT_URL = "http://127.0.0.1:8080/v1";

/** What every command takes. */
export const GLOBAL_OPTIONS: Readonly<Record<string, Option>> = {
  url: { type: "string", argument: "URL", description: `of the exchange (PERPD_URL; default ${DEFAULT_URL})` },
  token: { type: "string", argument: "TOKEN", description: "of a session (PERPD_TOKEN)" },
  "api-key": { type: "string", argument: "KEY", description: "in its place (PERPD_API_KEY)" },
  secret: { type: "string", argument: "SECRET", description: "of the API key (PERPD_SECRET)" },
  json: { type: "boolean", description: "print what the exchange says as JSON" },
  help: { type: "boolean", description: "explain the command" },
};

/** The part of `perpd help` for those who trade. */
export function commandsHelp(commands: readonly Command[]): string {
  const rows = commands.map(({ name, usage, summary }) => [`${name} ${usage}`.trimEnd(), summary] as const);
  return `Trading on an exchange that runs (perpd help COMMAND says more):
${columns(rows, "  perpd ")}

Each takes:
${columns(optionRows(GLOBAL_OPTIONS), "  ")}

Exit code 0: done; 1: refused, or not reached; 2: not a command that could be meant, nothing was sent.
A token or secret on a command line can be seen by other users of the machine: in the environment it cannot.
`;
}

export function commandHelp({ name, usage, summary, options = {} }: Command): string {
  const own = Object.keys(options).length === 0 ? "" : `${columns(optionRows(options), "  ")}\n`;
  const all = `${own}${columns(optionRows(GLOBAL_OPTIONS), "  ")}`;
  return [`usage: perpd ${name} ${usage}`.trimEnd(), summary, all].join("\n\n");
}

const optionRows = (options: Readonly<Record<string, Option>>): [string, string][] =>
  Object.entries(options).map(([name, { argument, description }]) => [
    argument === undefined ? `--${name}` : `--${name} ${argument}`,
    description,
  ]);

function columns(rows: readonly (readonly [string, string])[], indent: string): string {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `${indent}${first.padEnd(width)}  ${second}`).join("\n");
}
