import { DECIMAL_PATTERN } from "../core/base/units.ts";
import Type, { type Static, type TSchemaOptions } from "../packages/typebox.ts";
import { DEFAULT_FEED, FeedSetting, type FeedSettings } from "./feed.ts";
import { DEFAULT_INSTRUMENTS } from "./instruments.ts";

/**
 * The options of a setting. SETTINGS declares every setting once: its name in the configuration file, its valid values,
 * its default and its help line. The environment variable follows from the name: maxAccounts, PERPD_MAX_ACCOUNTS.
 */
interface SettingOptions extends TSchemaOptions {
  description: string;
  /** The command line flag, without its dashes, if there is one. */
  flag?: string;
  /** The placeholder of the flag's value in the help text. */
  argument?: string;
  /** A valid value in words, for errors. Default: derived from the schema. */
  expected?: string;
  /** Errors do not show the value. */
  secret?: boolean;
  /** Only the configuration file may set it. Errors do not show the value. */
  fileOnly?: boolean;
}

const setting = <const O extends SettingOptions>(options: O): O => options;
const integer = (options: SettingOptions) => Type.Integer(options);
const string = (options: SettingOptions) => Type.String(options);
const boolean = (options: SettingOptions) => Type.Boolean(options);

const decimal = () => Type.String({ pattern: DECIMAL_PATTERN });

const HOST_PATTERN = "^[A-Za-z0-9.:_-]+$";

/** 32 characters of hex are 128 random bits, which nobody guesses. */
export const TOKEN_PATTERN = "[\\x21-\\x7e]{32,256}";
export const TOKEN_EXPECTED =
  "32 to 256 printable ASCII characters without spaces; make a token with: openssl rand -hex 32";
const TOKEN = { default: "", pattern: `^(${TOKEN_PATTERN})?$`, expected: TOKEN_EXPECTED, secret: true };

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
    // All money is counted in quanta of USDC.
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
    lastTriggerLimit: Type.Optional(decimal()),
    impactNotionalRate: Type.Optional(decimal()),
    indexJumpLimit: Type.Optional(decimal()),
    breakerLimit: Type.Optional(decimal()),
    maxMovePerSecond: Type.Optional(decimal()),
    transferMarginRate: Type.Optional(decimal()),
    openInterestCap: Type.Optional(decimal()),
    openInterestLowerCap: Type.Optional(decimal()),
    fundLossLimit: Type.Optional(decimal()),
    fundMaxNotional: Type.Optional(decimal()),
    maxIndexAgeSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
    breakerMode: Type.Optional(Type.Enum(["REDUCE_ONLY", "CANCEL_ONLY"])),
    breakerSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
    riskTiers: Type.Array(RiskTierSetting, { minItems: 1, maxItems: 32 }),
  },
  { additionalProperties: false },
);

export const SETTINGS = Type.Object(
  {
    host: string({
      // Anyone who can connect gets money from the faucet, so the default is this machine only.
      default: "127.0.0.1",
      description: "address to listen on; 0.0.0.0 = all addresses",
      flag: "host",
      argument: "H",
      pattern: HOST_PATTERN,
      expected: "a host name or an IP address",
    }),
    port: integer({
      default: 8080,
      minimum: 0,
      maximum: 65535,
      description: "port to listen on; 0 = any free port",
      flag: "port",
      argument: "N",
    }),
    data: string({
      default: "./data",
      minLength: 1,
      description: "data folder, which holds the log and the database; created if missing",
      flag: "data",
      argument: "DIR",
      expected: "the path of a folder",
    }),
    workers: integer({
      // One worker matches several times as many orders as the gateway thread can parse. More pay off with many symbols.
      default: 1,
      minimum: 1,
      maximum: 64,
      description: "number of threads that share the symbols and the ledger",
      flag: "workers",
      argument: "N",
    }),
    bots: Type.Boolean(
      setting({ default: true, description: "bots that make and take prices in the sandbox", flag: "bots" }),
    ),
    priceSource: Type.Enum(
      ["simulated", "operator", "feed"],
      setting({
        default: "simulated",
        description:
          "source of index prices: a simulation, the operator (PUT /v1/operator/index/{symbol}), or other exchanges",
        flag: "price-source",
        argument: "simulated|operator|feed",
      }),
    ),
    maxIndexAgeMs: integer({
      default: 0,
      minimum: 0,
      maximum: 2 ** 31,
      description:
        "maximum age of an index price, in ms, for every instrument (an instrument may set less); with an older one positions cannot grow and nobody is liquidated; 0 = 10 s, or 10 min with the price source operator",
    }),
    seed: integer({
      default: 1,
      minimum: 0,
      maximum: 2 ** 32 - 1,
      description: "random seed of the simulated prices and of the bots; the same seed gives the same prices",
      flag: "seed",
      argument: "N",
    }),
    rateLimit: Type.Enum(
      ["on", "off", "remote"],
      setting({
        // Load tests on the same machine are not limited. Clients from outside are.
        default: "remote",
        description: "rate limits; remote = for every client except those on this machine",
        flag: "rate-limit",
        argument: "on|off|remote",
      }),
    ),
    orderRate: integer({
      default: 100,
      minimum: 1,
      maximum: 1_000_000,
      description: "orders per second and account; an API key gets half as many, a network address four times as many",
    }),
    cancelRate: integer({
      default: 500,
      minimum: 1,
      maximum: 1_000_000,
      description: "cancels and closed positions per second and account, in addition to orderRate",
    }),
    requestRate: integer({
      default: 100,
      minimum: 1,
      maximum: 1_000_000,
      description: "other requests per second and account",
    }),
    rateBurst: integer({
      default: 5,
      minimum: 1,
      maximum: 3600,
      description: "size of a burst: this many seconds of each rate may be used at once",
    }),
    maxSocketsPerAddress: integer({
      default: 200,
      minimum: 1,
      maximum: 1_000_000,
      description: "open WebSockets per network address, where rate limits apply",
    }),
    maxConnectionsPerAddress: integer({
      default: 200,
      minimum: 1,
      maximum: 1_000_000,
      description:
        "open HTTP connections per network address that are no WebSockets, where rate limits apply; on Linux only",
    }),
    accountRate: integer({
      // An account is never removed, so a client with thousands of wallets could use up maxAccounts.
      default: 100,
      minimum: 1,
      maximum: 1_000_000,
      description: "new accounts per hour and network address (of IPv6, per /48), where rate limits apply",
    }),
    operatorToken: string({
      ...TOKEN,
      description: "bearer token for /v1/operator and /v1/metrics, at least 32 characters; empty = both are closed",
      flag: "operator-token",
      argument: "TOKEN",
    }),
    operators: Type.Record(
      Type.String(),
      Type.String(),
      setting({
        default: {} as Record<string, string>,
        description:
          "more operators: an object with a bearer token of at least 32 characters by name; the log names them",
        fileOnly: true,
      }),
    ),
    metricsToken: string({
      ...TOKEN,
      description:
        "bearer token for /v1/metrics alone, at least 32 characters; an operator's token opens it, too; empty = only that",
    }),
    operatorPort: integer({
      default: 0,
      minimum: 0,
      maximum: 65_535,
      description:
        "port of a second listener for /operator, /v1/operator and /v1/metrics, which the first one then answers with 404; 0 = the first one serves them",
    }),
    operatorHost: string({
      default: "127.0.0.1",
      description: "address of the second listener",
      pattern: HOST_PATTERN,
      expected: "a host name or an IP address",
    }),
    maxAccounts: integer({
      default: 262_144,
      minimum: 1024,
      maximum: 16_777_216,
      description:
        "maximum number of accounts; each takes 64 bytes of memory, and 128 more per worker if there are several",
    }),
    maxInFlight: integer({
      // At 30,000 orders a second the last of them waits a quarter of a second.
      default: 8192,
      minimum: 1,
      maximum: 65_536,
      description:
        "maximum number of requests in flight; above it new orders are refused with OVERLOADED, cancels are not",
    }),
    ringBytes: integer({
      default: 16_777_216,
      // A record may take half of a ring. Long transactions are split to fit: see SymbolState and LedgerActor.
      minimum: 8_388_608,
      maximum: 1_073_741_824,
      description: "size in bytes of each ring buffer between two threads; a power of two",
    }),
    segmentBytes: integer({
      default: 16_777_216,
      minimum: 65_536,
      maximum: 1_073_741_824,
      multipleOf: 4096,
      description: "size in bytes of a log segment file",
    }),
    minFreeBytes: integer({
      default: 67_108_864,
      minimum: 0,
      maximum: 1_099_511_627_776,
      description:
        "minimum free bytes on the disk of the data folder; below it new orders, amendments, deposits, withdrawals, logins and API keys are refused with STORAGE_FULL; cancels, closing and reading still work",
    }),
    keepSegments: Type.Boolean(
      setting({ default: false, description: "keep log segments that are no longer needed for recovery" }),
    ),
    historyRetentionDays: integer({
      default: 0,
      minimum: 0,
      maximum: 36_500,
      description:
        "days for which closed orders, fills, trades, funding payments, closed positions and candles below an hour are kept; the last 25 hours always are; 0 = without a limit",
    }),
    historyMaxBytes: integer({
      default: 0,
      minimum: 0,
      maximum: 1_125_899_906_842_624,
      description:
        "bytes of the database that these may take; above it the oldest are removed, but for the last 25 hours; 0 = without a limit",
    }),
    snapshotIntervalMs: integer({
      default: 5000,
      minimum: 50,
      maximum: 3_600_000,
      description: "interval in ms at which each symbol and the ledger save their changed state to the database",
    }),
    tickMs: integer({
      default: 250,
      minimum: 10,
      maximum: 10_000,
      description: "interval in ms at which timed work, such as expiry, is done",
    }),
    sessionTtlMs: integer({
      default: 86_400_000,
      minimum: 1000,
      maximum: 31_536_000_000,
      description: "lifetime of a wallet session, in ms",
    }),
    faucetCap: string({
      default: "1000000",
      pattern: DECIMAL_PATTERN,
      expected: 'an amount of USDC such as "1000000"',
      description: "maximum amount in USDC that the faucet credits per account and day",
    }),
    minDeposit: string({
      default: "1",
      pattern: DECIMAL_PATTERN,
      expected: 'an amount of USDC such as "1"',
      description:
        "smallest deposit of a customer, in USDC; at most faucetCap, and at most 100000, which the demo account deposits",
    }),
    insuranceSeed: string({
      default: "1000000",
      pattern: DECIMAL_PATTERN,
      expected: 'an amount of USDC such as "1000000"',
      description: "initial balance of the insurance fund, in USDC; at most faucetCap",
    }),
    withdrawalDelayMs: integer({
      default: 3000,
      minimum: 0,
      maximum: 86_400_000,
      description: "how long a withdrawal waits before it is sent, and again before it is completed, in ms",
    }),
    withdrawalAddressBook: boolean({
      default: false,
      description: "withdrawals go only to addresses that the account has in its address book",
    }),
    withdrawalAddressHoldMs: integer({
      default: 86_400_000,
      minimum: 0,
      maximum: 2_592_000_000,
      description:
        "how long a new address of an address book cannot be used, in ms; it holds for addresses that are added from then on",
    }),
    walletApproval: boolean({
      default: false,
      description:
        "withdrawals, new withdrawal addresses and new API keys need a fresh signature of the account's wallet",
    }),
    loginDomain: string({
      default: "",
      pattern: "^([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:]+\\])?(:[0-9]{1,5})?$",
      expected: "a domain with an optional port",
      description: "domain that a wallet shows when a user signs in; empty = host:port",
    }),
    chainId: integer({
      default: 1,
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "chain id in login messages, unless the client sends another",
    }),
    ethereumRpcUrl: string({
      default: "",
      description:
        "JSON-RPC of an Ethereum node of the chain chainId, which checks signatures of contract wallets (EIP-1271) and must be trusted; empty = contract wallets are refused",
      pattern: "^(https?://[\\x21-\\x7e]+)?$",
      expected: "an http or https URL",
      secret: true,
    }),
    allowedOrigins: string({
      default: "*",
      description:
        "web sites whose pages may use the exchange in a browser, such as https://app.example.com, with commas between them; * = pages of every other site may read public data; the exchange's own pages may always use it",
    }),
    tlsCertFile: string({
      default: "",
      description:
        "file with the TLS certificate and those of its issuers, in PEM form; with tlsKeyFile perpd speaks https and wss; a new certificate is used within 5 s; empty = no TLS",
    }),
    tlsKeyFile: string({
      default: "",
      description: "file with the private key of tlsCertFile, in PEM form, without a passphrase",
    }),
    trustedProxies: string({
      default: "",
      description:
        "proxies whose X-Forwarded-For is believed: addresses and subnets such as 127.0.0.1,10.0.0.0/8; limits, logs and the addresses of API keys then mean the client behind the proxy; empty = none",
    }),
    replicate: string({
      default: "",
      flag: "replicate",
      argument: "URLS",
      secret: true,
      pattern: "^((nats|tls)://[^,\\s]+(,(nats|tls)://[^,\\s]+)*)?$",
      expected: "URLs of NATS servers such as nats://10.0.0.1:4222, separated by commas",
      description:
        "NATS JetStream servers that keep a copy of the log, and through which a standby takes over; empty = the log is on this machine only",
    }),
    replicateMode: Type.Enum(
      ["sync", "async"],
      setting({
        default: "sync",
        flag: "replicate-mode",
        argument: "MODE",
        description:
          "sync: a reply means that the change is on this disk and in the stream. async: on this disk; a take-over may lose the last changes",
      }),
    ),
    replicateStream: string({
      default: "perpd",
      pattern: "^[A-Za-z0-9_-]{1,64}$",
      expected: "1 to 64 letters, digits, - or _",
      description: "name of the stream; one exchange has one",
    }),
    replicateReplicas: integer({
      default: 1,
      minimum: 1,
      maximum: 5,
      description: "servers that keep each message, when the stream is made: 1, 3 or 5",
    }),
    replicateRetentionHours: integer({
      default: 48,
      minimum: 1,
      maximum: 8760,
      description: "the stream keeps messages for so long at least; a standby that was away longer needs a new backup",
    }),
    replicateLingerUs: integer({
      default: 1500,
      minimum: 0,
      maximum: 100_000,
      description:
        "in mode sync: how long a message to the stream waits, at most, for about as many orders as the last ones had, in us; a busy exchange takes more orders then; one order after the other never waits",
    }),
    replicateCredentialsFile: string({
      default: "",
      description: "file with the credentials for NATS (.creds); empty = those in the URL, or none",
    }),
    replicateTlsCaFile: string({
      default: "",
      description: "file with the certificate authority of the NATS servers; empty = that of the system",
    }),
    replicateTlsCertFile: Type.String(
      setting({ default: "", description: "file with this client's certificate for NATS; with replicateTlsKeyFile" }),
    ),
    replicateTlsKeyFile: Type.String(
      setting({ default: "", description: "file with the private key of replicateTlsCertFile" }),
    ),
    replicateMonitors: string({
      default: "",
      pattern: "^(https?://[^,\\s]+(,https?://[^,\\s]+)*)?$",
      expected: "URLs such as http://10.0.0.1:8222, separated by commas",
      description:
        "monitoring URLs of the NATS servers: a start refuses a server that does not write to its disk before it answers",
    }),
    replicateUnsafe: boolean({
      default: false,
      flag: "replicate-unsafe",
      argument: "on|off",
      description: "start although nothing shows that the NATS servers write to their disks before they answer",
    }),
    upstream: string({
      default: "",
      flag: "upstream",
      argument: "URLS",
      pattern: "^(https?://[^,\\s]+(,https?://[^,\\s]+)*)?$",
      expected: "URLs such as http://10.0.0.1:8080, separated by commas",
      description: "of a gateway: the leader and its standbys, to which it passes on what it cannot answer itself",
    }),
    serveReads: boolean({
      default: false,
      flag: "serve-reads",
      argument: "on|off",
      description:
        "answer reads and streams while another process leads (perpd standby); off = only health, metrics and the state of replication",
    }),
    publicUrl: string({
      default: "",
      pattern: "^(https?://[^\\s]+)?$",
      expected: "a URL such as http://10.0.0.1:8080",
      description:
        "where gateways and other machines reach this process, without a path; empty = its own host and port",
    }),
    logLevel: Type.Enum(
      ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
      setting({ default: "info", description: "lowest severity of log lines that are written" }),
    ),
    feed: Type.Unsafe<FeedSettings>({
      ...FeedSetting,
      ...setting({
        default: DEFAULT_FEED,
        description: "exchanges that the price source feed queries through ccxt, and how it combines their prices",
        fileOnly: true,
      }),
    }),
    instruments: Type.Array(
      InstrumentSetting,
      setting({
        default: DEFAULT_INSTRUMENTS,
        minItems: 1,
        maxItems: 255,
        description: "all instruments, instead of the three default ones",
        fileOnly: true,
      }),
    ),
  },
  { additionalProperties: false },
);

export type Settings = Static<typeof SETTINGS>;
export type SettingName = keyof Settings;

export const SETTING_NAMES = Object.keys(SETTINGS.properties) as SettingName[];

/** A setting's schema with its options. */
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
