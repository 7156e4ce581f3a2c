import { ApiError } from "../common/errors.ts";
import type { Call } from "./call.ts";

/** How long a browser may remember the answer to its preflight request. Browsers accept two hours at most. */
const MAX_AGE_S = 7200;
const METHODS = "GET, POST, PUT, PATCH, DELETE";
const REQUEST_HEADERS = "Authorization, Content-Type, X-Api-Key, X-Timestamp, X-Signature, X-Recv-Window";
const REPLY_HEADERS = "X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Allow";

/**
 * The web sites whose pages may use the exchange in a browser. A browser names the page's site in the header Origin. Programs
 * send no such header, so they are not affected.
 */
export class Origins {
  private readonly allowed: ReadonlySet<string>;

  /** Each as a browser sends it: "https://app.example.com". */
  constructor(allowed: readonly string[]) {
    this.allowed = new Set(allowed);
  }

  /** Throws ORIGIN_NOT_ALLOWED, or adds the headers of CORS to the answer. A browser shows the page only such answers. */
  admit(call: Call): void {
    if (call.origin === "") return;
    call.header("Vary", "Origin");
    // One of the list, so it may be written as it is.
    if (!this.allowed.has(call.origin)) throw new ApiError("ORIGIN_NOT_ALLOWED");
    call.header("Access-Control-Allow-Origin", call.origin);
    call.header("Access-Control-Expose-Headers", REPLY_HEADERS);
    if (call.method !== "OPTIONS") return;
    call.header("Access-Control-Allow-Methods", METHODS);
    call.header("Access-Control-Allow-Headers", REQUEST_HEADERS);
    call.header("Access-Control-Max-Age", String(MAX_AGE_S));
  }
}
