import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { DEFAULT_FEED } from "../src/config/feed.ts";
import { DEFAULT_INSTRUMENTS } from "../src/config/instruments.ts";
import { environmentName, SETTING_NAMES, schemaOf } from "../src/config/settings.ts";
import { type Config, ConfigError, loadConfig } from "../src/config.ts";
import { compileInstrument } from "../src/core/protocol/instrument.ts";

const folder = mkdtempSync(join(tmpdir(), "perpd-config-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(content: unknown): string {
  const path = join(folder, `${++files}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

function start(args: string[], env: Record<string, string> = {}): Config {
  const invocation = loadConfig(["start", ...args], env);
  assert.equal(invocation.kind, "start");
  return (invocation as { config: Config }).config;
}

function refusal(args: string[], env: Record<string, string> = {}): string {
  try {
    start(args, env);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  assert.fail(`accepted ${args.join(" ")} ${JSON.stringify(env)}`);
}

const [BTC, ETH] = DEFAULT_INSTRUMENTS;
assert.ok(BTC && ETH);

const TOKEN = "0123456789abcdefghijklmnopqrstuv";

test("environment variables of the client commands do not stop an exchange", () => {
  const env = {
    PERPD_URL: "u",
    PERPD_TOKEN: "t",
    PERPD_API_KEY: "k",
    PERPD_SECRET: "s",
    PERPD_WALLET_KEY: "w",
    PERPD_PORT: "1",
  };
  const invocation = loadConfig(["start"], env);
  assert.equal(invocation.kind === "start" && invocation.config.port, 1);
});

test("the defaults", () => {
  const config = start([]);
  assert.equal(config.host, "127.0.0.1");
  assert.equal(config.port, 8080);
  assert.equal(config.data, "./data");
  assert.equal(config.bots, true);
  assert.equal(config.priceSource, "simulated");
  assert.equal(config.rateLimit, "remote");
  assert.equal(config.operatorToken, "");
  assert.equal(config.faucetCapQuanta, 1_000_000_000_000);
  assert.deepEqual(
    config.instruments.map(({ symbol }) => symbol),
    ["BTC-PERP", "ETH-PERP", "SOL-PERP"],
  );
});

test("the default instruments compile, and their exposure limit leaves room over the largest order", () => {
  for (const config of DEFAULT_INSTRUMENTS) {
    const instrument = compileInstrument(config);
    assert.equal(instrument.quantaPerTickLot, 100);
    assert.ok(instrument.maxPositionLots >= 10 * instrument.maxQuantityLots, config.symbol);
  }
});

test("every default is valid by its own schema: in the environment it changes nothing", () => {
  for (const name of SETTING_NAMES) {
    const schema = schemaOf(name);
    if (schema.fileOnly || schema.default === "") continue;
    const variable = environmentName(name);
    assert.deepEqual(start([], { [variable]: String(schema.default) }), start([]), variable);
  }
});

test("flags override the environment, which overrides the file, which overrides the defaults", () => {
  const path = file({ port: 1, host: "file", seed: 5, bots: "off", rateLimit: "off", faucetCap: "0.5" });
  const rows: [args: string[], env: Record<string, string>, expected: Partial<Config>][] = [
    [[], {}, { port: 8080, host: "127.0.0.1" }],
    [
      ["--config", path],
      {},
      { port: 1, host: "file", bots: false, rateLimit: "off", faucetCapQuanta: 500_000, minDepositQuanta: 500_000 },
    ],
    [[], { PERPD_CONFIG: path }, { port: 1, host: "file" }],
    [["--config", path], { PERPD_CONFIG: "/nowhere" }, { port: 1 }],
    [["--config", path], { PERPD_PORT: "2" }, { port: 2, host: "file" }],
    [["--config", path, "--port", "3"], { PERPD_PORT: "2" }, { port: 3, host: "file" }],
    [["--config", path, "--bots"], {}, { bots: true }],
    [["--port=0", "--host=0.0.0.0"], {}, { port: 0, host: "0.0.0.0" }],
    [["--data", "/tmp/x", "--workers", "2"], {}, { data: "/tmp/x", workers: 2 }],
    [["--no-bots"], {}, { bots: false }],
    [["--no-bots"], { PERPD_BOTS: "on" }, { bots: false }],
    [[], { PERPD_BOTS: "off" }, { bots: false }],
    [[], { PERPD_BOTS: "false" }, { bots: false }],
    [[], { PERPD_BOTS: "0" }, { bots: false }],
    [[], { PERPD_NO_BOTS: "true" }, { bots: false }],
    [[], { PERPD_NO_BOTS: "1" }, { bots: false }],
    [["--rate-limit", "off"], { PERPD_RATE_LIMIT: "on" }, { rateLimit: "off" }],
    [["--price-source", "operator", "--operator-token", TOKEN], {}, { priceSource: "operator", operatorToken: TOKEN }],
    [["--seed", "4294967295"], {}, { seed: 4294967295 }],
    [[], { PERPD_PORT: "", PERPD_MAX_ACCOUNTS: "1024", HOME: "/root" }, { port: 8080, maxAccounts: 1024 }],
    [[], { PERPD_MIN_DEPOSIT: "100000" }, { minDepositQuanta: 100_000_000_000 }],
    [[], { PERPD_MIN_DEPOSIT: "200000", PERPD_FAUCET_CAP: "20" }, { minDepositQuanta: 20_000_000 }],
    [[], { PERPD_LOG_LEVEL: "silent", PERPD_LOGIN_DOMAIN: "perpd.example:443" }, { logLevel: "silent" }],
  ];
  for (const [args, env, expected] of rows) {
    const config = start(args, env);
    const picked = Object.fromEntries(Object.keys(expected).map((key) => [key, config[key as keyof Config]]));
    assert.deepEqual(picked, expected, `${args.join(" ")} ${JSON.stringify(env)}`);
  }
});

test("invalid settings are refused, and the message names the setting and what is valid", () => {
  const rows: [args: string[], env: Record<string, string>, message: RegExp][] = [
    [["--prot", "1"], {}, /unknown flag --prot; valid: --config, .*--port/],
    [["8080"], {}, /"8080" is not a flag/],
    [["--port"], {}, /--port needs a value/],
    [["--port", "--no-bots"], {}, /--port needs a value/],
    [["--serve-reads", "yes"], {}, /--serve-reads: "yes" is not on or off/],
    [["--port", "1", "--port", "2"], {}, /--port is given twice/],
    [["--config", "a.json", "--config", "b.json"], {}, /--config is given twice/],
    [["--bots", "--no-bots"], {}, /--no-bots is given twice/],
    [["--no-bots=on"], {}, /--no-bots takes no value/],
    [["--port", "65536"], {}, /--port: 65536 is not a whole number from 0 to 65535/],
    [["--port", "0x50"], {}, /--port: "0x50" is not a whole number/],
    [["--port", "1e3"], {}, /--port/],
    [["--port", "-1"], {}, /--port: -1 /],
    [["--seed", "4294967296"], {}, /--seed: 4294967296 is not a whole number from 0 to 4294967295/],
    [["--workers", "0"], {}, /--workers: 0 is not a whole number from 1/],
    [["--rate-limit", "maybe"], {}, /--rate-limit: "maybe" is not one of on, off, remote/],
    [["--price-source", "oracle"], {}, /is not one of simulated, operator/],
    [["--price-source", "guess"], {}, /"guess" is not one of simulated, operator, feed/],
    [["--host", "a b"], {}, /--host/],
    [[], { PERPD_POTR: "1" }, /unknown environment variable PERPD_POTR; valid: .*PERPD_PORT/],
    [[], { PERPD_INSTRUMENTS: "[]" }, /unknown environment variable PERPD_INSTRUMENTS/],
    [[], { PERPD_PORT: "http" }, /PERPD_PORT: "http" is not/],
    [[], { PERPD_BOTS: "on", PERPD_NO_BOTS: "on" }, /both set/],
    [[], { PERPD_BOTS: "no" }, /PERPD_BOTS: "no" is not on or off/],
    [[], { PERPD_MAX_ACCOUNTS: "1023" }, /PERPD_MAX_ACCOUNTS: 1023 is not a whole number from 1024/],
    [[], { PERPD_RING_BYTES: "10000000" }, /ringBytes: 10000000 is not a power of two/],
    [[], { PERPD_SEGMENT_BYTES: "70000" }, /a multiple of 4096/],
    [[], { PERPD_FAUCET_CAP: "-1" }, /PERPD_FAUCET_CAP: "-1" is not an amount of USDC/],
    [[], { PERPD_FAUCET_CAP: "0.0000001" }, /more than 6 decimals/],
    [[], { PERPD_MIN_DEPOSIT: "x" }, /PERPD_MIN_DEPOSIT: "x" is not an amount of USDC/],
    [
      [],
      { PERPD_MIN_DEPOSIT: "100000.000001" },
      /^minDeposit: 100000.000001 is above 100000, the deposit of the demo account/,
    ],
    [["--config", "/nowhere.json"], {}, /cannot read the configuration file \/nowhere.json: ENOENT/],
    [["--config", file("{")], {}, /is not JSON/],
    [["--config", file([])], {}, /must hold a JSON object of settings/],
    [["--config", file({ prot: 1 })], {}, /unknown key "prot"; valid: host, port/],
    [["--config", file('{"__proto__": 1}')], {}, /unknown key "__proto__"/],
    [["--config", file({ constructor: 1 })], {}, /unknown key "constructor"/],
    [["--config", file({ port: "8080" })], {}, /port: "8080" is not a whole number/],
    [["--config", file({ instruments: [] })], {}, /instruments/],
    [["--config", file({ instruments: [{ ...BTC, tickSize: 0.1 }] })], {}, /instruments\[0\]\.tickSize must be string/],
    [["--config", file({ instruments: [{ ...BTC, lot: "1" }] })], {}, /instruments\[0\] .*lot/],
    [["--config", file({ instruments: [{ ...BTC, quoteAsset: "EUR" }] })], {}, /\[0\]\.quoteAsset/],
    [
      ["--config", file({ instruments: [{ ...BTC, maxOpenOrders: 6000 }] })],
      {},
      /BTC-PERP\.maxOpenOrders is more than/,
    ],
    [["--config", file({ instruments: [BTC, { ...ETH, id: 1 }] })], {}, /the id 1 \(ETH-PERP\) is used twice/],
    [["--config", file({ instruments: [BTC, { ...BTC, id: 2 }] })], {}, /the symbol BTC-PERP is used twice/],
    [["--config", file({ instruments: [{ ...BTC, minQuantity: "101" }] })], {}, /minQuantity is above maxQuantity/],
    [
      ["--config", file({ instruments: [{ ...BTC, minNotional: "100000001" }] })],
      {},
      /minNotional is above maxNotional/,
    ],
    [
      ["--config", file({ instruments: [{ ...BTC, maxQuantity: "0.001", minNotional: "1001" }] })],
      {},
      /BTC-PERP\.minNotional is above maxQuantity × maxPrice/,
    ],
    [
      [
        "--config",
        file({
          instruments: [{ ...BTC, minNotional: "0", riskTiers: [{ ...BTC.riskTiers[0], maxNotional: "0.00009" }] }],
        }),
      ],
      {},
      /BTC-PERP\.minQuantity × tickSize is above maxNotional/,
    ],
    [["--config", file({ instruments: [{ ...BTC, maxPrice: "0" }] })], {}, /BTC-PERP\.maxPrice: at least one tick/],
    [["--config", file({ instruments: [{ ...BTC, maxPrice: "2000000" }] })], {}, /BTC-PERP\.maxPrice: at most 2\^24/],
    [["--config", file({ instruments: [{ ...BTC, takerFeeRate: "2" }] })], {}, /BTC-PERP\.takerFeeRate: at most 0\.1/],
    [["--config", file({ instruments: [{ ...BTC, tickSize: "0.0001" }] })], {}, /tickSize × stepSize/],
  ];
  for (const [args, env, message] of rows) assert.match(refusal(args, env), message);
});

test("the configuration file that docs/operating/settings.md shows is one, with the first of the default instruments", () => {
  const page = readFileSync(new URL("../../docs/operating/settings.md", import.meta.url), "utf8");
  const json = page.split("```json\n")[1]?.split("```")[0];
  const invocation = loadConfig(["start", "--config", file(json)], {});
  assert.ok(invocation.kind === "start");
  assert.deepEqual(invocation.config.instruments, start([]).instruments.slice(0, 1));
});

test("a feed whose settings contradict each other is refused", () => {
  const [binance, okx] = [{ exchange: "binance" }, { exchange: "okx" }];
  const rows: [change: object, message: RegExp][] = [
    [{ minSources: 6 }, /^feed: minSources 6 is more than the number of sources \(5\)$/],
    [{ maxAgeMs: 1999 }, /^feed: maxAgeMs 1999 is less than pollMs 2000, so every price would be too old$/],
    [{ sources: [binance, okx, { ...binance, quoteAsset: "USD" }] }, /^feed\.sources: binance is listed twice/],
    [
      { sources: [binance, { ...okx, symbols: { "BTC-PREP": "X/Y" } }] },
      /okx\.symbols names BTC-PREP, which is not a configured instrument/,
    ],
  ];
  for (const [change, message] of rows) {
    const feed = { ...DEFAULT_FEED, ...change };
    assert.match(refusal(["--config", file({ priceSource: "feed", feed })]), message);
    assert.equal(start(["--config", file({ feed })]).priceSource, "simulated");
  }
});

test("a token of less than 32 characters is refused with the way to make one, and an error shows no secret", () => {
  const short = TOKEN.slice(1);
  const says = /: the (value|token) is not 32 to 256 printable .*openssl rand -hex 32$/;
  const rows: [args: string[], env: Record<string, string>, named: RegExp][] = [
    [["--operator-token", short], {}, /^--operator-token:/],
    [["--operator-token", `two words ${TOKEN}`], {}, /^--operator-token:/],
    [[], { PERPD_OPERATOR_TOKEN: short }, /^PERPD_OPERATOR_TOKEN:/],
    [["--config", file({ operatorToken: short })], {}, /\.json: operatorToken:/],
    [[], { PERPD_METRICS_TOKEN: short }, /^PERPD_METRICS_TOKEN:/],
    [["--config", file({ operators: { alice: short } })], {}, /^operators\.alice:/],
  ];
  for (const [args, env, named] of rows) {
    const message = refusal(args, env);
    assert.match(message, named);
    assert.match(message, says);
    assert.ok(!message.includes(short.slice(0, 8)), message);
  }
  assert.equal(start(["--operator-token", TOKEN]).operatorToken, TOKEN);
});

test("allowed origins are a list, each as a browser sends it", () => {
  const origins = (text: string) => start([], { PERPD_ALLOWED_ORIGINS: text }).allowedOrigins;
  assert.deepEqual(start([]).allowedOrigins, ["*"]);
  assert.deepEqual(origins("https://App.example.com:443, http://localhost:3000/,"), [
    "https://app.example.com",
    "http://localhost:3000",
  ]);
  for (const wrong of [
    "app.example.com",
    "https://",
    "https://a/b",
    "https://a?b",
    "https://u:p@a",
    "null",
    "**",
    "https://*.a",
    "ws://a",
  ])
    assert.match(
      refusal([], { PERPD_ALLOWED_ORIGINS: `https://good.example,${wrong}` }),
      /^allowedOrigins: .* such as/,
    );
});

test("TLS needs both of its files", () => {
  assert.equal(start([]).tls, null);
  const both = { PERPD_TLS_CERT_FILE: "a.crt", PERPD_TLS_KEY_FILE: "a.key" };
  assert.deepEqual(start([], both).tls, { certFile: "a.crt", keyFile: "a.key" });
  assert.match(refusal([], { PERPD_TLS_CERT_FILE: "a.crt" }), /^tlsKeyFile: missing, but tlsCertFile is set/);
  assert.match(refusal([], { PERPD_TLS_KEY_FILE: "a.key" }), /^tlsCertFile: missing, but tlsKeyFile is set/);
});

test("trusted proxies are addresses and subnets, and never everybody", () => {
  const proxies = (text: string) => start([], { PERPD_TRUSTED_PROXIES: text }).trustedProxies;
  assert.deepEqual(start([]).trustedProxies, []);
  assert.deepEqual(proxies("127.0.0.1, 10.0.0.0/8,::1,2001:db8::/32,"), [
    "127.0.0.1",
    "10.0.0.0/8",
    "::1",
    "2001:db8::/32",
  ]);
  for (const [wrong, says] of [
    ["proxy.local", /give 10\.0\.0\.7/],
    ["10.0.0", /give 10\.0\.0\.7/],
    ["10.0.0.7:80", /give 10\.0\.0\.7/],
    ["10.0.0.0/8/8", /give 10\.0\.0\.7/],
    ["fe80::1%eth0", /give 10\.0\.0\.7/],
    ["*", /give 10\.0\.0\.7/],
    ["10.0.0.0/33", /valid: 1 to 32, such as 10\.0\.0\.0\/32/],
    ["10.0.0.0/", /valid: 1 to 32/],
    ["::1/129", /valid: 1 to 128/],
    ["0.0.0.0/0", /names every client/],
    ["::/0", /names every client/],
  ] as const) {
    const message = refusal([], { PERPD_TRUSTED_PROXIES: `127.0.0.1,${wrong}` });
    assert.match(message, /^trustedProxies: "/);
    assert.match(message, says);
  }
});

test("publicUrl is an origin, since gateways add paths of their own, and by default that of the process itself", () => {
  const replicate = { PERPD_REPLICATE: "nats://127.0.0.1" };
  const urlOf = (publicUrl: string) => start([], { ...replicate, PERPD_PUBLIC_URL: publicUrl }).replication?.url;
  const tls = { PERPD_TLS_CERT_FILE: "cert.pem", PERPD_TLS_KEY_FILE: "key.pem", PERPD_PORT: "8443" };
  assert.equal(start([], { ...replicate, ...tls }).replication?.url, "https://127.0.0.1:8443");
  assert.equal(urlOf(""), "http://127.0.0.1:8080");
  assert.equal(urlOf("http://10.0.0.2:8080/"), "http://10.0.0.2:8080");
  assert.equal(urlOf("https://A.example"), "https://a.example");
  for (const wrong of ["http://a/perpd", "http://a/v1", "http://a?b", "http://a#b", "http://u:p@a", "http://a:x"])
    assert.match(
      refusal([], { ...replicate, PERPD_PUBLIC_URL: wrong }),
      /^publicUrl: "http:.*" is not an origin; give a scheme, a host and perhaps a port, such as http:\/\/10\.0\.0\.1:8080$/,
    );
});

test("settings of replication without its servers give a warning, and an empty --replicate is refused", () => {
  const warningsOf = (args: string[], env: Record<string, string> = {}): string[] => {
    const invocation = loadConfig(["start", ...args], env);
    return invocation.kind === "start" ? invocation.warnings : [];
  };
  const alone = "replicate is not: the log is on this machine only, and no standby can follow";
  assert.deepEqual(warningsOf(["--replicate-mode", "sync"]), [`replicateMode is set, but ${alone}`]);
  assert.deepEqual(warningsOf(["--serve-reads", "on"]), [`serveReads is set, but ${alone}`]);
  const monitors = { PERPD_REPLICATE_MONITORS: "http://10.0.0.1:8222" };
  const config = file({ replicateStream: "other" });
  assert.deepEqual(warningsOf(["--config", config, "--serve-reads"], monitors), [
    `replicateStream, replicateMonitors, serveReads are set, but ${alone}`,
  ]);
  assert.deepEqual(warningsOf(["--serve-reads", "off"], { PERPD_REPLICATE: "" }), []);
  assert.deepEqual(warningsOf(["--serve-reads", "--replicate", "nats://10.0.0.1"], monitors), []);
  const empty = /^--replicate is empty: give URLs of NATS servers, or leave the flag out$/;
  for (const args of [["--replicate", ""], ["--replicate="]])
    assert.match(refusal(args, { PERPD_REPLICATE: "nats://10.0.0.1" }), empty);
});

test("upstreams are origins, or the addresses that perpd prints", () => {
  const upstreamsOf = (text: string): readonly string[] => start([], { PERPD_UPSTREAM: text }).upstreams;
  assert.deepEqual(upstreamsOf(""), []);
  assert.deepEqual(upstreamsOf("http://10.0.0.2:8080,https://A.example/,http://b/v1,http://c/v1/"), [
    ...["http://10.0.0.2:8080", "https://a.example", "http://b", "http://c"],
  ]);
  for (const wrong of ["http://a/perpd", "http://a/v1/ws", "http://a?b", "http://u:p@a"])
    assert.match(
      refusal([], { PERPD_UPSTREAM: `http://b,${wrong}` }),
      /^upstream: "http:.*a.*" is not an origin; give a scheme, a host and perhaps a port, such as http:\/\/10\.0\.0\.1:8080$/,
    );
});

test("upstream gives a warning where nothing uses it", () => {
  const env = { PERPD_REPLICATE: "nats://127.0.0.1", PERPD_UPSTREAM: "http://10.0.0.2:8080" };
  const warningsOf = (command: string): string[] => {
    const invocation = loadConfig([command], env);
    return invocation.kind === "start" ? invocation.warnings : [];
  };
  for (const command of ["start", "standby"])
    assert.deepEqual(warningsOf(command), [
      `upstream is set but perpd ${command} does not use it: it is for perpd gateway`,
    ]);
  assert.deepEqual(warningsOf("gateway"), []);
});

test("an Ethereum RPC is an http or https URL that no error shows, and http to another machine gives a warning", () => {
  const warnings = (url: string): string[] => {
    const invocation = loadConfig(["start"], { PERPD_ETHEREUM_RPC_URL: url });
    return invocation.kind === "start" ? invocation.warnings : [];
  };
  for (const url of [
    "",
    "https://rpc.example/v3/key",
    "http://127.0.0.1:8545",
    "http://localhost:8545",
    "http://[::1]:1/",
  ])
    assert.deepEqual(warnings(url), [], url);
  for (const url of ["http://rpc.example/", "http://127.0.0.1.evil.example/"])
    assert.match(warnings(url).join(), /^ethereumRpcUrl: over http /, url);
  for (const url of [
    "rpc.example/s3cret",
    "ws://h/s3cret",
    "https://u:s3cret@h/",
    "https://:s3cret",
    "http://s3cret:x",
  ]) {
    const message = refusal([], { PERPD_ETHEREUM_RPC_URL: url });
    assert.match(message, /http or https URL/);
    assert.doesNotMatch(message, /s3cret/);
  }
});

test("operators have names and tokens of their own, and a port that is not the public one", () => {
  const other = TOKEN.toUpperCase();
  const rows: [settings: object, message: RegExp][] = [
    [{ operators: { [TOKEN]: "alice" } }, /^operators: a name must have 1 to 24 of/],
    [{ operators: { metrics: TOKEN } }, /^operators: the name metrics is reserved/],
    [{ operators: { alice: TOKEN }, operatorToken: TOKEN }, /^operatorToken and operators\.alice are the same token/],
    [{ operators: { alice: TOKEN, bob: TOKEN } }, /^operators\.alice and operators\.bob are the same token/],
    [{ metricsToken: TOKEN, operatorToken: TOKEN }, /^operatorToken and metricsToken are the same token/],
    [{ operatorPort: 8080 }, /^operatorPort: 8080 is the port of the first listener/],
  ];
  for (const [settings, message] of rows) {
    const said = refusal(["--config", file(settings)]);
    assert.match(said, message);
    assert.ok(!said.includes(TOKEN), said);
  }
  const operators = { alice: TOKEN, "bob.night-shift": other };
  assert.deepEqual(start(["--config", file({ operators, operatorPort: 8081 })]).operators, operators);
});

test("errors do not show the contents of a file that is broken or invalid", () => {
  const feed = { ...DEFAULT_FEED, sources: [{ exchange: "okx", options: { apiKey: "hunter2" } }] };
  const [source] = feed.sources;
  const rows: [content: unknown, message: RegExp][] = [
    [{ feed: { ...feed, pollMs: "hunter2" } }, /\.json: feed\.pollMs must be integer$/],
    [{ feed: { ...feed, minSources: 0 } }, /: feed\.minSources must be >= 1$/],
    [{ feed: { ...feed, sources: [{ ...source, weight: 0 }] } }, /: feed\.sources\[0\]\.weight must be > 0$/],
    [{ feed: { ...feed, sources: [{ ...source, secret: "hunter2" }] } }, /: feed\.sources\[0\] .*: secret$/],
    [{ feed: { ...feed, sources: [{ exchange: "okx", options: "hunter2" }] } }, /\[0\]\.options must be object$/],
    [{ feed: "hunter2" }, /: feed must be object$/],
    ['{\n  "operatorToken": hunter2\n}', /is not JSON: the fault is in line 2, column 20$/],
    ['{\n  "operatorToken": "hunter2",\n}', /is not JSON: the fault is in line 3, column 1$/],
    ['{"feed": ["hunter2",\r\n"hunter2",]}', /is not JSON: the fault is in line 2, column 11$/],
    ['{"operatorToken": "hunter2" "port": 1}', /is not JSON: the fault is in line 1, column 29$/],
    ['{"operatorToken": "hunter2"', /is not JSON: the fault is in line 1, column 2[78]$/],
    ["{\"operatorToken\": ' JSON at position 1'}", /is not JSON: the fault is in line 1, column 19$/],
    ["hunter2", /is not JSON: the fault is in line 1, column 1$/],
    ["", /is not JSON: the fault is in line 1, column 1$/],
  ];
  for (const [content, expected] of rows) {
    const message = refusal(["--config", file(content)]);
    assert.match(message, expected);
    assert.doesNotMatch(message, /hunter2/);
  }
});

test("a byte order mark at the start of the file is allowed", () => {
  assert.equal(start(["--config", file('\uFEFF{"port": 5}')]).port, 5);
});

test("settings that are valid but probably not meant so give a warning", () => {
  const rows: [args: string[], warning: RegExp | null, workers: number][] = [
    [[], null, 1],
    [["--price-source", "operator"], /nobody can set an index price/, 1],
    [
      ["--price-source", "operator", "--operator-token", TOKEN],
      /^maxIndexAgeMs: at 600000 .*\(BTC-PERP at 100x: 6 s, ETH-PERP at 100x: 6 s, SOL-PERP at 50x: 11 s\)/,
      1,
    ],
    [["--config", file({ maxIndexAgeMs: 6000, priceSource: "operator", operatorToken: TOKEN })], null, 1],
    [
      ["--config", file({ instruments: [{ ...BTC, maxIndexAgeSeconds: 2 }], priceSource: "feed" })],
      /^instruments: BTC-PERP: 2 s is too low a maxIndexAgeSeconds for index prices that come every 2000 ms/,
      1,
    ],
    [["--config", file({ maxIndexAgeMs: 1000 })], /maxIndexAgeMs: 1000 is too low .* every 1000 ms/, 1],
    [["--config", file({ maxIndexAgeMs: 1001 })], null, 1],
    [["--config", file({ maxIndexAgeMs: 1500, priceSource: "feed" })], /maxIndexAgeMs: 1500 .* every 2000 ms/, 1],
    [["--config", file({ maxIndexAgeMs: 1, priceSource: "operator", operatorToken: TOKEN })], null, 1],
    [["--workers", "4"], null, 4],
    [["--workers", "9"], /more than the number of symbols plus one/, 4],
  ];
  for (const [args, warning, workers] of rows) {
    const invocation = loadConfig(["start", ...args], {});
    assert.ok(invocation.kind === "start");
    assert.equal(invocation.config.workers, workers);
    if (warning === null) assert.deepEqual(invocation.warnings, []);
    else assert.match(invocation.warnings.join(), warning);
  }
});

test("what an instrument leaves out of its price guards is as much as its leverage allows", () => {
  const [tier] = BTC.riskTiers;
  const rows: [changes: object, guards: object][] = [
    [{}, { indexJumpLimit: "0.0075", breakerLimit: "0.15", maxMovePerSecond: "0.0008", maxIndexAgeSeconds: 6 }],
    [{}, { openInterestCap: "1000000000", openInterestLowerCap: "500000000" }],
    [{ fundLossLimit: "0.5" }, { fundLossLimit: "0.5" }],
    [{ fundMaxNotional: "5000" }, { fundMaxNotional: "5000" }],
    [{ openInterestCap: "100000" }, { openInterestCap: "100000", openInterestLowerCap: "50000" }],
    [{ openInterestLowerCap: "0" }, { openInterestCap: "1000000000", openInterestLowerCap: "0" }],
    [{ indexJumpLimit: undefined }, { indexJumpLimit: "0.0075" }],
    [
      { indexJumpLimit: "0.001", breakerLimit: "0.02" },
      { indexJumpLimit: "0.001", breakerLimit: "0.02" },
    ],
    [{ maxMovePerSecond: undefined }, { maxMovePerSecond: "0.001", maxIndexAgeSeconds: 4 }],
    [{ maxIndexAgeSeconds: 3 }, { maxIndexAgeSeconds: 3 }],
    [{ riskTiers: [tier] }, { breakerLimit: "0.008" }],
    [
      { riskTiers: [{ ...tier, maxLeverage: 5, maintenanceMarginRate: "0.1" }], defaultLeverage: 5 },
      { indexJumpLimit: "0.0075", maxIndexAgeSeconds: 10 },
    ],
  ];
  for (const [changes, guards] of rows) {
    const [instrument] = start(["--config", file({ instruments: [{ ...BTC, ...changes }] })]).instruments;
    assert.deepEqual({ ...instrument, ...guards }, instrument, JSON.stringify(changes));
  }
});

test("an index price may be as old as the operator's server allows, unless the instrument says less", () => {
  const operator = { priceSource: "operator", operatorToken: TOKEN };
  const ages = (more: object) => start(["--config", file({ ...operator, ...more })]).instruments.map(age);
  const age = ({ maxIndexAgeSeconds }: Config["instruments"][number]) => maxIndexAgeSeconds;
  assert.deepEqual(ages({}), [600, 600, 600]);
  assert.deepEqual(ages({ maxIndexAgeMs: 500 }), [0.5, 0.5, 0.5]);
  assert.deepEqual(ages({ instruments: [{ ...BTC, maxIndexAgeSeconds: 5 }, ETH] }), [5, 600]);
  assert.deepEqual(start([]).instruments.map(age), [6, 6, 10], "of simulated prices");
});

test("settings that are not safe at the leverage they allow are refused with the nearest that is", () => {
  const [tier, ...tiers] = BTC.riskTiers;
  const rows: [changes: object, says: RegExp, nearest: object][] = [
    [
      { maxIndexAgeSeconds: 10 },
      /^instruments: BTC-PERP\.maxIndexAgeSeconds: 10 is not safe at 100x; use at most 6$/,
      { maxIndexAgeSeconds: 6 },
    ],
    [
      { indexJumpLimit: "0.1" },
      /^instruments: BTC-PERP\.indexJumpLimit: 0\.1 is not safe at 100x; use at most 0\.0075$/,
      { indexJumpLimit: "0.0075" },
    ],
    [
      { indexJumpLimit: "0" },
      /BTC-PERP\.indexJumpLimit: 0, which sets no limit, is not safe at 100x; use at most 0\.0075$/,
      { indexJumpLimit: "0.0075" },
    ],
    [
      { breakerLimit: "0.25" },
      /BTC-PERP\.breakerLimit: 0\.25 is not safe at 100x; use at most 0\.198$/,
      { breakerLimit: "0.198" },
    ],
    [
      { maxMovePerSecond: "0.003" },
      /BTC-PERP\.riskTiers\[0\]\.maintenanceMarginRate: 0\.004 is too low, because the index may move by 0\.003 .* at least 0\.006$/,
      {
        ...{ maxMovePerSecond: "0.003", indexJumpLimit: undefined },
        riskTiers: [{ ...tier, maintenanceMarginRate: "0.006" }, ...tiers],
      },
    ],
    [
      { maxMovePerSecond: "0.006" },
      /BTC-PERP\.riskTiers\[0\]\.maxLeverage: 100 is too high, because the index may move by 0\.006 .* at most 83$/,
      {
        ...{ maxMovePerSecond: "0.006", indexJumpLimit: undefined },
        riskTiers: [{ ...tier, maxLeverage: 83, maintenanceMarginRate: "0.012" }, ...tiers.slice(1)],
      },
    ],
    [{ openInterestCap: "0" }, /BTC-PERP\.openInterestCap: above 0$/, { openInterestCap: "1" }],
    [
      { openInterestCap: "100", openInterestLowerCap: "100" },
      /BTC-PERP\.openInterestLowerCap: 100 is not below the cap of 100; use at most 99\.999999$/,
      { openInterestCap: "100", openInterestLowerCap: "99.999999" },
    ],
    [{ maxMovePerSecond: "0" }, /BTC-PERP\.maxMovePerSecond: above 0$/, { maxMovePerSecond: "0.000001" }],
  ];
  for (const [changes, says, nearest] of rows) {
    assert.match(refusal(["--config", file({ instruments: [{ ...BTC, ...changes }] })]), says);
    start(["--config", file({ instruments: [{ ...BTC, ...nearest }] })]);
  }
});

test("commands other than start", () => {
  const rows: [argv: string[], kind: string][] = [
    [[], "help"],
    [["help"], "help"],
    [["--help"], "help"],
    [["start", "--help"], "help"],
    [["start", "--port", "x", "-h"], "help"],
    [["version"], "version"],
    [["--version"], "version"],
  ];
  for (const [argv, kind] of rows) assert.equal(loadConfig(argv, {}).kind, kind, argv.join(" "));
  assert.throws(
    () => loadConfig(["stop"], {}),
    /unknown command "stop"; valid: start, standby, gateway, verify, backup, restore, help/,
  );
});

test("commands on a data folder take folders, then the flags of start", () => {
  const path = file({ segmentBytes: 65536, data: "elsewhere" });
  const verify = loadConfig(["verify", "a", "--config", path], {});
  assert.ok(verify.kind === "verify");
  assert.deepEqual([verify.config.data, verify.config.segmentBytes], ["a", 65536]);
  const backup = loadConfig(["backup", "a", "b"], { PERPD_DATA: "elsewhere" });
  assert.ok(backup.kind === "backup");
  assert.deepEqual([backup.config.data, backup.target], ["a", "b"]);
  const restore = loadConfig(["restore", "b", "a", "--config", path], {});
  assert.ok(restore.kind === "restore");
  assert.deepEqual([restore.backup, restore.config.data], ["b", "a"]);
  const rows: [argv: string[], says: RegExp][] = [
    [["verify"], /expected DIR and then flags/],
    [["verify", "a", "b"], /expected DIR and then flags, not "a b"/],
    [["verify", ""], /expected DIR/],
    [["backup", "a"], /expected DIR TARGET/],
    [["restore", "--config", path, "b", "a"], /expected BACKUP DIR/],
    [["verify", "a", "--data", "b"], /--data is for start/],
    [["verify", "a", "--data=b"], /--data is for start/],
    [["verify", "a", "--nope"], /unknown flag --nope/],
  ];
  for (const [argv, says] of rows) assert.throws(() => loadConfig(argv, {}), { name: "ConfigError", message: says });
});

test("the help names every flag and every setting, and says what each is for and its default", () => {
  const invocation = loadConfig(["help"], {});
  assert.ok(invocation.kind === "help");
  const lines = invocation.text.split("\n");
  for (const name of SETTING_NAMES.filter((name) => name !== "bots")) {
    const { flag, fileOnly, description, ...schema } = schemaOf(name);
    const line = lines.find((line) => line.startsWith(flag === undefined ? `  ${name} ` : `  --${flag} `)) ?? name;
    if (!fileOnly) assert.ok(line.includes(` ${environmentName(name)} `), line);
    const shown = schema.type === "boolean" ? { true: "on", false: "off" }[String(schema.default)] : schema.default;
    const hasDefault = !fileOnly && schema.default !== "";
    assert.ok(line.endsWith(hasDefault ? `  ${description} (default ${shown})` : `  ${description}`), line);
  }
  assert.match(invocation.text, /^ {2}--no-bots +PERPD_BOTS +run no bots in the sandbox/m);
});

test("a configuration is plain data that can be sent to a thread", () => {
  const config = start([]);
  assert.deepEqual(structuredClone(config), config);
});
