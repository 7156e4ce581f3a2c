import type { ChannelMessage, ChannelRequest, ErrorBody } from "../client/types.ts";
import { errorClass } from "./errors.ts";
import { PerpdTrading } from "./trading.ts";

/** The part of ccxt's WebSocket client that is used. */
export interface SocketClient {
  url: string;
  futures: Record<string, { resolve(value: unknown): void } | undefined>;
  subscriptions: Record<string, Subscription | undefined>;
  future(hash: string): Promise<unknown>;
  resolve(result: unknown, hash: string): void;
  reject(error: Error, hash?: string): void;
  send(message: object): Promise<unknown>;
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
}
type Heartbeat = Omit<ChannelMessage, "type"> & { type: "HEARTBEAT" };

const AUTHENTICATED = "authenticated";

/** What tells the streams of a connection apart. A book without a pace does not name it. */
export const streamOf = ({ channel, symbol, depth, updateMs, interval }: ChannelRequest): string =>
  [channel, symbol, depth, updateMs || undefined, interval].filter((part) => part !== undefined).join(":");

/** The connection's side of watching: it subscribes, authenticates, and sees to it that no message is missing. */
export abstract class PerpdConnection extends PerpdTrading {
  private nextRequestId = 1;

  /** A message of a stream, in its place. False: it shows that what was made of the stream is wrong. */
  protected abstract receive(client: SocketClient, hash: string, message: ChannelMessage): boolean;

  /** Resolves with the stream's next news. */
  protected async follow(request: ChannelRequest, access: "public" | "private"): Promise<unknown> {
    const url = this.implodeHostname(this.urls.api.ws);
    // ccxt makes no plain ws:// connection before that.
    await this.loadHttpProxyAgent();
    if (access === "private") await this.authenticate(url);
    const hash = streamOf(request);
    const id = this.nextRequestId++;
    return this.watch(url, hash, { op: "subscribe", id, channels: [request] }, hash, { id, request, sequence: null });
  }

  private authenticate(url: string): Promise<unknown> {
    const client: SocketClient = this.client(url);
    if (client.subscriptions[AUTHENTICATED] === undefined) {
      this.checkRequiredCredentials();
      const id = this.nextRequestId++;
      const message = { op: "auth", id, ...this.socketCredentials(url) };
      this.watch(url, AUTHENTICATED, message, AUTHENTICATED, { id, sequence: null });
    }
    return client.future(AUTHENTICATED);
  }

  private socketCredentials(url: string): object {
    if (this.token) return { token: this.token };
    const timestamp = this.incrementingNonce();
    return { apiKey: this.apiKey, timestamp, signature: this.signature(`${timestamp}GET${new URL(url).pathname}`) };
  }

  override handleMessage(client: SocketClient, message: Reply | ChannelMessage | Heartbeat): void {
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
    if (reply.op !== "error") return;
    const error = new (errorClass(reply.code ?? "", 0))(`${this.id} ${JSON.stringify(reply)}`);
    const found = Object.entries(client.subscriptions).find(([, subscription]) => subscription?.id === reply.id);
    if (found === undefined) return client.reject(error);
    const [hash] = found;
    delete client.subscriptions[hash];
    client.reject(error, hash);
  }
}
