import { createHmac } from "node:crypto";
import { BadResponse, BaseError, type Dict, Exchange, type int, NetworkError, RequestTimeout } from "ccxt";
import type { ErrorBody } from "../client/types.ts";
import { DESCRIPTION } from "./describe.ts";
import { errorClass } from "./errors.ts";
import { forgetFailedLoad } from "./load-markets.ts";

/** The most rows that a page holds. */
const MAX_LIMIT = 1000;
export const DEFAULT_LIMIT = 100;

const PAGES: ReadonlySet<string> = new Set([
  "orders",
  "orders/history",
  "account/trades",
  "account/deposits",
  "account/withdrawals",
  "account/funding",
  "account/ledger",
  "market/trades",
  "market/klines",
  "market/funding",
  "market/insurance",
  "market/open-interest/history",
]);
const CANCELS: ReadonlySet<string> = new Set(["positions/{symbol}/close", "orders/cancel-after"]);
const TRANSFERS: ReadonlySet<string> = new Set(["account/deposit", "account/withdraw"]);
const PAGE_COST = 5;
const TRANSFER_COST = 20;
const CANCEL_COST = 0.2;

interface Page<Row> {
  data: Row[];
  nextCursor: string | null;
}

/** What is asked for of a list. */
interface PageOptions<Row> {
  /** No earlier than that. `query` says it, too, where the list takes it. */
  since: number | undefined;
  limit: number | undefined;
  isWanted?: (row: Row) => boolean;
}

/** The params as a path may hold them; the colon of `client:ID` stays as it is. */
const inPath = (params: Dict): Dict =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, encodeURIComponent(String(value)).replace(/%3A/g, ":")]),
  );

/** Each item costs what a request of its own would. */
function batchCost(items: readonly Dict[]): number {
  return items.every(({ action }) => action === "CANCEL") ? items.length * CANCEL_COST : items.length;
}

/** How requests are addressed and signed, and what their refusals become. */
export class PerpdBase extends Exchange {
  override describe() {
    return this.deepExtend(super.describe(), DESCRIPTION);
  }

  override loadMarkets(reload = false, params: Dict = {}): ReturnType<Exchange["loadMarkets"]> {
    return forgetFailedLoad(this, () => super.loadMarkets(reload, params));
  }

  /** A session's `token` may stand in the place of key and secret. */
  override checkRequiredCredentials(error = true): boolean {
    return Boolean(this.token) || super.checkRequiredCredentials(error);
  }

  override sign(
    path: string,
    api: "public" | "private" = "public",
    method = "GET",
    params: Dict = {},
    headers?: Dict,
    body?: string,
  ): Dict {
    const inBody = method === "POST" || method === "PATCH" || method === "PUT";
    const rest = this.omit(params, this.extractParams(path));
    const query = inBody ? "" : this.urlencode(rest);
    const target = `/${this.implodeParams(path, inPath(params))}${query === "" ? "" : `?${query}`}`;
    const url = this.implodeHostname(this.urls.api.rest) + target;
    const text = inBody ? JSON.stringify(rest) : body;
    return {
      url,
      method,
      body: text,
      headers: {
        ...headers,
        ...(inBody && { "Content-Type": "application/json" }),
        ...(api === "private" && this.credentials(method, new URL(url), text ?? "")),
      },
    };
  }

  private credentials(method: string, url: URL, body: string): Dict {
    this.checkRequiredCredentials();
    if (this.token) return { Authorization: `Bearer ${this.token}` };
    // Two requests that are otherwise the same must not have the same signature.
    const timestamp = String(this.incrementingNonce());
    const signature = this.signature(timestamp + method + url.pathname + url.search + body);
    return { "X-Api-Key": this.apiKey, "X-Timestamp": timestamp, "X-Signature": signature };
  }

  protected signature(text: string): string {
    return createHmac("sha256", this.secret).update(text).digest("hex");
  }

  /** What is cut or garbled on its way is no exception of ccxt's yet, so a program that goes on behind those would end. */
  override async fetch(url: string, method = "GET", headers?: Dict, body?: string): Promise<unknown> {
    try {
      return await super.fetch(url, method, headers, body);
    } catch (error) {
      if (error instanceof BaseError) throw error;
      const { name, message } = error as Error;
      const Lost = name === "TimeoutError" ? RequestTimeout : NetworkError;
      throw new Lost(`${this.id} ${method} ${url} ${message}`);
    }
  }

  /** ccxt itself waits for the head of an answer no longer than `timeout`, but for its body for minutes. */
  override undiciRequest(url: string, params: Dict): ReturnType<Exchange["undiciRequest"]> {
    return super.undiciRequest(url, { ...params, signal: AbortSignal.timeout(this.timeout) });
  }

  /** In tokens of 20 ms, by what the exchange charges: lists and transfers are dear, canceling has a budget of its own. */
  override calculateRateLimiterCost(_api: string, method: string, path: string, params: Dict): number {
    if (path === "orders/batch") return batchCost(params.items);
    if (method === "DELETE" || CANCELS.has(path)) return CANCEL_COST;
    if (TRANSFERS.has(path)) return TRANSFER_COST;
    return method === "GET" && PAGES.has(path) ? PAGE_COST : 1;
  }

  override nonce(): number {
    return this.milliseconds();
  }

  override handleErrors(
    status: int,
    reason: string,
    url: string,
    method: string,
    _headers: Dict,
    text: string,
    body: Partial<ErrorBody> | undefined,
  ): undefined {
    if (status < 400 && body !== undefined) return undefined;
    if (body?.code !== undefined) throw new (errorClass(body.code, status))(`${this.id} ${text}`);
    // Something in between has answered: whether the exchange has seen the request is not known. ccxt takes what it has no
    // exception for as a success.
    this.handleHttpStatusCode(status, reason, url, method, text);
    throw new BadResponse(`${this.id} what answered is no perpd: ${status} ${text}`);
  }

  /**
   * The rows of a list, as many as asked for, through as many pages as that takes. Without `since` they are the newest;
   * with it the first from there on, which stand on the last page: a program that goes on behind the last one it got
   * misses none. Oldest first: ccxt sorts by time, and leaves those of one millisecond as they are.
   */
  protected async pages<Row>(
    api: "public" | "private",
    path: string,
    query: Dict,
    { since, limit = DEFAULT_LIMIT, isWanted = () => true }: PageOptions<Row>,
  ): Promise<Row[]> {
    const isNewest = since === undefined;
    let rows: Row[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<Row> = await this.request(path, api, "GET", {
        ...query,
        limit: isNewest ? Math.min(limit, MAX_LIMIT) : MAX_LIMIT,
        ...(cursor !== null && { cursor }),
      });
      rows.push(...page.data.filter(isWanted));
      rows = isNewest ? rows.slice(0, limit) : rows.slice(-limit);
      cursor = page.nextCursor;
    } while (cursor !== null && !(isNewest && rows.length === limit));
    return rows.reverse();
  }

  /** The list, without what is undefined. */
  protected definedFields(fields: Dict): Dict {
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  }

  /** ccxt's since, and `until` among its params, as the exchange names them; the params that are left. */
  protected timeRange(since: number | undefined, params: Dict): Dict {
    const { until, ...rest } = params;
    return this.definedFields({ startTime: since, endTime: until, ...rest });
  }
}
