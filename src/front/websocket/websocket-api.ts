import { setTimeout as pause } from "node:timers/promises";
import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { LEDGER } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { KeyRevoked, type LedgerEvent, SessionClosed } from "../../core/protocol/events.ts";
import { CLOSE_CREDENTIAL_ENDED, CLOSE_GOING_AWAY } from "../common/socket-errors.ts";
import { hasExpired, type Principal } from "../exchange/credentials.ts";
import type { Socket, SocketHandlers } from "../http/sockets.ts";
import { Symbols } from "../routing/context.ts";
import { Streams, type StreamsOptions } from "../streams/streams.ts";
import type { TradingHandler } from "../trading/operations.ts";
import { Connection } from "./connection.ts";
import { RelayingRequests } from "./relaying-requests.ts";
import { RequestHandler, type RequestHandlerOptions } from "./request-handler.ts";
import { DetachedAnswer } from "./socket-call.ts";
import { SubscriptionQueue } from "./subscription-queue.ts";

const TICK_MS = 50;
const HEARTBEAT_MS = 5_000;
/** A request without an answer by then waits for a thread that hangs, or for a disk that does not answer. */
const STOP_WITHIN_MS = 1_000;
const STOP_POLL_MS = 10;
/** Long enough for most threads that die to be rebuilt. */
const CANCEL_WITHIN_MS = 3_000;
/** The close reason is the same whether this thread's clock or the ledger ends a session first. */
const CREDENTIAL_EXPIRED = "CREDENTIAL_EXPIRED";

interface WebSocketApiOptions extends StreamsOptions, RequestHandlerOptions {
  /** Throws NOT_LEADER while this process answers no reads. Default: it always does. */
  readonly requireService?: () => void;
  /** For a client that has gone. Default: `trade`. */
  readonly tradeUnanswered?: TradingHandler;
}

/** The WebSocket API: the connections, their time limits, and the transactions that end their credentials. */
export class WebSocketApi implements SocketHandlers {
  private readonly options: WebSocketApiOptions;
  private readonly streams: Streams;
  private readonly requests: RequestHandler;
  private readonly connections = new Map<Socket, Connection>();
  private readonly subscriptionQueue: SubscriptionQueue;
  private heartbeatAt: number;
  private timer: NodeJS.Timeout | null = null;
  /** Disconnected clients whose orders are still being canceled. */
  private cancelsInFlight = 0;

  constructor(options: WebSocketApiOptions) {
    const { engine } = options;
    this.options = options;
    this.streams = new Streams(options);
    this.subscriptionQueue = new SubscriptionQueue(
      (connection, request, accountId) => this.streams.subscribe(connection, request, accountId),
      options.monotonic,
    );
    const symbols = new Symbols(engine.instruments);
    const Requests = options.relay === undefined ? RequestHandler : RelayingRequests;
    this.requests = new Requests(options, symbols, this.streams, this.subscriptionQueue);
    this.heartbeatAt = options.monotonic();
    engine.onReleased((transaction) => this.released(transaction));
    engine.onDrained(() => this.streams.flush());
  }

  start(): void {
    this.timer = setInterval(() => this.tick(), TICK_MS);
  }

  /** Refuses trading requests from now on. Resolves when those in flight are answered, or after STOP_WITHIN_MS. */
  async stop(): Promise<void> {
    this.requests.stopTrading();
    const deadline = performance.now() + STOP_WITHIN_MS;
    while (this.isTrading && performance.now() < deadline) await pause(STOP_POLL_MS);
    if (this.timer !== null) clearInterval(this.timer);
  }

  /**
   * Call it when no socket is open any more. Resolves when the orders of clients with cancelOnDisconnect are canceled, or
   * after CANCEL_WITHIN_MS.
   */
  async waitForCancels(): Promise<void> {
    const deadline = performance.now() + CANCEL_WITHIN_MS;
    while (this.cancelsInFlight > 0 && performance.now() < deadline) await pause(STOP_POLL_MS);
    if (this.cancelsInFlight > 0)
      this.options.log.error(
        { clients: this.cancelsInFlight },
        "orders of clients that asked for cancelOnDisconnect stay open",
      );
  }

  /** Open sockets. */
  get size(): number {
    return this.connections.size;
  }

  /** Closes all sockets: later messages do not go on from those that the clients have got. They may connect again. */
  closeAll(): void {
    for (const socket of [...this.connections.keys()]) socket.close(CLOSE_GOING_AWAY, "GOING_AWAY");
  }

  private get isTrading(): boolean {
    return [...this.connections.values()].some(({ inFlight }) => inFlight > 0);
  }

  /** Closes expired and slow connections, flushes slower streams and sends heartbeats. */
  tick(): void {
    const now = this.options.now();
    for (const connection of this.connections.values())
      if (!this.closeIfExpired(connection, now)) connection.checkBacklog();
    this.streams.flushAll();
    const monotonicNow = this.options.monotonic();
    if (monotonicNow - this.heartbeatAt < HEARTBEAT_MS) return;
    this.heartbeatAt = monotonicNow;
    this.streams.heartbeat();
  }

  admit(address: string): void {
    this.options.requireService?.();
    this.options.limits?.admitSocket(address, this.options.monotonic());
  }

  open(socket: Socket): void {
    const { limits } = this.options;
    limits?.socketOpened(socket.remoteAddress);
    this.connections.set(socket, new Connection(socket, limits?.covers(socket.remoteAddress) === true));
  }

  drain(socket: Socket): void {
    const connection = this.connections.get(socket);
    if (connection !== undefined) this.subscriptionQueue.drained(connection);
  }

  close(socket: Socket): void {
    const connection = this.connections.get(socket);
    if (connection === undefined) return;
    this.connections.delete(socket);
    this.options.limits?.socketClosed(socket.remoteAddress);
    this.subscriptionQueue.removeAll(connection);
    this.options.relay?.close(connection);
    for (const topic of connection.subscriptions.keys()) this.streams.unsubscribe(connection, topic, true);
    // Each symbol takes its commands in order, so this comes after every order that the client has placed.
    if (connection.cancelOnDisconnect && connection.identity !== null) this.cancelAllOf(connection.identity);
  }

  private cancelAllOf(identity: Principal): void {
    this.cancelsInFlight++;
    const { trade, tradeUnanswered = trade } = this.options;
    tradeUnanswered("order.cancelAll", {}, identity, new DetachedAnswer(() => this.cancelsInFlight--));
  }

  message(socket: Socket, bytes: Uint8Array): void {
    const connection = this.connections.get(socket);
    if (connection === undefined || this.closeIfExpired(connection, this.options.now())) return;
    this.requests.handle(connection, bytes);
  }

  control(socket: Socket): void {
    const connection = this.connections.get(socket);
    if (connection !== undefined) this.requests.handleControlFrame(connection);
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

  /** Closes the socket when its credential has expired, and returns whether it has. */
  private closeIfExpired({ socket, identity }: Connection, now: TimeMs): boolean {
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
