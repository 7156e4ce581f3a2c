import type { ErrorCode } from "../../wire/error-codes.ts";
import type { Quota } from "../common/buckets.ts";
import { ApiError } from "../common/errors.ts";
import { decodeUtf8 } from "../common/utf8.ts";
import { parseJson } from "../json/json.ts";
import { readAddressText } from "./addresses.ts";
import type { Answer, Log } from "./answer.ts";
import { type RawResponse, ReplyWriter } from "./reply-writer.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";
import type { Waiting, WaitingCalls } from "./waiting-calls.ts";

const NO_BYTES = new Uint8Array(0);

/** After these the connection is closed: the next bytes on it cannot be trusted to begin a request. */
const CLOSING: ReadonlySet<ErrorCode> = new Set(["BAD_REQUEST", "BODY_TOO_LARGE", "REQUEST_TIMEOUT"]);

/** One HTTP request and the one answer to it. All of the request is copied, so the call may be kept until its answer. */
export class Call extends ReplyWriter implements Answer, Waiting<Call> {
  /** As it came, not decoded. */
  readonly path: string;
  /** As it came, without "?"; "" when there is none. */
  readonly query: string;
  /** Path and query as they came: a signature covers them. */
  readonly target: string;
  readonly arrivedAt: number;
  // Headers; "" when not sent.
  authorization = "";
  apiKey = "";
  timestamp = "";
  signature = "";
  recvWindow = "";
  acceptEncoding = "";
  origin = "";
  /** Anybody may send it. */
  forwardedFor = "";
  /** Null: no X-Forwarded-For is believed. */
  proxies: TrustedProxies | null = null;
  /** As it came: any text. */
  host = "";
  /** From a page of another site: it may only read public data. See Origins. */
  isForeign = false;
  ifNoneMatch = "";
  /** Anybody may send it, too. */
  forwardedProto = "";
  /** This server encrypts the connection. */
  isTls = false;
  /** The body. A handler gets it whole and valid UTF-8, and must not use it after it has returned. */
  bytes: Uint8Array = NO_BYTES;
  awaitsBody = false;
  waitsIn: WaitingCalls<Call> | null = null;
  previous: Call | null = null;
  next: Call | null = null;
  private decodedBody: string | null = null;
  private parsedBody: unknown;

  /** `query` undefined: not even a "?" came. */
  constructor(response: RawResponse, method: string, path: string, query: string | undefined) {
    super(response, method);
    this.path = path;
    this.query = query ?? "";
    this.target = query === undefined ? path : `${path}?${query}`;
    this.arrivedAt = performance.now();
  }

  /** The client's address as text, behind trusted proxies, too. `peer` undefined: only while the call is not done. */
  remoteAddress(peer = this.peerAddress()): string {
    return this.proxies === null ? peer : this.proxies.clientOf(peer, this.forwardedFor);
  }

  /** The address at the other end of the connection: a client's or a proxy's. Only while the call is not done. */
  peerAddress(): string {
    return readAddressText(this.response.getRemoteAddressAsText());
  }

  /** Whether the client's connection is encrypted, by this server or before a trusted proxy. Only while the call is not done. */
  isSecure(): boolean {
    return this.isTls || (this.forwardedProto === "https" && this.proxies?.has(this.peerAddress()) === true);
  }

  /** Whether the connection began with a header of the PROXY protocol, version 2. */
  hasProxyHeader(): boolean {
    return this.response.getProxiedRemoteAddress().byteLength > 0;
  }

  /** The body as text, decoded at the first use. */
  get body(): string {
    this.decodedBody ??= decodeUtf8(this.bytes);
    return this.decodedBody;
  }

  /** The body, parsed at the first use. Throws BAD_JSON or DUPLICATE_FIELD. */
  json(): unknown {
    this.parsedBody ??= parseJson(this.body);
    return this.parsedBody;
  }

  /** Adds the headers that show how much the client may still ask for. */
  showQuota({ limit, remaining, resetMs }: Quota): void {
    this.header("RateLimit-Limit", String(limit));
    this.header("RateLimit-Remaining", String(remaining));
    this.header("RateLimit-Reset", String(Math.ceil(resetMs / 1000)));
  }

  refuse(error: ApiError): void {
    if (error.status === 401) this.header("WWW-Authenticate", "Bearer");
    const { retryAfterMs } = error.details ?? {};
    if (retryAfterMs !== undefined || error.status === 503 || error.status === 429)
      this.header("Retry-After", String(Math.max(1, Math.ceil(Number(retryAfterMs ?? 0) / 1000))));
    if (CLOSING.has(error.code)) this.closing = true;
    this.reply(error.status, error.toJson(this.requestId));
  }

  fail(thrown: unknown, log: Log): void {
    if (thrown instanceof ApiError) {
      this.refuse(thrown);
      return;
    }
    log.error({ err: thrown, requestId: this.requestId, method: this.method, path: this.path }, "a request failed");
    this.refuse(new ApiError("INTERNAL"));
  }

  protected override finish(): void {
    super.finish();
    this.waitsIn?.remove(this);
  }
}
