import { type Dict, UnsubscribeError } from "ccxt";
import type { ChannelMessage, ChannelRequest, ErrorBody } from "../client/types.ts";
import { PerpdBatches } from "./batches.ts";
import { errorClass } from "./errors.ts";

/** The part of ccxt's WebSocket client that is used. */
export interface SocketClient {
  url: string;
  futures: Record<string, { resolve(value: unknown): void } | undefined>;
  subscriptions: Record<string, Subscription | undefined>;
  future(hash: string): Promise<unknown>;
  resolve(result: unknown, hash: string): void;
  reject(error: Error, hash?: string): void;
  send(message: object): Promise<unknown>;
  /** Resolves once it is open. */
  connected: Promise<unknown>;
  throttle(cost: number): Promise<unknown>;
  onError(error: Error): void;
}

interface Subscription {
  /** Of the request that asked for it. */
  id: number;
  request?: ChannelRequest;
  /** Of the last message; null before the first snapshot, and again while a new one is on its way. */
  sequence: number | null;
}

interface Reply extends Partial<ErrorBody> {
  op: string;
  id: number | null;
  /** Of a request that was done. */
  result?: unknown;
}
type Heartbeat = Omit<ChannelMessage, "type"> & { type: "HEARTBEAT" };

const AUTHENTICATED = "authenticated";
const UNSUBSCRIBED = "unsubscribed";

/** What tells the streams of a connection apart. A book without a pace does not name it. */
export const streamOf = ({ channel, symbol, depth, updateMs, interval, priceType }: ChannelRequest): string =>
  [channel, symbol, depth, updateMs || undefined, interval, priceType === "LAST" ? undefined : priceType]
    .filter((part) => part !== undefined)
    .join(":");

/** The connection's side of watching: it subscribes, authenticates, and sees to it that no message is missing. */
export abstract class PerpdConnection extends PerpdBatches {
  private nextRequestId = 1;

  /** A message of a stream, in its place. False: it shows that what was made of the stream is wrong. */
  protected abstract receive(client: SocketClient, hash: string, message: ChannelMessage): boolean;

  /** Nothing is remembered of the stream. */
  protected abstract forget(hash: string): void;

  /** What is known of the stream is so now: its connection stands, and no snapshot is on its way. */
  protected isCurrent(hash: string): boolean {
    const url = this.implodeHostname(this.urls.api.ws);
    if (!(url in (this.clients as Dict))) return false;
    const client: SocketClient = this.client(url);
    return typeof client.subscriptions[hash]?.sequence === "number";
  }

  /** Resolves with the stream's next news. */
  protected async follow(request: ChannelRequest, access: "public" | "private"): Promise<unknown> {
    const url = this.implodeHostname(this.urls.api.ws);
    // ccxt makes no plain ws:// connection before that.
    await this.loadHttpProxyAgent();
    if (access === "private") await this.authenticate(url);
    const hash = streamOf(request);
    const id = this.nextRequestId++;
    return this.send(url, hash, { op: "subscribe", channels: [request] }, { id, request, sequence: null });
  }

  /** Ends the streams that are meant. */
  protected async unfollow(isMeant: (request: ChannelRequest) => boolean): Promise<void> {
    const url = this.implodeHostname(this.urls.api.ws);
    // What was lost with its connection ended there.
    if (!(url in (this.clients as Dict))) return;
    const client: SocketClient = this.client(url);
    for (const [hash, subscription] of Object.entries(client.subscriptions)) {
      const request = subscription?.request;
      if (request === undefined || !isMeant(request)) continue;
      delete client.subscriptions[hash];
      this.forget(hash);
      if (hash in client.futures) client.reject(new UnsubscribeError(`${this.id} ${hash}`), hash);
      const id = this.nextRequestId++;
      await this.send(url, `request:${id}`, { op: "unsubscribe", channels: [request] }, { id, sequence: null });
    }
  }

  /** Does over the WebSocket what an endpoint does. Rejects with NetworkError when the connection is lost before the answer. */
  protected async call<Result>(op: string, params: object): Promise<Result> {
    const url = this.implodeHostname(this.urls.api.ws);
    await this.loadHttpProxyAgent();
    await this.authenticate(url);
    const id = this.nextRequestId++;
    const hash = `request:${id}`;
    return this.send(url, hash, { op, params }, { id, sequence: null }) as Promise<Result>;
  }

  /**
   * Sends a message unless it is under way already, and resolves with what comes of it. Not by ccxt's own watch, which
   * leaves a rejection unhandled when the connection is lost just before it sends: that ends the program.
   */
  private send(url: string, hash: string, message: object, subscription: Subscription): Promise<unknown> {
    const client: SocketClient = this.client(url);
    const isUnderWay = client.subscriptions[hash] !== undefined;
    const settled = this.watch(url, hash, undefined, hash, subscription);
    if (isUnderWay) return settled;
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
    // One that was given up may come to life again, behind its successor.
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
    // A connection that is lost meanwhile says so to whoever waits.
    client.send(message).catch(() => {});
  }

  private handleReply(client: SocketClient, reply: Reply): void {
    // Not client.resolve, which would forget it: whoever asks later is authenticated, too.
    if (reply.op === AUTHENTICATED) client.futures[AUTHENTICATED]?.resolve(true);
    const { op, result } = reply;
    const isAnswer = op === "error" || op === UNSUBSCRIBED || result !== undefined;
    if (!isAnswer) return;
    const found = Object.entries(client.subscriptions).find(([, subscription]) => subscription?.id === reply.id);
    const hash = found?.[0];
    if (hash !== undefined) delete client.subscriptions[hash];
    if (op !== "error") return client.resolve(result, hash ?? "");
    client.reject(new (errorClass(reply.code ?? "", 0))(`${this.id} ${JSON.stringify(reply)}`), hash);
  }
}
