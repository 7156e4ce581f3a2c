import { readFileSync } from "node:fs";
import { type JetStreamApiError, jetstreamManager, type StreamConfig } from "@nats-io/jetstream";
import {
  type Authenticator,
  ConnectionError,
  connect,
  credsAuthenticator,
  headers,
  type Msg,
  type NatsConnection,
  type Subscription,
} from "@nats-io/transport-node";
import type { ReplicationConfig } from "../config/replication.ts";
import { Appender } from "./appender.ts";
import { type Batch, headerOf, type PlacedBatch, parseBatch, StreamFault } from "./batch.ts";
import { answered, REQUEST_TIMEOUT_MS } from "./nats-answers.ts";
import { bucketOf, NatsLease } from "./nats-lease.ts";
import { isAwaitingPeers, isSilence, requireSync } from "./server-sync.ts";
import { type BatchStream, type LeaseStore, type StandbyNote, UnknownOutcomeError } from "./stream.ts";
import { requireTls } from "./tls-probe.ts";

const CONNECT_TIMEOUT_MS = 5000;
/** Three servers take a while to agree on who keeps a new stream. */
const CREATE_TIMEOUT_MS = 5000;
const RECONNECT_WAIT_MS = 100;
/** Room for the headers of a message. */
const HEADER_BYTES = 2048;
const MAX_MESSAGE_BYTES = 512 * 1024;
const STREAM_NOT_FOUND = 10059;
const NOT_CLUSTERED = 10074;

/** The exchange whose log the stream holds, and how to reach the stream. */
export interface ServerSettings extends ReplicationConfig {
  readonly exchangeId: string;
}

/** A connection to NATS JetStream, with the stream of the log and the leader's lease. */
export interface ReplicationServer {
  readonly stream: BatchStream;
  readonly lease: LeaseStore;
  /** Monitors that did not answer: see requireSyncLater(). */
  readonly uncheckedMonitors: readonly string[];
  /** Tells all other processes of the exchange how far this one is. Nobody may hear it. */
  announce(note: StandbyNote): void;
  /** Calls back for each note, also for this process's own. */
  hear(listener: (note: StandbyNote) => void): void;
  close(): Promise<void>;
}

/** The meaning of a missing stream: "new", it may be made; "lost", it was there; "awaited", a leader makes it. */
export type MissingStream = "new" | "lost" | "awaited";

/**
 * Connects, and makes the lease if it is missing, and the stream if it is missing and "new". Throws StreamFault with the reason
 * and what to do: wrong credentials, a missing stream, one of other properties. Throws UnknownOutcomeError while no server answers.
 */
export async function openServer(settings: ServerSettings, missing: MissingStream): Promise<ReplicationServer> {
  const uncheckedMonitors = await requireSync(settings);
  return withConnection(settings, async (connection) => {
    const manager = await jetstreamManager(connection, { timeout: CREATE_TIMEOUT_MS });
    const { stream, replicas } = settings;
    const found = await findStream(manager, stream);
    if (found === null) refuseMissing(stream, missing);
    else checkStream(found, settings);
    const lease = await NatsLease.open(connection, settings);
    const copies = { [bucketOf(stream)]: await lease.copies() };
    requireReplicas(found === null ? copies : { [stream]: found.num_replicas, ...copies }, replicas);
    if (found === null) {
      // That of an earlier stream of this name, whose epochs do not count here. Before the stream is made: a start that fails
      // in between finds it again.
      await lease.clear();
      await makeStream(manager, settings);
    }
    return {
      stream: await NatsStream.open(connection, settings.stream),
      lease,
      uncheckedMonitors,
      announce: (note) => connection.publish(`${settings.stream}.standby`, JSON.stringify(note)),
      hear(listener) {
        connection.subscribe(`${settings.stream}.standby`, {
          callback: (_error, message) => {
            const note = readNote(message);
            if (note !== null) listener(note);
          },
        });
      },
      close: () => connection.close(),
    };
  });
}

/**
 * For a folder that holds no exchange, before anything is written to it: throws StreamFault if the stream exists, because it
 * holds the log of another exchange, and for each server that openServer() refuses. Throws UnknownOutcomeError while no server
 * answers. It makes the lease: only that shows whether the servers can keep so many copies.
 */
export async function requireNoStream(config: ReplicationConfig): Promise<void> {
  await requireSync(config);
  await withConnection(config, async (connection) => {
    const manager = await jetstreamManager(connection, { timeout: REQUEST_TIMEOUT_MS });
    const found = await findStream(manager, config.stream);
    if (found !== null) refuseExchange(found, config.stream, "this folder holds no exchange");
    const lease = await NatsLease.open(connection, config);
    requireReplicas({ [bucketOf(config.stream)]: await lease.copies() }, config.replicas);
    await connection.close();
  });
}

/**
 * Connects to the stream of a running exchange, to read it. Throws StreamFault with the reason and what to do. It needs the
 * right to ask for the stream's state, to get messages directly, and to subscribe to its subject.
 */
export async function openStreamReader(settings: ServerSettings): Promise<Pick<ReplicationServer, "stream" | "close">> {
  return withConnection(settings, async (connection) => {
    const manager = await jetstreamManager(connection, { timeout: CREATE_TIMEOUT_MS, checkAPI: false });
    const found = await findStream(manager, settings.stream);
    if (found === null)
      throw new StreamFault(
        `there is no stream ${settings.stream} on the NATS server; set replicate and replicateStream to those of the leader`,
      );
    checkStream(found, settings);
    return { stream: await NatsStream.open(connection, settings.stream), close: () => connection.close() };
  });
}

/** Connects for `work`, which closes the connection later. Throws StreamFault or UnknownOutcomeError if one of both fails. */
async function withConnection<T>(
  config: ReplicationConfig,
  work: (connection: NatsConnection) => Promise<T>,
): Promise<T> {
  const connection = await connectOrExplain(config);
  try {
    return await work(connection);
  } catch (error) {
    await connection.close();
    throw error instanceof StreamFault ? error : explained(error as Error, reasonOf(error as Error, config));
  }
}

function reasonOf(error: Error, { replicas }: ReplicationConfig): string {
  const hint = isAwaitingPeers(error)
    ? `; the stream needs ${replicas} NATS servers that are up (replicateReplicas)`
    : (error as JetStreamApiError).code === NOT_CLUSTERED
      ? `; replicateReplicas is ${replicas}, and this server is in no cluster: set it to 1, or set up three servers`
      : "";
  return `NATS JetStream: ${error.message}${hint}`;
}

async function connectOrExplain({ servers, credentialsFile, tls, url }: ReplicationConfig): Promise<NatsConnection> {
  try {
    if (tls !== null) await Promise.all(servers.map((server) => requireTls(server, tls)));
    return await connect({
      servers: [...servers],
      name: `perpd ${url}`,
      timeout: CONNECT_TIMEOUT_MS,
      reconnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_WAIT_MS,
      reconnectJitter: RECONNECT_WAIT_MS / 2,
      pingInterval: 2000,
      maxPingOut: 2,
      // Credentials that are refused for a while must not end the connection for good.
      ignoreAuthErrorAbort: true,
      // A second error object for each request, to say where it came from, is a tenth of what a message costs.
      noAsyncTraces: true,
      ...loginIn(servers),
      ...(credentialsFile === "" ? {} : { authenticator: credentialsOf(credentialsFile) }),
      ...(tls === null ? {} : { tls }),
    });
  } catch (error) {
    const where = servers.map((server) => server.replace(/\/\/[^@/]*@/, "//")).join(", ");
    const why = isUngreeted(error as Error)
      ? "the server ended the connection before its greeting"
      : (error as Error).message || "no answer";
    throw explained(
      error as Error,
      `cannot connect to NATS at ${where}: ${why}; check replicate, its credentials and TLS`,
    );
  }
}

/** User and password of the first URL that has some, or a token alone. The client does not read them by itself. */
function loginIn(servers: readonly string[]): { user?: string; pass?: string; token?: string } {
  for (const server of servers) {
    const [user, pass] = [new URL(server).username, new URL(server).password].map(decodeURIComponent);
    if (user !== "") return pass === "" ? { token: user } : { user, pass };
  }
  return {};
}

/** Reads the file at each connection, so that new credentials need no restart. */
function credentialsOf(file: string): Authenticator {
  readFileSync(file);
  return (nonce) => credsAuthenticator(readFileSync(file))(nonce);
}

/** A server that does not answer may be starting. One that says no will go on to say so. */
function explained(error: Error, why: string): Error {
  const isSilent = isSilence(error) || isUngreeted(error);
  return isSilent ? new UnknownOutcomeError(why, { cause: error }) : new StreamFault(why, { cause: error });
}

/** Whether a server that starts or stops, or a proxy before it, ended the connection. Only then the client knows no cause. */
const isUngreeted = (error: Error): boolean => error instanceof ConnectionError && error.cause === undefined;

type Manager = Awaited<ReturnType<typeof jetstreamManager>>;

/** Throws unless a stream that does not exist may be made. */
function refuseMissing(stream: string, missing: MissingStream): void {
  if (missing === "awaited")
    throw new StreamFault(
      `there is no stream ${stream} on the NATS server: start the leader first, or set replicate and replicateStream to those of the leader`,
    );
  if (missing === "lost")
    throw new StreamFault(
      `the stream ${stream} does not exist on the NATS server, but this folder says that it did: the stream has lost acknowledged transactions. Restore the stream; or, if this folder is the newest copy that is left, remove replication.json from it and start it as the leader`,
    );
}

async function makeStream(manager: Manager, settings: ServerSettings): Promise<void> {
  const { stream, replicas, exchangeId, mode } = settings;
  const { config } = await manager.streams.add({
    name: stream,
    subjects: [`${stream}.log`],
    storage: "file",
    retention: "limits",
    discard: "new",
    deny_delete: true,
    allow_direct: true,
    num_replicas: replicas,
    metadata: { perpdExchangeId: exchangeId, perpdMode: mode },
  });
  checkStream(config, settings);
}

/** Null if there is none of this name. */
async function findStream(manager: Manager, stream: string): Promise<StreamConfig | null> {
  try {
    return (await manager.streams.info(stream)).config;
  } catch (error) {
    if ((error as JetStreamApiError).code === STREAM_NOT_FOUND) return null;
    throw error;
  }
}

function checkStream(config: StreamConfig, { stream, exchangeId, mode }: ServerSettings): void {
  const { perpdExchangeId, perpdMode } = config.metadata ?? {};
  if (perpdExchangeId !== exchangeId) refuseExchange(config, stream, `this folder belongs to ${exchangeId}`);
  if (perpdMode !== mode)
    throw new StreamFault(`the stream ${stream} is replicated in mode ${perpdMode}; set replicateMode to it`);
  if (config.storage !== "file" || config.discard !== "new" || !config.deny_delete)
    throw new StreamFault(`the stream ${stream} must have file storage, discard new and deny delete`);
}

/** `copies`: of each stream. One that exists keeps its number, so that the setting alone would promise what is not there. */
function requireReplicas(copies: Readonly<Record<string, number>>, replicas: number): void {
  const others = Object.keys(copies).filter((name) => copies[name] !== replicas);
  if (others.length === 0) return;
  const counts = Object.entries(copies).map(([name, count]) => `${name} ${count}`);
  const edits = others.map((name) => `nats stream edit ${name} --replicas ${replicas}`);
  throw new StreamFault(
    `replicateReplicas is ${replicas}, but NATS keeps another number of copies (${counts.join(", ")}): run "${edits.join(" && ")}", or set replicateReplicas to that number; see "From one server to three" in docs/operating/replication.md`,
  );
}

function refuseExchange({ metadata }: StreamConfig, stream: string, ours: string): never {
  const { perpdExchangeId } = metadata ?? {};
  throw new StreamFault(
    perpdExchangeId === undefined
      ? `the stream ${stream} exists and was not made by perpd; set replicateStream to another name`
      : `the stream ${stream} holds the log of the exchange ${perpdExchangeId}, and ${ours}; set replicateStream to another name, or restore a backup of that exchange`,
  );
}

class NatsStream implements BatchStream {
  readonly maxBytes: number;
  private readonly connection: NatsConnection;
  private readonly manager: Manager;
  private appender: Appender | null = null;
  private readonly name: string;
  private readonly what: string;
  private readonly subject: string;
  /** Hears that a message was sent. A hint only: it may not be stored yet. There is no consumer that could stall. */
  private arrivals: Subscription | null = null;
  private wake: () => void = () => {};

  static async open(connection: NatsConnection, name: string): Promise<NatsStream> {
    const manager = await jetstreamManager(connection, { timeout: REQUEST_TIMEOUT_MS, checkAPI: false });
    return new NatsStream(connection, manager, name);
  }

  private constructor(connection: NatsConnection, manager: Manager, name: string) {
    this.connection = connection;
    this.manager = manager;
    this.name = name;
    this.what = `the stream ${name}`;
    this.subject = `${name}.log`;
    this.maxBytes = Math.min(MAX_MESSAGE_BYTES, (connection.info?.max_payload ?? MAX_MESSAGE_BYTES) - HEADER_BYTES);
  }

  async bounds(): Promise<{ first: number; last: number }> {
    const { state } = await answered(this.what, this.manager.streams.info(this.name));
    return { first: state.messages === 0 ? state.last_seq + 1 : state.first_seq, last: state.last_seq };
  }

  async get(place: number): Promise<PlacedBatch | null> {
    // The server takes 0 for a missing number, and refuses the request.
    if (place < 1) return null;
    const message = await answered(this.what, this.manager.direct.getMessage(this.name, { seq: place }));
    if (message === null || message.seq !== place) return null;
    return parseBatch(place, (name) => message.header.get(name), message.data);
  }

  async append(batch: Batch, place: number): Promise<boolean> {
    // A leader would only hear its own messages.
    this.arrivals?.unsubscribe();
    this.arrivals = null;
    const message = headers();
    message.set(...headerOf(batch));
    this.appender ??= new Appender(this.connection, this.subject);
    return answered(this.what, this.appender.append(batch.bytes, message, place));
  }

  wait(timeoutMs: number): Promise<void> {
    // At a stop the connection may be closed already.
    if (!this.connection.isClosed())
      this.arrivals ??= this.connection.subscribe(this.subject, { callback: () => this.wake() });
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async purgeThrough(place: number): Promise<void> {
    await answered(this.what, this.manager.streams.purge(this.name, { seq: place + 1 }));
  }
}

/** Null if it is none: anybody may send to a subject that has no permissions. */
function readNote(message: Msg): StandbyNote | null {
  try {
    const { id, url, sequence, isHealthy, timeMs } = message.json<StandbyNote>();
    if (typeof id !== "string" || typeof url !== "string" || !Number.isSafeInteger(sequence)) return null;
    const note = { id, url, sequence, isHealthy: isHealthy !== false };
    return timeMs !== undefined && Number.isSafeInteger(timeMs) ? { ...note, timeMs } : note;
  } catch {
    return null;
  }
}
