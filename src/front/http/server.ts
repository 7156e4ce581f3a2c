import uWS from "uWebSockets.js";
import { MAX_BODY_BYTES } from "../../wire/errors/gateway-errors.ts";
import { Buckets } from "../common/buckets.ts";
import { readingIteration } from "../common/cork-budget.ts";
import { ApiError } from "../common/errors.ts";
import { encodeUtf8 } from "../common/utf8.ts";
import { authorityOf, networkOf, readAddressText } from "./addresses.ts";
import type { Log } from "./answer.ts";
import type { Call } from "./call.ts";
import { CertificateWatch, type TlsOptions } from "./certificate-watch.ts";
import { ConnectionCounts, type ConnectionLimit } from "./connection-counts.ts";
import { LateRefusals } from "./late-refusals.ts";
import { maxOpenConnections } from "./open-files.ts";
import type { Origins } from "./origins.ts";
import { arePacedBodiesDue } from "./paced-body.ts";
import { discardBody, readBody, readChunkedBody } from "./request-body.ts";
import { head, readHead } from "./request-head.ts";
import { OpenSockets, Socket, type SocketHandlers } from "./sockets.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";
import { WaitingCalls } from "./waiting-calls.ts";

export interface ServerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** The path of the WebSocket. */
  socketPath: string;
  /** Answers the call now or later. An error that it throws is answered with INTERNAL. */
  onCall: (call: Call) => void;
  sockets: SocketHandlers;
  log: Log;
  /** Default: pages of every web site may send requests, and no answer has headers of CORS. */
  origins?: Origins | null;
  /** Default: no TLS. */
  tls?: TlsOptions | null;
  /** Default: X-Forwarded-For is not believed. */
  proxies?: TrustedProxies | null;
  /** Connections at the same time, WebSockets included; further ones are closed. Default: maxOpenConnections(). */
  maxConnections?: number;
  /** Limits the connections of each network that are no WebSockets. Null: it does not. */
  connectionLimit?: ConnectionLimit | null;
}

export interface Server {
  /** The port it listens on. */
  readonly port: number;
  /** Sends one text message to every socket that has subscribed to the topic. */
  publish(topic: string, text: string | Uint8Array): void;
  /** Stops accepting, lets waiting calls have their answers, and closes the WebSockets. Their clients may still read. */
  drain(): Promise<void>;
  /** drain(), then closes every connection. */
  close(): Promise<void>;
}

/** A call without an answer gets 503 after this time, or 408 while its body is still on the way. */
const DEADLINE_MS = 5_000;
const DEADLINE_CHECK_EVERY_MS = 50;
/** Refusing a call takes about 15 µs: the bound keeps many expired calls from blocking the event loop. */
const EXPIRED_PER_CHECK = 500;
/**
 * How long the server still reads from open connections at the end. A client whose message meets a closed connection may drop what
 * it has not read: the last answers of a WebSocket, and its close frame. A request that meets one is reset, and its client cannot
 * know whether it was executed. Meanwhile it is refused, and its connection is closed in order.
 */
const GOODBYE_MS = 300;
/**
 * A client with more unread bytes than this is closed without a close frame. Connection drops a slow client far earlier.
 * The bound leaves room for everything that an account with thousands of orders is sent when it cancels them. One message
 * may be longer.
 */
const MAX_BACKPRESSURE_BYTES = 1 << 23;
/** Of each network. A handshake of TLS takes this thread 0.3 ms with a key of EC P-256, and 1 ms with RSA of 2048 bits. */
const HANDSHAKES_PER_SECOND = 20;
const HANDSHAKE_BURST = 100;
/** Longer than OpenSockets waits for silent sockets: only for those that it cannot reach. */
const IDLE_TIMEOUT_S = 60;

/** Resolves once the server listens. Rejects when it cannot. */
export const listen = async (options: ServerOptions): Promise<Server> => new HttpServer(options).open();

/**
 * The only user of uWebSockets.js. It makes this build safe, which
 * - takes the first of two Content-Length headers,
 * - takes any Transfer-Encoding for "chunked", and checks little of such a body (request-body.ts),
 * - aborts the process when a handler throws or forgets its answer, or when an answer finds no room (cork-budget.ts).
 * So every request passes one handler. It walks the headers once, copies what is needed and always answers.
 *
 * Some requests never reach the handler. uWebSockets.js itself answers 400 to a missing Host, and 505 to a whole URL as the
 * target or to an incomplete first line. Its builds for Node 22 and 24 also put such a line together, refuse two Hosts, and
 * answer 431 to a head of more than 4 KiB. Other faults make it wait for more and close the connection after about 10 s,
 * having run nothing: folded headers, bytes that no header may hold such as NUL, a space before the colon, a bare CR or LF,
 * more than 100 headers. These get no 400, because only app.filter() sees such a connection, and its response object cannot
 * be kept: filter does not say which connection ended, and never tells the end of one that became a WebSocket.
 *
 * It also trims bytes above 0x7f at the ends of a header's value, and never looks at the mask bit of a WebSocket frame. No
 * handler sees the difference: see docs/operating/limits.md.
 */
class HttpServer {
  private readonly options: ServerOptions;
  /** One for each certificate, the newest last. Connections stay with the one that accepted them. */
  private readonly apps: uWS.TemplatedApp[] = [];
  private listening: uWS.us_listen_socket | false = false;
  private certificateWatch: CertificateWatch | null = null;
  private readonly waiting = new WaitingCalls<Call>();
  private readonly lateRefusals = new LateRefusals();
  private readonly sockets: OpenSockets;
  private readonly maxConnections: number;
  private readonly counts: ConnectionCounts | null;
  private readonly proxies: TrustedProxies | null;
  private readonly handshakes: Buckets | null;
  /** 0 before it listens. */
  private port = 0;
  /** Without WebSockets, because app.filter() does not tell their end. */
  private connections = 0;
  private closing = false;
  private drained: Promise<void> | null = null;
  private goodbye: Promise<void> = Promise.resolve();
  private deadlineTimer: NodeJS.Timeout | undefined;

  constructor(options: ServerOptions) {
    this.options = options;
    this.sockets = new OpenSockets(options.sockets, options.log);
    this.maxConnections = options.maxConnections ?? maxOpenConnections();
    this.counts = options.connectionLimit ? ConnectionCounts.open(options.connectionLimit) : null;
    this.proxies = options.proxies ?? null;
    this.handshakes = options.tls ? new Buckets(HANDSHAKES_PER_SECOND, HANDSHAKE_BURST) : null;
  }

  open(): Server {
    try {
      this.listening = this.listen();
    } catch (error) {
      this.sockets.closeAll();
      throw error;
    }
    const { tls = null } = this.options;
    this.port = uWS.us_socket_local_port(this.listening);
    this.deadlineTimer = setInterval(() => this.expireCalls(), DEADLINE_CHECK_EVERY_MS);
    if (tls !== null) this.certificateWatch = new CertificateWatch(tls, () => this.useNewCertificate());
    return {
      port: this.port,
      publish: (topic, text) => {
        const bytes = encodeUtf8(text);
        for (const app of this.apps) app.publish(topic, bytes, false);
      },
      drain: () => this.drain(),
      close: () => this.close(),
    };
  }

  private listen(): uWS.us_listen_socket {
    const { host, port, tls = null } = this.options;
    const app = this.openApp();
    const listening = listenOn(app, host, tls !== null && port === 0 ? freePort(app, host) : port, tls !== null);
    if (listening === false) throw new Error(`cannot listen on ${authorityOf(host, port)}`);
    return listening;
  }

  private openApp(): uWS.TemplatedApp {
    const { tls = null, socketPath } = this.options;
    const app = tls === null ? uWS.App() : openTlsApp(tls);
    app.filter((response, change) => this.countConnection(response, Number(change)));
    app.any("/*", (response, request) => this.handle(response, request));
    app.ws(socketPath, this.socketBehavior());
    this.apps.push(app);
    return app;
  }

  /** uWebSockets.js cannot change the certificate of an app. So a second one takes over the port. */
  private useNewCertificate(): void {
    const listening = listenOn(this.openApp(), this.options.host, this.port, true);
    if (listening === false) {
      this.apps.pop();
      throw new Error(`cannot listen again on ${authorityOf(this.options.host, this.port)}`);
    }
    this.stopListening();
    this.listening = listening;
  }

  private stopListening(): void {
    if (this.listening !== false) uWS.us_listen_socket_close(this.listening);
    this.listening = false;
  }

  private async close(): Promise<void> {
    await this.drain();
    await this.goodbye;
    for (const app of this.apps.splice(0)) app.close();
  }

  private drain(): Promise<void> {
    this.drained ??= this.answerWaiting();
    return this.drained;
  }

  private async answerWaiting(): Promise<void> {
    this.closing = true;
    this.certificateWatch?.stop();
    this.stopListening();
    for (const call of this.waiting.unread()) call.refuse(new ApiError("NOT_READY"));
    while (!this.waiting.isEmpty || arePacedBodiesDue()) await new Promise((later) => setTimeout(later, 10));
    clearInterval(this.deadlineTimer);
    const hasSockets = this.sockets.closeAll();
    if (hasSockets || this.connections > 0) this.goodbye = new Promise((later) => setTimeout(later, GOODBYE_MS));
  }

  /** `change`: 1 when the connection opens, -1 when it ends. */
  private countConnection(response: uWS.HttpResponse, change: number): void {
    this.connections += change;
    if (change !== 1) return;
    const isFull = this.connections + this.sockets.count > this.maxConnections;
    if (isFull || this.isOneTooMany(response)) response.close();
  }

  private isOneTooMany(response: uWS.HttpResponse): boolean {
    const { connectionLimit = null } = this.options;
    if (connectionLimit === null) return false;
    const peer = readAddressText(response.getRemoteAddressAsText());
    // Many clients share the connections of a proxy.
    if (this.proxies?.has(peer) || !connectionLimit.covers(peer)) return false;
    if (this.handshakes !== null && this.handshakes.take(networkOf(peer), 1, performance.now()) < 0) return true;
    return this.counts?.admit(peer, this.port) === false;
  }

  private handle(response: uWS.HttpResponse, request: uWS.HttpRequest): void {
    const call = readHead(response, request, this.proxies);
    call.isTls = (this.options.tls ?? null) !== null;
    const { bodyBytes, isChunked } = head;
    const refusal = head.refusal ?? findProxyFault(call);
    if (this.closing) call.closeAfter();
    if (refusal !== null) refuseLater(response, call, refusal);
    else if (this.closing) this.take(response, call, rejectCall);
    else if (isChunked) {
      this.wait(response, call);
      if (head.awaitsContinue) call.continue();
      readChunkedBody(response, call, this.runners);
    } else if (bodyBytes > MAX_BODY_BYTES) discardBody(response, call);
    else if (bodyBytes > 0) {
      this.wait(response, call);
      if (head.awaitsContinue) call.continue();
      readBody(response, call, bodyBytes, this.runners);
    } else this.take(response, call, this.run);
  }

  /** For a request without a body, which `handle` answers now or later. */
  private take(response: uWS.HttpResponse, call: Call, handle: (call: Call) => void): void {
    call.readIn = readingIteration();
    handle(call);
    if (!call.done) this.wait(response, call);
  }

  private wait(response: uWS.HttpResponse, call: Call): void {
    this.waiting.add(call);
    response.onAborted(() => call.abort());
  }

  private readonly run = (call: Call): void => {
    call.isCorked = true;
    this.runLater(call);
    call.isCorked = false;
  };

  private readonly runLater = (call: Call): void => {
    try {
      this.options.origins?.admit(call);
      this.options.onCall(call);
    } catch (thrown) {
      if (!this.lateRefusals.take(call, thrown)) call.fail(thrown, this.options.log);
    }
  };

  private readonly runners = { now: this.run, later: this.runLater };

  private expireCalls(): void {
    this.waiting.expire(performance.now() - DEADLINE_MS, EXPIRED_PER_CHECK, expireCall);
  }

  private socketBehavior(): uWS.WebSocketBehavior<SocketData> {
    const { sockets } = this;
    return {
      maxPayloadLength: MAX_BODY_BYTES,
      maxBackpressure: MAX_BACKPRESSURE_BYTES,
      closeOnBackpressureLimit: 1,
      idleTimeout: IDLE_TIMEOUT_S,
      sendPingsAutomatically: false,
      compression: uWS.DISABLED,
      upgrade: (response, request, context) => this.upgrade(response, request, context),
      open: (raw) => {
        const { socket, peer } = raw.getUserData();
        this.connections--;
        this.counts?.socketOpened(peer);
        socket.attach(raw);
        sockets.open(socket);
      },
      message: (raw, bytes, isBinary) => sockets.message(raw.getUserData().socket, bytes, isBinary),
      pong: (raw) => sockets.control(raw.getUserData().socket),
      ping: (raw) => sockets.control(raw.getUserData().socket),
      drain: (raw) => sockets.drain(raw.getUserData().socket),
      close: (raw) => {
        const { socket, peer } = raw.getUserData();
        this.counts?.socketClosed(peer);
        sockets.close(socket);
      },
    };
  }

  private upgrade(response: uWS.HttpResponse, request: uWS.HttpRequest, context: uWS.us_socket_context_t): void {
    const call = readHead(response, request, this.proxies);
    const refusal = head.refusal ?? findProxyFault(call);
    if (refusal !== null) return refuseLater(response, call, refusal);
    if (this.closing) return this.take(response, call, rejectCall);
    const peer = call.peerAddress();
    const address = call.remoteAddress(peer);
    try {
      this.options.origins?.admit(call);
      this.sockets.admit(address);
    } catch (thrown) {
      return this.take(response, call, () => call.fail(thrown, this.options.log));
    }
    const header = (name: string) => request.getHeader(`sec-websocket-${name}`);
    const socket = new Socket(address, call.isForeign);
    response.upgrade<SocketData>({ socket, peer }, header("key"), header("protocol"), header("extensions"), context);
  }
}

interface SocketData {
  readonly socket: Socket;
  /** The address at the other end of the connection, perhaps a proxy's. */
  readonly peer: string;
}

/**
 * uWebSockets.js takes a header of the PROXY protocol before every request, from anybody, and the last one counts. Behind a
 * proxy that passes on bytes a client could add its own. So none is believed, and a proxy that sends one is told.
 */
function findProxyFault(call: Call): ApiError | null {
  if (call.proxies === null || call.forwardedFor !== "" || !call.hasProxyHeader()) return null;
  if (!call.proxies.has(call.peerAddress())) return null;
  return new ApiError("BAD_REQUEST", {
    message: "The PROXY protocol is not believed. Let the proxy send X-Forwarded-For.",
  });
}

const rejectCall = (call: Call): void => call.refuse(new ApiError("NOT_READY"));

const expireCall = (call: Call): void => call.refuse(new ApiError(call.awaitsBody ? "REQUEST_TIMEOUT" : "TIMEOUT"));

/**
 * Refuses in a later event-loop iteration. The request may hide a second one behind it. uWebSockets.js would run that one in
 * this iteration, even though the connection is to be closed; while a call waits, it closes the connection instead.
 */
function refuseLater(response: uWS.HttpResponse, call: Call, refusal: ApiError): void {
  response.onAborted(() => call.abort());
  setImmediate(() => call.refuse(refusal));
}

function openTlsApp({ certFile, keyFile }: TlsOptions): uWS.TemplatedApp {
  try {
    // It allows TLS 1.2 and 1.3 only.
    return uWS.SSLApp({ cert_file_name: certFile, key_file_name: keyFile });
  } catch {
    throw new Error(`TLS cannot use the certificate in ${certFile} with the key in ${keyFile}`);
  }
}

// The declarations of this build leave these out.
type Then = (listening: uWS.us_listen_socket | false) => void;
const { LIBUS_LISTEN_EXCLUSIVE_PORT } = uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number };
const LIBUS_LISTEN_DEFAULT = 0;
interface ListensWithOptions {
  listen(host: string, port: number, options: number, then: Then): void;
}

/**
 * `isShared`: a second listener may take the port over without a gap. Otherwise a second server on the same port is an error.
 * If it may be shared, port-probe.ts has found another server before.
 */
function listenOn(app: uWS.TemplatedApp, host: string, port: number, isShared: boolean): uWS.us_listen_socket | false {
  let result: uWS.us_listen_socket | false = false;
  const options = isShared ? LIBUS_LISTEN_DEFAULT : LIBUS_LISTEN_EXCLUSIVE_PORT;
  (app as unknown as ListensWithOptions).listen(host, port, options, (listening) => {
    result = listening;
  });
  return result;
}

/** uWebSockets.js lets a port be shared only if it was asked for by its number. 0 if the host cannot be used. */
function freePort(app: uWS.TemplatedApp, host: string): number {
  const listening = listenOn(app, host, 0, false);
  if (listening === false) return 0;
  const port = uWS.us_socket_local_port(listening);
  uWS.us_listen_socket_close(listening);
  return port;
}
