import { helpText } from "./config/help.ts";
import { SETTING_NAMES, type Settings, schemaOf } from "./config/settings.ts";
import { ConfigError, readEnvironment, readFile, readFlags } from "./config/sources.ts";
import { compileInstrument } from "./core/instrument.ts";
import { parseQuanta, type Quanta } from "./core/units.ts";

export { ConfigError } from "./config/sources.ts";

/** The settings of one run, checked one by one and against each other. Plain data: it can be sent to a thread. */
export interface Config extends Readonly<Omit<Settings, "faucetCap">> {
  /** What the faucet credits per account and day at most. */
  readonly faucetCapQuanta: Quanta;
}

/** What the command line asks for. `warnings` are for the log: settings that work, but hardly as meant. */
export type Invocation =
  | { kind: "start"; config: Config; warnings: string[] }
  | { kind: "help"; text: string }
  | { kind: "version" };

/**
 * Reads the command line (`process.argv.slice(2)`) and the environment, and the configuration file that they name.
 * Defaults < file < environment < flags. Throws ConfigError with a message for the user.
 */
export function loadConfig(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): Invocation {
  const [command, ...args] = argv;
  if (command === undefined || command === "help" || argv.includes("--help") || argv.includes("-h"))
    return { kind: "help", text: helpText() };
  if (command === "version" || argv.includes("--version")) return { kind: "version" };
  if (command !== "start") throw new ConfigError(`unknown command "${command}"; valid: start, help, version`);
  const flags = readFlags(args);
  const environment = readEnvironment(env);
  const file = flags.configFile ?? environment.configFile;
  const settings = Object.fromEntries([
    ...SETTING_NAMES.map((name) => [name, schemaOf(name).default]),
    ...(file === null ? [] : readFile(file)),
    ...environment.values,
    ...flags.values,
  ]) as Settings;
  return { kind: "start", ...relate(settings) };
}

/** Checks how settings relate, and derives what follows from them. */
function relate(settings: Settings): { config: Config; warnings: string[] } {
  const warnings: string[] = [];
  const { faucetCap, ...rest } = settings;
  const config: Config = { ...rest, faucetCapQuanta: parseQuanta(faucetCap) };
  if (Number.isNaN(config.faucetCapQuanta))
    throw new ConfigError(`faucetCap: ${faucetCap} is finer than 0.000001 USDC or too large`);
  if ((config.ringBytes & (config.ringBytes - 1)) !== 0)
    throw new ConfigError(`ringBytes: ${config.ringBytes} is not a power of two`);
  checkInstruments(config);
  if (config.priceSource === "operator" && config.operatorToken === "")
    warnings.push("price source operator without an operator token: nobody can give an index price");
  const actors = config.instruments.length + 1;
  if (config.workers > actors) {
    warnings.push(`workers: ${config.workers} is more than there are actors; using ${actors}`);
    return { config: { ...config, workers: actors }, warnings };
  }
  return { config, warnings };
}

function checkInstruments(config: Config): void {
  const ids = new Set<number>();
  const symbols = new Set<string>();
  for (const instrument of config.instruments) {
    const { id, symbol } = instrument;
    if (ids.has(id)) throw new ConfigError(`instruments: the id ${id} (${symbol}) is used twice`);
    if (symbols.has(symbol)) throw new ConfigError(`instruments: the symbol ${symbol} is used twice`);
    ids.add(id);
    symbols.add(symbol);
    const compiled = compile(instrument);
    if (compiled.minQuantityLots > compiled.maxQuantityLots)
      throw new ConfigError(`instruments: ${symbol}.minQuantity is above maxQuantity`);
  }
}

function compile(instrument: Config["instruments"][number]) {
  try {
    return compileInstrument(instrument);
  } catch (error) {
    throw new ConfigError(`instruments: ${(error as Error).message}`);
  }
}
