import { PerpdError } from "./error.ts";
import type { ChannelMessage, ChannelRequest, ErrorBody } from "./types.ts";

/** The part of a browser's WebSocket that a stream needs; that of `ws` has it too. */
export interface WebSocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(): void;
}
export type WebSocketConstructor = new (url: string) => WebSocketLike;

export interface StreamHandlers {
  onMessage(message: ChannelMessage): void;
  /** The stream has ended for good: the exchange refused to authenticate or to subscribe. */
  onError?(error: PerpdError): void;
  /** The connection is lost; the stream tries again by itself, and snapshots begin what comes then. */
  onDisconnect?(): void;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5000;

interface Reply extends Partial<ErrorBody> {
  op: string;
  id: number;
}

/** Subscriptions that outlive their connection. See PerpdClient.stream. */
export class Stream {
  /** Resolves when a connection has subscribed for the first time; rejects with PerpdError when that is refused. */
  readonly ready: Promise<void>;
  private readonly WebSocket: WebSocketConstructor;
  private readonly url: string;
  private readonly credentials: () => object | null;
  private readonly channels: ChannelRequest[];
  private readonly handlers: StreamHandlers;
  private socket: WebSocketLike | null = null;
  private readonly waiting = new Map<number, { resolve(reply: Reply): void; reject(error: PerpdError): void }>();
  /** The last sequence of each stream; −1 while a new snapshot is on its way. */
  private readonly sequences = new Map<string, number>();
  private nextId = 1;
  private retryMs = FIRST_RETRY_MS;
  private retryTimer: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(
    WebSocket: WebSocketConstructor,
    url: string,
    credentials: () => object | null,
    channels: ChannelRequest[],
    handlers: StreamHandlers,
  ) {
    this.WebSocket = WebSocket;
    this.url = url;
    this.credentials = credentials;
    this.channels = channels;
    this.handlers = handlers;
    this.ready = new Promise((resolve, reject) => this.connect(resolve, reject));
    // Whoever listens to onError only must not be killed for it.
    this.ready.catch(() => {});
  }

  /** Resolves with the server's time. */
  async ping(): Promise<number> {
    const reply = await this.request("ping", {});
    return (reply as Reply & { serverTime: number }).serverTime;
  }

  /** Asks for a new snapshot of the stream that the message belongs to; what comes before it is left out. */
  resync(message: ChannelMessage): void {
    const channel = this.channels.find((request) => belongs(request, message));
    if (channel === undefined) return;
    this.sequences.set(streamOf(message), -1);
    this.request("subscribe", { channels: [channel] }).catch(() => {});
  }

  close(): void {
    this.closed = true;
    if (this.retryTimer !== null) clearTimeout(this.retryTimer);
    this.socket?.close();
  }

  private connect(onReady: () => void, onRefused: (error: PerpdError) => void): void {
    const socket = new this.WebSocket(this.url);
    this.socket = socket;
    this.sequences.clear();
    socket.onopen = () => {
      this.subscribe().then(
        () => {
          this.retryMs = FIRST_RETRY_MS;
          onReady();
        },
        (error: PerpdError) => {
          if (error.retryable) return socket.close();
          this.close();
          this.handlers.onError?.(error);
          onRefused(error);
        },
      );
    };
    socket.onmessage = (event: { data: unknown }) => this.receive(JSON.parse(String(event.data)));
    // Without a handler `ws` throws; the close that follows says all there is to say.
    socket.onerror = () => {};
    socket.onclose = () => {
      const lost = new PerpdError(0, { code: "DISCONNECTED", message: "the connection was lost", retryable: true });
      for (const { reject } of this.waiting.values()) reject(lost);
      this.waiting.clear();
      if (this.closed) return onRefused(lost);
      this.handlers.onDisconnect?.();
      this.retryTimer = setTimeout(() => this.connect(onReady, onRefused), this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, LAST_RETRY_MS);
    };
  }

  private async subscribe(): Promise<void> {
    const credentials = this.credentials();
    if (credentials !== null) await this.request("auth", credentials);
    await this.request("subscribe", { channels: this.channels });
  }

  private request(op: string, fields: object): Promise<Reply> {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.socket?.send(JSON.stringify({ op, id, ...fields }));
    });
  }

  private receive(message: Reply | ChannelMessage | Heartbeat): void {
    if ("op" in message) {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.op === "error") waiting?.reject(new PerpdError(0, message));
      else waiting?.resolve(message);
      return;
    }
    const stream = streamOf(message);
    const last = this.sequences.get(stream) ?? -1;
    if (message.type === "SNAPSHOT") this.sequences.set(stream, message.sequence);
    else if (last === -1) return;
    else if (message.type === "HEARTBEAT") {
      if (message.sequence !== last) this.resync(message as unknown as ChannelMessage);
      return;
    } else if (message.prevSequence !== last) return this.resync(message);
    else this.sequences.set(stream, message.sequence);
    this.handlers.onMessage(message as ChannelMessage);
  }
}

/** A quiet stream repeats its last sequence. */
interface Heartbeat {
  channel: ChannelMessage["channel"];
  symbol?: string;
  depth?: number;
  type: "HEARTBEAT";
  sequence: number;
}

const streamOf = (message: { channel: string; symbol?: string; depth?: number }): string =>
  `${message.channel} ${message.symbol ?? ""} ${message.depth ?? ""}`;

const belongs = (request: ChannelRequest, message: ChannelMessage): boolean =>
  request.channel === message.channel &&
  request.symbol === ("symbol" in message ? message.symbol : undefined) &&
  (request.depth === undefined || !("depth" in message) || request.depth === message.depth);
