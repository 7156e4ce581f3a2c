import { ConfigError } from "./config/error.ts";
import { helpText } from "./config/help.ts";
import { SETTING_NAMES, type Settings, schemaOf } from "./config/settings.ts";
import { readEnvironment, readFile, readFlags } from "./config/sources.ts";
import { parseQuanta, type Quanta } from "./core/base/units.ts";
import { maxOrdersPerAccount } from "./core/commands/attached-orders.ts";
import { compileInstrument, type Instrument } from "./core/protocol/instrument.ts";

export { ConfigError } from "./config/error.ts";

/** The settings of one run, checked one by one and against each other. Plain data: it can be sent to a thread. */
export interface Config extends Readonly<Omit<Settings, "faucetCap" | "insuranceSeed">> {
  /** What the faucet credits per account and day at most. */
  readonly faucetCapQuanta: Quanta;
  /** What the faucet gives the insurance fund at the first start; never above its cap. */
  readonly insuranceSeedQuanta: Quanta;
}

/**
 * What the command line asks for. `config.data` is the exchange's folder: the one to verify, to back up, to restore to.
 * `warnings` are for the log: settings that work, but hardly as meant.
 */
export type Invocation =
  | { kind: "start"; config: Config; warnings: string[] }
  | { kind: "verify"; config: Config }
  | { kind: "backup"; config: Config; target: string }
  | { kind: "restore"; config: Config; backup: string }
  | { kind: "help"; text: string }
  | { kind: "version" };

/** Unless told otherwise: a machine gives a price every second, a person when there is time. */
const MAX_INDEX_AGE_MS = { simulated: 10_000, feed: 10_000, operator: 600_000 } as const;

/** How often there is a simulated index price. */
const SIMULATED_PACE_MS = 1000;

/** All orders of an account are canceled in one turn, which is one record of a ring; a record takes half of it at most. */
export const BYTES_PER_OPEN_ORDER = 512;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the command line (`process.argv.slice(2)`) and the environment, and the configuration file that they name.
 * Defaults < file < environment < flags. Throws ConfigError with a message for the user.
 */
export function loadConfig(argv: readonly string[], env: Environment): Invocation {
  const [command, ...args] = argv;
  if (command === undefined || command === "help" || argv.includes("--help") || argv.includes("-h"))
    return { kind: "help", text: helpText() };
  if (command === "version" || argv.includes("--version")) return { kind: "version" };
  switch (command) {
    case "start":
      return { kind: "start", ...loadSettings(args, env) };
    case "verify": {
      const [data] = readFolders(args, ["DIR"]);
      return { kind: "verify", config: { ...loadSettings(args.slice(1), env).config, data } };
    }
    case "backup": {
      const [data, target] = readFolders(args, ["DIR", "TARGET"]);
      return { kind: "backup", config: { ...loadSettings(args.slice(2), env).config, data }, target };
    }
    case "restore": {
      const [backup, data] = readFolders(args, ["BACKUP", "DIR"]);
      return { kind: "restore", config: { ...loadSettings(args.slice(2), env).config, data }, backup };
    }
    default:
      throw new ConfigError(
        `unknown command "${command}"; valid: start, verify, backup, restore, help, version, and those that help lists`,
      );
  }
}

/** The folders that a command begins with, in front of its flags. */
function readFolders<const N extends readonly string[]>(args: readonly string[], names: N): { [I in keyof N]: string } {
  const given = args.findIndex((argument) => argument.startsWith("--"));
  const folders = given < 0 ? args : args.slice(0, given);
  if (folders.length !== names.length || folders.includes(""))
    throw new ConfigError(`expected ${names.join(" ")} and then flags, not "${folders.join(" ")}"`);
  if (args.some((argument) => /^--data(=|$)/.test(argument)))
    throw new ConfigError(`--data is for start; this command takes ${names.join(" ")}`);
  return folders as { [I in keyof N]: string };
}

function loadSettings(args: readonly string[], env: Environment): { config: Config; warnings: string[] } {
  const flags = readFlags(args);
  const environment = readEnvironment(env);
  const file = flags.configFile ?? environment.configFile;
  return relate(
    Object.fromEntries([
      ...SETTING_NAMES.map((name) => [name, schemaOf(name).default]),
      ...(file === null ? [] : readFile(file)),
      ...environment.values,
      ...flags.values,
    ]) as Settings,
  );
}

/** Checks how settings relate, and derives what follows from them. */
function relate(settings: Settings): { config: Config; warnings: string[] } {
  const warnings: string[] = [];
  const { faucetCap, insuranceSeed, ...rest } = settings;
  const faucetCapQuanta = quantaOf("faucetCap", faucetCap);
  const insuranceSeedQuanta = Math.min(faucetCapQuanta, quantaOf("insuranceSeed", insuranceSeed));
  const maxIndexAgeMs = rest.maxIndexAgeMs || MAX_INDEX_AGE_MS[rest.priceSource];
  const config: Config = { ...rest, maxIndexAgeMs, faucetCapQuanta, insuranceSeedQuanta };
  if ((config.ringBytes & (config.ringBytes - 1)) !== 0)
    throw new ConfigError(`ringBytes: ${config.ringBytes} is not a power of two`);
  for (const { symbol, maxOpenOrders } of config.instruments)
    if (maxOrdersPerAccount(maxOpenOrders) * BYTES_PER_OPEN_ORDER > config.ringBytes / 2)
      throw new ConfigError(`instruments: ${symbol}.maxOpenOrders is more than ringBytes has room for in one turn`);
  checkInstruments(config);
  if (config.priceSource === "operator" && config.operatorToken === "")
    warnings.push("price source operator without an operator token: nobody can give an index price");
  if (config.priceSource === "feed") checkFeed(config);
  const paceMs = { simulated: SIMULATED_PACE_MS, feed: config.feed.pollMs, operator: 0 }[config.priceSource];
  if (config.maxIndexAgeMs <= paceMs)
    warnings.push(`maxIndexAgeMs: ${config.maxIndexAgeMs} is too little for index prices that come every ${paceMs} ms`);
  const actors = config.instruments.length + 1;
  if (config.workers > actors) {
    warnings.push(`workers: ${config.workers} is more than there are actors; using ${actors}`);
    return { config: { ...config, workers: actors }, warnings };
  }
  return { config, warnings };
}

function quantaOf(name: string, amount: string): Quanta {
  const quanta = parseQuanta(amount);
  if (Number.isNaN(quanta)) throw new ConfigError(`${name}: ${amount} is finer than 0.000001 USDC or too large`);
  return quanta;
}

function checkFeed({ feed, instruments }: Config): void {
  const { sources, minSources, maxAgeMs, pollMs } = feed;
  if (minSources > sources.length)
    throw new ConfigError(`feed: minSources ${minSources} is more than there are sources`);
  if (maxAgeMs < pollMs) throw new ConfigError(`feed: maxAgeMs ${maxAgeMs} is less than pollMs ${pollMs}`);
  const names = sources.map(({ exchange }) => exchange);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new ConfigError(`feed.sources: ${twice} is there twice, and would count as two`);
  for (const { exchange, symbols } of sources)
    for (const symbol of Object.keys(symbols ?? {}))
      if (!instruments.some((instrument) => instrument.symbol === symbol))
        throw new ConfigError(`feed.sources: ${exchange}.symbols names ${symbol}, which is no instrument`);
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
    checkLimits(compile(instrument));
  }
}

/** Refuses limits that together leave no order to open a position with, whatever the price. */
function checkLimits({ symbol, riskTiers, ...limits }: Instrument): void {
  const { minQuantityLots, maxQuantityLots, minNotionalQuanta, maxPriceTicks, quantaPerTickLot } = limits;
  const mostQuanta = Math.max(...riskTiers.map(({ maxNotionalQuanta }) => maxNotionalQuanta));
  const rows: [isImpossible: boolean, why: string][] = [
    [minQuantityLots > maxQuantityLots, "minQuantity is above maxQuantity"],
    [minNotionalQuanta > mostQuanta, "minNotional is above maxNotional of the last risk tier"],
    [
      minNotionalQuanta > maxQuantityLots * maxPriceTicks * quantaPerTickLot,
      "minNotional is above maxQuantity × maxPrice",
    ],
    [
      minQuantityLots * quantaPerTickLot > mostQuanta,
      "minQuantity × tickSize is above maxNotional of the last risk tier",
    ],
  ];
  for (const [isImpossible, why] of rows) if (isImpossible) throw new ConfigError(`instruments: ${symbol}.${why}`);
}

function compile(instrument: Config["instruments"][number]): Instrument {
  try {
    return compileInstrument(instrument);
  } catch (error) {
    throw new ConfigError(`instruments: ${(error as Error).message}`);
  }
}
