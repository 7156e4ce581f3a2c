import { type Dict, UnsubscribeError } from "ccxt";
import type { ChannelMessage, ChannelRequest, ErrorBody } from "../client/types.ts";
import { PerpdBatches } from "./batches.ts";
import { errorClass } from "./errors.ts";
import { notLeading } from "./failover.ts";

/** The part of ccxt's WebSocket client that we use. */
export interface SocketClient {
  url: string;
  futures: Record<string, { resolve(value: unknown): void } | undefined>;
  subscriptions: Record<string, Subscription | undefined>;
  future(hash: string): Promise<unknown>;
  resolve(result: unknown, hash: string): void;
  reject(error: Error, hash?: string): void;
  send(message: object): Promise<unknown>;
  /** Resolves when the socket is open. */
  connected: Promise<unknown>;
  throttle(cost: number): Promise<unknown>;
  onError(error: Error): void;
}

interface Subscription {
  /** Id of the subscribe request. */
  id: number;
  request?: ChannelRequest;
  /** Sequence of the last message; null while a snapshot is pending. */
  sequence: number | null;
}

interface Reply extends Partial<ErrorBody> {
  op: string;
  id: number | null;
  /** Present when the request succeeded. */
  result?: unknown;
}
type Heartbeat = Omit<ChannelMessage, "type"> & { type: "HEARTBEAT" };

const AUTHENTICATED = "authenticated";
const UNSUBSCRIBED = "unsubscribed";

/** The name of a stream within a connection. The exchange leaves an `updateMs` of 0 out. */
export const streamOf = ({ channel, symbol, depth, updateMs, interval, priceType }: ChannelRequest): string =>
  [channel, symbol, depth, updateMs || undefined, interval, priceType === "LAST" ? undefined : priceType]
    .filter((part) => part !== undefined)
    .join(":");

/** Subscribes, authenticates, and detects missing messages. */
export abstract class PerpdConnection extends PerpdBatches {
  private nextRequestId = 1;

  /** Handles the next message of a stream. Returns false when the copy built from the stream has become wrong. */
  protected abstract receive(client: SocketClient, hash: string, message: ChannelMessage): boolean;

  /** Drops all state of the stream. */
  protected abstract forget(hash: string): void;

  /** True when the copy is up to date: connected, and no snapshot is pending. */
  protected isCurrent(hash: string): boolean {
    const url = this.implodeHostname(this.urls.api.ws);
    if (!(url in (this.clients as Dict))) return false;
    const client: SocketClient = this.client(url);
    return typeof client.subscriptions[hash]?.sequence === "number";
  }

  /** Resolves with the stream's next update. */
  protected follow(request: ChannelRequest, access: "public" | "private"): Promise<unknown> {
    return this.following(() => this.subscribe(request, access), false);
  }

  private async subscribe(request: ChannelRequest, access: "public" | "private"): Promise<unknown> {
    const url = this.implodeHostname(this.urls.api.ws);
    // ccxt needs this before it opens a plain ws:// connection.
    await this.loadHttpProxyAgent();
    if (access === "private") await this.authenticate(url);
    const hash = streamOf(request);
    const id = this.nextRequestId++;
    return this.send(url, hash, { op: "subscribe", channels: [request] }, { id, request, sequence: null });
  }

  /** Unsubscribes the streams that `isMeant` selects. */
  protected async unfollow(isSelected: (request: ChannelRequest) => boolean): Promise<void> {
    const url = this.implodeHostname(this.urls.api.ws);
    // Without a connection there is nothing to end.
    if (!(url in (this.clients as Dict))) return;
    const client: SocketClient = this.client(url);
    for (const [hash, subscription] of Object.entries(client.subscriptions)) {
      const request = subscription?.request;
      if (request === undefined || !isSelected(request)) continue;
      delete client.subscriptions[hash];
      this.forget(hash);
      if (hash in client.futures) client.reject(new UnsubscribeError(`${this.id} ${hash}`), hash);
      const id = this.nextRequestId++;
      await this.send(url, `request:${id}`, { op: "unsubscribe", channels: [request] }, { id, sequence: null });
    }
  }

  /** Calls an operation over the WebSocket. Rejects with NetworkError when the connection is lost before the reply. */
  protected call<Result>(op: string, params: object): Promise<Result> {
    return this.following(() => this.callOnce<Result>(op, params), false);
  }

  private async callOnce<Result>(op: string, params: object): Promise<Result> {
    const url = this.implodeHostname(this.urls.api.ws);
    await this.loadHttpProxyAgent();
    await this.authenticate(url);
    const id = this.nextRequestId++;
    const hash = `request:${id}`;
    return this.send(url, hash, { op, params }, { id, sequence: null }) as Promise<Result>;
  }

  /**
   * Sends a message unless one with the same hash is pending, and resolves with its result. ccxt's own watch() is not
   * enough: it leaves a rejection unhandled when the connection is lost just before it sends, which ends the program.
   */
  private send(url: string, hash: string, message: object, subscription: Subscription): Promise<unknown> {
    const client: SocketClient = this.client(url);
    const isPending = client.subscriptions[hash] !== undefined;
    const settled = this.watch(url, hash, undefined, hash, subscription);
    if (isPending) return settled;
    const transmit = async (): Promise<void> => {
      if (this.enableRateLimit) await client.throttle(1);
      await client.send({ ...message, id: subscription.id });
    };
    const ignore = () => {};
    client.connected.then(() => transmit().catch((error) => client.onError(error)), ignore);
    return settled;
  }

  private authenticate(url: string): Promise<unknown> {
    const client: SocketClient = this.client(url);
    if (client.subscriptions[AUTHENTICATED] === undefined) {
      this.checkRequiredCredentials();
      const id = this.nextRequestId++;
      this.send(url, AUTHENTICATED, { op: "auth", ...this.socketCredentials(url) }, { id, sequence: null });
    }
    return client.future(AUTHENTICATED);
  }

  private socketCredentials(url: string): object {
    if (this.token) return { token: this.token };
    const timestamp = this.incrementingNonce();
    return { apiKey: this.apiKey, timestamp, signature: this.signature(`${timestamp}GET${new URL(url).pathname}`) };
  }

  override handleMessage(client: SocketClient, message: Reply | ChannelMessage | Heartbeat): void {
    // A connection that was given up may still deliver messages after its replacement.
    if ((this.clients as Dict)[client.url] !== client) return;
    if ("op" in message) return this.handleReply(client, message);
    const hash = streamOf(message);
    const subscription = client.subscriptions[hash];
    if (subscription === undefined) return;
    const { sequence } = subscription;
    if (message.type !== "SNAPSHOT" && sequence === null) return;
    if (message.type === "HEARTBEAT") {
      if (message.sequence !== sequence) this.resync(client, subscription);
      return;
    }
    const isNext = message.type === "SNAPSHOT" || message.prevSequence === sequence;
    subscription.sequence = message.sequence;
    if (!isNext || !this.receive(client, hash, message)) this.resync(client, subscription);
  }

  private resync(client: SocketClient, subscription: Subscription): void {
    subscription.sequence = null;
    subscription.id = this.nextRequestId++;
    const message = { op: "subscribe", id: subscription.id, channels: [subscription.request] };
    // A lost connection rejects the waiting calls by itself.
    client.send(message).catch(() => {});
  }

  private handleReply(client: SocketClient, reply: Reply): void {
    // Not client.resolve, which deletes the future: later calls must find it resolved.
    if (reply.op === AUTHENTICATED) client.futures[AUTHENTICATED]?.resolve(true);
    const { op, result } = reply;
    const isAnswer = op === "error" || op === UNSUBSCRIBED || result !== undefined;
    if (!isAnswer) return;
    const found = Object.entries(client.subscriptions).find(([, subscription]) => subscription?.id === reply.id);
    const hash = found?.[0];
    if (hash !== undefined) delete client.subscriptions[hash];
    if (op !== "error") return client.resolve(result, hash ?? "");
    const text = `${this.id} ${JSON.stringify(reply)}`;
    const code = reply.code ?? "";
    client.reject(notLeading(code, text, reply.details) ?? new (errorClass(code, 0))(text), hash);
  }
}
