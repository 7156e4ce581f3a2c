import uWS from "uWebSockets.js";
import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { MAX_BODY_BYTES } from "../../wire/error-codes.ts";
import { readingIteration } from "../common/cork-budget.ts";
import { ApiError } from "../common/errors.ts";
import { encodeUtf8 } from "../common/utf8.ts";
import { type Call, type Log, WaitingCalls } from "./call.ts";
import { head, readHead } from "./request-head.ts";
import { OpenSockets, Socket, type SocketHandlers } from "./sockets.ts";

export interface ServerOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** The path that speaks WebSocket. */
  socketPath: string;
  /** Answers the call now or later. What it throws is answered with 500. */
  onCall: (call: Call) => void;
  sockets: SocketHandlers;
  log: Log;
  /** Open at once, WebSockets included; what comes beyond is closed. Default: what the process may open, but for its files. */
  maxConnections?: number;
}

export interface Server {
  /** The port that was taken. */
  readonly port: number;
  /** Sends one text message to every socket that has subscribed to the topic. */
  publish(topic: string, text: string | Uint8Array): void;
  /** Stops accepting, lets calls that wait have their answers, then closes every connection. */
  close(): Promise<void>;
}

/** A call that has no answer by then gets 503, or 408 while its body is still on the way. */
const DEADLINE_MS = 5_000;
const DEADLINE_LOOK_EVERY_MS = 50;
/** To refuse one takes about 15 µs: however many run out at once, nobody waits for all of them. */
const EXPIRED_PER_LOOK = 500;
/** How long an oversized body is swallowed before it is refused: closing at once would often lose the answer. */
const LINGER_MS = 100;
/**
 * How long what WebSockets still send is swallowed behind their close frames: a client whose message meets a closed
 * connection may drop what it has not read, the last answers and the close frame among it.
 */
const GOODBYE_MS = 300;
/**
 * A client that has more than this before it is closed without a word. Far behind where Connection drops it: room for all
 * that an account with thousands of orders is told and answered when it cancels them. A message itself may be longer.
 */
const MAX_BACKPRESSURE_BYTES = 1 << 23;
/** For the log, the database and whatever else the process must open: without it the log could not go on. */
const RESERVED_FILES = 256;
/** Linux. */
const LIMITS = "/proc/self/limits";
/** Behind our own look at silent sockets (see OpenSockets), for those that it cannot reach. */
const IDLE_TIMEOUT_S = 60;

/**
 * The only user of uWebSockets.js, and what makes it safe: this build takes the first of two Content-Length headers,
 * believes any Transfer-Encoding that ends in "chunked", and aborts the process when a handler throws or forgets its
 * answer, or when an answer finds no room (see gathering.ts). So every request passes one handler, which walks the headers
 * once, copies what is needed and answers always.
 *
 * What never reaches it: without a Host header uWebSockets.js answers 400 itself, and 505 to a whole URL as the target or
 * to a first line of which only a part has come; its builds for Node 22 and 24 put that together, refuse two Hosts, and
 * answer 431 to a head of more than 4 KiB. Folded headers, a NUL or other bytes that no header may hold, a space before the
 * colon, bare CR or LF, and more than 100 headers make it wait for more; it closes the connection after about 10 s, having
 * run nothing. That cannot be a 400: app.filter() alone sees such a connection, and what it hands out cannot be kept, since
 * of a connection's end it does not say which one it was, and of one that has become a WebSocket, whose memory moves, it
 * never tells the end.
 */
export function listen(options: ServerOptions): Promise<Server> {
  const { log, onCall } = options;
  const app = uWS.App();
  const waiting = new WaitingCalls();
  const sockets = new OpenSockets(options.sockets, log);
  const { maxConnections = roomForConnections() } = options;
  /** Without those that have become WebSockets: of their end app.filter() is not told. */
  let connections = 0;
  let closing = false;

  /** Of each connection that comes (1) or goes (-1). */
  function count(response: uWS.HttpResponse, change: unknown): void {
    connections += Number(change);
    if (change === 1 && connections + sockets.count > maxConnections) response.close();
  }
  app.filter(count);

  function wait(response: uWS.HttpResponse, call: Call): void {
    waiting.add(call);
    response.onAborted(() => call.abort());
  }

  function run(call: Call): void {
    call.isCorked = true;
    try {
      onCall(call);
    } catch (thrown) {
      call.fail(thrown, log);
    }
    call.isCorked = false;
  }

  /** A request without a body, which is answered now or later. */
  function take(response: uWS.HttpResponse, call: Call, handle: (call: Call) => void): void {
    call.readIn = readingIteration();
    handle(call);
    if (!call.done) wait(response, call);
  }

  const rejectCall = (call: Call): void => call.refuse(new ApiError("NOT_READY"));

  app.any("/*", (response, request) => {
    const call = readHead(response, request);
    const { refusal, bodyBytes } = head;
    if (closing) call.closeAfter();
    if (refusal !== null) refuseLater(response, call, refusal);
    else if (closing) take(response, call, rejectCall);
    else if (bodyBytes > MAX_BODY_BYTES) swallow(response, call);
    else if (bodyBytes > 0) {
      wait(response, call);
      if (head.awaitsContinue) call.continue();
      readBody(response, call, run);
    } else take(response, call, run);
  });

  app.ws<{ socket: Socket }>(options.socketPath, {
    maxPayloadLength: MAX_BODY_BYTES,
    maxBackpressure: MAX_BACKPRESSURE_BYTES,
    closeOnBackpressureLimit: 1,
    idleTimeout: IDLE_TIMEOUT_S,
    sendPingsAutomatically: false,
    compression: uWS.DISABLED,
    upgrade(response, request, context) {
      const call = readHead(response, request);
      if (head.refusal !== null) return refuseLater(response, call, head.refusal);
      if (closing) return take(response, call, rejectCall);
      const address = call.remoteAddress();
      try {
        sockets.admit(address);
      } catch (thrown) {
        return take(response, call, () => call.fail(thrown, log));
      }
      const header = (name: string) => request.getHeader(`sec-websocket-${name}`);
      const socket = new Socket(address);
      response.upgrade({ socket }, header("key"), header("protocol"), header("extensions"), context);
    },
    open(raw) {
      const { socket } = raw.getUserData();
      connections--;
      socket.attach(raw);
      sockets.open(socket);
    },
    message(raw, bytes, isBinary) {
      sockets.message(raw.getUserData().socket, bytes, isBinary);
    },
    pong(raw) {
      sockets.control(raw.getUserData().socket);
    },
    ping(raw) {
      sockets.control(raw.getUserData().socket);
    },
    drain(raw) {
      sockets.drain(raw.getUserData().socket);
    },
    close(raw) {
      sockets.close(raw.getUserData().socket);
    },
  });

  const deadlines = setInterval(
    () => waiting.expire(performance.now() - DEADLINE_MS, EXPIRED_PER_LOOK, expire),
    DEADLINE_LOOK_EVERY_MS,
  );

  return new Promise((resolve, reject) => {
    listenExclusively(app, options.host, options.port, (listening) => {
      if (listening === false) {
        clearInterval(deadlines);
        sockets.closeAll();
        reject(new Error(`cannot listen on ${authorityOf(options.host, options.port)}`));
        return;
      }
      resolve({
        port: uWS.us_socket_local_port(listening),
        publish: (topic, text) => void app.publish(topic, encodeUtf8(text), false),
        async close() {
          if (closing) return;
          closing = true;
          uWS.us_listen_socket_close(listening);
          for (const call of waiting.unread()) call.refuse(new ApiError("NOT_READY"));
          while (!waiting.isEmpty) await new Promise((later) => setTimeout(later, 10));
          clearInterval(deadlines);
          if (sockets.closeAll()) await new Promise((later) => setTimeout(later, GOODBYE_MS));
          app.close();
        },
      });
    });
  });
}

/** Host and port as a URL has them: an IPv6 address in brackets. */
export const authorityOf = (host: string, port: number): string =>
  isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;

/** Where the system does not say what the process may open, everything. */
function roomForConnections(): number {
  if (!existsSync(LIMITS)) return Number.POSITIVE_INFINITY;
  const limit = /^Max open files +(\d+)/m.exec(readFileSync(LIMITS, "utf8"))?.[1];
  const files = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  return Math.max(files - RESERVED_FILES, Math.floor(files / 2));
}

// The declarations of this build leave these out.
type Then = (listening: uWS.us_listen_socket | false) => void;
const { LIBUS_LISTEN_EXCLUSIVE_PORT } = uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number };
interface ListensWithOptions {
  listen(host: string, port: number, options: number, then: Then): void;
}

/** Exclusively: otherwise a second server on the same port would silently take a part of the connections. */
function listenExclusively(app: uWS.TemplatedApp, host: string, port: number, then: Then): void {
  (app as unknown as ListensWithOptions).listen(host, port, LIBUS_LISTEN_EXCLUSIVE_PORT, then);
}

/**
 * Refuses in a later turn of the loop, not now: had the request hidden a second one behind it, uWebSockets.js would run
 * that in this turn even though the connection is to be closed. While a call waits, it closes the connection instead.
 */
function refuseLater(response: uWS.HttpResponse, call: Call, refusal: ApiError): void {
  response.onAborted(() => call.abort());
  setImmediate(() => call.refuse(refusal));
}

/** Refuses a body that is too large, after giving the client a moment to send it. */
function swallow(response: uWS.HttpResponse, call: Call): void {
  const refuse = () => call.refuse(new ApiError("BODY_TOO_LARGE"));
  const timer = setTimeout(refuse, LINGER_MS);
  response.onAborted(() => {
    clearTimeout(timer);
    call.abort();
  });
  response.onData((_chunk, isLast) => {
    if (!isLast) return;
    clearTimeout(timer);
    refuse();
  });
}

function readBody(response: uWS.HttpResponse, call: Call, run: (call: Call) => void): void {
  call.awaitsBody = true;
  const { bodyBytes } = head;
  let begun: Uint8Array | null = null;
  let length = 0;
  response.onData((chunk, isLast) => {
    if (call.done) return;
    const bytes = new Uint8Array(chunk);
    if (begun === null && isLast) return receive(call, bytes, run);
    // A chunk is emptied when this returns, so it is copied.
    begun ??= new Uint8Array(bodyBytes);
    begun.set(bytes, length);
    length += bytes.length;
    if (isLast) receive(call, begun, run);
  });
}

function receive(call: Call, body: Uint8Array, run: (call: Call) => void): void {
  call.awaitsBody = false;
  call.readIn = readingIteration();
  if (!isUtf8(body)) return call.refuse(new ApiError("BAD_ENCODING"));
  call.bytes = body;
  run(call);
}

function expire(call: Call): void {
  call.refuse(new ApiError(call.awaitsBody ? "REQUEST_TIMEOUT" : "TIMEOUT"));
}
