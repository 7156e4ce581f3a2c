import { must } from "../../assert.ts";
import { ApiError } from "../common/errors.ts";
import type { RequestId } from "../common/socket-errors.ts";
import { type ChannelRequest, describeChannel, isPrivate } from "../streams/channel-requests.ts";
import type { Connection } from "./connection.ts";
import type { Relay } from "./relay.ts";
import { RequestHandler, type RequestHandlerOptions, requirePermission } from "./request-handler.ts";

/** A channel as a client writes it. */
const restate = (request: ChannelRequest): object => ({
  ...describeChannel(request),
  ...(request.resume !== null && { resume: request.resume }),
});

/** Requests at a gateway: it has the streams of market data, and passes everything else on to the leader. */
export class RelayingRequests extends RequestHandler {
  private readonly relay: Relay;

  constructor(options: RequestHandlerOptions, ...rest: RestOf<typeof RequestHandler>) {
    super(options, ...rest);
    this.relay = must(options.relay, "the relay of a gateway");
  }

  protected override trade(connection: Connection, id: RequestId): void {
    // Only a client that has authenticated has a connection to the leader, which charges its own limits.
    if (!this.relay.has(connection)) requirePermission("TRADE", null);
    connection.uncountMessage();
    this.relay.send(connection, id, this.message);
  }

  protected override authenticate(connection: Connection, id: RequestId): void {
    if (connection.socket.isForeign) throw new ApiError("ORIGIN_NOT_ALLOWED");
    this.relay.send(connection, id, this.message);
  }

  protected override subscribe(connection: Connection, id: RequestId, channels: readonly ChannelRequest[]): void {
    const others = channels.filter(isPrivate);
    if (others.length === 0) return super.subscribe(connection, id, channels);
    if (!this.relay.has(connection)) requirePermission("READ", null);
    if (others.length === channels.length) return this.relay.send(connection, id, this.message);
    const own = channels.filter((request) => !isPrivate(request));
    const wanted = this.admitSubscriptions(connection, own);
    this.relay.request(connection, id, { op: "subscribe", channels: others.map(restate) }, (reply) =>
      this.startSubscriptions(connection, id, wanted, reply.channels),
    );
  }

  protected override unsubscribe(connection: Connection, id: RequestId, channels: readonly ChannelRequest[]): void {
    const others = channels.filter(isPrivate);
    if (others.length === 0 || !this.relay.has(connection)) return super.unsubscribe(connection, id, channels);
    if (others.length === channels.length) return this.relay.send(connection, id, this.message);
    const own = channels.filter((request) => !isPrivate(request));
    this.relay.request(connection, id, { op: "unsubscribe", channels: others.map(restate) }, (reply) =>
      super.unsubscribe(connection, id, own, reply.channels),
    );
  }
}

type RestOf<C extends new (first: RequestHandlerOptions, ...rest: never[]) => unknown> =
  ConstructorParameters<C> extends [RequestHandlerOptions, ...infer Rest] ? Rest : never;
