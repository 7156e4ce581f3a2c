import { encodeUtf8 } from "../common/utf8.ts";
import type { Log } from "./answer.ts";

// RFC 6455 close codes.
const GOING_AWAY = 1001;
const UNSUPPORTED_DATA = 1003;
const INTERNAL_ERROR = 1011;

/** What a socket needs of a uWebSockets.js WebSocket. Each method throws once it is closed. */
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

/** A connected WebSocket client. Once it has closed, every method does nothing. */
export class Socket {
  readonly remoteAddress: string;
  /** When the client was last heard, a pong included: by performance.now(), which nobody sets. */
  heardAt = performance.now();
  private raw: RawSocket | null = null;

  constructor(remoteAddress: string) {
    this.remoteAddress = remoteAddress;
  }

  /** For the server alone: the handshake is done. */
  attach(raw: RawSocket): void {
    this.raw = raw;
  }

  /** For the server alone: it has closed. */
  detach(): void {
    this.raw = null;
  }

  get closed(): boolean {
    return this.raw === null;
  }

  /** Bytes that wait for the client to read. */
  get bufferedAmount(): number {
    return this.raw?.getBufferedAmount() ?? 0;
  }

  /** Sends one text message. A message that passes the backpressure limit is dropped, and closes the socket. */
  send(text: string | Uint8Array): void {
    this.raw?.send(encodeUtf8(text), false);
  }

  /** Sends text messages with one write. */
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

  /** Says why in a close frame. The close handler runs before this returns. */
  close(code: number, reason: string): void {
    this.raw?.end(code, reason);
  }

  /** What it was to be told cannot be found out: the client may ask again. */
  fail(): void {
    this.close(INTERNAL_ERROR, "INTERNAL");
  }

  /** Closes without a word, for a client that does not listen. */
  terminate(): void {
    this.raw?.close();
  }
}

/** What the exchange does with its sockets (front/channels). What a handler throws is logged and closes the socket. */
export interface SocketHandlers {
  /** Before the handshake. Throws an ApiError where a client at this address may not open one (more). */
  admit(address: string): void;
  open(socket: Socket): void;
  /** Text, in UTF-8. It is gone when the handler returns. */
  message(socket: Socket, bytes: Uint8Array): void;
  /** A ping, which is answered already, or a pong. */
  control(socket: Socket): void;
  /** The client has read some of what waited for it. */
  drain(socket: Socket): void;
  /** It has closed already: nothing can be sent. */
  close(socket: Socket): void;
}

const PING_EVERY_MS = 15_000;
const SILENT_FOR_MS = 45_000;
const LOOK_EVERY_MS = 5_000;
/** To close or to ping one takes about 10 µs. */
const CHECKS_PER_ITERATION = 500;
/**
 * So long uWebSockets.js waits behind a close frame for the client's end, at most: 16 s, and 4 s for its clock. Whether
 * there was one cannot be told: one with a code that none may have looks like a lost connection.
 */
const PARTING_MS = 20_000;

/** All open sockets: pings them, closes those that have gone silent, and keeps a handler's bug from the process. */
export class OpenSockets {
  private readonly sockets = new Set<Socket>();
  private readonly handlers: SocketHandlers;
  private readonly log: Log;
  private readonly timer: NodeJS.Timeout;
  private pingedAt = performance.now();
  /** Those that have closed and may still be there, with a file each. */
  private parting = 0;

  constructor(handlers: SocketHandlers, log: Log) {
    this.handlers = handlers;
    this.log = log;
    this.timer = setInterval(() => this.look(performance.now()), LOOK_EVERY_MS);
  }

  /** Also those that take up room behind their end. */
  get count(): number {
    return this.sockets.size + this.parting;
  }

  admit(address: string): void {
    this.handlers.admit(address);
  }

  open(socket: Socket): void {
    this.sockets.add(socket);
    this.tell("open", socket);
  }

  message(socket: Socket, bytes: ArrayBuffer, isBinary: boolean): void {
    socket.heardAt = performance.now();
    if (isBinary) return socket.close(UNSUPPORTED_DATA, "TEXT_ONLY");
    try {
      this.handlers.message(socket, new Uint8Array(bytes));
    } catch (thrown) {
      this.failed(socket, thrown);
    }
  }

  control(socket: Socket): void {
    socket.heardAt = performance.now();
    this.tell("control", socket);
  }

  drain(socket: Socket): void {
    this.tell("drain", socket);
  }

  close(socket: Socket): void {
    socket.detach();
    this.sockets.delete(socket);
    this.part();
    this.tell("close", socket);
  }

  /** Tells every client that the server goes away; whether there was any. */
  closeAll(): boolean {
    clearInterval(this.timer);
    const open = [...this.sockets];
    for (const socket of open) socket.close(GOING_AWAY, "GOING_AWAY");
    return open.length > 0;
  }

  /** Closes what has been silent for 45 s, and pings the rest every 15 s; very many in several turns of the event loop. */
  look(now: number): void {
    const isPingTime = now - this.pingedAt >= PING_EVERY_MS;
    if (isPingTime) this.pingedAt = now;
    this.lookAtSome(this.sockets.values(), now, isPingTime);
  }

  private lookAtSome(sockets: Iterator<Socket>, now: number, isPingTime: boolean): void {
    for (let i = 0; i < CHECKS_PER_ITERATION; i++) {
      const { value: socket, done } = sockets.next();
      if (done === true) return;
      if (now - socket.heardAt >= SILENT_FOR_MS) socket.terminate();
      else if (isPingTime) socket.ping();
    }
    setImmediate(() => this.lookAtSome(sockets, now, isPingTime));
  }

  /** Of its end nobody is told. */
  private part(): void {
    this.parting++;
    setTimeout(() => this.parting--, PARTING_MS).unref();
  }

  private tell(of: "open" | "control" | "drain" | "close", socket: Socket): void {
    try {
      this.handlers[of](socket);
    } catch (thrown) {
      this.failed(socket, thrown);
    }
  }

  private failed(socket: Socket, err: unknown): void {
    this.log.error({ err }, "a WebSocket handler failed");
    socket.fail();
  }
}
