import { Addresses } from "./addresses.ts";
import { PerpdError } from "./error.ts";
import { parseObject, responseError } from "./response.ts";
import { LEAVING, leaderOf, type Repetition, Retry, type RetryOptions } from "./retry.ts";
import { Signer } from "./signing.ts";

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface ClientOptions extends RetryOptions {
  /** The API's base URL, for example http://127.0.0.1:8080/v1. Several are those of a leader and its standbys. */
  baseUrl: string | readonly string[];
  /** A session's token; login() sets it. */
  token?: string;
  /** An API key and its secret, instead of a token. */
  apiKey?: string;
  secret?: string;
  /** How long to wait for a response. Default 10,000. */
  timeoutMs?: number;
}

/** The exchange refuses timestamps more than a second ahead of its own clock, which may differ from ours. */
const MAX_LEAD_MS = 500;

/** Sends signed requests, retries those that are repeatable, and turns refusals into PerpdError. */
export class Requests {
  token: string | undefined;
  readonly addresses: Addresses;
  private readonly apiKey: string | undefined;
  private readonly signer: Signer | null;
  private readonly timeoutMs: number;
  private readonly retry: Retry;
  private lastTimestamp = 0;

  constructor(options: ClientOptions) {
    this.addresses = new Addresses(options.baseUrl);
    this.token = options.token;
    this.apiKey = options.apiKey;
    this.signer = options.secret === undefined ? null : new Signer(options.secret);
    this.timeoutMs = options.timeoutMs ?? 10_000;
    this.retry = new Retry({ ...options, addresses: this.addresses.count });
  }

  get<T>(path: string, query: Query = {}): Promise<T> {
    return this.send("GET", path + queryText(query), undefined, "READ");
  }

  delete<T>(path: string, query: Query = {}): Promise<T> {
    return this.send("DELETE", path + queryText(query), undefined, "KNOWN");
  }

  post<T>(path: string, body?: object, repetition: Repetition = "NEVER"): Promise<T> {
    return this.send("POST", path, body, repetition);
  }

  patch<T>(path: string, body: object, repetition: Repetition): Promise<T> {
    return this.send("PATCH", path, body, repetition);
  }

  put<T>(path: string, body: object): Promise<T> {
    return this.send("PUT", path, body, "STATE");
  }

  /** The fields of a WebSocket's `auth` message; null without credentials. */
  async socketCredentials(): Promise<Record<string, string | number> | null> {
    if (this.apiKey !== undefined && this.signer !== null) {
      const timestamp = this.timestamp();
      const { pathname } = new URL(`${this.addresses.current}/ws`);
      return { apiKey: this.apiKey, timestamp, signature: await this.signer.sign(`${timestamp}GET${pathname}`) };
    }
    return this.token === undefined ? null : { token: this.token };
  }

  private send<T>(method: string, pathAndQuery: string, body: object | undefined, repetition: Repetition): Promise<T> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.retry.run(repetition, async () => {
      const base = this.addresses.current;
      try {
        return await this.sendOnce<T>(method, new URL(base + pathAndQuery), text);
      } catch (error) {
        if (!(error instanceof PerpdError)) this.addresses.leave(base);
        else if (LEAVING.has(error.code)) this.addresses.leave(base, leaderOf(error));
        throw error;
      }
    });
  }

  private async sendOnce<T>(method: string, url: URL, text: string | undefined): Promise<T> {
    const headers: Record<string, string> = await this.credentials(method, url, text ?? "");
    if (text !== undefined) headers["Content-Type"] = "application/json";
    const response = await fetch(url, {
      method,
      headers,
      // fetch() would turn a redirected POST into a GET, and its response would be taken for the order's.
      redirect: "manual",
      signal: AbortSignal.timeout(this.timeoutMs),
      ...(text !== undefined && { body: text }),
    });
    const responseText = await response.text();
    const answer = response.ok ? parseObject(responseText) : null;
    if (answer !== null) return answer as T;
    throw responseError(url, {
      status: response.status,
      text: responseText,
      header: (name) => response.headers.get(name),
    });
  }

  private async credentials(method: string, url: URL, body: string): Promise<Record<string, string>> {
    if (this.apiKey !== undefined && this.signer !== null) {
      const timestamp = String(this.timestamp());
      const signature = await this.signer.sign(timestamp + method + url.pathname + url.search + body);
      return { "X-Api-Key": this.apiKey, "X-Timestamp": timestamp, "X-Signature": signature };
    }
    return this.token === undefined ? {} : { Authorization: `Bearer ${this.token}` };
  }

  /** The time now, made unique as far as possible: of two requests with the same signature the second is refused. */
  private timestamp(): number {
    const now = Date.now();
    this.lastTimestamp = Math.min(Math.max(now, this.lastTimestamp + 1), now + MAX_LEAD_MS);
    return this.lastTimestamp;
  }
}

function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}
