import type { IncomingMessage } from "node:http";
import { isSignatureReplay, PerpdError } from "./error.ts";
import { isTransient, readRejection } from "./handshake-rejection.ts";
import { Keepalive } from "./keepalive.ts";
import { notPerpdError, parseObject } from "./response.ts";
import { jittered } from "./retry.ts";
import type {
  Batch,
  BatchResults,
  CancelAllQuery,
  CanceledOrders,
  CancelSwitch,
  ChannelMessage,
  ChannelRequest,
  CloseRequest,
  ErrorBody,
  Leverage,
  MarginMode,
  MovedMargin,
  NewOrder,
  Order,
  OrderChanges,
  PlacedOrder,
} from "./types.ts";

/** The part of a browser's WebSocket that a stream needs; that of `ws` has it too. */
export interface WebSocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  /** That of `ws` says what a server has answered that opens no WebSocket. */
  on?(event: "unexpected-response", listener: (request: unknown, response: IncomingMessage) => void): unknown;
  send(text: string): void;
  close(): void;
}
export type WebSocketConstructor = new (url: string) => WebSocketLike;

export interface StreamHandlers {
  onMessage(message: ChannelMessage): void;
  /**
   * The stream has ended for good: the exchange refused to authenticate or to subscribe, be it again, or it is no perpd,
   * or whatever answers at its address has never let it connect and would not do so later.
   */
  onError?(error: PerpdError): void;
  /**
   * The connection is lost, or could not be made, and why; the stream tries again by itself. What was missed comes then,
   * or else a snapshot; orders without an answer may have been placed or not.
   */
  onDisconnect?(reason: PerpdError): void;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5000;
/** The exchange sends a heartbeat on each channel that is quiet for five to ten seconds. */
const DEAD_AFTER_MS = 30_000;

export interface StreamOptions {
  /** Cancel all orders of the account when the connection ends. Not when the exchange is killed: see cancelAfter. */
  cancelOnDisconnect?: boolean;
  /** A connection on which nothing has come for so long is dead, and made anew. Default 30,000. */
  deadAfterMs?: number;
}

interface Reply extends Partial<ErrorBody> {
  op: string;
  id: number;
}

/**
 * Subscriptions that outlive their connection, and trading over it: each of those methods resolves with what REST would
 * answer, or rejects with PerpdError. Without a connection its code is DISCONNECTED, and it is retryable until the stream
 * has ended: from then on it is what has ended it, the exchange's refusal or close(). See PerpdClient.stream.
 */
export class Stream {
  /** Resolves when a connection has subscribed for the first time; rejects with PerpdError when that is refused. */
  readonly ready: Promise<void>;
  private readonly WebSocket: WebSocketConstructor;
  private readonly url: string;
  private readonly credentials: () => object | null;
  /** Once it is subscribed with what the exchange has chosen where a request leaves something out, as messages say it. */
  private channels: ChannelRequest[];
  private readonly handlers: StreamHandlers;
  private readonly options: StreamOptions;
  /** Does nothing once it is ready. */
  private rejectReady: (error: PerpdError) => void = () => {};
  private resolveReady: () => void = () => {};
  private socket: WebSocketLike | null = null;
  private readonly pending = new Map<number, { resolve(reply: Reply): void; reject(error: PerpdError): void }>();
  /** The last sequence of each stream; null while a new snapshot is on its way, none before its first message. */
  private readonly lastSequences = new Map<string, number | null>();
  /** Connected, and authenticated if it can be. */
  private isOpen = false;
  /** It has subscribed at least once: the address is right. */
  private wasReady = false;
  /** Why this connection cannot be, or be kept. */
  private rejection: PerpdError | null = null;
  private nextId = 1;
  private retryMs = FIRST_RETRY_MS;
  /** When the connection had subscribed. */
  private subscribedAtMs = Number.POSITIVE_INFINITY;
  private retryTimer: NodeJS.Timeout | null = null;
  /** Why nothing can come of it any more. */
  private endReason: PerpdError | null = null;

  constructor(
    WebSocket: WebSocketConstructor,
    url: string,
    credentials: () => object | null,
    channels: ChannelRequest[],
    handlers: StreamHandlers,
    options: StreamOptions = {},
  ) {
    this.WebSocket = WebSocket;
    this.url = url;
    this.credentials = credentials;
    this.channels = channels;
    this.handlers = handlers;
    this.options = options;
    this.ready = new Promise((resolve, reject) => {
      this.resolveReady = resolve;
      this.rejectReady = reject;
    });
    // Whoever listens to onError only must not be killed for it.
    this.ready.catch(() => {});
    this.connect();
  }

  /** Resolves with the server's time. */
  async ping(): Promise<number> {
    const reply = await this.requestWhenOpen("ping", {});
    return (reply as Reply & { serverTime: number }).serverTime;
  }

  placeOrder(order: NewOrder): Promise<PlacedOrder> {
    return this.trade("order.place", order);
  }

  cancelOrder(which: { orderId: string } | { clientOrderId: string }): Promise<Order> {
    return this.trade("order.cancel", which);
  }

  amendOrder(which: { orderId: string } | { clientOrderId: string }, changes: OrderChanges): Promise<PlacedOrder> {
    return this.trade("order.amend", { ...which, ...changes });
  }

  /** Up to 20 orders of a symbol to place, amend and cancel, in their order and at once: see PerpdClient.batch. */
  batch(batch: Batch): Promise<BatchResults> {
    return this.trade("order.batch", batch);
  }

  cancelOrders(which: CancelAllQuery = {}): Promise<CanceledOrders> {
    return this.trade("order.cancelAll", which);
  }

  /** Cancels all open orders so many milliseconds from now, unless it is called again before; 0 disarms. */
  cancelAfter(timeoutMs: number): Promise<CancelSwitch> {
    return this.trade("order.cancelAfter", { timeoutMs });
  }

  /** All of it and at market, unless said otherwise. */
  closePosition(symbol: string, how: CloseRequest = {}): Promise<PlacedOrder> {
    return this.trade("position.close", { symbol, ...how });
  }

  setLeverage(symbol: string, leverage: number): Promise<Leverage> {
    return this.trade("position.leverage", { symbol, leverage });
  }

  setMarginMode(symbol: string, mode: MarginMode["marginMode"]): Promise<MarginMode> {
    return this.trade("position.marginMode", { symbol, mode });
  }

  /** Adds to an isolated position's margin; a negative amount takes out. With a reference it may be sent again: it is moved once. */
  moveMargin(symbol: string, amount: string, reference?: string): Promise<MovedMargin> {
    return this.trade("position.margin", { symbol, amount, ...(reference !== undefined && { reference }) });
  }

  /** Asks for a new snapshot of the stream that the message belongs to; what comes before it is left out. */
  resync(message: StreamKey): void {
    this.lastSequences.set(streamName(message), null);
    this.requestWhenOpen("subscribe", { channels: [keyOf(message)] }).catch((error: PerpdError) => {
      // Without a connection there will be another, which subscribes to everything.
      if (error.code !== DISCONNECTED) this.onRefused(error);
    });
  }

  /** No handler is called any more. */
  close(): void {
    this.end(disconnected("the stream was closed", false));
  }

  private end(reason: PerpdError): void {
    this.endReason ??= reason;
    this.isOpen = false;
    if (this.retryTimer !== null) clearTimeout(this.retryTimer);
    this.rejectReady(this.endReason);
    this.socket?.close();
  }

  /** The exchange does not authenticate it or subscribe: another connection tries again, or nothing helps. */
  private onRefused(error: PerpdError, isPassing = error.retryable || isSignatureReplay(error)): void {
    if (this.endReason !== null) return;
    if (isPassing) {
      this.rejection = error;
      this.socket?.close();
      return;
    }
    this.end(error);
    this.handlers.onError?.(error);
  }

  private connect(): void {
    const socket = new this.WebSocket(this.url);
    this.socket = socket;
    this.rejection = null;
    let what = "no connection could be made";
    let why = "";
    const lose = (): void => {
      keepalive.stop();
      socket.onopen = socket.onmessage = socket.onclose = null;
      this.onConnectionLost(why === "" ? what : `${what}: ${why}`);
    };
    const ask = () => this.ping().catch(() => {});
    const keepalive = new Keepalive(this.options.deadAfterMs ?? DEAD_AFTER_MS, ask, () => {
      why = "nothing has come for too long";
      // A dead line is not told that it is closed either: nobody waits for that.
      lose();
      socket.close();
    });
    socket.onopen = () => {
      what = "the connection was lost";
      this.subscribe().then(
        () => {
          this.subscribedAtMs = performance.now();
          this.wasReady = true;
          this.resolveReady();
        },
        (error: PerpdError) => this.onRefused(error),
      );
    };
    socket.onmessage = (event: { data: unknown }) => {
      keepalive.received();
      const message = parseObject(String(event.data));
      if (message !== null && ("op" in message || "channel" in message)) this.receive(message as Message);
      else this.onRefused(notPerpdError(new URL(this.url)));
    };
    // The close that follows ends it; without a handler `ws` throws.
    socket.onerror = ({ message, error }: { message?: string; error?: NodeJS.ErrnoException }) => {
      why = message?.trim() || error?.code || "";
    };
    socket.onclose = ({ reason }: { reason: string }) => {
      why ||= reason;
      lose();
    };
    socket.on?.("unexpected-response", async (_request, response) => {
      const error = await readRejection(new URL(this.url), response);
      if (this.socket !== socket) return;
      // What had let it connect before is being replaced, maybe, and what is in its place is not for long.
      this.onRefused(error, this.wasReady || isTransient(error));
    });
  }

  private onConnectionLost(how: string): void {
    this.isOpen = false;
    const lost = disconnected(how, this.endReason === null);
    for (const { reject } of this.pending.values()) reject(lost);
    this.pending.clear();
    if (this.endReason !== null) return;
    // One that is cut as soon as it stands, such as a reader's that is too slow, is no reason to come back at once for ever.
    if (performance.now() - this.subscribedAtMs > LAST_RETRY_MS) this.retryMs = FIRST_RETRY_MS;
    this.subscribedAtMs = Number.POSITIVE_INFINITY;
    this.retryTimer = setTimeout(() => this.connect(), jittered(this.retryMs));
    this.retryMs = Math.min(2 * this.retryMs, LAST_RETRY_MS);
    // The last thing, since it may close the stream.
    this.handlers.onDisconnect?.(this.rejection ?? lost);
  }

  private async subscribe(): Promise<void> {
    const { cancelOnDisconnect } = this.options;
    const credentials = this.credentials();
    if (credentials !== null) await this.request("auth", { ...credentials, cancelOnDisconnect });
    this.isOpen = true;
    if (this.channels.length === 0) return;
    const reply = await this.request("subscribe", { channels: this.withResumePoints() });
    this.channels = (reply as Reply & { channels: ChannelRequest[] }).channels;
  }

  /** The channels, each with where it was when the connection was lost. */
  private withResumePoints(): ChannelRequest[] {
    return this.channels.map((request) => {
      const sequence = this.lastSequences.get(streamName(request)) ?? null;
      return sequence === null ? request : { ...request, resume: sequence };
    });
  }

  private async trade<T>(op: string, params: object): Promise<T> {
    return ((await this.requestWhenOpen(op, { params })) as Reply & { result: T }).result;
  }

  /** What is no part of subscribing: that is done again with each connection, this is not. */
  private async requestWhenOpen(op: string, fields: object): Promise<Reply> {
    if (!this.isOpen) throw this.endReason ?? disconnected("not connected: nothing was sent", true);
    return this.request(op, fields);
  }

  private request(op: string, fields: object): Promise<Reply> {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.socket?.send(JSON.stringify({ op, id, ...fields }));
    });
  }

  private receive(message: Message): void {
    if ("op" in message) {
      const waiting = this.pending.get(message.id);
      this.pending.delete(message.id);
      if (message.op === "error") waiting?.reject(new PerpdError(0, message));
      else waiting?.resolve(message);
      return;
    }
    // What was sent before the exchange heard of the end.
    if (this.endReason !== null) return;
    const stream = streamName(message);
    const last = this.lastSequences.get(stream);
    if (message.type !== "SNAPSHOT") {
      if (last === null) return;
      // The first message is a snapshot, or goes on from the `resume` that the program has given.
      const before = message.type === "HEARTBEAT" ? message.sequence : message.prevSequence;
      if (last !== undefined && before !== last) return this.resync(message);
    }
    if (message.type === "HEARTBEAT") return;
    this.lastSequences.set(stream, message.sequence);
    this.handlers.onMessage(message);
  }
}

const DISCONNECTED = "DISCONNECTED";
const disconnected = (message: string, retryable: boolean): PerpdError =>
  new PerpdError(0, { code: DISCONNECTED, message, retryable });

/** What tells the streams of a connection apart. */
interface StreamKey {
  channel: ChannelMessage["channel"];
  symbol?: string | undefined;
  depth?: number | undefined;
  updateMs?: number | undefined;
  interval?: string | undefined;
  priceType?: string | undefined;
}

/** A quiet stream repeats its last sequence. */
interface Heartbeat extends StreamKey {
  type: "HEARTBEAT";
  sequence: number;
}

type Message = Reply | ChannelMessage | Heartbeat;

const keyOf = ({ channel, symbol, depth, updateMs, interval, priceType }: StreamKey): StreamKey => ({
  channel,
  symbol,
  depth,
  updateMs,
  interval,
  priceType,
});

/** A book without a pace does not name it. */
const streamName = ({ channel, symbol, depth, updateMs, interval, priceType }: StreamKey): string =>
  [channel, symbol, depth, updateMs || undefined, interval, priceType].join(" ");
