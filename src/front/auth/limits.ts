import { isIP, isIPv6 } from "node:net";
import { MAX_BATCH_ITEMS } from "../../wire/schema/batch.ts";
import { Buckets, type Quota } from "../common/buckets.ts";
import { ApiError } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";

/**
 * What a request is paid from. ORDER: placing and changing orders. CANCEL: canceling orders and closing positions, so
 * that whoever has spent everything else can still get out. REQUEST: everything else.
 */
type Budget = "ORDER" | "CANCEL" | "REQUEST";
type Scope = "IP" | "ACCOUNT" | "KEY";

/** What a request costs: so many tokens of this budget, from the address, the account and the API key each. */
export interface Cost {
  readonly budget: Budget;
  readonly weight: number;
}

/** Unless a route says otherwise. */
export const DEFAULT_COST: Cost = { budget: "REQUEST", weight: 1 };
export const ORDER_COST: Cost = { budget: "ORDER", weight: 1 };
export const CANCEL_COST: Cost = { budget: "CANCEL", weight: 1 };
/** Reads a page of the database, or puts together something long. */
export const PAGE_COST: Cost = { budget: "REQUEST", weight: 5 };
/** Takes milliseconds of a processor. */
export const SIGNATURE_COST: Cost = { budget: "REQUEST", weight: 20 };
/** Makes what is kept for good, in memory too: nobody needs very many. */
export const KEEPING_COST: Cost = { budget: "REQUEST", weight: 20 };

/** A token for each item of a batch: from CANCEL if it only cancels. `batch`: as a client sends it, checked or not. */
export function batchCost(batch: unknown): Cost {
  const { items } = Object(batch) as { items?: unknown };
  if (!Array.isArray(items) || items.length === 0) return ORDER_COST;
  const isCancel = (item: unknown): boolean => (Object(item) as { action?: unknown }).action === "CANCEL";
  const { budget } = items.every(isCancel) ? CANCEL_COST : ORDER_COST;
  return { budget, weight: Math.min(items.length, MAX_BATCH_ITEMS) };
}

/** A WebSocket that sends more messages than this, beside trading requests that are paid for, is closed. */
export const SOCKET_MESSAGES_PER_SECOND = 50;

/** See config/settings.ts. */
export interface LimitSettings {
  rateLimit: "on" | "off" | "remote";
  /** The address that the server listens on. */
  host: string;
  /** Tokens per second of an account, of each budget. */
  orderRate: number;
  cancelRate: number;
  requestRate: number;
  /** So many seconds' worth may be spent at once. */
  rateBurst: number;
  maxSocketsPerAddress: number;
  /** Accounts per hour and address; so many may be opened at once. */
  accountRate: number;
}

/** An address may serve several accounts. */
const IP_SHARE = 4;
/** An API key gets a part of its account's budget: a program that runs wild leaves room for the others. */
const KEY_SHARE = 0.5;

const HOUR_S = 3600;

type Table = Record<Budget, Buckets>;

/** Rate limits: token buckets for each address, account and API key. Nobody is ever banned. */
export class Limits {
  private readonly exemptLoopback: boolean;
  private readonly tables: Record<Scope, Table>;
  /** Of accounts that are opened. */
  private readonly openings: Buckets;
  private readonly maxSocketsPerAddress: number;
  /** Open ones, by network. */
  private readonly sockets = new Map<string, number>();
  // The request that is being paid for, and what it has found so far: one at a time, so that none costs an object.
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

  /** Null when nobody that the server can be reached by is limited. */
  static open(settings: LimitSettings): Limits | null {
    if (settings.rateLimit === "off") return null;
    if (settings.rateLimit === "remote" && isLoopback(settings.host)) return null;
    return new Limits(settings);
  }

  /** Whether clients at this address are limited. */
  covers(address: string): boolean {
    return !(this.exemptLoopback && isLoopback(address));
  }

  /** First, before it is known who asks, the address pays. `now`: by a clock that nobody sets. Throws RATE_LIMITED. */
  payByAddress(address: string, cost: Cost, now: number): void {
    this.tightest = null;
    this.take("IP", networkOf(address), cost, now);
  }

  /**
   * Then the API key, where it is one, and the account; what was paid before is gone. The key first: what it is refused
   * must take nothing from the others of its account. Throws RATE_LIMITED.
   */
  payByPrincipal(principal: Pick<Principal, "accountId" | "credential" | "record">, cost: Cost, now: number): void {
    if (principal.record !== null) this.take("KEY", principal.credential, cost, now);
    this.take("ACCOUNT", principal.accountId, cost, now);
  }

  /** Before an account is opened: none is ever closed, and there is room for so many. Throws RATE_LIMITED. */
  payForAccount(address: string, now: number): void {
    if (!this.covers(address)) return;
    const left = this.openings.take(siteOf(address), 1, now);
    if (left < 0) throw rateLimited("IP", { budget: "ACCOUNT", weight: 1 }, this.openings, left);
  }

  /** Before a handshake, which is a request like others. Throws TOO_MANY_SOCKETS or RATE_LIMITED. */
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

  /** What the last request that paid has left. */
  quota(): Quota {
    const { tightest, tightestLeft } = this;
    if (tightest === null) throw new Error("nobody has paid");
    const remaining = Math.max(0, tightestLeft);
    return {
      limit: tightest.capacity,
      remaining: Math.floor(remaining),
      resetMs: Math.ceil((tightest.capacity - remaining) / tightest.perMs),
    };
  }

  private take(scope: Scope, name: number | string, cost: Cost, now: number): void {
    const buckets = this.tables[scope][cost.budget];
    const left = buckets.take(name, cost.weight, now);
    if (this.tightest === null || left / buckets.capacity < this.tightestLeft / this.tightest.capacity) {
      this.tightest = buckets;
      this.tightestLeft = left;
    }
    if (left < 0) throw rateLimited(scope, cost, buckets, left);
  }
}

function rateLimited(
  scope: Scope,
  { budget, weight }: { budget: Budget | "ACCOUNT"; weight: number },
  { capacity, perMs }: Buckets,
  left: number,
): ApiError {
  const retryAfterMs = Math.ceil(-left / perMs);
  return new ApiError("RATE_LIMITED", { details: { scope, budget, weight, limit: capacity, retryAfterMs } });
}

/** This machine: 127.0.0.0/8 and ::1, in any spelling that sockets or settings use. */
export function isLoopback(address: string): boolean {
  if (address === "localhost" || address === "::1" || address === "0000:0000:0000:0000:0000:0000:0000:0001")
    return true;
  return address.startsWith("127.") && isIP(address) === 4;
}

/** Whoever has one IPv6 address has 2^64 of them: the network pays. Addresses come with all their digits. */
const networkOf = (address: string): string => (isIPv6(address) ? address.slice(0, 19) : address);

/** A site is given 2^16 such networks for the asking. */
const siteOf = (address: string): string => (isIPv6(address) ? address.slice(0, 14) : address);
