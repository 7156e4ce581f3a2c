import { ApiError } from "../common/errors.ts";
import type { Call } from "./call.ts";

/** How long a browser may remember the answer to its preflight request. Browsers accept two hours at most. */
const MAX_AGE_S = 7200;
const METHODS = "GET, POST, PUT, PATCH, DELETE";
const REQUEST_HEADERS = "Authorization, Content-Type, X-Api-Key, X-Timestamp, X-Signature, X-Recv-Window";
const REPLY_HEADERS =
  "X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Allow, Perpd-Sequence";

/** In the setting: pages of all sites may read public data. */
export const ANY_ORIGIN = "*";

/**
 * The web sites whose pages may use the exchange in a browser. A browser names the page's site in the header Origin. Programs
 * send no such header, so they are not affected.
 */
export class Origins {
  private readonly allowed: ReadonlySet<string>;
  private readonly isPublic: boolean;

  /** Each as a browser sends it: "https://app.example.com". Or ANY_ORIGIN. */
  constructor(allowed: readonly string[]) {
    this.allowed = new Set(allowed);
    this.isPublic = this.allowed.has(ANY_ORIGIN);
  }

  /**
   * Adds the headers of CORS to the answer. A browser shows the page only such answers. Marks the call of a site that is not in
   * the list as foreign: it may only read public data. Throws ORIGIN_NOT_ALLOWED if it may not even do that.
   */
  admit(call: Call): void {
    if (call.origin === "") return;
    call.header("Vary", "Origin");
    const isAllowed = call.origin !== ANY_ORIGIN && (this.allowed.has(call.origin) || isOwn(call));
    if (!isAllowed && !this.isPublic) throw new ApiError("ORIGIN_NOT_ALLOWED");
    call.isForeign = !isAllowed;
    const isPreflight = call.method === "OPTIONS";
    // It is in the list or from the Host header, so it may be written as it is. The router adds it for public data.
    if (isAllowed) call.header("Access-Control-Allow-Origin", call.origin);
    else if (isPreflight) allowAnyOrigin(call);
    call.header("Access-Control-Expose-Headers", REPLY_HEADERS);
    if (!isPreflight) return;
    call.header("Access-Control-Allow-Methods", isAllowed ? METHODS : "GET");
    // Without those of credentials for foreign pages: their browsers do not send them.
    call.header("Access-Control-Allow-Headers", isAllowed ? REQUEST_HEADERS : "Content-Type");
    call.header("Access-Control-Max-Age", String(MAX_AGE_S));
  }
}

/** For answers that everybody may read. */
export const allowAnyOrigin = (call: Call): void => call.header("Access-Control-Allow-Origin", ANY_ORIGIN);

/** The page came from the exchange itself, or from the proxy in front of it. */
const isOwn = ({ origin, host }: Call): boolean => origin === `http://${host}` || origin === `https://${host}`;
