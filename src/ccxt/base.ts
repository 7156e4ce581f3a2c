import { createHmac } from "node:crypto";
import {
  BadResponse,
  BaseError,
  type Dict,
  Exchange,
  type int,
  NetworkError,
  NotSupported,
  RequestTimeout,
} from "ccxt";
import type { ErrorBody, Page } from "../client/types.ts";
import { DESCRIPTION } from "./describe.ts";
import { errorClass } from "./errors.ts";
import { notLeading, PerpdFailover } from "./failover.ts";
import { forgetFailedLoad } from "./load-markets.ts";
import { ownParams, rowsOfPagination } from "./params.ts";

/** Maximum number of rows in a page. */
export const MAX_LIMIT = 1000;
export const DEFAULT_LIMIT = 100;

const PAGES: ReadonlySet<string> = new Set([
  "orders",
  "orders/history",
  "positions/history",
  "account/trades",
  "account/deposits",
  "account/withdrawals",
  "account/funding",
  "account/ledger",
  "account/equity/history",
  "market/trades",
  "market/liquidations",
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

/** Which rows of a list to return. */
interface PageOptions<Row> {
  /** Earliest time in milliseconds. Also in `query`. */
  since: number | undefined;
  limit: number | undefined;
  isWanted?: (row: Row) => boolean;
  /** After a page for which it is true no other is read. */
  isLast?: (page: readonly Row[]) => boolean;
}

/** Params encoded for a path; the colon of `client:ID` stays unencoded. */
const inPath = (params: Dict): Dict =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, encodeURIComponent(String(value)).replace(/%3A/g, ":")]),
  );

/** Each item costs as much as a single request. */
function batchCost(items: readonly Dict[]): number {
  return items.every(({ action }) => action === "CANCEL") ? items.length * CANCEL_COST : items.length;
}

const UNIFIED_METHOD = /^(fetch|create|cancel|edit|close|set(?!Sandbox)|add|reduce|watch|unWatch)[A-Z]|^withdraw$/;

/** For ccxt's `has`: the methods of ccxt that the exchange's classes implement. */
function implementedMethods(exchange: Exchange): Dict {
  const has: Dict = {};
  for (let type = Object.getPrototypeOf(exchange); type !== Exchange.prototype; type = Object.getPrototypeOf(type))
    for (const name of Object.getOwnPropertyNames(type))
      if (UNIFIED_METHOD.test(name) && name in Exchange.prototype) has[name] = true;
  return has;
}

/** Builds URLs, signs requests, and turns refusals into ccxt's exceptions. */
export class PerpdBase extends PerpdFailover {
  override describe() {
    return this.deepExtend(super.describe(), { has: implementedMethods(this) }, DESCRIPTION);
  }

  override loadMarkets(reload = false, params: Dict = {}): ReturnType<Exchange["loadMarkets"]> {
    return forgetFailedLoad(this, () => super.loadMarkets(reload, params));
  }

  /** Only with an address of one in `urls.test`: a program that asks for a sandbox must not trade elsewhere. */
  override setSandboxMode(enabled: boolean): void {
    if (enabled && !this.urls.test) throw new NotSupported(`${this.id} has no sandbox of its own: give its hostname`);
    super.setSandboxMode(enabled);
  }

  /** Only with an address in `urls.demo`. */
  override enableDemoTrading(enable: boolean): void {
    if (enable && !this.urls.demo) throw new NotSupported(`${this.id} has no demo trading`);
    super.enableDemoTrading(enable);
  }

  override request(
    path: string,
    api = "public",
    method = "GET",
    params: Dict = {},
    headers?: Dict,
    body?: string,
    config: Dict = {},
  ) {
    return super.request(path, api, method, ownParams(params), headers, body, config);
  }

  /** A session `token` may replace key and secret. */
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
    // Two equal requests must not have the same signature.
    const timestamp = String(this.incrementingNonce());
    const signature = this.signature(timestamp + method + url.pathname + url.search + body);
    return { "X-Api-Key": this.apiKey, "X-Timestamp": timestamp, "X-Signature": signature };
  }

  protected signature(text: string): string {
    return createHmac("sha256", this.secret).update(text).digest("hex");
  }

  /** Turns truncated or corrupt responses into ccxt exceptions: programs catch only those. */
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

  /** ccxt applies `timeout` to the response headers only; the body may take minutes. */
  override undiciRequest(url: string, params: Dict): ReturnType<Exchange["undiciRequest"]> {
    return super.undiciRequest(url, { ...params, signal: AbortSignal.timeout(this.timeout) });
  }

  /**
   * Weight in tokens of 20 ms, as the exchange charges: lists and transfers cost more, cancels have a budget of their
   * own.
   */
  override calculateRateLimiterCost(_api: string, method: string, path: string, params: Dict): number {
    if (path === "orders/batch") return batchCost(params.items);
    if (method === "DELETE" || CANCELS.has(path)) return CANCEL_COST;
    if (TRANSFERS.has(path)) return TRANSFER_COST;
    return method === "GET" && PAGES.has(path) ? PAGE_COST : 1;
  }

  override nonce(): number {
    return this.milliseconds() - this.safeInteger(this.options, "timeDifference", 0);
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
    if (body?.code !== undefined) {
      const message = `${this.id} ${text}`;
      const error = notLeading(body.code, message, body.details) ?? new (errorClass(body.code, status))(message);
      throw Object.assign(error, { body });
    }
    // A proxy answered, so it is unknown whether the exchange got the request. ccxt would treat a status without an
    // exception as success.
    this.handleHttpStatusCode(status, reason, url, method, text);
    throw new BadResponse(`${this.id} the response is not from a perpd exchange: ${status} ${text}`);
  }

  /**
   * Reads rows of a list over as many pages as needed, and returns them oldest first. ccxt sorts by time and keeps the
   * order within a millisecond.
   * Without `since`: the newest rows. With `since`: the first rows from that time on.
   */
  protected async pages<Row>(
    api: "public" | "private",
    path: string,
    query: Dict,
    options: PageOptions<Row>,
  ): Promise<Row[]> {
    const { since, limit = rowsOfPagination(query, MAX_LIMIT) ?? DEFAULT_LIMIT } = options;
    const rows = (await this.readPages(api, path, query, { ...options, limit })).slice(0, limit);
    return since === undefined ? rows.reverse() : rows;
  }

  /** The rows of whole pages, at least `limit` if there are so many, in the order in which they were read. */
  protected async readPages<Row>(
    api: "public" | "private",
    path: string,
    query: Dict,
    { since, limit = DEFAULT_LIMIT, isWanted, isLast = () => false }: PageOptions<Row>,
  ): Promise<Row[]> {
    const rows: Row[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<Row> = await this.request(path, api, "GET", {
        ...query,
        // Few of a page may be wanted.
        limit: isWanted === undefined ? Math.min(limit, MAX_LIMIT) : MAX_LIMIT,
        ...(since !== undefined && { sort: "ASC" }),
        ...(cursor !== null && { cursor }),
      });
      rows.push(...(isWanted === undefined ? page.data : page.data.filter(isWanted)));
      cursor = isLast(page.data) ? null : page.nextCursor;
    } while (cursor !== null && rows.length < limit);
    return rows;
  }

  protected definedFields(fields: Dict): Dict {
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  }

  /** Renames ccxt's `since` and `params.until` to startTime and endTime; keeps the other params. */
  protected timeRange(since: number | undefined, params: Dict): Dict {
    const { until, ...rest } = params;
    return this.definedFields({ startTime: since, endTime: until, ...rest });
  }
}
