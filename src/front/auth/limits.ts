import { isIP, isIPv6 } from "node:net";
import { MAX_BATCH_ITEMS } from "../../wire/schema/batch.ts";
import { Buckets, type Quota } from "../common/buckets.ts";
import { ApiError } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import { networkOf } from "../http/addresses.ts";
import { LARGE_BODY_BYTES } from "../http/request-body.ts";

/**
 * ORDER: placing and changing orders. CANCEL: canceling orders and closing positions, which a client must be able to do
 * when the other budgets are empty. REQUEST: everything else.
 */
type Budget = "ORDER" | "CANCEL" | "REQUEST";
type Scope = "IP" | "ACCOUNT" | "KEY";

/** The tokens of a budget that a request takes from each of its address, its account and its API key. */
export interface Cost {
  readonly budget: Budget;
  readonly weight: number;
}

/** Of a route that declares no cost. */
export const DEFAULT_COST: Cost = { budget: "REQUEST", weight: 1 };
export const ORDER_COST: Cost = { budget: "ORDER", weight: 1 };
export const CANCEL_COST: Cost = { budget: "CANCEL", weight: 1 };
/** For requests that read a page of the database or build a long answer. */
export const PAGE_COST: Cost = { budget: "REQUEST", weight: 5 };
/** For requests that take milliseconds of CPU time. */
export const CPU_COST: Cost = { budget: "REQUEST", weight: 20 };
/** For requests that create something that is kept forever, also in memory. */
export const KEEPING_COST: Cost = { budget: "REQUEST", weight: 20 };

/** A token for each item of a batch, from CANCEL if all items cancel. `batch`: the body, which may not be checked yet. */
export function batchCost(batch: unknown): Cost {
  const { items } = Object(batch) as { items?: unknown };
  if (!Array.isArray(items) || items.length === 0) return ORDER_COST;
  const isCancel = (item: unknown): boolean => (Object(item) as { action?: unknown }).action === "CANCEL";
  const { budget } = items.every(isCancel) ? CANCEL_COST : ORDER_COST;
  return { budget, weight: Math.min(items.length, MAX_BATCH_ITEMS) };
}

/** Of a body or message of more than LARGE_BODY_BYTES. It is paid before that is parsed, beside the other cost. */
export const sizeCost = (bytes: number): Cost => ({ budget: "REQUEST", weight: Math.ceil(bytes / LARGE_BODY_BYTES) });

/** A WebSocket that sends more is closed. Trading requests do not count: they are paid from their own budgets. */
export const SOCKET_MESSAGES_PER_SECOND = 50;

/** See config/settings.ts. */
export interface LimitSettings {
  rateLimit: "on" | "off" | "remote";
  /** The address that the server listens on. */
  host: string;
  /** The proxies that say who their clients are. */
  trustedProxies: readonly string[];
  /** Tokens per second that an account gets in each budget. */
  orderRate: number;
  cancelRate: number;
  requestRate: number;
  /** Seconds: a bucket holds the tokens of this time. */
  rateBurst: number;
  maxSocketsPerAddress: number;
  /** Accounts that an address may open per hour, and at once. */
  accountRate: number;
}

/** An address may serve several accounts, so it gets a multiple of an account's budget. */
const IP_SHARE = 4;
/** An API key gets a part of its account's budget, so a program that runs wild leaves room for the others. */
const KEY_SHARE = 0.5;

const HOUR_S = 3600;

type Table = Record<Budget, Buckets>;

/** Rate limits: token buckets for each address, account and API key. No client is ever banned. */
export class Limits {
  private readonly exemptLoopback: boolean;
  private readonly tables: Record<Scope, Table>;
  /** Buckets for opening accounts. */
  private readonly openings: Buckets;
  private readonly maxSocketsPerAddress: number;
  /** Number of open sockets, by network. */
  private readonly sockets = new Map<string, number>();
  // Of the buckets that the present request has paid from, the one nearest to empty. Kept here so that no request costs an object.
  private tightest: Buckets | null = null;
  private tightestLeft = 0;

  private constructor(settings: LimitSettings) {
    this.exemptLoopback = settings.rateLimit === "remote";
    this.maxSocketsPerAddress = settings.maxSocketsPerAddress;
    const { rateBurst } = settings;
    const perSecond = { ORDER: settings.orderRate, CANCEL: settings.cancelRate, REQUEST: settings.requestRate };
    const buckets = (rate: number) => new Buckets(rate, Math.max(1, Math.floor(rate * rateBurst)));
    const table = (share: number): Table => ({
      ORDER: buckets(perSecond.ORDER * share),
      CANCEL: buckets(perSecond.CANCEL * share),
      REQUEST: buckets(perSecond.REQUEST * share),
    });
    this.tables = { IP: table(IP_SHARE), ACCOUNT: table(1), KEY: table(KEY_SHARE) };
    this.openings = new Buckets(settings.accountRate / HOUR_S, settings.accountRate);
  }

  /** Null when no client that can reach the server is limited. */
  static open(settings: LimitSettings): Limits | null {
    if (settings.rateLimit === "off") return null;
    const { rateLimit, host, trustedProxies } = settings;
    // Clients from outside come through a proxy.
    if (rateLimit === "remote" && isLoopback(host) && trustedProxies.length === 0) return null;
    return new Limits(settings);
  }

  /** Whether clients at this address are limited. */
  covers(address: string): boolean {
    return !(this.exemptLoopback && isLoopback(address));
  }

  /** Call it first, before the client is known. `now`: by performance.now(), which nobody sets. Throws RATE_LIMITED. */
  payByAddress(address: string, cost: Cost, now: number): void {
    this.tightest = null;
    this.take("IP", networkOf(address), cost, now);
  }

  /**
   * Call it after payByAddress(). The API key pays before the account, so that a refused key takes nothing from its account.
   * Tokens paid before a refusal are gone. Throws RATE_LIMITED.
   */
  payByPrincipal(principal: Pick<Principal, "accountId" | "credential" | "record">, cost: Cost, now: number): void {
    if (principal.record !== null) this.take("KEY", principal.credential, cost, now);
    this.take("ACCOUNT", principal.accountId, cost, now);
  }

  /** Call it before an account is opened: accounts are never closed, and their number is limited. Throws RATE_LIMITED. */
  payForAccount(address: string, now: number): void {
    if (!this.covers(address)) return;
    const left = this.openings.take(siteOf(address), 1, now);
    if (left < 0) throw rateLimited("IP", { budget: "ACCOUNT", weight: 1 }, this.openings, left);
  }

  /** Call it before a handshake, which costs as much as a request. Throws TOO_MANY_SOCKETS or RATE_LIMITED. */
  admitSocket(address: string, now: number): void {
    if (!this.covers(address)) return;
    const limit = this.maxSocketsPerAddress;
    if ((this.sockets.get(networkOf(address)) ?? 0) >= limit)
      throw new ApiError("TOO_MANY_SOCKETS", { details: { scope: "IP", limit } });
    this.payByAddress(address, DEFAULT_COST, now);
  }

  socketOpened(address: string): void {
    const network = networkOf(address);
    this.sockets.set(network, (this.sockets.get(network) ?? 0) + 1);
  }

  socketClosed(address: string): void {
    const network = networkOf(address);
    const left = (this.sockets.get(network) ?? 0) - 1;
    if (left > 0) this.sockets.set(network, left);
    else this.sockets.delete(network);
  }

  /** The emptiest bucket of the last request that paid. */
  quota(): Quota {
    const { tightest, tightestLeft } = this;
    if (tightest === null) throw new Error("quota() before a payment");
    return {
      limit: tightest.capacity,
      remaining: Math.floor(tightestLeft),
      resetMs: Math.ceil((tightest.capacity - tightestLeft) / tightest.perMs),
    };
  }

  private take(scope: Scope, name: number | string, cost: Cost, now: number): void {
    const buckets = this.tables[scope][cost.budget];
    const left = buckets.take(name, cost.weight, now);
    // A refusal takes nothing, so that bucket still holds what it held. It is shown, since it is the one that refused.
    const held = left < 0 ? left + Math.min(cost.weight, buckets.capacity) : left;
    if (left < 0 || this.tightest === null || held / buckets.capacity < this.tightestLeft / this.tightest.capacity) {
      this.tightest = buckets;
      this.tightestLeft = held;
    }
    if (left < 0) throw rateLimited(scope, cost, buckets, left);
  }
}

/** The refusal of a request that found `left` tokens, a negative number. */
export function rateLimited(
  scope: Scope,
  { budget, weight }: { budget: Budget | "ACCOUNT" | "OPERATOR"; weight: number },
  { capacity, perMs }: Buckets,
  left: number,
): ApiError {
  const retryAfterMs = Math.ceil(-left / perMs);
  return new ApiError("RATE_LIMITED", { details: { scope, budget, weight, limit: capacity, retryAfterMs } });
}

/** 127.0.0.0/8, ::1 and localhost, in any spelling that sockets or settings use. */
export function isLoopback(address: string): boolean {
  if (address === "localhost" || address === "::1" || address === "0000:0000:0000:0000:0000:0000:0000:0001")
    return true;
  return address.startsWith("127.") && isIP(address) === 4;
}

/** A site easily gets a /48, which is 2^16 such networks. */
const siteOf = (address: string): string => (isIPv6(address) ? address.slice(0, 14) : address);
