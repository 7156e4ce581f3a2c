import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "../front/common/errors.ts";
import type { Log } from "../front/http/answer.ts";
import type { Call } from "../front/http/call.ts";
import { allowAnyOrigin } from "../front/http/origins.ts";
import { NotSentError, type UpstreamAnswer, type UpstreamRequest } from "./upstream-request.ts";
import type { Upstreams } from "./upstreams.ts";

/** A call that nobody could be asked for by then is refused. Shorter than the server lets a call wait. */
const FIND_WITHIN_MS = 4_000;
const RETRY_PAUSE_MS = 20;
/** More would wait for each other. */
const MAX_FORWARDED = 4096;

/** Headers of an answer that the client gets, too. */
const PASSED_ON = [
  ...["allow", "cache-control", "content-encoding", "content-security-policy", "cross-origin-opener-policy", "etag"],
  ...["location", "permissions-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "referrer-policy"],
  ...["retry-after", "www-authenticate", "x-content-type-options", "perpd-sequence"],
];

/** Those that a router of the gateway writes before a route runs. */
export const ROUTER_HEADERS: ReadonlySet<string> = new Set(
  PASSED_ON.filter((name) => /^(ratelimit|perpd)-/.test(name)),
);
const NONE: ReadonlySet<string> = new Set();

export const NO_LEADER =
  "The gateway finds no process that leads; nothing was done. Send the request again in a moment.";

export interface ForwarderOptions {
  readonly upstreams: Upstreams;
  readonly send: (url: string, request: UpstreamRequest) => Promise<UpstreamAnswer>;
  readonly log: Log;
}

/** Passes calls on to the leader as they came, and its answers back. No call that may have an effect is sent twice. */
export class Forwarder {
  private readonly options: ForwarderOptions;
  /** Calls that are on their way. */
  inFlight = 0;
  /** Aborted when another process leads. */
  private term = newTerm();

  constructor(options: ForwarderOptions) {
    this.options = options;
  }

  /** `written`: headers of the answer that the call has already. */
  forward(call: Call, written = NONE): void {
    if (this.inFlight >= MAX_FORWARDED) throw new ApiError("OVERLOADED");
    if (call.isForeign) admitForeign(call);
    const request = requestOf(call);
    this.inFlight++;
    this.answer(call, request, written)
      .catch((thrown) => call.fail(thrown, this.options.log))
      .finally(() => {
        this.inFlight--;
      });
  }

  /** Another process leads than before. An answer of the earlier one, which may hang, is not waited for. */
  leaderChanged(): void {
    const { term } = this;
    this.term = newTerm();
    term.abort();
  }

  private async answer(call: Call, request: UpstreamRequest, written: ReadonlySet<string>): Promise<void> {
    const { upstreams } = this.options;
    const deadline = call.arrivedAt + FIND_WITHIN_MS;
    for (let attempt = 1; !call.done; attempt++) {
      // The leader that answers so may be about to end.
      if (attempt > 1) await sleep(RETRY_PAUSE_MS);
      const url = performance.now() < deadline ? await upstreams.find(deadline) : null;
      if (url === null) throw new ApiError("UNAVAILABLE", { message: NO_LEADER });
      if (call.done) return;
      const answer = await this.attempt(url, request);
      if (answer !== null) return passOn(call, answer, written);
      upstreams.forget(url);
    }
  }

  /** Null: nothing was done, and another process may lead. Throws TIMEOUT if the outcome is not known. */
  private async attempt(url: string, request: UpstreamRequest): Promise<UpstreamAnswer | null> {
    try {
      const answer = await this.options.send(url, { ...request, signal: this.term.signal });
      return answer.status === 503 && codeOf(answer) === "NOT_LEADER" ? null : answer;
    } catch (error) {
      if (error instanceof NotSentError || isRead(request)) return null;
      this.options.upstreams.forget(url);
      throw new ApiError("TIMEOUT");
    }
  }
}

function newTerm(): AbortController {
  const term = new AbortController();
  // All calls on their way listen to it.
  setMaxListeners(0, term.signal);
  return term;
}

const isRead = ({ method }: UpstreamRequest): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS";

/** A page of another site may read public data, and no more. Without credentials the leader shows nothing else. */
function admitForeign(call: Call): void {
  if (!["GET", "HEAD", "OPTIONS"].includes(call.method)) throw new ApiError("ORIGIN_NOT_ALLOWED");
  if (call.authorization !== "" || call.apiKey !== "") throw new ApiError("ORIGIN_NOT_ALLOWED");
  if (call.method !== "OPTIONS") allowAnyOrigin(call);
}

/** Other bytes cannot be sent. No header that is passed on has any: a bearer's token, for example, is ASCII. */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

/**
 * The gateway has checked the origin. A signature covers method, target and body, which stay as they are. Throws BAD_REQUEST
 * for a header that no request can have: it must not look like a leader that does not answer.
 */
function requestOf(call: Call): UpstreamRequest {
  const given = {
    Authorization: call.authorization,
    "X-Api-Key": call.apiKey,
    "X-Timestamp": call.timestamp,
    "X-Signature": call.signature,
    "X-Recv-Window": call.recvWindow,
    "Accept-Encoding": call.acceptEncoding,
    "If-None-Match": call.ifNoneMatch,
  };
  for (const [name, value] of Object.entries(given))
    if (!HEADER_VALUE.test(value))
      throw new ApiError("BAD_REQUEST", { message: `The header ${name} must be printable ASCII.` });
  return {
    method: call.method,
    target: call.target,
    headers: {
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "")),
      "X-Forwarded-For": call.remoteAddress(),
      "X-Forwarded-Proto": call.isSecure() ? "https" : "http",
    },
    body: call.bytes.length === 0 ? null : Buffer.from(call.bytes),
  };
}

function passOn(call: Call, { status, headers, body }: UpstreamAnswer, written: ReadonlySet<string>): void {
  for (const name of PASSED_ON) {
    const value = headers[name];
    if (typeof value === "string" && !written.has(name)) call.header(name, value);
  }
  if (headers.vary !== undefined && call.origin === "") call.header("Vary", headers.vary);
  const requestId = headers["x-request-id"];
  if (typeof requestId === "string") call.requestId = requestId;
  // The answer to HEAD has the length of the body, and no body.
  const length = call.method === "HEAD" ? Number(headers["content-length"] ?? 0) : 0;
  call.reply(status, length > 0 ? Buffer.alloc(length) : body, headers["content-type"]);
}

/** The code of an error; "" = it is none. */
function codeOf({ body }: UpstreamAnswer): string {
  try {
    return String((JSON.parse(body.toString()) as { code?: unknown }).code);
  } catch {
    return "";
  }
}
