import { ConfigError } from "./config/error.ts";
import { helpText } from "./config/help.ts";
import { makeSafe, unsafeAge } from "./config/instrument-safety.ts";
import { checkOperators, hasOperator } from "./config/operators.ts";
import { parseProxies } from "./config/proxies.ts";
import { type ReplicationConfig, replicationOf } from "./config/replication.ts";
import { SETTING_NAMES, type Settings, schemaOf } from "./config/settings.ts";
import { readEnvironment, readFile, readFlags } from "./config/sources.ts";
import { type TlsFiles, tlsFilesOf } from "./config/tls.ts";
import { parseOrigins, parseUpstreams, warningOfRpc } from "./config/urls.ts";
import { parseQuanta, QUANTA_PER_USDC, type Quanta } from "./core/base/units.ts";
import { maxOrdersPerAccount } from "./core/commands/attached-orders.ts";
import { compileInstrument, type Instrument } from "./core/protocol/instrument.ts";

export { ConfigError } from "./config/error.ts";

/** The settings of one run, checked by themselves and against each other. Plain data that can be sent to a thread. */
export interface Config
  extends Readonly<
    Omit<
      Settings,
      | "faucetCap"
      | "minDeposit"
      | "insuranceSeed"
      | "allowedOrigins"
      | "trustedProxies"
      | "tlsCertFile"
      | "tlsKeyFile"
      | "upstream"
    >
  > {
  /** The most that the faucet credits per account and day. */
  readonly faucetCapQuanta: Quanta;
  readonly minDepositQuanta: Quanta;
  /** The amount that the faucet gives the insurance fund at the first start. At most its cap. */
  readonly insuranceSeedQuanta: Quanta;
  /** The web sites whose pages may send requests; empty = all. */
  readonly allowedOrigins: readonly string[];
  /** Null: perpd speaks plain http. */
  readonly tls: TlsFiles | null;
  /** Null: the log is on this machine only. */
  readonly replication: ReplicationConfig | null;
  readonly role: "leader" | "standby" | "gateway";
  /** Origins of a gateway's leader and its standbys. */
  readonly upstreams: readonly string[];
  /** Addresses and subnets. */
  readonly trustedProxies: readonly string[];
}

/**
 * The command line, parsed. `config.data` is the data folder: the one to start, to verify, to back up or to restore to.
 * `warnings` name settings that are valid but probably not meant so.
 */
export type Invocation =
  | { kind: "start"; config: Config; warnings: string[] }
  | { kind: "verify"; config: Config }
  | { kind: "backup"; config: Config; target: string }
  | { kind: "restore"; config: Config; backup: string }
  | { kind: "help"; text: string }
  | { kind: "version" };

/** Defaults. A program sends a price every second, a person much more rarely. */
const MAX_INDEX_AGE_MS = { simulated: 10_000, feed: 10_000, operator: 600_000 } as const;

const DEMO_DEPOSIT_USDC = 100_000;
/** The deposit of the demo account, which every exchange has, unless the faucet's cap is lower. */
export const DEMO_DEPOSIT_QUANTA: Quanta = DEMO_DEPOSIT_USDC * QUANTA_PER_USDC;

/** The interval of simulated index prices. */
const SIMULATED_PACE_MS = 1000;

/**
 * All orders of an account in a symbol are canceled in one transaction. That is one record, and a record must fit into half
 * of a ring.
 */
export const BYTES_PER_OPEN_ORDER = 512;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the command line (`process.argv.slice(2)`), the environment, and the configuration file that they name. Flags
 * override the environment, which overrides the file, which overrides the defaults. Throws ConfigError.
 */
export function loadConfig(argv: readonly string[], env: Environment): Invocation {
  const [command, ...args] = argv;
  if (command === undefined || command === "help" || argv.includes("--help") || argv.includes("-h"))
    return { kind: "help", text: helpText() };
  if (command === "version" || argv.includes("--version")) return { kind: "version" };
  switch (command) {
    case "start":
      return { kind: "start", ...loadExchange(command, args, env) };
    case "standby": {
      const { config, warnings } = loadExchange(command, args, env);
      if (config.replication === null) throw new ConfigError("standby needs --replicate: the stream that it follows");
      return { kind: "start", config: { ...config, role: "standby" }, warnings };
    }
    case "gateway": {
      const { config, warnings } = loadSettings(args, env);
      if (config.replication === null) throw new ConfigError("gateway needs --replicate: the stream that it follows");
      if (config.upstreams.length === 0) throw new ConfigError("gateway needs --upstream: the leader and its standbys");
      return { kind: "start", config: { ...config, role: "gateway" }, warnings };
    }
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
        `unknown command "${command}"; valid: start, standby, gateway, verify, backup, restore, help, version, and the client commands that "perpd help" lists`,
      );
  }
}

/** Returns a command's folders, which come before its flags. Throws ConfigError if one is missing or too many. */
function readFolders<const N extends readonly string[]>(args: readonly string[], names: N): { [I in keyof N]: string } {
  const firstFlag = args.findIndex((argument) => argument.startsWith("--"));
  const folders = firstFlag < 0 ? args : args.slice(0, firstFlag);
  if (folders.length !== names.length || folders.includes(""))
    throw new ConfigError(`expected ${names.join(" ")} and then flags, not "${folders.join(" ")}"`);
  if (args.some((argument) => /^--data(=|$)/.test(argument)))
    throw new ConfigError(`--data is for start; this command takes ${names.join(" ")}`);
  return folders as { [I in keyof N]: string };
}

interface Loaded {
  readonly config: Config;
  readonly warnings: string[];
}

/** The settings of a process that is no gateway. */
function loadExchange(command: string, args: readonly string[], env: Environment): Loaded {
  const { config, warnings, given } = loadSettings(args, env);
  if (config.upstreams.length > 0)
    warnings.push(`upstream is set but perpd ${command} does not use it: it is for perpd gateway`);
  if (config.replication === null) warnings.push(...warningOfAlone(config, given));
  return { config, warnings };
}

/** Of settings that do nothing without a stream. */
function warningOfAlone({ serveReads }: Config, given: ReadonlySet<string>): string[] {
  const unused = SETTING_NAMES.filter(
    (name) => given.has(name) && (name === "serveReads" ? serveReads : /^replicate./.test(name)),
  );
  if (unused.length === 0) return [];
  const are = unused.length === 1 ? "is" : "are";
  return [
    `${unused.join(", ")} ${are} set, but replicate is not: the log is on this machine only, and no standby can follow`,
  ];
}

/** `given`: the settings that a flag, the environment or the file has. */
function loadSettings(args: readonly string[], env: Environment): Loaded & { readonly given: ReadonlySet<string> } {
  const flags = readFlags(args);
  const environment = readEnvironment(env);
  const file = flags.configFile ?? environment.configFile;
  // Such as of a variable that is not set: an exchange without a copy of its log would start.
  if (flags.values.get("replicate") === "")
    throw new ConfigError("--replicate is empty: give URLs of NATS servers, or leave the flag out");
  const given = new Map([...(file === null ? [] : readFile(file)), ...environment.values, ...flags.values]);
  const defaults = SETTING_NAMES.map((name) => [name, schemaOf(name).default] as const);
  const settings = Object.fromEntries([...defaults, ...given]) as unknown as Settings;
  return { ...combine(settings), given: new Set(given.keys()) };
}

/** Checks the settings against each other and derives the rest of the configuration. */
function combine(settings: Settings): Loaded {
  const warnings: string[] = [];
  const { faucetCap, minDeposit, insuranceSeed, allowedOrigins, trustedProxies, tlsCertFile, tlsKeyFile, ...others } =
    settings;
  const { upstream, ...rest } = others;
  const faucetCapQuanta = quantaOf("faucetCap", faucetCap);
  const minDepositQuanta = Math.min(faucetCapQuanta, quantaOf("minDeposit", minDeposit));
  if (minDepositQuanta > DEMO_DEPOSIT_QUANTA)
    throw new ConfigError(
      `minDeposit: ${minDeposit} is above ${DEMO_DEPOSIT_USDC}, the deposit of the demo account; lower minDeposit`,
    );
  const insuranceSeedQuanta = Math.min(faucetCapQuanta, quantaOf("insuranceSeed", insuranceSeed));
  const maxIndexAgeMs = rest.maxIndexAgeMs || MAX_INDEX_AGE_MS[rest.priceSource];
  checkInstruments(rest.instruments);
  const ageBound = { maxIndexAgeMs, isOperator: rest.priceSource === "operator" };
  const instruments = rest.instruments.map((setting) => makeSafe(setting, ageBound));
  const config: Config = {
    ...{ ...rest, instruments, maxIndexAgeMs, faucetCapQuanta, minDepositQuanta, insuranceSeedQuanta },
    allowedOrigins: parseOrigins(allowedOrigins),
    trustedProxies: parseProxies(trustedProxies),
    tls: tlsFilesOf(tlsCertFile, tlsKeyFile),
    replication: replicationOf(settings),
    role: "leader",
    upstreams: parseUpstreams(upstream),
  };
  if ((config.ringBytes & (config.ringBytes - 1)) !== 0)
    throw new ConfigError(`ringBytes: ${config.ringBytes} is not a power of two; try 16777216`);
  for (const { symbol, maxOpenOrders } of config.instruments)
    if (maxOrdersPerAccount(maxOpenOrders) * BYTES_PER_OPEN_ORDER > config.ringBytes / 2)
      throw new ConfigError(
        `instruments: ${symbol}.maxOpenOrders is more than ringBytes has room for; lower it or raise ringBytes`,
      );
  checkOperators(config);
  if (config.priceSource === "operator" && !hasOperator(config))
    warnings.push("priceSource is operator but operatorToken is empty: nobody can set an index price");
  if (config.operatorPort !== 0 && !hasOperator(config) && config.metricsToken === "")
    warnings.push("operatorPort is set but there is neither an operator nor a metricsToken: nobody can use it");
  warnings.push(...warningOfRpc(config.ethereumRpcUrl));
  if (config.priceSource === "feed") checkFeed(config);
  warnings.push(...warningsOfAge(config));
  const actors = config.instruments.length + 1;
  if (config.workers > actors) {
    warnings.push(`workers: ${config.workers} is more than the number of symbols plus one; using ${actors}`);
    return { config: { ...config, workers: actors }, warnings };
  }
  return { config, warnings };
}

/** Of index prices that come too rarely for how old they may be, and of ages that do not fit the leverage. */
function warningsOfAge({ priceSource, feed, maxIndexAgeMs, instruments }: Config): string[] {
  const paceMs = { simulated: SIMULATED_PACE_MS, feed: feed.pollMs, operator: 0 }[priceSource];
  if (maxIndexAgeMs <= paceMs)
    return [`maxIndexAgeMs: ${maxIndexAgeMs} is too low for index prices that come every ${paceMs} ms`];
  const tooRare = instruments.filter(({ maxIndexAgeSeconds = 0 }) => maxIndexAgeSeconds * 1000 <= paceMs);
  if (tooRare.length > 0) {
    const ages = tooRare.map(({ symbol, maxIndexAgeSeconds }) => `${symbol}: ${maxIndexAgeSeconds} s`).join(", ");
    return [`instruments: ${ages} is too low a maxIndexAgeSeconds for index prices that come every ${paceMs} ms`];
  }
  const unsafe = instruments.map(unsafeAge).filter((text) => text !== null);
  if (unsafe.length === 0) return [];
  return [
    `maxIndexAgeMs: at ${maxIndexAgeMs} an index price may be older than the leverage allows (${unsafe.join(", ")}); ` +
      "set maxIndexAgeSeconds of these instruments and send prices that often",
  ];
}

function quantaOf(name: string, amount: string): Quanta {
  const quanta = parseQuanta(amount);
  if (Number.isNaN(quanta)) throw new ConfigError(`${name}: ${amount} has more than 6 decimals or is too large`);
  return quanta;
}

function checkFeed({ feed, instruments }: Config): void {
  const { sources, minSources, maxAgeMs, pollMs } = feed;
  if (minSources > sources.length)
    throw new ConfigError(`feed: minSources ${minSources} is more than the number of sources (${sources.length})`);
  if (maxAgeMs < pollMs)
    throw new ConfigError(`feed: maxAgeMs ${maxAgeMs} is less than pollMs ${pollMs}, so every price would be too old`);
  const names = sources.map(({ exchange }) => exchange);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new ConfigError(`feed.sources: ${twice} is listed twice; it would count as two sources`);
  for (const { exchange, symbols } of sources)
    for (const symbol of Object.keys(symbols ?? {}))
      if (!instruments.some((instrument) => instrument.symbol === symbol))
        throw new ConfigError(
          `feed.sources: ${exchange}.symbols names ${symbol}, which is not a configured instrument`,
        );
}

function checkInstruments(instruments: Config["instruments"]): void {
  const ids = new Set<number>();
  const symbols = new Set<string>();
  for (const instrument of instruments) {
    const { id, symbol } = instrument;
    if (ids.has(id))
      throw new ConfigError(`instruments: the id ${id} (${symbol}) is used twice; give each instrument its own`);
    if (symbols.has(symbol))
      throw new ConfigError(`instruments: the symbol ${symbol} is used twice; give each instrument its own`);
    ids.add(id);
    symbols.add(symbol);
    checkLimits(compile(instrument));
  }
}

/** Throws ConfigError if the limits together allow no order that opens a position, at any price. */
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
