import { parseArgs } from "node:util";
import { PerpdClient } from "../client/client.ts";
import { balance, deposit, fills, ledger, marginCall, orders, positionHistory, positions } from "./account.ts";
import { type Command, errorLines, UsageError, type Values } from "./command.ts";
import { commandHelp, DEFAULT_URL, GLOBAL_OPTIONS } from "./help.ts";
import { book, markets } from "./market.ts";
import { stepDown } from "./step-down.ts";
import { stream } from "./stream.ts";
import { DONE, type Environment, FAILED, MISUSED, openTerminal } from "./terminal.ts";
import { amend, cancel, close, leverage, margin, maxSize, order } from "./trading.ts";
import { walletOf } from "./wallet.ts";
import { addresses, createKey, withdraw } from "./withdrawals.ts";

/** Commands for trading on a running exchange. */
export const COMMANDS: readonly Command[] = [
  markets,
  book,
  balance,
  marginCall,
  positions,
  positionHistory,
  orders,
  fills,
  ledger,
  order,
  maxSize,
  amend,
  cancel,
  close,
  leverage,
  margin,
  deposit,
  withdraw,
  addresses,
  createKey,
  stream,
  stepDown,
];

export const findCommand = (name: string | undefined): Command | undefined =>
  COMMANDS.find((command) => command.name === name);

/** Runs a command with the arguments after its name. Prints errors to the terminal and resolves with the exit code. */
export async function runCommand(command: Command, args: readonly string[], env: Environment): Promise<number> {
  const terminal = openTerminal(env);
  try {
    const { positionals, values } = parse(command, args);
    if (values.help === true) terminal.print(commandHelp(command));
    else {
      const client = clientOf(command, values, env);
      const signMessage = walletOf(env);
      const asJson = values.json === true;
      const show = <T>(reply: T, print: (reply: T) => string) =>
        terminal.print(asJson ? JSON.stringify(reply) : print(reply));
      await command.run({ client, positionals, values, terminal, signMessage, asJson, show });
    }
    return DONE;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    for (const line of errorLines(error)) terminal.printError(line);
    if (!(error instanceof UsageError)) return FAILED;
    terminal.printError(`usage: perpd ${command.name} ${command.usage ?? ""}`.trimEnd());
    return MISUSED;
  }
}

function parse(command: Command, args: readonly string[]): { positionals: string[]; values: Values } {
  const options = { ...GLOBAL_OPTIONS, ...command.options };
  const types: Record<string, { type: "string" | "boolean" }> = {};
  for (const name in options) types[name] = { type: options[name]?.argument === undefined ? "boolean" : "string" };
  const parsed = (() => {
    try {
      return parseArgs({ args: [...args], options: types, allowPositionals: true });
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  })();
  const { positionals } = parsed;
  const values = parsed.values as Values;
  if (values.help !== true) checkCount(command, positionals.length);
  return { positionals, values };
}

/** Checks the number of arguments against `usage`. */
function checkCount({ name, usage = "" }: Command, given: number): void {
  const words = usage === "" ? [] : usage.replace(/\[[^\]]*\]/g, (part) => part.replaceAll(" ", "")).split(" ");
  const needed = words.filter((word) => !word.startsWith("[")).length;
  const most = usage.includes("...") ? Number.POSITIVE_INFINITY : words.length;
  if (given < needed || given > most) throw new UsageError(`${name} takes ${usage === "" ? "no arguments" : usage}`);
}

function clientOf(
  { name, isPublic = false, isForOperators = false }: Command,
  values: Values,
  env: Environment,
): PerpdClient {
  const setting = (option: string, variable: string): string | undefined => {
    const given = values[option];
    return typeof given === "string" ? given : env[variable] || undefined;
  };
  const token = setting("token", isForOperators ? "PERPD_OPERATOR_TOKEN" : "PERPD_TOKEN");
  if (isForOperators && token === undefined)
    throw new UsageError(`${name} needs an operator: set PERPD_OPERATOR_TOKEN`);
  const apiKey = setting("api-key", "PERPD_API_KEY");
  const secret = setting("secret", "PERPD_SECRET");
  if ((apiKey === undefined) !== (secret === undefined))
    throw new UsageError("set both PERPD_API_KEY and PERPD_SECRET, or neither");
  if (!isPublic && token === undefined && apiKey === undefined)
    throw new UsageError(`${name} needs an account: set PERPD_TOKEN, or PERPD_API_KEY and PERPD_SECRET`);
  // Checked here, since the error of fetch() would contain the secret.
  for (const [what, value] of Object.entries({ token, "API key": apiKey, secret }))
    if (value !== undefined && !/^[\x21-\x7e]+$/.test(value))
      throw new UsageError(`the ${what} must be printable ASCII without spaces`);
  return new PerpdClient({
    baseUrl: baseUrlOf(setting("url", "PERPD_URL") ?? DEFAULT_URL),
    ...(token !== undefined && { token }),
    ...(apiKey !== undefined && secret !== undefined && { apiKey, secret }),
  });
}

/** Accepts the URL with or without the API's path. The error does not repeat text that may be a password. */
function baseUrlOf(given: string): string {
  const shown = /[@?#]/.test(given) ? "the given URL" : `"${given}"`;
  if (!/^https?:\/\/[^/]/.test(given) || !URL.canParse(given))
    throw new UsageError(`${shown} is not valid: an example is ${DEFAULT_URL}`);
  const { origin, pathname, username, password, search, hash } = new URL(given);
  if (username + password + search + hash !== "")
    throw new UsageError(`the exchange's URL must not have a user, query or fragment; an example is ${DEFAULT_URL}`);
  return pathname === "/" ? `${origin}/v1` : origin + pathname.replace(/\/+$/, "");
}
