import { createHash, timingSafeEqual } from "node:crypto";
import type { BlockList } from "node:net";
import type { TimeMs } from "../../core/base/units.ts";
import type { Vault } from "../../store/files/vault.ts";
import { ApiError } from "../common/errors.ts";
import { SOCKET_PATH } from "../common/paths.ts";
import {
  type Credentials,
  hasExpired,
  type Key,
  type Principal,
  type SocketCredentials,
} from "../exchange/credentials.ts";
import type { Call } from "../http/call.ts";
import { isListed, newSecret, parseAllowedIps, SignatureCheck } from "./keys.ts";
import { SeenSignatures } from "./seen-signatures.ts";

/** How old a signed request's timestamp may be, unless it says otherwise and at most; and how far in the future. */
export const DEFAULT_RECV_WINDOW_MS = 5_000;
export const MAX_RECV_WINDOW_MS = 60_000;
export const MAX_CLOCK_LEAD_MS = 1_000;

const HOW_TO_AUTHENTICATE =
  'Send a session token ("Authorization: Bearer TOKEN") or sign with an API key (X-Api-Key, X-Timestamp, X-Signature).';
const NOT_BEARER = 'The session token stands behind the word Bearer: "Authorization: Bearer TOKEN".';
const NO_OPERATOR = "This is closed: the exchange was started without an operatorToken (PERPD_OPERATOR_TOKEN).";

/** A request signed with an API key, wherever it came in. */
interface Signed {
  apiKey: string;
  /** Milliseconds, as text: it is part of what was signed. */
  timestamp: string;
  signature: string;
  /** "" = the default. */
  recvWindow: string;
  /** method + path with query + body. */
  text: string;
  /** Repeating it changes nothing. */
  isRead: boolean;
}

/** What is needed to check a key's requests, and dear to make. */
interface Checker {
  readonly signature: SignatureCheck;
  /** Null = every address. */
  readonly allowedIps: BlockList | null;
}

export interface AuthOptions {
  credentials: Credentials;
  vault: Vault;
  /** "" = nobody is the operator. */
  operatorToken: string;
}

/** Finds out whom a request acts for. Throws an ApiError (401, 403) when it cannot be trusted. */
export class Auth {
  private readonly credentials: Credentials;
  private readonly vault: Vault;
  private readonly operatorDigest: Buffer | null;
  private readonly checkers = new WeakMap<Key, Checker>();
  /** The window is not part of what was signed: a request may be repeated with the longest one. */
  private readonly seen = new SeenSignatures(MAX_RECV_WINDOW_MS);
  /** Unknown keys are checked against this, so that they take as long as known ones. */
  private readonly nobodys = new SignatureCheck(newSecret());
  /** What was signed before may have been received before: the memory of signatures begins now. */
  private readonly startedAt: TimeMs = Date.now();

  constructor(options: AuthOptions) {
    this.credentials = options.credentials;
    this.vault = options.vault;
    this.operatorDigest = options.operatorToken === "" ? null : digest(options.operatorToken);
  }

  /** By session or by signature. */
  principal(call: Call): Principal {
    if (call.apiKey === "") return this.sessionOf(call);
    const { apiKey, timestamp, signature, recvWindow, method } = call;
    const text = method + call.target + call.body;
    const signed = { apiKey, timestamp, signature, recvWindow, text, isRead: method === "GET" || method === "HEAD" };
    // Not when the request began: a body may be on its way for longer than its signature is remembered.
    return this.verify(signed, () => call.remoteAddress(), Date.now());
  }

  /** A wallet's session alone: an API key must not be enough to make another one. */
  session(call: Call): Principal {
    if (call.apiKey !== "") throw new ApiError("SESSION_REQUIRED");
    return this.sessionOf(call);
  }

  operator(call: Call): void {
    if (this.operatorDigest === null) throw new ApiError("OPERATOR_REQUIRED", { message: NO_OPERATOR });
    const token = /^Bearer (.+)$/i.exec(call.authorization)?.[1] ?? "";
    if (!timingSafeEqual(digest(token), this.operatorDigest)) throw new ApiError("OPERATOR_REQUIRED");
  }

  /** The same for a WebSocket. */
  socket(credentials: SocketCredentials, remoteAddress: string): Principal {
    const now = Date.now();
    if ("token" in credentials) return alive(this.credentials.sessionOfToken(credentials.token), now);
    const timestamp = String(credentials.timestamp);
    // A socket may trade: whoever has overheard its signature must not open another one with it.
    const signed = { ...credentials, timestamp, recvWindow: "", text: `GET${SOCKET_PATH}`, isRead: false };
    return this.verify(signed, () => remoteAddress, now);
  }

  private sessionOf(call: Call): Principal {
    if (call.authorization === "") throw new ApiError("UNAUTHENTICATED", { message: HOW_TO_AUTHENTICATE });
    if (!/^Bearer /i.test(call.authorization)) throw new ApiError("INVALID_TOKEN", { message: NOT_BEARER });
    return alive(this.credentials.sessionOfHeader(call.authorization), Date.now());
  }

  private verify(signed: Signed, remoteAddress: () => string, now: TimeMs): Principal {
    this.checkTime(signed, now);
    const key = this.credentials.key(signed.apiKey);
    const checker = key === undefined ? null : this.checkerOf(key);
    const matches = (checker?.signature ?? this.nobodys).matches(signed.timestamp + signed.text, signed.signature);
    if (!matches || key === undefined || checker === null) throw new ApiError("INVALID_KEY_OR_SIGNATURE");
    // From here the client has shown that the key is its own, and may be told what is wrong.
    if (hasExpired(key, now)) throw new ApiError("KEY_EXPIRED");
    if (checker.allowedIps !== null && !isListed(checker.allowedIps, remoteAddress()))
      throw new ApiError("IP_NOT_ALLOWED");
    if (signed.isRead) return key;
    const memory = this.seen.add(signed.signature, Number(signed.timestamp), now);
    if (memory === "SEEN") throw new ApiError("SIGNATURE_REPLAYED");
    if (memory === "FULL") throw new ApiError("OVERLOADED");
    return key;
  }

  private checkTime(signed: Signed, now: TimeMs): void {
    const { timestamp, recvWindow } = signed;
    if (timestamp === "" || signed.signature === "")
      throw new ApiError("UNAUTHENTICATED", { message: "X-Api-Key goes with X-Timestamp and X-Signature." });
    if (!/^[0-9]{1,15}$/.test(timestamp))
      throw new ApiError("BAD_VALUE", { field: "X-Timestamp", message: "X-Timestamp is in whole milliseconds." });
    const windowMs = recvWindow === "" ? DEFAULT_RECV_WINDOW_MS : readRecvWindow(recvWindow);
    const skewMs = Number(timestamp) - now;
    const isBeforeStart = !signed.isRead && Number(timestamp) < this.startedAt;
    if (skewMs >= -windowMs && skewMs <= MAX_CLOCK_LEAD_MS && !isBeforeStart) return;
    throw new ApiError("TIMESTAMP_OUT_OF_WINDOW", { details: { serverTime: now, skewMs, recvWindowMs: windowMs } });
  }

  private checkerOf(key: Key): Checker {
    const known = this.checkers.get(key);
    if (known !== undefined) return known;
    const { sealedSecret, allowedIps } = key.record;
    const checker = {
      signature: new SignatureCheck(this.vault.open(sealedSecret, key.credential)),
      allowedIps: allowedIps.length === 0 ? null : parseAllowedIps(allowedIps),
    };
    this.checkers.set(key, checker);
    return checker;
  }
}

function alive<P extends Principal>(session: P | undefined, now: TimeMs): P {
  if (session === undefined || hasExpired(session, now)) throw new ApiError("INVALID_TOKEN");
  return session;
}

function readRecvWindow(text: string): number {
  const windowMs = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (windowMs >= 1 && windowMs <= MAX_RECV_WINDOW_MS) return windowMs;
  const message = `X-Recv-Window is 1 to ${MAX_RECV_WINDOW_MS} milliseconds.`;
  throw new ApiError("BAD_VALUE", { field: "X-Recv-Window", message, details: { maximum: MAX_RECV_WINDOW_MS } });
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
