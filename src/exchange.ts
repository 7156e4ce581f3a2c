import type { Logger } from "pino";
import type { Host } from "./actor/host/host.ts";
import type { ComputePool } from "./actor/host/pools.ts";
import { must } from "./assert.ts";
import type { Config } from "./config.ts";
import type { PriceTicks } from "./core/base/units.ts";
import { Approvals } from "./front/auth/approvals.ts";
import { Auth } from "./front/auth/auth.ts";
import { ContractWallets } from "./front/auth/contract-wallets.ts";
import { Limits } from "./front/auth/limits.ts";
import { Operators } from "./front/auth/operators.ts";
import { Wallets } from "./front/auth/wallet.ts";
import { WalletSignatures } from "./front/auth/wallet-signature.ts";
import { ApiError } from "./front/common/errors.ts";
import { BASE_PATH, SOCKET_PATH } from "./front/common/paths.ts";
import { ClientOrderIds } from "./front/exchange/client-order-ids.ts";
import { Credentials } from "./front/exchange/credentials.ts";
import { logHalts } from "./front/exchange/halt-log.ts";
import { isFollower, notLeader } from "./front/exchange/leader.ts";
import { haltOnUnsoundLedger } from "./front/exchange/ledger-failsafe.ts";
import { MarketData } from "./front/exchange/market.ts";
import { Solvency } from "./front/exchange/solvency.ts";
import { RECENT_LIQUIDATIONS, RECENT_TRADES } from "./front/exchange/symbol-market.ts";
import { Transfers } from "./front/exchange/transfers.ts";
import { authorityOf } from "./front/http/addresses.ts";
import type { Call } from "./front/http/call.ts";
import type { TlsOptions } from "./front/http/certificate-watch.ts";
import type { ConnectionLimit } from "./front/http/connection-counts.ts";
import { maxOpenConnections } from "./front/http/open-files.ts";
import { Origins } from "./front/http/origins.ts";
import { listen, type Server } from "./front/http/server.ts";
import { NO_SOCKETS } from "./front/http/sockets.ts";
import { TrustedProxies } from "./front/http/trusted-proxies.ts";
import { createApis } from "./front/routes/api.ts";
import { type Context, Symbols } from "./front/routing/context.ts";
import { createTradingHandler, type TradingHandler } from "./front/trading/operations.ts";
import { WebSocketApi } from "./front/websocket/websocket-api.ts";
import { type Database, openDatabase } from "./store/database/database.ts";
import { PastIdReader } from "./store/database/past-client-ids.ts";
import { readGenesis } from "./store/files/genesis.ts";
import { requireMatchingSecret, Vault } from "./store/files/vault.ts";
import { History } from "./store/history/history.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Of the listener of operators. Clients of the public one cannot use them up. */
const MAX_OPERATOR_CONNECTIONS = 64;

export interface ExchangeParts {
  config: Config;
  /** The key that API secrets are encrypted with. */
  secret: Buffer;
  host: Host;
  compute: ComputePool;
  log: Logger;
  droppedLogLines: () => number;
  /** Ends the process in order. */
  stepDown: () => void;
  version: string;
}

/** The running HTTP and WebSocket API. */
export interface Exchange {
  readonly url: string;
  /** Where operators send their requests: `url`, unless there is a second listener. */
  readonly operatorUrl: string;
  readonly socketUrl: string;
  /** The instrument's mark price in ticks; 0 before its first price. */
  markTicksOf(instrumentId: number): PriceTicks;
  /** This process leads, and another one did before. */
  beginToLead(): void;
  /** From now on GET /health reports that the exchange is ready. */
  setReady(): void;
  /** Accepts no new requests, and answers those on their way. */
  drain(): Promise<void>;
  /** After drain(): closes every connection, when clients have had the time to read the last answers. */
  close(): Promise<void>;
  closeDatabase(): void;
}

/**
 * Builds the gateway on a host whose actors have recovered: first the caches, each filled by its actors, then the server.
 * Nobody can trade before this resolves, and no transaction of a leader may come (Host.startFollowing).
 */
export async function openExchange(parts: ExchangeParts): Promise<Exchange> {
  const { config, host, log, version } = parts;
  const database = openDatabase(config.data, { readOnly: true });
  const caches = await openCaches(parts, database);
  const { market, history, transfers, solvency, auth, limits } = caches;
  // The WebSocket API and the server need each other, and the API needs the server's port.
  let server: Server;
  const notReady = (call: Call): void => call.fail(new ApiError("NOT_READY"), log);
  let apis: ReturnType<typeof createApis> = { open: notReady, operators: notReady };
  let trade: TradingHandler;
  /** A leader that may have been deposed answers no reads: they may be old, and it cannot tell by how much. */
  const serves = (): boolean => host.isLeading || (config.serveReads && isFollower(host));
  const webSocketApi = new WebSocketApi({
    ...{ engine: host, market, transfers, history, auth, limits, log },
    publish: (topic, text) => server.publish(topic, text),
    trade(op, params, principal, answer) {
      if (host.isLeading) trade(op, params, principal, answer);
      else answer.refuse(notLeader(host));
    },
    // Nobody is told that it counts. So it may wait in the log until this process knows again that it leads.
    tradeUnanswered: (op, params, principal, answer) => trade(op, params, principal, answer),
    requireLeader() {
      if (!host.isLeading) throw notLeader(host);
    },
    requireService() {
      if (!serves()) throw notLeader(host);
    },
    now: Date.now,
    monotonic: () => performance.now(),
  });
  // First, so that nothing comes between the public listener and the API that answers there.
  const operatorServer = await listenForOperators(config, (call) => apis.operators(call), log);
  server = await listen({
    host: config.host,
    port: config.port,
    socketPath: SOCKET_PATH,
    onCall: (call) => (host.isLeading || mayAnswer(call, serves()) ? apis.open(call) : call.refuse(notLeader(host))),
    sockets: webSocketApi,
    log,
    origins: new Origins(config.allowedOrigins),
    proxies: proxiesOf(config),
    tls: tlsOf(config, log),
    connectionLimit: connectionLimitOf(config, limits),
  });
  warnOfFewConnections(config, limits, log);
  let ready = false;
  const authority = authorityOf(config.host, server.port);
  const context = createContext(parts, caches, authority, () => ready);
  apis = createApis(context, auth, version, operatorServer !== null);
  trade = createTradingHandler(context);
  webSocketApi.start();
  const serviceWatch = config.replication === null ? null : closeWithoutService(webSocketApi, serves);
  logHalts(host, log, solvency.gate);
  haltOnUnsoundLedger(host);
  const operatorAuthority = operatorServer === null ? authority : authorityOf(config.operatorHost, operatorServer.port);
  const secure = config.tls === null ? "" : "s";
  return {
    url: `http${secure}://${authority}${BASE_PATH}`,
    operatorUrl: `http${secure}://${operatorAuthority}${BASE_PATH}`,
    socketUrl: `ws${secure}://${authority}${SOCKET_PATH}`,
    markTicksOf: (instrumentId) => market.symbol(instrumentId).markTicks,
    beginToLead: () => auth.beginToLead(),
    setReady() {
      ready = true;
    },
    async drain() {
      ready = false;
      if (serviceWatch !== null) clearInterval(serviceWatch);
      await webSocketApi.stop();
      await Promise.all([server.drain(), operatorServer?.drain()]);
      await webSocketApi.waitForCancels();
    },
    async close() {
      await Promise.all([server.close(), operatorServer?.close()]);
    },
    closeDatabase: () => database.close(),
  };
}

/** Clients of a process that does not answer for so long connect again: another one may lead. */
const CLOSE_AFTER_MS = 10_000;
const SERVICE_CHECK_MS = 500;

function closeWithoutService(sockets: WebSocketApi, serves: () => boolean): NodeJS.Timeout {
  let servedAt = performance.now();
  return setInterval(() => {
    const now = performance.now();
    if (serves()) servedAt = now;
    else if (now - servedAt > CLOSE_AFTER_MS) sockets.closeAll();
  }, SERVICE_CHECK_MS);
}

/** Answered by each process of an exchange: what it does, and how it is. */
const ALWAYS_ANSWERED = new Set(
  ["/health", "/health/live", "/health/ready", "/replication", "/metrics"].map((path) => BASE_PATH + path),
);

/** Whether a process that does not lead answers the call. `serves`: it answers reads. */
function mayAnswer({ method, path }: Call, serves: boolean): boolean {
  if (method === "POST" || method === "PUT" || method === "PATCH" || method === "DELETE") return false;
  return serves || ALWAYS_ANSWERED.has(path);
}

function connectionLimitOf({ maxConnectionsPerAddress }: Config, limits: Limits | null): ConnectionLimit | null {
  return limits === null ? null : { max: maxConnectionsPerAddress, covers: (address) => limits.covers(address) };
}

/** With fewer, two or three addresses within their limits could take all connections. */
const MIN_FULL_ADDRESSES = 4;

function warnOfFewConnections(config: Config, limits: Limits | null, log: Logger): void {
  const perAddress = config.maxConnectionsPerAddress + config.maxSocketsPerAddress;
  const connections = maxOpenConnections();
  if (limits === null || connections >= MIN_FULL_ADDRESSES * perAddress) return;
  log.warn(
    { connections, perAddress },
    "few addresses can take all connections: raise the limit of open files (ulimit -n, LimitNOFILE), or lower maxConnectionsPerAddress and maxSocketsPerAddress",
  );
}

/** Null if the operator's endpoints are on the public listener. */
async function listenForOperators(config: Config, onCall: (call: Call) => void, log: Logger): Promise<Server | null> {
  const { operatorHost: host, operatorPort: port } = config;
  if (port === 0) return null;
  const options = {
    origins: new Origins(config.allowedOrigins),
    proxies: proxiesOf(config),
    tls: tlsOf(config, log),
    maxConnections: MAX_OPERATOR_CONNECTIONS,
  };
  return listen({ host, port, socketPath: SOCKET_PATH, onCall, sockets: NO_SOCKETS, log, ...options });
}

const proxiesOf = ({ trustedProxies }: Config): TrustedProxies | null =>
  trustedProxies.length === 0 ? null : new TrustedProxies(trustedProxies);

const tlsOf = ({ tls }: Config, log: Logger): TlsOptions | null => (tls === null ? null : { ...tls, log });

type Caches = Awaited<ReturnType<typeof openCaches>>;

async function openCaches({ config, secret, host }: ExchangeParts, database: Database) {
  const history = new History(database);
  const market = await MarketData.open(
    host,
    (instrumentId) => ({
      minuteCandles: history.minuteCandles(instrumentId, Date.now() - DAY_MS),
      trades: history.tradesOf(instrumentId, { limit: RECENT_TRADES }).data.reverse(),
      liquidations: history.liquidationsOf(instrumentId, { limit: RECENT_LIQUIDATIONS }).data.reverse(),
      fundingRates: history.fundingRatesOf(instrumentId, { limit: 1 }).data,
    }),
    Date.now,
  );
  const transfers = await Transfers.open(host);
  const solvency = await Solvency.open(host);
  const credentials = await Credentials.open(host);
  const vault = new Vault(secret);
  requireMatchingSecret(config.data, vault, credentials.allKeys());
  const clientOrderIds = await ClientOrderIds.open(
    host,
    new PastIdReader(database, host.pastIds),
    (orderId, placedAt) => history.isOpen(orderId, placedAt),
  );
  const auth = new Auth({ credentials, vault, operators: new Operators(config) });
  return {
    history,
    market,
    transfers,
    solvency,
    credentials,
    vault,
    clientOrderIds,
    auth,
    limits: Limits.open(config),
  };
}

/** `authority` is the server's host and port. Wallets show it when a user signs in, unless `loginDomain` is set. */
function createContext(
  { config, host, compute, log, droppedLogLines, stepDown }: ExchangeParts,
  { history, market, solvency, credentials, vault, clientOrderIds, limits }: Caches,
  authority: string,
  isReady: () => boolean,
): Context {
  const domain = config.loginDomain === "" ? authority : config.loginDomain;
  const { chainId } = config;
  const contracts =
    config.ethereumRpcUrl === "" ? null : new ContractWallets({ rpcUrl: config.ethereumRpcUrl, chainId, log });
  const signatures = new WalletSignatures(compute.recover, contracts);
  const wallets = new Wallets({
    domain,
    uri: `http${config.tls === null ? "" : "s"}://${domain}`,
    chainId,
    signatures,
  });
  const { exchangeId } = must(readGenesis(config.data), "the genesis of the data folder");
  const approvals = new Approvals({
    ...{ domain, exchangeId, chainId, signatures },
    isRequired: config.walletApproval,
    addressOf: (accountId) => credentials.addressOf(accountId),
  });
  return {
    ...{
      history,
      market,
      solvency,
      credentials,
      vault,
      clientOrderIds,
      limits,
      wallets,
      approvals,
      isReady,
      log,
      droppedLogLines,
      stepDown,
    },
    engine: host,
    symbols: new Symbols(host.instruments),
    sessionTtlMs: config.sessionTtlMs,
    exchangeId,
  };
}
