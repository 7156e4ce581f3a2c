import type { Permission } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { MAX_SUBSCRIPTIONS } from "../../wire/schema/channels.ts";
import type { TradingOp } from "../../wire/schema/trading.ts";
import type { Auth } from "../auth/auth.ts";
import { type Cost, DEFAULT_COST, type Limits, SOCKET_MESSAGES_PER_SECOND, sizeCost } from "../auth/limits.ts";
import type { Quota } from "../common/buckets.ts";
import { ApiError } from "../common/errors.ts";
import { CLOSE_RATE_LIMITED, errorJson, type Problem, type RequestId, SocketRefusal } from "../common/socket-errors.ts";
import { decodeUtf8 } from "../common/utf8.ts";
import { checkPermission, type Principal, type SocketCredentials } from "../exchange/credentials.ts";
import { LARGE_BODY_BYTES } from "../http/request-body.ts";
import { parseJson } from "../json/json.ts";
import type { Symbols } from "../routing/context.ts";
import {
  type ChannelRequest,
  describeChannel,
  isPrivate,
  matches,
  snapshotWeight,
} from "../streams/channel-requests.ts";
import type { Streams } from "../streams/streams.ts";
import { topicOf } from "../streams/topics.ts";
import { FastPathReader } from "../trading/fast-path/fast-path-reader.ts";
import { costOfOp, type TradingHandler } from "../trading/operations.ts";
import { type ClientRequest, readId, readRequest } from "./client-requests.ts";
import type { Connection } from "./connection.ts";
import type { Relay } from "./relay.ts";
import { SocketCall } from "./socket-call.ts";
import type { SubscriptionQueue } from "./subscription-queue.ts";

/** A socket that does not wait for its answers must not use up the engine's capacity. Cancels do not count. */
const MAX_IN_FLIGHT = 1000;
const FLOOD_DETAILS = { scope: "SOCKET", limit: SOCKET_MESSAGES_PER_SECOND, retryAfterMs: 1000 };
/** The account in topics of public channels. */
const PUBLIC_ACCOUNT = 0;
const NO_BYTES = new Uint8Array(0);

export interface RequestHandlerOptions {
  readonly auth: Pick<Auth, "socket">;
  readonly trade: TradingHandler;
  /** Throws NOT_LEADER while this process cannot decide anything. Default: it always can. */
  readonly requireLeader?: () => void;
  /** Null: no rate limits. */
  readonly limits: Limits | null;
  readonly now: () => TimeMs;
  readonly monotonic: () => number;
  /** Of a gateway in a process of its own: the way to the leader. */
  readonly relay?: Relay;
}

/** Executes the requests of clients: ping, auth, subscribe, unsubscribe and trading. */
export class RequestHandler {
  private readonly options: RequestHandlerOptions;
  private readonly symbols: Symbols;
  private readonly streams: Streams;
  private readonly subscriptionQueue: SubscriptionQueue;
  private readonly fastPath: FastPathReader;
  private isTradingStopped = false;
  /** The message that is being handled. */
  protected message: Uint8Array = NO_BYTES;

  constructor(options: RequestHandlerOptions, symbols: Symbols, streams: Streams, queue: SubscriptionQueue) {
    this.options = options;
    this.symbols = symbols;
    this.streams = streams;
    this.subscriptionQueue = queue;
    this.fastPath = new FastPathReader(symbols);
  }

  /** Refuses trading requests from now on. */
  stopTrading(): void {
    this.isTradingStopped = true;
  }

  /** Executes a message, or answers it with an error. */
  handle(connection: Connection, bytes: Uint8Array): void {
    let id: RequestId = null;
    this.message = bytes;
    try {
      this.countMessage(connection);
      this.chargeSize(connection, bytes.length);
      const request = this.fastPath.readMessage(bytes);
      if (request !== null) {
        id = this.fastPath.id;
        this.trade(connection, id, this.fastPath.op, request);
        return;
      }
      const message = parseJson(decodeUtf8(bytes));
      id = readId(message);
      this.execute(connection, id, readRequest(message, this.symbols));
    } catch (thrown) {
      this.refuseFor(connection, id, thrown);
    }
  }

  /** Throws RATE_LIMITED. */
  protected countMessage(connection: Connection): void {
    if (!connection.countMessage(this.options.monotonic()))
      throw new ApiError("RATE_LIMITED", { details: FLOOD_DETAILS });
  }

  /** Answers a request with the error that it has thrown. */
  protected refuseFor(connection: Connection, id: RequestId, thrown: unknown): void {
    if (!(thrown instanceof ApiError || thrown instanceof SocketRefusal)) throw thrown;
    this.refuse(connection, id, thrown);
    if (connection.isFlooding) connection.socket.close(CLOSE_RATE_LIMITED, "RATE_LIMITED");
  }

  /** A ping or pong of the WebSocket protocol counts like a message. */
  handleControlFrame(connection: Connection): void {
    if (connection.countMessage(this.options.monotonic())) return;
    this.refuse(connection, null, new ApiError("RATE_LIMITED", { details: FLOOD_DETAILS }));
    connection.socket.close(CLOSE_RATE_LIMITED, "RATE_LIMITED");
  }

  protected execute(connection: Connection, id: RequestId, request: ClientRequest): void {
    switch (request.op) {
      case "ping":
        connection.send(JSON.stringify({ op: "pong", id, serverTime: this.options.now() }));
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
        this.trade(connection, id, request.op, request.params);
    }
  }

  protected trade(connection: Connection, id: RequestId, op: TradingOp, params: unknown): void {
    if (this.isTradingStopped) throw new ApiError("NOT_READY");
    const principal = requirePermission("TRADE", connection.identity);
    const cost = costOfOp(op, params);
    if (connection.inFlight >= MAX_IN_FLIGHT && cost.budget === "ORDER")
      throw new ApiError("OVERLOADED", { details: { scope: "SOCKET", limit: MAX_IN_FLIGHT } });
    const quota = this.charge(connection, principal, cost);
    this.options.trade(op, params, principal, new SocketCall(connection, op, id, quota));
  }

  /** Returns what remains of the client's budget, or null without a rate limit. Throws RATE_LIMITED. */
  private charge(connection: Connection, principal: Principal | null, cost: Cost): Quota | null {
    const { limits, monotonic } = this.options;
    if (limits === null || !connection.isLimited) return null;
    const now = monotonic();
    limits.payByAddress(connection.socket.remoteAddress, cost, now);
    if (principal !== null) limits.payByPrincipal(principal, cost, now);
    connection.uncountMessage();
    return limits.quota();
  }

  private chargeSize(connection: Connection, bytes: number): void {
    const { limits, monotonic } = this.options;
    if (bytes <= LARGE_BODY_BYTES || limits === null || !connection.isLimited) return;
    limits.payByAddress(connection.socket.remoteAddress, sizeCost(bytes), monotonic());
  }

  /** The address pays for the channels, and the account and the key do so too if one of them is private. */
  private chargeChannels(
    connection: Connection,
    channels: readonly ChannelRequest[],
    weightOf: (request: ChannelRequest) => number,
  ): void {
    const weight = channels.reduce((sum, request) => sum + weightOf(request), 0);
    const principal = channels.some(isPrivate) ? connection.identity : null;
    this.charge(connection, principal, { budget: "REQUEST", weight });
  }

  protected authenticate(
    connection: Connection,
    id: RequestId,
    credentials: SocketCredentials,
    cancelOnDisconnect: boolean,
  ): void {
    if (connection.socket.isForeign) throw new ApiError("ORIGIN_NOT_ALLOWED");
    if (cancelOnDisconnect) this.options.requireLeader?.();
    const identity = this.options.auth.socket(credentials, connection.socket.remoteAddress);
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

  /** Subscribes to all of the channels, or to none when one of them is refused. */
  protected subscribe(connection: Connection, id: RequestId, channels: readonly ChannelRequest[]): void {
    this.startSubscriptions(connection, id, this.admitSubscriptions(connection, channels));
  }

  /** Charges and checks the channels. Returns them by topic. */
  protected admitSubscriptions(
    connection: Connection,
    channels: readonly ChannelRequest[],
  ): ReadonlyMap<string, ChannelRequest> {
    this.chargeChannels(connection, channels, (request) => snapshotWeight(request, this.symbols.all.length));
    const wanted = new Map<string, ChannelRequest>();
    for (const request of channels) wanted.set(topicOf(request, accountIdFor(request, connection.identity)), request);
    const topics = new Set([...connection.subscriptions.keys(), ...wanted.keys()]);
    if (topics.size > MAX_SUBSCRIPTIONS)
      throw new SocketRefusal(
        "TOO_MANY_SUBSCRIPTIONS",
        "channels",
        `A socket may have ${MAX_SUBSCRIPTIONS} subscriptions. Unsubscribe from some, or open another socket.`,
      );
    return wanted;
  }

  /** `others`: the client is told that it has subscribed to these, too. */
  protected startSubscriptions(
    connection: Connection,
    id: RequestId,
    wanted: ReadonlyMap<string, ChannelRequest>,
    others: readonly object[] = [],
  ): void {
    const channels = [...[...wanted.values()].map(describeChannel), ...others];
    connection.send(JSON.stringify({ op: "subscribed", id, channels }));
    // Sending may close the socket of a client that does not read.
    if (connection.socket.closed) return;
    for (const [topic, request] of wanted) {
      connection.subscriptions.set(topic, request);
      this.subscriptionQueue.add(connection, topic, request, accountIdFor(request, connection.identity));
    }
    this.subscriptionQueue.run();
  }

  /** Ignores channels without a subscription. An optional field that is left out matches any value. */
  protected unsubscribe(connection: Connection, id: RequestId, channels: readonly ChannelRequest[]): void {
    this.chargeUnsubscription(connection, channels);
    this.endSubscriptions(connection, id, channels);
  }

  protected chargeUnsubscription(connection: Connection, channels: readonly ChannelRequest[]): void {
    this.chargeChannels(connection, channels, () => DEFAULT_COST.weight);
  }

  /** `others`: the client is told that these have ended, too. */
  protected endSubscriptions(
    connection: Connection,
    id: RequestId,
    channels: readonly ChannelRequest[],
    others: readonly object[] = [],
  ): void {
    const ended: ChannelRequest[] = [];
    for (const [topic, request] of connection.subscriptions) {
      if (!channels.some((wanted) => matches(request, wanted))) continue;
      connection.subscriptions.delete(topic);
      this.subscriptionQueue.remove(connection, topic);
      this.streams.unsubscribe(connection, topic, false);
      ended.push(request);
    }
    connection.send(JSON.stringify({ op: "unsubscribed", id, channels: [...ended.map(describeChannel), ...others] }));
  }

  private refuse(connection: Connection, id: RequestId, problem: Problem): void {
    connection.send(errorJson(id, problem, this.options.now()));
  }
}

function accountIdFor(request: ChannelRequest, identity: Principal | null): number {
  if (!isPrivate(request)) return PUBLIC_ACCOUNT;
  return requirePermission("READ", identity).accountId;
}

/** Returns the identity of the socket. Throws UNAUTHENTICATED or PERMISSION_DENIED. */
export function requirePermission(permission: Permission, identity: Principal | null): Principal {
  if (identity === null)
    throw new ApiError("UNAUTHENTICATED", {
      message: 'This request needs an account. Authenticate first, with the op "auth".',
    });
  checkPermission(identity, permission);
  return identity;
}
