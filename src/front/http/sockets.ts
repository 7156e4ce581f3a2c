import { ApiError } from "../common/errors.ts";
import { CLOSE_GOING_AWAY } from "../common/socket-errors.ts";
import { encodeUtf8 } from "../common/utf8.ts";
import type { Log } from "./answer.ts";

// RFC 6455 close codes.
const UNSUPPORTED_DATA = 1003;
const INTERNAL_ERROR = 1011;

/** The part of a uWebSockets.js WebSocket that is used. Each method throws once it is closed. */
export interface RawSocket {
  send(message: string | Uint8Array, isBinary: boolean): number;
  cork(write: () => void): unknown;
  ping(): number;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  end(code: number, reason: string): void;
  close(): void;
  getBufferedAmount(): number;
}

/** A connected WebSocket client. After it has closed, every method does nothing. */
export class Socket {
  readonly remoteAddress: string;
  /** Opened by a page of another site: it may not authenticate. See Origins. */
  readonly isForeign: boolean;
  /** Time of the client's last message, ping or pong, by performance.now(). */
  lastReceivedAt = performance.now();
  private raw: RawSocket | null = null;

  constructor(remoteAddress: string, isForeign = false) {
    this.remoteAddress = remoteAddress;
    this.isForeign = isForeign;
  }

  /** For the server only: the handshake is done. */
  attach(raw: RawSocket): void {
    this.raw = raw;
  }

  /** For the server only: the socket has closed. */
  detach(): void {
    this.raw = null;
  }

  get closed(): boolean {
    return this.raw === null;
  }

  /** Bytes that the client has not read yet. */
  get bufferedAmount(): number {
    return this.raw?.getBufferedAmount() ?? 0;
  }

  /** Sends one text message. A message beyond the backpressure limit is dropped and closes the socket. */
  send(text: string | Uint8Array): void {
    this.raw?.send(encodeUtf8(text), false);
  }

  /** Sends several text messages with one write. */
  sendAll(texts: readonly string[]): void {
    this.raw?.cork(() => {
      for (const text of texts) this.send(text);
    });
  }

  subscribe(topic: string): void {
    this.raw?.subscribe(topic);
  }

  unsubscribe(topic: string): void {
    this.raw?.unsubscribe(topic);
  }

  ping(): void {
    this.raw?.ping();
  }

  /** Closes with a close frame. The close handler runs before this returns. */
  close(code: number, reason: string): void {
    this.raw?.end(code, reason);
  }

  /** Closes after an internal error. The client may connect and ask again. */
  fail(): void {
    this.close(INTERNAL_ERROR, "INTERNAL");
  }

  /** Closes without a close frame, for a client that no longer reads. */
  terminate(): void {
    this.raw?.close();
  }
}

/** The handlers of the exchange (front/websocket/channels.ts). An error that a handler throws is logged and closes the socket. */
export interface SocketHandlers {
  /** Runs before the handshake. Throws an ApiError if this address may not open another socket. */
  admit(address: string): void;
  open(socket: Socket): void;
  /** `bytes`: text in UTF-8, valid only until the handler returns. */
  message(socket: Socket, bytes: Uint8Array): void;
  /** A ping, which was already answered, or a pong. */
  control(socket: Socket): void;
  /** The client has read some of its unread bytes. */
  drain(socket: Socket): void;
  /** The socket has closed; nothing can be sent. */
  close(socket: Socket): void;
}

const PING_EVERY_MS = 15_000;
const SILENT_FOR_MS = 45_000;
const CHECK_EVERY_MS = 5_000;
/** Closing or pinging a socket takes about 10 µs. */
const CHECKS_PER_ITERATION = 500;
/**
 * The longest time that uWebSockets.js waits for the client after a close frame: 16 s, and 4 s for the steps of its clock. The
 * close handler cannot tell whether there was one: a close frame with an invalid code looks like a lost connection.
 */
const CLOSING_MS = 20_000;

/** All open sockets. Pings them, closes silent ones, and catches errors of the handlers. */
export class OpenSockets {
  private readonly sockets = new Set<Socket>();
  private readonly handlers: SocketHandlers;
  private readonly log: Log;
  private readonly timer: NodeJS.Timeout;
  private pingedAt = performance.now();
  /** Number of closed sockets that may still hold an open file. */
  private closing = 0;

  constructor(handlers: SocketHandlers, log: Log) {
    this.handlers = handlers;
    this.log = log;
    this.timer = setInterval(() => this.checkAll(performance.now()), CHECK_EVERY_MS);
  }

  /** Number of sockets, including closed ones that may still hold an open file. */
  get count(): number {
    return this.sockets.size + this.closing;
  }

  admit(address: string): void {
    this.handlers.admit(address);
  }

  open(socket: Socket): void {
    this.sockets.add(socket);
    this.run("open", socket);
  }

  message(socket: Socket, bytes: ArrayBuffer, isBinary: boolean): void {
    socket.lastReceivedAt = performance.now();
    if (isBinary) return socket.close(UNSUPPORTED_DATA, "TEXT_ONLY");
    try {
      this.handlers.message(socket, new Uint8Array(bytes));
    } catch (thrown) {
      this.failed(socket, thrown);
    }
  }

  control(socket: Socket): void {
    socket.lastReceivedAt = performance.now();
    this.run("control", socket);
  }

  drain(socket: Socket): void {
    this.run("drain", socket);
  }

  close(socket: Socket): void {
    socket.detach();
    this.sockets.delete(socket);
    this.countClosing();
    this.run("close", socket);
  }

  /** Closes every socket with CLOSE_GOING_AWAY. Returns whether there was any. */
  closeAll(): boolean {
    clearInterval(this.timer);
    const open = [...this.sockets];
    for (const socket of open) socket.close(CLOSE_GOING_AWAY, "GOING_AWAY");
    return open.length > 0;
  }

  /** Closes sockets that were silent for 45 s and pings the others every 15 s, spread over event-loop iterations. */
  checkAll(now: number): void {
    const isPingTime = now - this.pingedAt >= PING_EVERY_MS;
    if (isPingTime) this.pingedAt = now;
    this.checkSome(this.sockets.values(), now, isPingTime);
  }

  private checkSome(sockets: Iterator<Socket>, now: number, isPingTime: boolean): void {
    for (let i = 0; i < CHECKS_PER_ITERATION; i++) {
      const { value: socket, done } = sockets.next();
      if (done === true) return;
      if (now - socket.lastReceivedAt >= SILENT_FOR_MS) socket.terminate();
      else if (isPingTime) socket.ping();
    }
    setImmediate(() => this.checkSome(sockets, now, isPingTime));
  }

  /** uWebSockets.js does not tell when the file is closed, so a timer assumes the longest time. */
  private countClosing(): void {
    this.closing++;
    setTimeout(() => this.closing--, CLOSING_MS).unref();
  }

  private run(handler: "open" | "control" | "drain" | "close", socket: Socket): void {
    try {
      this.handlers[handler](socket);
    } catch (thrown) {
      this.failed(socket, thrown);
    }
  }

  private failed(socket: Socket, err: unknown): void {
    this.log.error({ err }, "a WebSocket handler failed");
    socket.fail();
  }
}

/** For a listener without a WebSocket. */
export const NO_SOCKETS: SocketHandlers = {
  admit() {
    throw new ApiError("NOT_FOUND");
  },
  open() {},
  message() {},
  control() {},
  drain() {},
  close() {},
};
