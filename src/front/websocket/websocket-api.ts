import { setTimeout as pause } from "node:timers/promises";
import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { LEDGER, type Permission } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { KeyRevoked, type LedgerEvent, SessionClosed } from "../../core/protocol/events.ts";
import { MAX_SUBSCRIPTIONS } from "../../wire/schema/channels.ts";
import type { TradingOp } from "../../wire/schema/trading.ts";
import type { Auth } from "../auth/auth.ts";
import { type Cost, type Limits, SOCKET_MESSAGES_PER_SECOND } from "../auth/limits.ts";
import type { Quota } from "../common/buckets.ts";
import { ApiError } from "../common/errors.ts";
import {
  CLOSE_CREDENTIAL_ENDED,
  CLOSE_RATE_LIMITED,
  errorJson,
  type Problem,
  SocketRefusal,
} from "../common/socket-errors.ts";
import { decodeUtf8 } from "../common/utf8.ts";
import { checkPermission, hasExpired, type Principal, type SocketCredentials } from "../exchange/credentials.ts";
import type { Log } from "../http/answer.ts";
import type { Socket, SocketHandlers } from "../http/sockets.ts";
import { parseJson } from "../json/json.ts";
import { Symbols } from "../routing/context.ts";
import { type ChannelRequest, isPrivate, type RequestId, readId, readRequest } from "../streams/channel-requests.ts";
import { Streams, type StreamsOptions } from "../streams/streams.ts";
import { topicOf } from "../streams/topics.ts";
import { FastPathReader } from "../trading/fast-path/fast-path-reader.ts";
import { costOfOp, type TradingHandler } from "../trading/operations.ts";
import { Connection } from "./connection.ts";
import { DetachedAnswer, SocketCall } from "./socket-call.ts";
import { SubscriptionQueue } from "./subscription-queue.ts";

const TICK_MS = 50;
const HEARTBEAT_MS = 5_000;
/** What is not answered within this much of a stop waits for a thread that hangs, or for a disk that does not answer. */
const STOP_WITHIN_MS = 1_000;
const STOP_POLL_MS = 10;
/** Most threads that die are rebuilt before that. */
const CANCEL_WITHIN_MS = 3_000;
/** A socket that sends on without its answers must not take the room of the others; cancels it may always send. */
const MAX_IN_FLIGHT = 1000;
const FLOOD_DETAILS = { scope: "SOCKET", limit: SOCKET_MESSAGES_PER_SECOND, retryAfterMs: 1000 };
/** Whoever sees it first, the front's clock or the ledger, which closes sessions whose time has come. */
const CREDENTIAL_EXPIRED = "CREDENTIAL_EXPIRED";
/** Topics of public channels bear no account. */
const PUBLIC_ACCOUNT = 0;

export interface WebSocketApiOptions extends StreamsOptions {
  readonly auth: Pick<Auth, "socket">;
  readonly trade: TradingHandler;
  /** Null: none. */
  readonly limits: Limits | null;
}

/** The WebSocket side: who a socket is, and what it has subscribed to. */
export class WebSocketApi implements SocketHandlers {
  private readonly streams: Streams;
  private readonly auth: Pick<Auth, "socket">;
  private readonly trade: TradingHandler;
  private readonly now: () => TimeMs;
  private readonly monotonic: () => number;
  private readonly limits: Limits | null;
  private readonly symbols: Symbols;
  private readonly fastPath: FastPathReader;
  private readonly connections = new Map<Socket, Connection>();
  private readonly subscriptionQueue = new SubscriptionQueue((connection, request, accountId) =>
    this.streams.subscribe(connection, request, accountId),
  );
  private heartbeatAt: number;
  private timer: NodeJS.Timeout | null = null;
  private isStopping = false;
  /** Of accounts whose clients have gone: each is under way in some symbols. */
  private cancelsInFlight = 0;
  private readonly log: Log;

  constructor(options: WebSocketApiOptions) {
    const { engine } = options;
    this.streams = new Streams(options);
    this.auth = options.auth;
    this.trade = options.trade;
    this.now = options.now;
    this.monotonic = options.monotonic;
    this.limits = options.limits;
    this.log = options.log;
    this.symbols = new Symbols(engine.instruments);
    this.fastPath = new FastPathReader(this.symbols);
    this.heartbeatAt = options.monotonic();
    engine.onReleased((transaction) => this.released(transaction));
    engine.onDrained(() => this.streams.flush());
  }

  start(): void {
    this.timer = setInterval(() => this.tick(), TICK_MS);
  }

  /** Takes no trading requests from now on. Resolves when those that are under way have their answers. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const deadline = performance.now() + STOP_WITHIN_MS;
    while (this.isTrading && performance.now() < deadline) await pause(STOP_POLL_MS);
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** Call it when no socket is left. Resolves when what clients did not want to leave behind has been canceled, if it can be. */
  async waitForCancels(): Promise<void> {
    const deadline = performance.now() + CANCEL_WITHIN_MS;
    while (this.cancelsInFlight > 0 && performance.now() < deadline) await pause(STOP_POLL_MS);
    if (this.cancelsInFlight > 0)
      this.log.error(
        { clients: this.cancelsInFlight },
        "orders of clients that asked for cancelOnDisconnect stay open",
      );
  }

  private get isTrading(): boolean {
    return [...this.connections.values()].some(({ inFlight }) => inFlight > 0);
  }

  /** Time passes: slower streams, heartbeats, credentials that expire, clients that fall behind. */
  tick(): void {
    const now = this.now();
    for (const connection of this.connections.values()) if (!this.hasEnded(connection, now)) connection.checkBacklog();
    this.streams.flushAll();
    const beatAt = this.monotonic();
    if (beatAt - this.heartbeatAt < HEARTBEAT_MS) return;
    this.heartbeatAt = beatAt;
    this.streams.heartbeat();
  }

  admit(address: string): void {
    this.limits?.admitSocket(address, this.monotonic());
  }

  open(socket: Socket): void {
    this.limits?.socketOpened(socket.remoteAddress);
    this.connections.set(socket, new Connection(socket, this.limits?.covers(socket.remoteAddress) === true));
  }

  drain(socket: Socket): void {
    const connection = this.connections.get(socket);
    if (connection !== undefined) this.subscriptionQueue.drained(connection);
  }

  close(socket: Socket): void {
    const connection = this.connections.get(socket);
    if (connection === undefined) return;
    this.connections.delete(socket);
    this.limits?.socketClosed(socket.remoteAddress);
    this.subscriptionQueue.removeAll(connection);
    for (const topic of connection.subscriptions.keys()) this.streams.unsubscribe(connection, topic, true);
    // Behind whatever the client has placed: each symbol takes its commands in their order.
    if (connection.cancelOnDisconnect && connection.identity !== null) this.cancelAllOf(connection.identity);
  }

  private cancelAllOf(identity: Principal): void {
    this.cancelsInFlight++;
    this.trade("order.cancelAll", {}, identity, new DetachedAnswer(() => this.cancelsInFlight--));
  }

  message(socket: Socket, bytes: Uint8Array): void {
    const connection = this.connections.get(socket);
    if (connection === undefined || this.hasEnded(connection, this.now())) return;
    let id: RequestId = null;
    try {
      if (!connection.countMessage(this.monotonic())) throw new ApiError("RATE_LIMITED", { details: FLOOD_DETAILS });
      const request = this.fastPath.readMessage(bytes);
      if (request !== null) {
        id = this.fastPath.id;
        this.runOperation(connection, id, this.fastPath.op, request);
        return;
      }
      const message = parseJson(decodeUtf8(bytes));
      id = readId(message);
      this.serve(connection, id, message);
    } catch (thrown) {
      if (!(thrown instanceof ApiError || thrown instanceof SocketRefusal)) throw thrown;
      this.refuse(connection, id, thrown);
      if (connection.isFlooding) socket.close(CLOSE_RATE_LIMITED, "RATE_LIMITED");
    }
  }

  /** Counts as any message does. */
  control(socket: Socket): void {
    const connection = this.connections.get(socket);
    if (connection === undefined || connection.countMessage(this.monotonic())) return;
    this.refuse(connection, null, new ApiError("RATE_LIMITED", { details: FLOOD_DETAILS }));
    socket.close(CLOSE_RATE_LIMITED, "RATE_LIMITED");
  }

  private serve(connection: Connection, id: RequestId, message: unknown): void {
    const request = readRequest(message, this.symbols);
    switch (request.op) {
      case "ping":
        connection.send(JSON.stringify({ op: "pong", id, serverTime: this.now() }));
        return;
      case "auth":
        this.authenticate(connection, id, request.credentials, request.cancelOnDisconnect);
        return;
      case "subscribe":
        this.subscribe(connection, id, request.channels);
        return;
      case "unsubscribe":
        this.unsubscribe(connection, id, request.channels);
        return;
      default:
        this.runOperation(connection, id, request.op, request.params);
    }
  }

  private runOperation(connection: Connection, id: RequestId, op: TradingOp, params: unknown): void {
    if (this.isStopping) throw new ApiError("NOT_READY");
    const principal = requirePermission("TRADE", connection.identity);
    const cost = costOfOp(op, params);
    if (connection.inFlight >= MAX_IN_FLIGHT && cost.budget === "ORDER")
      throw new ApiError("OVERLOADED", { details: { scope: "SOCKET", limit: MAX_IN_FLIGHT } });
    const quota = this.pay(connection, principal, cost);
    this.trade(op, params, principal, new SocketCall(connection, op, id, quota));
  }

  /** What is left of the client's budget; null when it is not limited. Throws RATE_LIMITED. */
  private pay(connection: Connection, principal: Principal, cost: Cost): Quota | null {
    const { limits } = this;
    if (limits === null || !connection.isLimited) return null;
    const now = this.monotonic();
    limits.payByAddress(connection.socket.remoteAddress, cost, now);
    limits.payByPrincipal(principal, cost, now);
    connection.uncountMessage();
    return limits.quota();
  }

  private authenticate(
    connection: Connection,
    id: RequestId,
    credentials: SocketCredentials,
    cancelOnDisconnect: boolean,
  ): void {
    const identity = this.auth.socket(credentials, connection.socket.remoteAddress);
    if (connection.identity !== null && connection.identity.accountId !== identity.accountId)
      throw new SocketRefusal("ALREADY_AUTHENTICATED");
    if (cancelOnDisconnect) requirePermission("TRADE", identity);
    if ([...connection.subscriptions.values()].some(isPrivate)) requirePermission("READ", identity);
    connection.identity = identity;
    connection.cancelOnDisconnect = cancelOnDisconnect;
    const { accountId, permissions, expiresAt } = identity;
    connection.send(
      JSON.stringify({
        op: "authenticated",
        id,
        accountId: String(accountId),
        permissions,
        expiresAt: expiresAt === 0 ? null : expiresAt,
        cancelOnDisconnect,
      }),
    );
  }

  /** All of the channels or, when one of them is refused, none. */
  private subscribe(connection: Connection, id: RequestId, channels: readonly ChannelRequest[]): void {
    const wanted = new Map<string, ChannelRequest>();
    for (const request of channels) wanted.set(topicOf(request, accountIdFor(request, connection.identity)), request);
    const topics = new Set([...connection.subscriptions.keys(), ...wanted.keys()]);
    if (topics.size > MAX_SUBSCRIPTIONS)
      throw new SocketRefusal(
        "TOO_MANY_SUBSCRIPTIONS",
        "channels",
        `A socket may have ${MAX_SUBSCRIPTIONS} subscriptions.`,
      );
    connection.send(JSON.stringify({ op: "subscribed", id, channels: [...wanted.values()].map(describe) }));
    // A client that reads nothing is closed by what it is sent.
    if (connection.socket.closed) return;
    for (const [topic, request] of wanted) {
      connection.subscriptions.set(topic, request);
      this.subscriptionQueue.add(connection, topic, request, accountIdFor(request, connection.identity));
    }
    this.subscriptionQueue.run();
  }

  /** What was not subscribed to needs no leaving. An optional field that is left out means any. */
  private unsubscribe(connection: Connection, id: RequestId, channels: readonly ChannelRequest[]): void {
    const left: ChannelRequest[] = [];
    for (const [topic, request] of connection.subscriptions) {
      if (!channels.some((wanted) => matches(request, wanted))) continue;
      connection.subscriptions.delete(topic);
      this.subscriptionQueue.remove(connection, topic);
      this.streams.unsubscribe(connection, topic, false);
      left.push(request);
    }
    connection.send(JSON.stringify({ op: "unsubscribed", id, channels: left.map(describe) }));
  }

  private refuse(connection: Connection, id: RequestId, problem: Problem): void {
    connection.send(errorJson(id, problem, this.now()));
  }

  private released(transaction: ReleasedTransaction): void {
    if (transaction.actorId === LEDGER) {
      for (let i = 0; i < transaction.eventCount; i++) {
        const event = transaction.messages[i] as LedgerEvent;
        if (event.type === SessionClosed.code) this.endCredential(event.tokenHash, "SESSION_CLOSED", transaction.time);
        else if (event.type === KeyRevoked.code) this.endCredential(event.apiKey, "KEY_REVOKED", transaction.time);
      }
    }
    this.streams.apply(transaction);
  }

  /** Whether the time of its credential is over: then it is closed, whoever notices first. */
  private hasEnded({ socket, identity }: Connection, now: TimeMs): boolean {
    if (identity === null || !hasExpired(identity, now)) return false;
    socket.close(CLOSE_CREDENTIAL_ENDED, CREDENTIAL_EXPIRED);
    return true;
  }

  private endCredential(credential: string, reason: string, now: TimeMs): void {
    for (const { identity, socket } of this.connections.values())
      if (identity?.credential === credential)
        socket.close(CLOSE_CREDENTIAL_ENDED, hasExpired(identity, now) ? CREDENTIAL_EXPIRED : reason);
  }
}

/** Whose stream the request means. */
function accountIdFor(request: ChannelRequest, identity: Principal | null): number {
  if (!isPrivate(request)) return PUBLIC_ACCOUNT;
  return requirePermission("READ", identity).accountId;
}

/** Whom the socket acts for, if it may do this. */
function requirePermission(permission: Permission, identity: Principal | null): Principal {
  if (identity === null)
    throw new ApiError("UNAUTHENTICATED", {
      message: 'This acts for an account: authenticate first, with the op "auth".',
    });
  checkPermission(identity, permission);
  return identity;
}

const matches = (subscribed: ChannelRequest, wanted: ChannelRequest): boolean =>
  subscribed.channel === wanted.channel &&
  (wanted.instrument === null || wanted.instrument === subscribed.instrument) &&
  (wanted.depth === null || wanted.depth === subscribed.depth) &&
  (wanted.updateMs === null || wanted.updateMs === subscribed.updateMs) &&
  (wanted.interval === null || wanted.interval === subscribed.interval) &&
  (wanted.priceType === null || wanted.priceType === subscribed.priceType);

/** As the client is told of it. */
const describe = ({ channel, instrument, depth, updateMs, interval, priceType }: ChannelRequest): object => ({
  channel,
  ...(instrument && { symbol: instrument.symbol }),
  ...(depth !== null && { depth }),
  ...(updateMs !== null && { updateMs }),
  ...(interval !== null && { interval }),
  ...(priceType !== null && { priceType }),
});
