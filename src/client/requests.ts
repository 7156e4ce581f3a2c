import { createHmac } from "node:crypto";
import { parseObject, responseError } from "./response.ts";
import { Retry, type RetryOptions } from "./retry.ts";

export type Query = Readonly<Record<string, string | number | undefined>>;

export interface ClientOptions extends RetryOptions {
  /** For example http://127.0.0.1:8080/v1. */
  baseUrl: string;
  /** Of a session; login() sets it. */
  token?: string;
  /** An API key and its secret, in the place of a token. */
  apiKey?: string;
  secret?: string;
  /** For a request that has no answer yet. Default 10,000. */
  timeoutMs?: number;
}

/** Two of such a request do what one does: it may be sent again when its answer is lost. */
export interface Repeatable {
  isRepeatable: boolean;
}

/** The exchange takes no signature that is more than a second ahead of its clock, which need not be this one. */
const MAX_LEAD_MS = 500;

/** Sends requests, again where that does no harm, signs them with what it knows, and turns refusals into PerpdError. */
export class Requests {
  token: string | undefined;
  readonly baseUrl: string;
  private readonly apiKey: string | undefined;
  private readonly secret: string | undefined;
  private readonly timeoutMs: number;
  private readonly retry: Retry;
  private lastTimestamp = 0;

  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl.replace(/\/$/, "");
    this.token = options.token;
    this.apiKey = options.apiKey;
    this.secret = options.secret;
    this.timeoutMs = options.timeoutMs ?? 10_000;
    this.retry = new Retry(options);
  }

  get<T>(path: string, query: Query = {}): Promise<T> {
    return this.send("GET", path + queryText(query), undefined, true);
  }

  delete<T>(path: string, query: Query = {}): Promise<T> {
    return this.send("DELETE", path + queryText(query), undefined, true);
  }

  post<T>(path: string, body?: object, { isRepeatable }: Repeatable = { isRepeatable: false }): Promise<T> {
    return this.send("POST", path, body, isRepeatable);
  }

  patch<T>(path: string, body: object): Promise<T> {
    return this.send("PATCH", path, body, true);
  }

  put<T>(path: string, body: object): Promise<T> {
    return this.send("PUT", path, body, true);
  }

  /** What a WebSocket's `auth` message needs; null without credentials. */
  socketCredentials(): Record<string, string | number> | null {
    if (this.apiKey !== undefined && this.secret !== undefined) {
      const timestamp = this.timestamp();
      const { pathname } = new URL(`${this.baseUrl}/ws`);
      return { apiKey: this.apiKey, timestamp, signature: this.sign(`${timestamp}GET${pathname}`) };
    }
    return this.token === undefined ? null : { token: this.token };
  }

  private send<T>(method: string, pathAndQuery: string, body: object | undefined, isRepeatable: boolean): Promise<T> {
    const url = new URL(this.baseUrl + pathAndQuery);
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.retry.run(isRepeatable, () => this.sendOnce<T>(method, url, text));
  }

  private async sendOnce<T>(method: string, url: URL, text: string | undefined): Promise<T> {
    const headers: Record<string, string> = this.credentials(method, url, text ?? "");
    if (text !== undefined) headers["Content-Type"] = "application/json";
    const response = await fetch(url, {
      method,
      headers,
      // An order that is sent to another place arrives there as a read, and what it reads would be taken for the order.
      redirect: "manual",
      signal: AbortSignal.timeout(this.timeoutMs),
      ...(text !== undefined && { body: text }),
    });
    const said = await response.text();
    const answer = response.ok ? parseObject(said) : null;
    if (answer !== null) return answer as T;
    throw responseError(url, { status: response.status, text: said, header: (name) => response.headers.get(name) });
  }

  private credentials(method: string, url: URL, body: string): Record<string, string> {
    if (this.apiKey !== undefined && this.secret !== undefined) {
      const timestamp = String(this.timestamp());
      const signature = this.sign(timestamp + method + url.pathname + url.search + body);
      return { "X-Api-Key": this.apiKey, "X-Timestamp": timestamp, "X-Signature": signature };
    }
    return this.token === undefined ? {} : { Authorization: `Bearer ${this.token}` };
  }

  /** Now, and not twice the same as far as can be: of two orders with the same signature the second is refused. */
  private timestamp(): number {
    const now = Date.now();
    this.lastTimestamp = Math.min(Math.max(now, this.lastTimestamp + 1), now + MAX_LEAD_MS);
    return this.lastTimestamp;
  }

  private sign(text: string): string {
    return createHmac("sha256", this.secret ?? "")
      .update(text)
      .digest("hex");
  }
}

function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}
