import type { Addresses } from "./addresses.ts";
import { isSignatureReplay, PerpdError, type Rejection } from "./error.ts";
import { Keepalive } from "./keepalive.ts";
import { isTransient, notPerpdError, parseObject, readRejection } from "./response.ts";
import { jittered, LEAVING, leaderOf } from "./retry.ts";
import { type Entry, type Heartbeat, keyOf, type StreamKey, Subscriptions } from "./subscriptions.ts";
import type * as api from "./types.ts";

/** The part of a browser's WebSocket that a stream needs; the `ws` package has it too. */
interface WebSocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  /** Only in `ws`: the HTTP response of a server that refused the handshake. */
  on?(event: "unexpected-response", listener: (request: unknown, response: Rejection) => void): unknown;
  send(text: string): void;
  close(): void;
}
export type WebSocketConstructor = new (url: string) => WebSocketLike;

export interface StreamHandlers {
  onMessage(message: api.ChannelMessage): void;
  /**
   * The stream has ended for good. The exchange refused to authenticate or to subscribe, or no perpd is at the address.
   * It also ends if the first handshake is refused for a reason that a retry cannot change.
   */
  onError?(error: PerpdError): void;
  /**
   * The connection was lost or could not be made; the stream reconnects by itself. Missed messages follow, or a
   * snapshot. Orders that have no reply yet may have been placed.
   */
  onDisconnect?(reason: PerpdError): void;
  /** A quiet stream is in step: nothing was missed, also not by a resumed one. */
  onHeartbeat?(stream: StreamKey): void;
  /** A message of the stream was lost. A snapshot follows. */
  onGap?(stream: StreamKey): void;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5000;
/** The exchange sends a heartbeat on each channel that was quiet for five to ten seconds. */
const DEAD_AFTER_MS = 30_000;
/** The exchange answers within five seconds. */
const TIMEOUT_MS = 10_000;

/** Refusals that say nothing about the request or the connection. */
const BUSY: ReadonlySet<string> = new Set(["RATE_LIMITED", "OVERLOADED"]);
/** The wait after such a refusal that names none. */
const BUSY_MS = 1000;

export interface StreamOptions {
  /**
   * Cancels all orders of the account when the connection ends. Does not work when the exchange is killed: see
   * cancelAfter.
   */
  cancelOnDisconnect?: boolean;
  /** A connection without a message for this long is dropped and made again. Default 30,000. */
  deadAfterMs?: number;
  /** How long to wait for the reply to a request, also on a living connection. Default 10,000. */
  timeoutMs?: number;
}

type OrderName = { orderId: string } | { clientOrderId: string };

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: PerpdError): void;
  readonly timer: ReturnType<typeof setTimeout>;
}

interface Reply extends Partial<api.ErrorBody> {
  op: string;
  id: number;
}

/**
 * Subscriptions that survive reconnects, and trading over the same WebSocket. See PerpdClient.stream.
 * Each trading method resolves with the body that the HTTP endpoint would return, or rejects with PerpdError. Without a
 * connection the code is DISCONNECTED, and `retryable` is true until the stream has ended. After that the error is the
 * reason for the end: the exchange's refusal, or close(). Without a reply in time the code is TIMEOUT, as that of the
 * exchange itself: the outcome is unknown.
 */
export class Stream {
  /** Resolves with the first subscription; rejects with PerpdError when it is refused. */
  readonly ready: Promise<void>;
  private readonly WebSocket: WebSocketConstructor;
  private readonly addresses: Addresses;
  /** Of the current connection. */
  private base = "";
  private url = "";
  private readonly credentials: () => Promise<object | null>;
  private readonly subscriptions: Subscriptions;
  private readonly handlers: StreamHandlers;
  private readonly options: StreamOptions;
  /** Both do nothing once the promise is settled. */
  private rejectReady: (error: PerpdError) => void = () => {};
  private resolveReady: () => void = () => {};
  private socket: WebSocketLike | null = null;
  private readonly pending = new Map<number, Waiting>();
  /** Connected and, with credentials, authenticated. */
  private isOpen = false;
  /** True after the first subscription: the address is known to be right. */
  private wasReady = false;
  /** Why the current connection was refused or is being closed. */
  private rejection: PerpdError | null = null;
  private nextId = 1;
  private retryMs = FIRST_RETRY_MS;
  /** performance.now() at the subscription of this connection. */
  private subscribedAtMs = Number.POSITIVE_INFINITY;
  private retryTimer: ReturnType<typeof setTimeout> | null = null;
  /** Of requests for a snapshot that are repeated. */
  private readonly snapshotTimers = new Set<ReturnType<typeof setTimeout>>();
  /** Why the stream has ended. */
  private endReason: PerpdError | null = null;

  constructor(
    WebSocket: WebSocketConstructor,
    addresses: Addresses,
    credentials: () => Promise<object | null>,
    channels: api.ChannelRequest[],
    handlers: StreamHandlers,
    options: StreamOptions = {},
  ) {
    this.WebSocket = WebSocket;
    this.addresses = addresses;
    this.credentials = credentials;
    this.subscriptions = new Subscriptions(channels);
    this.handlers = handlers;
    this.options = options;
    this.ready = new Promise((resolve, reject) => {
      this.resolveReady = resolve;
      this.rejectReady = reject;
    });
    // A program that uses only onError must not die of an unhandled rejection.
    this.ready.catch(() => {});
    this.connect();
  }

  /** Resolves with the server's time. */
  async ping(): Promise<number> {
    const reply = await this.requestWhenOpen("ping", {});
    return (reply as Reply & { serverTime: number }).serverTime;
  }

  placeOrder(order: api.NewOrder): Promise<api.PlacedOrder> {
    return this.trade("order.place", order);
  }

  cancelOrder(which: OrderName): Promise<api.Order> {
    return this.trade("order.cancel", which);
  }

  amendOrder(which: OrderName, changes: api.OrderChanges): Promise<api.PlacedOrder> {
    return this.trade("order.amend", { ...which, ...changes });
  }

  /** Places, amends and cancels up to 20 orders of one symbol in one transaction: see PerpdClient.batch. */
  batch(batch: api.Batch): Promise<api.BatchResults> {
    return this.trade("order.batch", batch);
  }

  cancelOrders(which: api.CancelAllQuery = {}): Promise<api.CanceledOrders> {
    return this.trade("order.cancelAll", which);
  }

  /** Dead man's switch: cancels all open orders after `timeoutMs` unless it is called again before. 0 disarms it. */
  cancelAfter(timeoutMs: number): Promise<api.CancelSwitch> {
    return this.trade("order.cancelAfter", { timeoutMs });
  }

  /** Closes a position: all of it at market, unless `how` names a quantity or a price. */
  closePosition(symbol: string, how: api.CloseRequest = {}): Promise<api.PlacedOrder> {
    return this.trade("position.close", { symbol, ...how });
  }

  setLeverage(symbol: string, leverage: number): Promise<api.Leverage> {
    return this.trade("position.leverage", { symbol, leverage });
  }

  setMarginMode(symbol: string, mode: api.MarginMode["marginMode"]): Promise<api.MarginMode> {
    return this.trade("position.marginMode", { symbol, mode });
  }

  /**
   * Adds `amount` USDC to an isolated position's margin; a negative amount removes it. With a reference it may be
   * repeated and is applied once.
   */
  moveMargin(symbol: string, amount: string, reference?: string): Promise<api.MovedMargin> {
    return this.trade("position.margin", { symbol, amount, ...(reference !== undefined && { reference }) });
  }

  /**
   * Subscribes to further channels, each of which sends its snapshot first. Resolves when the exchange has accepted them.
   * Rejects with PerpdError if it refuses, and changes nothing then. Without a connection it resolves at once, since the next
   * one subscribes to everything: a refusal then ends the stream, as that of the first channels does. A channel that is
   * subscribed to already goes on, and sends another snapshot.
   */
  async subscribe(channels: readonly api.ChannelRequest[]): Promise<void> {
    if (this.endReason !== null) throw this.endReason;
    const added = this.subscriptions.add(channels);
    if (!this.isOpen || added.length === 0) return;
    try {
      await this.requestEntries(added);
    } catch (error) {
      if (this.isPassed(error as PerpdError)) return;
      this.subscriptions.takeBack(added);
      throw error;
    }
  }

  /**
   * Ends subscriptions. A field that is left out matches any value. Messages that are on the way are dropped. Resolves when the
   * exchange has done so; without a connection at once.
   */
  async unsubscribe(channels: readonly api.ChannelRequest[]): Promise<void> {
    this.subscriptions.remove(channels);
    if (!this.isOpen || channels.length === 0) return;
    await this.request("unsubscribe", { channels }).catch((error: PerpdError) => {
      if (!this.isPassed(error)) throw error;
    });
  }

  /** Whether a new connection, which has the channels of the moment, makes good for a request without an answer. */
  private isPassed(error: PerpdError): boolean {
    if (error.code === UNANSWERED) this.onRefused(error, true);
    return (error.code === UNANSWERED || error.code === DISCONNECTED) && this.endReason === null;
  }

  /**
   * Requests a new snapshot of the stream that the message belongs to. Messages before the snapshot are dropped. Does nothing if
   * it is not subscribed to any more. Repeats a request for which the exchange is too busy; the other streams go on.
   */
  resync(message: StreamKey): void {
    if (this.subscriptions.awaitSnapshot(message)) this.requestSnapshot(keyOf(message));
  }

  private requestSnapshot(stream: StreamKey): void {
    this.requestWhenOpen("subscribe", { channels: [stream] }).catch((error: PerpdError) => {
      if (BUSY.has(error.code) && this.isOpen) this.requestSnapshotLater(stream, error.retryAfterMs ?? BUSY_MS);
      // Without a connection: the next one subscribes to everything anyway.
      else if (error.code !== DISCONNECTED) this.onRefused(error);
    });
  }

  private requestSnapshotLater(stream: StreamKey, waitMs: number): void {
    const timer = setTimeout(() => {
      this.snapshotTimers.delete(timer);
      // The program may have left the stream, or another request has brought a snapshot.
      if (this.subscriptions.lacksSnapshot(stream)) this.requestSnapshot(stream);
    }, waitMs);
    this.snapshotTimers.add(timer);
  }

  private forgetSnapshots(): void {
    for (const timer of this.snapshotTimers) clearTimeout(timer);
    this.snapshotTimers.clear();
  }

  /** Ends the stream. No handler is called afterwards. */
  close(): void {
    this.end(disconnected("the stream was closed", false));
  }

  private end(reason: PerpdError): void {
    this.endReason ??= reason;
    this.isOpen = false;
    this.forgetSnapshots();
    if (this.retryTimer !== null) clearTimeout(this.retryTimer);
    this.rejectReady(this.endReason);
    this.socket?.close();
  }

  /** Authentication or subscription was refused: reconnect when the reason is temporary, otherwise end the stream. */
  private onRefused(error: PerpdError, isPassing = error.retryable || isSignatureReplay(error)): void {
    if (this.endReason !== null) return;
    if (isPassing) {
      this.rejection = error;
      // A request before the close event would be lost, and its outcome unknown.
      this.isOpen = false;
      this.socket?.close();
      return;
    }
    this.end(error);
    this.handlers.onError?.(error);
  }

  private connect(): void {
    const base = this.addresses.current;
    this.base = base;
    this.url = `${base.replace(/^http/, "ws")}/ws`;
    const socket = new this.WebSocket(this.url);
    this.socket = socket;
    this.rejection = null;
    let state = "no connection could be made";
    let cause = "";
    const lose = (): void => {
      keepalive.stop();
      socket.onopen = socket.onmessage = socket.onclose = null;
      this.addresses.leave(base);
      this.onConnectionLost(cause === "" ? state : `${state}: ${cause}`);
    };
    const ping = () => this.ping().catch(() => {});
    const keepalive = new Keepalive(this.options.deadAfterMs ?? DEAD_AFTER_MS, ping, () => {
      cause = "no message arrived in time";
      // A dead connection does not report its close: do not wait for it.
      lose();
      socket.close();
    });
    socket.onopen = () => {
      state = "the connection was lost";
      this.begin(socket).then(
        () => {
          if (this.socket !== socket) return;
          this.subscribedAtMs = performance.now();
          this.wasReady = true;
          this.resolveReady();
        },
        (error: PerpdError) => {
          if (this.socket === socket) this.onRefused(error);
        },
      );
    };
    socket.onmessage = (event: { data: unknown }) => {
      keepalive.received();
      const message = parseObject(String(event.data));
      if (message !== null && ("op" in message || "channel" in message)) this.receive(message as Message);
      // From an address that was right before: something between has damaged the message.
      else this.onRefused(notPerpdError(new URL(this.url)), this.wasReady);
    };
    // The close event follows. Without this handler `ws` throws.
    socket.onerror = ({ message, error }: { message?: string; error?: { code?: string } }) => {
      cause = message?.trim() || error?.code || "";
    };
    socket.onclose = ({ reason }: { reason: string }) => {
      cause ||= reason;
      lose();
    };
    socket.on?.("unexpected-response", async (_request, response) => {
      const error = await readRejection(new URL(this.url), response);
      if (this.socket !== socket) return;
      // A server that accepted us before is probably restarting: whatever answers now is temporary.
      this.onRefused(error, this.wasReady || isTransient(error));
    });
  }

  private onConnectionLost(how: string): void {
    this.socket = null;
    this.isOpen = false;
    this.forgetSnapshots();
    const lost = disconnected(how, this.endReason === null);
    for (const id of [...this.pending.keys()]) this.take(id)?.reject(lost);
    if (this.endReason !== null) return;
    // Reset the backoff only after a connection has lasted: one that is always cut at once, as of a slow reader, must
    // not reconnect in a tight loop.
    if (performance.now() - this.subscribedAtMs > LAST_RETRY_MS) this.retryMs = FIRST_RETRY_MS;
    this.subscribedAtMs = Number.POSITIVE_INFINITY;
    this.retryTimer = setTimeout(() => this.connect(), jittered(this.retryMs));
    this.retryMs = Math.min(2 * this.retryMs, LAST_RETRY_MS);
    // Last, since the handler may close the stream.
    this.handlers.onDisconnect?.(this.rejection ?? lost);
  }

  /** Authenticates and subscribes a new connection. */
  private async begin(socket: WebSocketLike): Promise<void> {
    const { cancelOnDisconnect } = this.options;
    const credentials = await this.credentials();
    if (this.socket !== socket) return;
    if (credentials !== null) await this.request("auth", { ...credentials, cancelOnDisconnect });
    this.isOpen = true;
    const entries = this.subscriptions.renew();
    if (entries.length > 0) await this.requestEntries(entries);
  }

  private async requestEntries(entries: readonly Entry[]): Promise<void> {
    await this.request("subscribe", { channels: entries.map(({ request }) => request) });
    this.subscriptions.accept(entries);
    for (const entry of entries)
      if (this.subscriptions.takePostponed(entry)) this.requestSnapshot(keyOf(entry.request));
  }

  private async trade<T>(op: string, params: object): Promise<T> {
    const { socket } = this;
    try {
      return ((await this.requestWhenOpen(op, { params })) as Reply & { result: T }).result;
    } catch (error) {
      if (this.socket === socket) this.leaveStandby(error as PerpdError);
      throw error;
    }
  }

  /** A standby serves streams, but no orders: with other addresses, the next connection goes to the leader. */
  private leaveStandby(error: PerpdError): void {
    if (!LEAVING.has(error.code) || this.addresses.count === 1 || !this.isOpen) return;
    this.addresses.leave(this.base, leaderOf(error));
    this.onRefused(error, true);
  }

  /** For requests other than authentication and subscription, which every new connection repeats. */
  private async requestWhenOpen(op: string, fields: object): Promise<Reply> {
    if (!this.isOpen) throw this.endReason ?? disconnected("not connected: nothing was sent", true);
    return this.request(op, fields);
  }

  private request(op: string, fields: object): Promise<Reply> {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.take(id)?.reject(unanswered()), this.options.timeoutMs ?? TIMEOUT_MS);
      this.pending.set(id, { resolve, reject, timer });
      this.socket?.send(JSON.stringify({ op, id, ...fields }));
    });
  }

  /** Removes a request that is over: it was answered, or will not be. */
  private take(id: number): Waiting | undefined {
    const waiting = this.pending.get(id);
    clearTimeout(waiting?.timer);
    this.pending.delete(id);
    return waiting;
  }

  private receive(message: Message): void {
    if ("op" in message) {
      const waiting = this.take(message.id);
      if (message.op === "error") waiting?.reject(new PerpdError(0, message));
      else waiting?.resolve(message);
      return;
    }
    // The exchange sent this before it saw the close.
    if (this.endReason !== null) return;
    const place = this.subscriptions.receive(message);
    if (place === "GAP") {
      this.handlers.onGap?.(message);
      this.resync(message);
    } else if (place === "NEXT") {
      if (message.type === "HEARTBEAT") this.handlers.onHeartbeat?.(message);
      else this.handlers.onMessage(message);
    }
  }
}

const DISCONNECTED = "DISCONNECTED";
const UNANSWERED = "TIMEOUT";
const disconnected = (message: string, retryable: boolean): PerpdError =>
  new PerpdError(0, { code: DISCONNECTED, message, retryable });
const unanswered = (): PerpdError =>
  new PerpdError(0, { code: UNANSWERED, message: "no reply came in time", retryable: true });

type Message = Reply | api.ChannelMessage | Heartbeat;
