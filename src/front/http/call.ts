import { randomBytes } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { ErrorCode } from "../../wire/error-codes.ts";
import type { Quota } from "../common/buckets.ts";
import { BUFFER_BYTES, gather, isBeingRead, roomFor } from "../common/cork-budget.ts";
import { ApiError } from "../common/errors.ts";
import { decodeUtf8, encodeUtf8 } from "../common/utf8.ts";
import { parseJson } from "../json/json.ts";

/** What a call needs of a uWebSockets.js response. Each method throws once the response has ended or was aborted. */
export interface RawResponse {
  writeStatus(status: string): RawResponse;
  writeHeader(name: string, value: string): RawResponse;
  end(body: string | Uint8Array, closeConnection: boolean): unknown;
  endWithoutBody(): unknown;
  /** Sends what the client takes at once, of a body of so many bytes: whether that was all that it was given, and of all. */
  tryEnd(body: string | Uint8Array, totalBytes: number): [isTaken: boolean, isWhole: boolean];
  /** Called with the bytes of the body that were sent when the client takes more; answers whether it took the rest. */
  onWritable(send: (sentBytes: number) => boolean): unknown;
  onAborted(then: () => void): unknown;
  cork(write: () => void): unknown;
  /** Ends the connection without a word. */
  close(): unknown;
  getRemoteAddressAsText(): ArrayBuffer;
}

/** The part of pino that the front uses. */
export interface Log {
  error(fields: object, message: string): void;
}

const REQUEST_ID_PREFIX = `${randomBytes(4).toString("hex")}-`;
let requestCount = 0;

const NO_BYTES = new Uint8Array(0);

/** More than the status line and the headers that every answer has. */
const HEAD_BYTES = 384;

const STATUS_LINES: readonly (string | undefined)[] = Array.from({ length: 600 }, (_, status) => {
  const reason = STATUS_CODES[status];
  return reason === undefined ? undefined : `${status} ${reason}`;
});

/** After these the connection is closed: what follows on it cannot be trusted to be a request. */
const CLOSING: ReadonlySet<ErrorCode> = new Set(["BAD_REQUEST", "BODY_TOO_LARGE", "REQUEST_TIMEOUT"]);

/**
 * One HTTP request and the one answer to it. Everything of the request is copied, so it may be kept as long as the
 * answer takes. Answering twice, or after the client has gone, does nothing.
 */
export class Call {
  readonly method: string;
  /** As it came, not decoded. */
  readonly path: string;
  /** Without "?", not decoded; "" when there is none. */
  readonly query: string;
  /** Path and query as they came: what a signature covers. */
  readonly target: string;
  /** By performance.now(), which nobody sets: for how long ago it was. */
  readonly arrivedAt: number;
  // Headers; "" when not sent.
  authorization = "";
  apiKey = "";
  timestamp = "";
  signature = "";
  recvWindow = "";
  acceptEncoding = "";
  /** The body, whole and valid UTF-8 by the time a handler sees it. It is gone when the handler returns. */
  bytes: Uint8Array = NO_BYTES;
  awaitsBody = false;
  /** In which turn of the event loop its last byte came: see gathering.ts. */
  readIn = 0;
  /** uWebSockets.js reads it, and sends what it is given meanwhile in one packet: it need not be corked. */
  isCorked = false;
  /** Answered, or nobody is there to answer. */
  done = false;
  readonly requestId: string;
  // Where it stands among the calls that wait: kept by WaitingCalls.
  waitsIn: WaitingCalls | null = null;
  previous: Call | null = null;
  next: Call | null = null;
  private readonly response: RawResponse;
  private headers = "";
  private contentType = "";
  private decodedBody: string | null = null;
  private parsedBody: unknown;
  private closing = false;
  private isContinued = false;
  /** The answer waits for the next turn of the event loop. */
  private isPutOff = false;
  /** A piece of the answer's head is lost if the client has not read what came before. */
  private mayLoseHead = false;

  /** `query` undefined: not even a "?" came. */
  constructor(response: RawResponse, method: string, path: string, query: string | undefined) {
    this.response = response;
    this.method = method;
    this.path = path;
    this.query = query ?? "";
    this.target = query === undefined ? path : `${path}?${query}`;
    this.arrivedAt = performance.now();
    this.requestId = REQUEST_ID_PREFIX + (requestCount++).toString(36);
  }

  /** The client's address as text. Only while the call is not done. */
  remoteAddress(): string {
    return plainAddress(Buffer.from(this.response.getRemoteAddressAsText()).toString("latin1"));
  }

  /** The body as text, decoded when it is first asked for. */
  get body(): string {
    this.decodedBody ??= decodeUtf8(this.bytes);
    return this.decodedBody;
  }

  /** The body, parsed when it is first asked for. Throws BAD_JSON and the like. */
  json(): unknown {
    this.parsedBody ??= parseJson(this.body);
    return this.parsedBody;
  }

  /** Adds a header to the answer. Never give it a client's text: it is written as it is. */
  header(name: string, value: string): void {
    this.headers += `\r\n${name}: ${value}`;
  }

  /** Tells how much the client may still ask for. */
  showQuota({ limit, remaining, resetMs }: Quota): void {
    this.header("RateLimit-Limit", String(limit));
    this.header("RateLimit-Remaining", String(remaining));
    this.header("RateLimit-Reset", String(Math.ceil(resetMs / 1000)));
  }

  /** Closes the connection after the answer. */
  closeAfter(): void {
    this.closing = true;
  }

  /** Lets the client send the body. The status line is spent on it, so that of the answer goes as a header (see write). */
  continue(): void {
    this.isContinued = true;
    this.response.cork(() => this.response.writeStatus("100 Continue\r\n"));
  }

  /** Answers with JSON text, or with what the content type says. */
  reply(status: number, text: string | Uint8Array, contentType = "application/json"): void {
    if (this.done || this.isPutOff) return;
    this.contentType = contentType;
    const body = encodeUtf8(text);
    if (!isBeingRead(this.readIn) || this.goesAtOnce(status, body.length)) return this.send(status, body);
    this.isPutOff = true;
    setImmediate(() => this.send(status, body));
  }

  /**
   * Whether the answer may go while its packet is read: see gathering.ts. Whoever has a further request in the packet loses
   * the connection if not.
   */
  private goesAtOnce(status: number, bodyBytes: number): boolean {
    const headBytes = HEAD_BYTES + this.headers.length;
    const room = roomFor(headBytes, bodyBytes);
    // Of a long body a client takes a part at once, also when it has read all that came before: its head must be whole.
    const mayGo = this.hasBody(status, bodyBytes) ? bodyBytes <= BUFFER_BYTES || room !== "NONE" : room === "ALL";
    if (!mayGo) return false;
    this.mayLoseHead = room === "NONE";
    gather(headBytes + bodyBytes);
    return true;
  }

  /** And not just an end. */
  private hasBody(status: number, bodyBytes: number): boolean {
    return !this.closing && bodyBytes > 0 && this.method !== "HEAD" && status !== 204;
  }

  private send(status: number, body: string | Uint8Array): void {
    if (this.done) return;
    this.finish();
    if (this.isCorked) return this.write(status, body);
    writing = this;
    writingStatus = status;
    writingBody = body;
    this.response.cork(writeReply);
  }

  refuse(error: ApiError): void {
    if (error.status === 401) this.header("WWW-Authenticate", "Bearer");
    if (error.status === 503 || error.status === 429)
      this.header("Retry-After", String(Math.max(1, Math.ceil(Number(error.details?.retryAfterMs ?? 0) / 1000))));
    if (CLOSING.has(error.code)) this.closing = true;
    this.reply(error.status, error.toJson(this.requestId));
  }

  /** For whatever a handler threw: an ApiError is the answer, anything else is a bug that is logged and answered with 500. */
  fail(thrown: unknown, log: Log): void {
    if (thrown instanceof ApiError) {
      this.refuse(thrown);
      return;
    }
    log.error({ err: thrown, requestId: this.requestId, method: this.method, path: this.path }, "a request failed");
    this.refuse(new ApiError("INTERNAL"));
  }

  /** The client has gone. */
  abort(): void {
    this.finish();
  }

  /** Corked. */
  write(status: number, body: string | Uint8Array): void {
    const { response } = this;
    const statusLine = STATUS_LINES[status] ?? `${status} Unknown`;
    // Without a word of it, it is 200 OK.
    if (!this.isContinued && status !== 200) response.writeStatus(statusLine);
    // One crossing into native code for all headers.
    const first = this.isContinued ? `HTTP/1.1 ${statusLine}\r\nContent-Type` : "Content-Type";
    response.writeHeader(first, `${this.contentType}\r\nX-Request-Id: ${this.requestId}${this.headers}`);
    if (this.hasBody(status, body.length)) return this.writeBody(body);
    if (this.method !== "HEAD" && status !== 204) {
      response.end(body, this.closing);
      return;
    }
    // endWithoutBody() closes nothing, whatever it is given.
    if (this.closing) {
      response.end("", true);
      return;
    }
    if (status !== 204) response.writeHeader("Content-Length", String(body.length));
    response.endWithoutBody();
  }

  /**
   * What the client does not take at once stays here until it reads. If it asks for more instead, uWebSockets.js closes
   * the connection: whoever does not read costs the memory of one answer.
   */
  private writeBody(body: string | Uint8Array): void {
    const { response } = this;
    const [, isWhole] = response.tryEnd(body, body.length);
    if (isWhole) return;
    if (this.mayLoseHead) {
      response.close();
      return;
    }
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    response.onAborted(() => this.abort());
    response.onWritable((sentBytes) => {
      let isTaken = false;
      response.cork(() => {
        [isTaken] = response.tryEnd(bytes.subarray(sentBytes), bytes.length);
      });
      return isTaken;
    });
  }

  private finish(): void {
    this.done = true;
    this.waitsIn?.remove(this);
  }
}

// The arguments of writeReply, which is given to cork() as it is so that no reply costs a closure.
let writing: Call | null = null;
let writingStatus = 0;
let writingBody: string | Uint8Array = "";
function writeReply(): void {
  writing?.write(writingStatus, writingBody);
}

/** The calls that wait for their answer, oldest first: deadlines without a timer for each. */
export class WaitingCalls {
  private first: Call | null = null;
  private last: Call | null = null;

  get isEmpty(): boolean {
    return this.first === null;
  }

  add(call: Call): void {
    call.waitsIn = this;
    call.previous = this.last;
    if (this.last === null) this.first = call;
    else this.last.next = call;
    this.last = call;
  }

  remove(call: Call): void {
    if (call.previous === null) this.first = call.next;
    else call.previous.next = call.next;
    if (call.next === null) this.last = call.previous;
    else call.next.previous = call.previous;
    call.waitsIn = null;
    call.previous = null;
    call.next = null;
  }

  /** Those whose body is still on the way: nothing has been done for them. */
  unread(): Call[] {
    const calls: Call[] = [];
    for (let call = this.first; call !== null; call = call.next) if (call.awaitsBody) calls.push(call);
    return calls;
  }

  /** Hands over the calls that arrived before `before`, oldest first, so many at most; `expire` must answer each. */
  expire(before: number, atMost: number, expire: (call: Call) => void): void {
    for (let i = 0; i < atMost && this.first !== null && this.first.arrivedAt < before; i++) expire(this.first);
  }
}

/** IPv4 addresses come mapped into IPv6 when the server listens on "::". */
function plainAddress(text: string): string {
  const mapped = /^0000:0000:0000:0000:0000:ffff:([0-9a-f]{4}):([0-9a-f]{4})$/.exec(text);
  if (mapped === null) return text;
  const [high, low] = [Number.parseInt(mapped[1] ?? "0", 16), Number.parseInt(mapped[2] ?? "0", 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
