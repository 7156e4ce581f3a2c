import { Check, Errors } from "../packages/typebox.ts";
import { ConfigError } from "./error.ts";
import { readJson } from "./json-file.ts";
import {
  environmentName,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  type SettingSchema,
  schemaOf,
} from "./settings.ts";

/** Read by the client commands. They may be set where an exchange is started, too. */
const CLIENT_VARIABLES: ReadonlySet<string> = new Set([
  ...["PERPD_URL", "PERPD_TOKEN", "PERPD_API_KEY", "PERPD_SECRET", "PERPD_WALLET_KEY"],
]);

/** The values of one source, by setting. Each is valid by itself; they are not yet checked against each other. */
export type Values = Map<SettingName, unknown>;

const CONFIG_FLAG = "config";
const CONFIG_VARIABLE = "PERPD_CONFIG";
/** The same as `--no-bots`. */
const NO_BOTS_VARIABLE = "PERPD_NO_BOTS";

/** Parses flags such as `--port 8080`, `--port=8080`, `--serve-reads` (on) and `--no-bots`. Throws ConfigError. */
export function readFlags(args: readonly string[]): { values: Values; configFile: string | null } {
  const values: Values = new Map();
  let configFile: string | null = null;
  for (let i = 0; i < args.length; i++) {
    const argument = args[i];
    if (!argument.startsWith("--")) throw new ConfigError(`"${argument}" is not a flag; ${validFlags()}`);
    const equals = argument.indexOf("=");
    const flag = equals < 0 ? argument.slice(2) : argument.slice(2, equals);
    const attached = equals < 0 ? null : argument.slice(equals + 1);
    const takeValue = (): string => {
      const value = attached ?? args[++i];
      if (value === undefined || (attached === null && value.startsWith("--")))
        throw new ConfigError(`--${flag} needs a value`);
      return value;
    };
    if (flag === CONFIG_FLAG) {
      if (configFile !== null) throw new ConfigError(`--${flag} is given twice; give it once`);
      configFile = takeValue();
      continue;
    }
    const name = settingOfFlag(flag);
    if (name === null) throw new ConfigError(`unknown flag --${flag}; ${validFlags()}`);
    if (values.has(name)) throw new ConfigError(`--${flag} is given twice; give it once`);
    if (name === "bots") {
      if (attached !== null) throw new ConfigError(`--${flag} takes no value`);
      values.set(name, flag === "bots");
    } else {
      const isBare = attached === null && (args[i + 1] ?? "--").startsWith("--");
      const isSwitch = name !== null && schemaOf(name).type === "boolean";
      values.set(name, isSwitch && isBare ? true : parseText(name, takeValue(), `--${flag}`));
    }
  }
  return { values, configFile };
}

/** Reads the variables that begin with PERPD_. An empty one counts as not set. Throws ConfigError for an unknown one. */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): {
  values: Values;
  configFile: string | null;
} {
  const settings = new Map(SETTING_NAMES.filter(inEnvironment).map((name) => [environmentName(name), name]));
  const values: Values = new Map();
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith("PERPD_") || variable === CONFIG_VARIABLE || CLIENT_VARIABLES.has(variable)) continue;
    const name = variable === NO_BOTS_VARIABLE ? "bots" : settings.get(variable);
    if (name === undefined)
      throw new ConfigError(
        `unknown environment variable ${variable}; valid: ${[CONFIG_VARIABLE, NO_BOTS_VARIABLE, ...settings.keys()].join(", ")}`,
      );
    if (text === undefined || text === "") continue;
    if (values.has(name))
      throw new ConfigError(`${environmentName(name)} and ${NO_BOTS_VARIABLE} are both set; set only one of them`);
    const value = parseText(name, text, variable);
    values.set(name, variable === NO_BOTS_VARIABLE ? !value : value);
  }
  return { values, configFile: env[CONFIG_VARIABLE] || null };
}

/** Reads a JSON object of settings by name. Switches may be booleans, or "on" and "off" as on the command line. */
export function readFile(path: string): Values {
  const parsed = readJson(path);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new ConfigError(`${path}: the file must hold a JSON object of settings by name`);
  const values: Values = new Map();
  for (const [key, setting] of Object.entries(parsed)) {
    const name = SETTING_NAMES.find((known) => known === key);
    if (name === undefined) throw new ConfigError(`${path}: unknown key "${key}"; valid: ${SETTING_NAMES.join(", ")}`);
    const value = schemaOf(name).type === "boolean" && typeof setting === "string" ? switchOf(setting) : setting;
    values.set(name, checkValue(name, value ?? setting, `${path}: ${name}`));
  }
  return values;
}

export const inEnvironment = (name: SettingName): boolean => !schemaOf(name).fileOnly;

function settingOfFlag(flag: string): SettingName | null {
  if (flag === "no-bots") return "bots";
  return SETTING_NAMES.find((name) => schemaOf(name).flag === flag) ?? null;
}

function validFlags(): string {
  const flags = SETTING_NAMES.map((name) => schemaOf(name).flag).filter((flag) => flag !== undefined);
  return `valid: ${[CONFIG_FLAG, "no-bots", ...flags].map((flag) => `--${flag}`).join(", ")}`;
}

function parseText(name: SettingName, text: string, source: string): unknown {
  const { type } = schemaOf(name);
  if (type === "integer") return checkValue(name, /^-?[0-9]{1,16}$/.test(text) ? Number(text) : text, source);
  if (type === "boolean") return checkValue(name, switchOf(text) ?? text, source);
  return checkValue(name, text, source);
}

function switchOf(text: string): boolean | null {
  if (text === "on" || text === "true" || text === "1") return true;
  if (text === "off" || text === "false" || text === "0") return false;
  return null;
}

function checkValue(name: SettingName, value: unknown, source: string): unknown {
  if (Check(SETTINGS.properties[name], value)) return value;
  const schema = schemaOf(name);
  if (schema.fileOnly) throw new ConfigError(`${source}${firstFault(name, value)}`);
  const shown = schema.secret ? "the value" : JSON.stringify(value);
  throw new ConfigError(`${source}: ${shown} is not ${expectation(schema)}`);
}

/** Describes the first fault of a value with many parts: `[0].tickSize must be string`. Shows no values: some are secret. */
function firstFault(name: SettingName, value: unknown): string {
  for (const error of Errors(SETTINGS.properties[name], value)[1]) {
    if (error.keyword === "boolean") continue; // additionalProperties says the same better
    const path = error.instancePath.replace(/\/([0-9]+)/g, "[$1]").replace(/\//g, ".");
    const extra = error.keyword === "additionalProperties" ? `: ${error.params.additionalProperties.join(", ")}` : "";
    return `${path} ${error.message}${extra}`;
  }
  return " is not valid";
}

/** A valid value in words. */
function expectation(schema: SettingSchema): string {
  if (schema.expected !== undefined) return schema.expected;
  if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}`;
  if (schema.type === "boolean") return "on or off";
  const multiple = schema.multipleOf === undefined ? "" : `, a multiple of ${schema.multipleOf}`;
  return `a whole number from ${schema.minimum} to ${schema.maximum}${multiple}`;
}
