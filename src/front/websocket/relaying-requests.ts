import { must } from "../../assert.ts";
import { MAX_BODY_BYTES } from "../../wire/errors/gateway-errors.ts";
import { ApiError } from "../common/errors.ts";
import type { RequestId } from "../common/socket-errors.ts";
import type { SocketCredentials } from "../exchange/credentials.ts";
import { type ChannelRequest, describeChannel, isPrivate } from "../streams/channel-requests.ts";
import type { ClientRequest } from "./client-requests.ts";
import type { Connection } from "./connection.ts";
import type { Relay, RelayedReply } from "./relay.ts";
import { RequestHandler, type RequestHandlerOptions, requirePermission } from "./request-handler.ts";

/** A channel as a client writes it. */
const restate = (request: ChannelRequest): object => ({
  ...describeChannel(request),
  ...(request.resume !== null && { resume: request.resume }),
});

/** Of the messages of a connection that wait. Its longest message fits. */
const MAX_WAITING_REQUEST_BYTES = MAX_BODY_BYTES;

/** Each of these may depend on the one before it, so a leader answers them in their order. */
const isOrdered = ({ op }: ClientRequest): boolean => op === "auth" || op === "subscribe" || op === "unsubscribe";

interface WaitingRequest {
  readonly id: RequestId;
  readonly request: ClientRequest;
  /** The length of its message. */
  readonly bytes: number;
}

/** The requests of a connection that asks the leader. */
interface Line {
  isAsking: boolean;
  /** In the order in which they came. */
  readonly waiting: WaitingRequest[];
  bytes: number;
}

/**
 * Requests at a gateway: it has the streams of market data, and passes everything else on to the leader. While the leader has
 * not answered, later requests of the connection wait: they would overtake what the gateway does after the answer.
 * Orders go on, since the leader decides each in its turn. So do pings.
 */
export class RelayingRequests extends RequestHandler {
  private readonly relay: Relay;
  /** Only of connections that ask the leader. A connection that has closed gets no answer, so its line goes with it. */
  private readonly lines = new WeakMap<Connection, Line>();

  constructor(options: RequestHandlerOptions, ...rest: RestOf<typeof RequestHandler>) {
    super(options, ...rest);
    this.relay = must(options.relay, "the relay of a gateway");
  }

  protected override execute(connection: Connection, id: RequestId, request: ClientRequest): void {
    const line = this.lines.get(connection);
    if (line === undefined || !isOrdered(request)) return super.execute(connection, id, request);
    const bytes = this.message.length;
    if (line.bytes + bytes > MAX_WAITING_REQUEST_BYTES) throw new ApiError("OVERLOADED");
    line.waiting.push({ id, request, bytes });
    line.bytes += bytes;
    // It counts in its turn, when it may be charged instead.
    connection.uncountMessage();
  }

  protected override trade(connection: Connection, id: RequestId): void {
    // Only a client that has authenticated has a connection to the leader, which charges its own limits.
    if (!this.relay.has(connection)) requirePermission("TRADE", null);
    connection.uncountMessage();
    this.relay.send(connection, id, this.message);
  }

  protected override authenticate(
    connection: Connection,
    id: RequestId,
    credentials: SocketCredentials,
    cancelOnDisconnect: boolean,
  ): void {
    if (connection.socket.isForeign) throw new ApiError("ORIGIN_NOT_ALLOWED");
    this.ask(connection, id, { ...credentials, op: "auth", cancelOnDisconnect });
  }

  protected override subscribe(connection: Connection, id: RequestId, channels: readonly ChannelRequest[]): void {
    const others = channels.filter(isPrivate);
    // Without a connection to the leader, the client has not authenticated, and is refused here.
    if (others.length === 0 || !this.relay.has(connection)) return super.subscribe(connection, id, channels);
    const request = { op: "subscribe", channels: others.map(restate) };
    if (others.length === channels.length) return this.passOn(connection, id, request);
    const own = channels.filter((channel) => !isPrivate(channel));
    const wanted = this.admitSubscriptions(connection, own);
    this.ask(connection, id, request, (reply) => this.startSubscriptions(connection, id, wanted, reply.channels));
  }

  protected override unsubscribe(connection: Connection, id: RequestId, channels: readonly ChannelRequest[]): void {
    const others = channels.filter(isPrivate);
    if (others.length === 0 || !this.relay.has(connection)) return super.unsubscribe(connection, id, channels);
    const request = { op: "unsubscribe", channels: others.map(restate) };
    if (others.length === channels.length) return this.passOn(connection, id, request);
    const own = channels.filter((channel) => !isPrivate(channel));
    this.chargeUnsubscription(connection, own);
    this.ask(connection, id, request, (reply) => this.endSubscriptions(connection, id, own, reply.channels));
  }

  /** For a request of which the leader does all. */
  private passOn(connection: Connection, id: RequestId, request: object): void {
    this.ask(connection, id, request);
    // The leader charges its own limits.
    connection.uncountMessage();
  }

  /** Default of `onReply`: the client gets the leader's reply. */
  private ask(
    connection: Connection,
    id: RequestId,
    request: object,
    onReply = (reply: RelayedReply): void => connection.send(JSON.stringify({ ...reply, id })),
  ): void {
    this.relay.request(connection, id, request, (reply) => {
      if (reply !== null) onReply(reply);
      this.goOn(connection);
    });
    const line = this.lines.get(connection) ?? { isAsking: true, waiting: [], bytes: 0 };
    line.isAsking = true;
    this.lines.set(connection, line);
  }

  /** The leader has answered: executes what has waited, until a request asks the leader again. */
  private goOn(connection: Connection): void {
    const line = must(this.lines.get(connection), "the line of a connection that has asked the leader");
    line.isAsking = false;
    while (!line.isAsking && !connection.socket.closed) {
      const next = line.waiting.shift();
      if (next === undefined) {
        this.lines.delete(connection);
        return;
      }
      line.bytes -= next.bytes;
      try {
        this.countMessage(connection);
        super.execute(connection, next.id, next.request);
      } catch (thrown) {
        this.refuseFor(connection, next.id, thrown);
      }
    }
  }
}

type RestOf<C extends new (first: RequestHandlerOptions, ...rest: never[]) => unknown> =
  ConstructorParameters<C> extends [RequestHandlerOptions, ...infer Rest] ? Rest : never;
