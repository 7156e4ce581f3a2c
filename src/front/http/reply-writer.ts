import { randomBytes } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { BUFFER_BYTES, isBeingRead, roomFor, takeRoom } from "../common/cork-budget.ts";
import { encodeUtf8 } from "../common/utf8.ts";
import { type BodySink, PacedBody, PIECE_BYTES } from "./paced-body.ts";

/** The part of a uWebSockets.js response that a call uses. Each method throws once the response has ended or was aborted. */
export interface RawResponse extends BodySink {
  writeStatus(status: string): RawResponse;
  writeHeader(name: string, value: string): RawResponse;
  end(body: string | Uint8Array, closeConnection: boolean): unknown;
  endWithoutBody(): unknown;
  /** Ends the connection without an answer. */
  close(): unknown;
  getRemoteAddressAsText(): ArrayBuffer;
  /** Empty if the client sent none. Anybody may send one: see findProxyFault() of server.ts. */
  getProxiedRemoteAddress(): ArrayBuffer;
}

const REQUEST_ID_PREFIX = `${randomBytes(4).toString("hex")}-`;
let requestCount = 0;

/** The answer includes everything through this sequence. Only in a replicated exchange. */
export const SEQUENCE_HEADER = "Perpd-Sequence";

/** An upper bound of the status line and the headers that every answer has. */
const HEAD_BYTES = 384;

const STATUS_LINES: readonly (string | undefined)[] = Array.from({ length: 600 }, (_, status) => {
  const reason = STATUS_CODES[status];
  return reason === undefined ? undefined : `${status} ${reason}`;
});

/**
 * Writes the one answer to a request. An answer that comes twice, or after the client has gone, is ignored. Call extends
 * it instead of owning one, so that a request costs one object.
 */
export class ReplyWriter {
  readonly method: string;
  requestId: string;
  /** It was answered, or the client has gone. */
  done = false;
  /** The event-loop iteration in which the request's last byte came: see cork-budget.ts. */
  readIn = 0;
  /** uWebSockets.js is reading the request and corks the answer itself. */
  isCorked = false;
  /** The answer shows this sequence, as it is then. Null: it shows none. */
  shownSequence: { readonly sequence: number } | null = null;
  protected readonly response: RawResponse;
  /** The connection is closed after the answer. */
  protected closing = false;
  private headers = "";
  private contentType = "";
  private isContinued = false;
  /** The answer waits for the next event-loop iteration. */
  private isDeferred = false;
  /** A piece of the answer's head is lost if the client has not read what came before. */
  private mayLoseHead = false;

  constructor(response: RawResponse, method: string) {
    this.response = response;
    this.method = method;
    this.requestId = REQUEST_ID_PREFIX + (requestCount++).toString(36);
  }

  /** Adds a header to the answer. The value is written as it is, so it must never hold text of a client. */
  header(name: string, value: string): void {
    this.headers += `\r\n${name}: ${value}`;
  }

  /** Closes the connection after the answer. */
  closeAfter(): void {
    this.closing = true;
  }

  /** Sends 100 Continue. That takes the place of the status line, so the answer's own goes as a header: see write(). */
  continue(): void {
    this.isContinued = true;
    this.response.cork(() => this.response.writeStatus("100 Continue\r\n"));
  }

  /** Answers with a text, by default JSON. */
  reply(status: number, text: string | Uint8Array, contentType = "application/json"): void {
    if (this.done || this.isDeferred) return;
    if (this.shownSequence !== null) this.header(SEQUENCE_HEADER, String(this.shownSequence.sequence));
    this.contentType = contentType;
    const body = encodeUtf8(text);
    if (!isBeingRead(this.readIn) || this.takesRoom(status, body.length)) return this.send(status, body);
    this.isDeferred = true;
    setImmediate(() => this.send(status, body));
  }

  /** The client has gone. */
  abort(): void {
    this.finish();
  }

  /** Must run corked. */
  write(status: number, body: string | Uint8Array): void {
    const { response } = this;
    const statusLine = STATUS_LINES[status] ?? `${status} Unknown`;
    // Without a status line uWebSockets.js writes 200 OK.
    if (!this.isContinued && status !== 200) response.writeStatus(statusLine);
    // One crossing into native code for all headers.
    const first = this.isContinued ? `HTTP/1.1 ${statusLine}\r\nContent-Type` : "Content-Type";
    response.writeHeader(first, `${this.contentType}\r\nX-Request-Id: ${this.requestId}${this.headers}`);
    if (this.hasBody(status, body.length)) return this.writeBody(body);
    if (this.method !== "HEAD" && !isBodyless(status)) {
      response.end(body, this.closing);
      return;
    }
    // endWithoutBody() never closes the connection.
    if (this.closing) {
      response.end("", true);
      return;
    }
    if (!isBodyless(status)) response.writeHeader("Content-Length", String(body.length));
    response.endWithoutBody();
  }

  protected finish(): void {
    this.done = true;
  }

  /**
   * Takes room for an answer that is sent while its packet is read. Returns false when it must wait for the next
   * iteration: see cork-budget.ts. A client with a further request in the packet loses the connection then.
   */
  private takesRoom(status: number, bodyBytes: number): boolean {
    const headBytes = HEAD_BYTES + this.headers.length;
    const room = roomFor(headBytes, bodyBytes);
    // tryEnd() sends only a part of a long body, even to a client that has read everything: its head must be whole.
    const mayGo = this.hasBody(status, bodyBytes) ? bodyBytes <= BUFFER_BYTES || room !== "NONE" : room === "ALL";
    if (!mayGo) return false;
    this.mayLoseHead = room === "NONE";
    takeRoom(headBytes + bodyBytes);
    return true;
  }

  /** Whether the answer ends with tryEnd() and not with end(). */
  private hasBody(status: number, bodyBytes: number): boolean {
    return !this.closing && bodyBytes > 0 && this.method !== "HEAD" && !isBodyless(status);
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

  /**
   * Keeps the rest of a body until it is sent and the client reads it. If the client sends another request instead,
   * uWebSockets.js closes the connection: a client that does not read costs the memory of one answer.
   */
  private writeBody(body: string | Uint8Array): void {
    const { response } = this;
    const isLong = body.length > PIECE_BYTES;
    const [isTaken, isWhole] = response.tryEnd(isLong ? firstPiece(body) : body, body.length);
    if (isWhole) return;
    if (this.mayLoseHead) {
      response.close();
      return;
    }
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    const rest = new PacedBody(response, bytes, () => this.abort());
    if (isTaken) rest.continueFrom(PIECE_BYTES);
  }
}

/** 304: a length would have to be that of the body that the client has. */
const isBodyless = (status: number): boolean => status === 204 || status === 304;

const firstPiece = (body: string | Uint8Array): string | Uint8Array =>
  typeof body === "string" ? body.slice(0, PIECE_BYTES) : body.subarray(0, PIECE_BYTES);

// The arguments of writeReply(). It is one function for all replies, so that none costs a closure for cork().
let writing: ReplyWriter | null = null;
let writingStatus = 0;
let writingBody: string | Uint8Array = "";
function writeReply(): void {
  writing?.write(writingStatus, writingBody);
}
