import type { BlockList } from "node:net";
import type { TimeMs } from "../../core/base/units.ts";
import type { Vault } from "../../store/files/vault.ts";
import { isListed, parseAddressList } from "../common/address-list.ts";
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
import { newSecret, SignatureCheck } from "./keys.ts";
import type { OperatorAccess, Operators } from "./operators.ts";
import { SeenSignatures } from "./seen-signatures.ts";

/** How old the timestamp of a signed request may be: by default, and at most when it sends its own window. */
export const DEFAULT_RECV_WINDOW_MS = 5_000;
export const MAX_RECV_WINDOW_MS = 60_000;
/** How far in the future the timestamp may be. */
export const MAX_CLOCK_LEAD_MS = 1_000;

const HOW_TO_AUTHENTICATE =
  'The request has no credentials. Send a session token ("Authorization: Bearer TOKEN") or sign with an API key (X-Api-Key, X-Timestamp, X-Signature).';
const NOT_BEARER =
  'The Authorization header has the wrong form. Send "Authorization: Bearer TOKEN" with a session token.';

/** A request or a WebSocket login that is signed with an API key. */
interface Signed {
  apiKey: string;
  /** Milliseconds, as text: it is part of what was signed. */
  timestamp: string;
  signature: string;
  /** Milliseconds as text. "": DEFAULT_RECV_WINDOW_MS. */
  recvWindow: string;
  /** method + path with query + body. */
  text: string;
  /** A repetition changes nothing, so it need not be remembered. */
  isRead: boolean;
}

/** The parts of a key's checks that are expensive to make. */
interface Checker {
  readonly signature: SignatureCheck;
  /** Null: every address. */
  readonly allowedIps: BlockList | null;
}

interface AuthOptions {
  credentials: Credentials;
  vault: Vault;
  operators: Operators;
}

/** Authenticates requests. Throws an ApiError (401, 403) for a request that it cannot trust. */
export class Auth {
  private readonly credentials: Credentials;
  private readonly vault: Vault;
  private readonly operators: Operators;
  private readonly checkers = new WeakMap<Key, Checker>();
  /** The receive window is not signed, so a request can be repeated with the longest one. */
  private readonly seen = new SeenSignatures(MAX_RECV_WINDOW_MS);
  /** Unknown keys are checked against this, so that they take as long as known ones. */
  private readonly unknownKeyCheck = new SignatureCheck(newSecret());
  /** The memory of signatures begins here. A request signed earlier may have been received before, so it is refused. */
  private rememberedFrom: TimeMs = Date.now();

  constructor(options: AuthOptions) {
    this.credentials = options.credentials;
    this.vault = options.vault;
    this.operators = options.operators;
  }

  /** Another process has decided until now: it may have received what was signed before. */
  beginToLead(): void {
    this.rememberedFrom = Date.now();
  }

  /** The session or API key of a request. */
  principal(call: Call): Principal {
    if (call.apiKey === "") return this.sessionOf(call);
    const { apiKey, timestamp, signature, recvWindow, method } = call;
    const text = method + call.target + call.body;
    const signed = { apiKey, timestamp, signature, recvWindow, text, isRead: method === "GET" || method === "HEAD" };
    // Not the time at which the request began: a body may arrive after its signature was forgotten.
    return this.verify(signed, () => call.remoteAddress(), Date.now());
  }

  /** Accepts a wallet session only: an API key must not be able to create another one. */
  session(call: Call): Principal {
    if (call.apiKey !== "") throw new ApiError("SESSION_REQUIRED");
    return this.sessionOf(call);
  }

  /** The name of the operator who sent the request. */
  operator(call: Call, access: OperatorAccess): string {
    return this.operators.nameOf(call.authorization, access);
  }

  /** The principal of a WebSocket that logs in. */
  socket(credentials: SocketCredentials, remoteAddress: string): Principal {
    const now = Date.now();
    if ("token" in credentials) return requireValid(this.credentials.sessionOfToken(credentials.token), now);
    const timestamp = String(credentials.timestamp);
    // A socket may trade, so its signature must not work twice.
    const signed = { ...credentials, timestamp, recvWindow: "", text: `GET${SOCKET_PATH}`, isRead: false };
    return this.verify(signed, () => remoteAddress, now);
  }

  private sessionOf(call: Call): Principal {
    if (call.authorization === "") throw new ApiError("UNAUTHENTICATED", { message: HOW_TO_AUTHENTICATE });
    if (!/^Bearer /i.test(call.authorization)) throw new ApiError("INVALID_TOKEN", { message: NOT_BEARER });
    return requireValid(this.credentials.sessionOfHeader(call.authorization), Date.now());
  }

  private verify(signed: Signed, remoteAddress: () => string, now: TimeMs): Principal {
    this.checkTime(signed, now);
    const key = this.credentials.key(signed.apiKey);
    const checker = key === undefined ? null : this.checkerOf(key);
    const matches = (checker?.signature ?? this.unknownKeyCheck).matches(
      signed.timestamp + signed.text,
      signed.signature,
    );
    if (!matches || key === undefined || checker === null) throw new ApiError("INVALID_KEY_OR_SIGNATURE");
    // The client has shown that it owns the key. Only now may errors reveal anything about it.
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
      throw new ApiError("UNAUTHENTICATED", { message: "X-Api-Key must come with X-Timestamp and X-Signature." });
    if (!/^[0-9]{1,15}$/.test(timestamp))
      throw new ApiError("BAD_VALUE", {
        field: "X-Timestamp",
        message: "X-Timestamp must be a whole number of milliseconds.",
      });
    const windowMs = recvWindow === "" ? DEFAULT_RECV_WINDOW_MS : readRecvWindow(recvWindow);
    const skewMs = Number(timestamp) - now;
    const isForgotten = !signed.isRead && Number(timestamp) < this.rememberedFrom;
    if (skewMs >= -windowMs && skewMs <= MAX_CLOCK_LEAD_MS && !isForgotten) return;
    throw new ApiError("TIMESTAMP_OUT_OF_WINDOW", { details: { serverTime: now, skewMs, recvWindowMs: windowMs } });
  }

  private checkerOf(key: Key): Checker {
    const known = this.checkers.get(key);
    if (known !== undefined) return known;
    const { sealedSecret, allowedIps } = key.record;
    const checker = {
      signature: new SignatureCheck(this.vault.open(sealedSecret, key.credential)),
      allowedIps: allowedIps.length === 0 ? null : parseAddressList(allowedIps),
    };
    this.checkers.set(key, checker);
    return checker;
  }
}

function requireValid<P extends Principal>(session: P | undefined, now: TimeMs): P {
  if (session === undefined || hasExpired(session, now)) throw new ApiError("INVALID_TOKEN");
  return session;
}

function readRecvWindow(text: string): number {
  const windowMs = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (windowMs >= 1 && windowMs <= MAX_RECV_WINDOW_MS) return windowMs;
  const message = `X-Recv-Window must be 1 to ${MAX_RECV_WINDOW_MS} milliseconds.`;
  throw new ApiError("BAD_VALUE", { field: "X-Recv-Window", message, details: { maximum: MAX_RECV_WINDOW_MS } });
}
