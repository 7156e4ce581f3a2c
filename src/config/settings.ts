import Type, { type Static, type TSchemaOptions } from "typebox";
import { DECIMAL_PATTERN } from "../core/base/units.ts";
import { DEFAULT_FEED, FeedSetting, type FeedSettings } from "./feed.ts";
import { DEFAULT_INSTRUMENTS } from "./instruments.ts";

/**
 * Every setting of perpd, once: its name in the configuration file, its form, its default and its help line. The name
 * in the environment follows from the name (maxAccounts: PERPD_MAX_ACCOUNTS); a flag exists where one is given.
 */
export interface SettingOptions extends TSchemaOptions {
  description: string;
  /** The command line flag, without its dashes. */
  flag?: string;
  /** Stands for the flag's value in the help text. */
  argument?: string;
  /** What a value must look like, where the schema alone would say it badly. */
  expected?: string;
  /** Never shown again in errors. */
  secret?: boolean;
  /** Too long for an environment variable, and too much to show again in errors. */
  fileOnly?: boolean;
}

const setting = <const O extends SettingOptions>(options: O): O => options;

const decimal = () => Type.String({ pattern: DECIMAL_PATTERN });

const RiskTierSetting = Type.Object(
  {
    maxNotional: decimal(),
    maxLeverage: Type.Integer({ minimum: 1, maximum: 1000 }),
    maintenanceMarginRate: decimal(),
  },
  { additionalProperties: false },
);

const InstrumentSetting = Type.Object(
  {
    id: Type.Integer({ minimum: 1, maximum: 255 }),
    symbol: Type.String({ pattern: "^[A-Z0-9][A-Z0-9-]{1,31}$" }),
    baseAsset: Type.String({ pattern: "^[A-Z0-9]{1,16}$" }),
    // Money is counted in quanta of USDC everywhere, so nothing else can settle a trade.
    quoteAsset: Type.Literal("USDC"),
    tickSize: decimal(),
    stepSize: decimal(),
    minQuantity: decimal(),
    maxQuantity: decimal(),
    minNotional: decimal(),
    maxPrice: decimal(),
    maxOpenOrders: Type.Integer({ minimum: 1, maximum: 100_000 }),
    makerFeeRate: decimal(),
    takerFeeRate: decimal(),
    liquidationFeeRate: decimal(),
    priceBand: decimal(),
    defaultLeverage: Type.Integer({ minimum: 1, maximum: 1000 }),
    fundingIntervalHours: Type.Integer({ minimum: 1, maximum: 24 }),
    fundingRateCap: decimal(),
    indexJumpLimit: Type.Optional(decimal()),
    breakerLimit: Type.Optional(decimal()),
    breakerMode: Type.Optional(Type.Enum(["REDUCE_ONLY", "CANCEL_ONLY"])),
    breakerSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
    riskTiers: Type.Array(RiskTierSetting, { minItems: 1, maxItems: 32 }),
  },
  { additionalProperties: false },
);

export const SETTINGS = Type.Object(
  {
    host: Type.String(
      setting({
        // A faucet hands out money to anyone who can connect: not to the whole network unless told so.
        default: "127.0.0.1",
        description: "address to listen on; 0.0.0.0 = all",
        flag: "host",
        argument: "H",
        pattern: "^[A-Za-z0-9.:_-]+$",
        expected: "a host name or an IP address",
      }),
    ),
    port: Type.Integer(
      setting({
        default: 8080,
        minimum: 0,
        maximum: 65535,
        description: "port to listen on; 0 takes a free one",
        flag: "port",
        argument: "N",
      }),
    ),
    data: Type.String(
      setting({
        default: "./data",
        minLength: 1,
        description: "folder of the log and the database; made when missing",
        flag: "data",
        argument: "DIR",
        expected: "the path of a folder",
      }),
    ),
    workers: Type.Integer(
      setting({
        // One worker matches several times what the front thread can parse; a second one only pays with many symbols.
        default: 1,
        minimum: 1,
        maximum: 64,
        description: "actor threads that the symbols and the ledger are spread over",
        flag: "workers",
        argument: "N",
      }),
    ),
    bots: Type.Boolean(
      setting({ default: true, description: "market-making and taking bots trade in the sandbox", flag: "bots" }),
    ),
    priceSource: Type.Enum(
      ["simulated", "operator", "feed"],
      setting({
        default: "simulated",
        description: "where index prices come from: a simulation, PUT /operator/index/:symbol, or other exchanges",
        flag: "price-source",
        argument: "simulated|operator|feed",
      }),
    ),
    maxIndexAgeMs: Type.Integer(
      setting({
        default: 0,
        minimum: 0,
        maximum: 2 ** 31,
        description:
          "an older index price takes no new risk and liquidates nobody; 0 = 10 s, or 10 min from an operator",
      }),
    ),
    seed: Type.Integer(
      setting({
        default: 1,
        minimum: 0,
        maximum: 2 ** 32 - 1,
        description: "seed of the simulated prices and of the bots; the same seed gives the same prices",
        flag: "seed",
        argument: "N",
      }),
    ),
    rateLimit: Type.Enum(
      ["on", "off", "remote"],
      setting({
        // Load tests on the same machine run flat out; a program that was let in from outside does not.
        default: "remote",
        description: "rate limits; remote = for all clients but those on this machine",
        flag: "rate-limit",
        argument: "on|off|remote",
      }),
    ),
    orderRate: Type.Integer(
      setting({
        default: 100,
        minimum: 1,
        maximum: 1_000_000,
        description: "orders per second and account; an API key gets half of it, an address four times",
      }),
    ),
    cancelRate: Type.Integer(
      setting({
        default: 500,
        minimum: 1,
        maximum: 1_000_000,
        description: "cancels and closed positions per second and account, beside its orders",
      }),
    ),
    requestRate: Type.Integer(
      setting({
        default: 100,
        minimum: 1,
        maximum: 1_000_000,
        description: "other requests per second and account",
      }),
    ),
    rateBurst: Type.Integer(
      setting({
        default: 5,
        minimum: 1,
        maximum: 3600,
        description: "so many seconds' worth of each rate may be spent at once",
      }),
    ),
    maxSocketsPerAddress: Type.Integer(
      setting({
        default: 200,
        minimum: 1,
        maximum: 1_000_000,
        description: "WebSockets that clients at one address may have open, where rate limits hold",
      }),
    ),
    accountRate: Type.Integer(
      setting({
        // What an account may hold stays for good, and whoever makes wallets by the thousand takes all room there is.
        default: 100,
        minimum: 1,
        maximum: 1_000_000,
        description:
          "accounts per hour that clients at one address may open, where rate limits hold; of IPv6, each /48",
      }),
    ),
    operatorToken: Type.String(
      setting({
        default: "",
        pattern: "^[\\x21-\\x7e]{0,256}$",
        expected: "at most 256 printable ASCII characters without spaces",
        description: "bearer token of /v1/operator and /v1/metrics; empty = these are closed",
        flag: "operator-token",
        argument: "TOKEN",
        secret: true,
      }),
    ),
    maxAccounts: Type.Integer(
      setting({
        default: 262_144,
        minimum: 1024,
        maximum: 16_777_216,
        description: "room for accounts; 64 bytes of memory each, and 128 for every worker if there are several",
      }),
    ),
    maxInFlight: Type.Integer(
      setting({
        // At 30,000 orders a second the last one waits for a quarter of a second.
        default: 8192,
        minimum: 1,
        maximum: 65_536,
        description: "requests on their way at once, past which new orders are answered OVERLOADED; cancels are not",
      }),
    ),
    ringBytes: Type.Integer(
      setting({
        default: 16_777_216,
        // A record takes half of it at most: see SymbolState.isTurnLong and LedgerActor.
        minimum: 8_388_608,
        maximum: 1_073_741_824,
        description: "size of each ring between two threads; a power of two",
      }),
    ),
    segmentBytes: Type.Integer(
      setting({
        default: 16_777_216,
        minimum: 65_536,
        maximum: 1_073_741_824,
        multipleOf: 4096,
        description: "size of a log segment file",
      }),
    ),
    minFreeBytes: Type.Integer(
      setting({
        default: 67_108_864,
        minimum: 0,
        maximum: 1_099_511_627_776,
        description:
          "room on the data folder's disk below which orders, deposits, withdrawals, logins and keys are answered STORAGE_FULL; cancels, closing and reading go on",
      }),
    ),
    keepSegments: Type.Boolean(
      setting({ default: false, description: "keep log segments that recovery no longer needs" }),
    ),
    snapshotIntervalMs: Type.Integer(
      setting({
        default: 5000,
        minimum: 50,
        maximum: 3_600_000,
        description: "how often an actor hands its changed state to the database",
      }),
    ),
    tickMs: Type.Integer(
      setting({
        default: 250,
        minimum: 10,
        maximum: 10_000,
        description: "how often every actor is told that time passes",
      }),
    ),
    sessionTtlMs: Type.Integer(
      setting({
        default: 86_400_000,
        minimum: 1000,
        maximum: 31_536_000_000,
        description: "life of a wallet session",
      }),
    ),
    faucetCap: Type.String(
      setting({
        default: "1000000",
        pattern: DECIMAL_PATTERN,
        expected: 'an amount of USDC such as "1000000"',
        description: "USDC that the faucet credits per account and day at most",
      }),
    ),
    insuranceSeed: Type.String(
      setting({
        default: "1000000",
        pattern: DECIMAL_PATTERN,
        expected: 'an amount of USDC such as "1000000"',
        description: "USDC that the insurance fund begins with; at most faucetCap",
      }),
    ),
    withdrawalDelayMs: Type.Integer(
      setting({
        default: 3000,
        minimum: 0,
        maximum: 86_400_000,
        description: "how long a withdrawal waits before it is sent, and again before it is completed",
      }),
    ),
    loginDomain: Type.String(
      setting({
        default: "",
        pattern: "^([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:]+\\])?(:[0-9]{1,5})?$",
        expected: "a domain with an optional port",
        description: "domain that wallets are shown when they sign in; empty = host:port",
      }),
    ),
    chainId: Type.Integer(
      setting({
        default: 1,
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "chain id in login messages, unless the client names another",
      }),
    ),
    logLevel: Type.Enum(
      ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
      setting({ default: "info", description: "least severe log line that is written" }),
    ),
    feed: Type.Unsafe<FeedSettings>({
      ...FeedSetting,
      ...setting({
        default: DEFAULT_FEED,
        description:
          "the exchanges that the price source feed asks, through ccxt, and how it puts together what they say",
        fileOnly: true,
      }),
    }),
    instruments: Type.Array(
      InstrumentSetting,
      setting({
        default: DEFAULT_INSTRUMENTS,
        minItems: 1,
        maxItems: 255,
        description: "the instruments, all of them, in the place of the default three",
        fileOnly: true,
      }),
    ),
  },
  { additionalProperties: false },
);

export type Settings = Static<typeof SETTINGS>;
export type SettingName = keyof Settings;

export const SETTING_NAMES = Object.keys(SETTINGS.properties) as SettingName[];

/** A setting's schema with the options it was declared with. */
export type SettingSchema = SettingOptions & {
  type?: "string" | "integer" | "boolean" | "array";
  enum?: string[];
  minimum?: number;
  maximum?: number;
  multipleOf?: number;
  default: unknown;
};

export const schemaOf = (name: SettingName): SettingSchema => SETTINGS.properties[name] as unknown as SettingSchema;

/** maxAccounts → PERPD_MAX_ACCOUNTS. */
export const environmentName = (name: SettingName): string =>
  `PERPD_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
