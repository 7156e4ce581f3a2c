import type { CreatedApiKey, Fill, LedgerEntry, NewOrder, Order, Transfer } from "../../src/client/types.ts";
import type { PrivateKey } from "../e2e/support/wallet.ts";

/** Requests and replies so far: everything that must still be true after a crash. */

export const SYMBOLS = ["BTC-PERP", "ETH-PERP", "SOL-PERP"] as const;
/** In this symbol all accounts use isolated margin. */
export const ISOLATED_SYMBOL = "ETH-PERP";
export type SymbolName = (typeof SYMBOLS)[number];
export const DEFAULT_LEVERAGE = 10;

/** ASKED: no reply, so it may have been done or not. REFUSED: nothing may exist. */
export type RequestState = "ASKED" | "ACKNOWLEDGED" | "REFUSED";

export interface OrderEntry {
  readonly body: NewOrder;
  state: RequestState;
  /** As the last reply showed it. */
  order: Order | null;
  /** Fills in the reply to the placement. */
  fills: readonly Fill[];
  /** Found closed after a crash: not read from the history again before the final check. */
  settled: boolean;
}

export interface TransferEntry {
  readonly path: "/account/deposit" | "/account/withdraw";
  readonly body: { asset: "USDC"; amount: string; reference: string; address?: string };
  state: RequestState;
  transfer: Transfer | null;
}

/** ENDING: its end was requested, without a reply. */
export type Lifecycle = "LIVE" | "ENDING" | "ENDED";

export interface KeyEntry {
  /** null: the reply with the secret was lost. */
  readonly secret: string | null;
  life: Lifecycle;
}

/** Everything that one account has done. */
export class AccountModel {
  readonly privateKey: PrivateKey;
  readonly accountId: string;
  /** The main session, which is never ended. */
  readonly token: string;
  readonly sessions = new Map<string, Lifecycle>();
  readonly keys = new Map<string, KeyEntry>();
  /** Requests for keys without a reply: at most so many unknown keys may appear. */
  keysAsked = 0;
  /** By client order id. */
  readonly orders = new Map<string, OrderEntry>();
  /** Orders that close a position have no client order id: the known ones, and the number of unanswered requests. */
  readonly closings = new Map<string, Order>();
  closingsAsked = 0;
  /** By path and reference. */
  readonly transfers = new Map<string, TransferEntry>();
  /** The acknowledged leverage, and unanswered requests since then, each of which may have been applied. */
  readonly leverage = new Map<SymbolName, { known: number; asked: number[] }>();
  /** Every fill seen so far, by trade id. */
  readonly fills = new Map<string, Fill>();
  /** Ledger entries by entryId. */
  readonly entries = new Map<string, LedgerEntry>();

  constructor(privateKey: PrivateKey, accountId: string, token: string) {
    this.privateKey = privateKey;
    this.accountId = accountId;
    this.token = token;
    for (const symbol of SYMBOLS) this.leverage.set(symbol, { known: DEFAULT_LEVERAGE, asked: [] });
  }

  openOrderIds(): string[] {
    const open: string[] = [];
    for (const [id, { state, order }] of this.orders)
      if (state === "ACKNOWLEDGED" && order !== null && isOpen(order)) open.push(id);
    return open;
  }

  addKey({ apiKey, secret }: CreatedApiKey): void {
    this.keys.set(apiKey, { secret, life: "LIVE" });
  }
}

export const isOpen = (order: Order): boolean => order.status === "NEW" || order.status === "PARTIALLY_FILLED";

export const transferKey = (path: string, reference: string): string => `${path} ${reference}`;

/** Stores an order unless a newer version is known. */
export function updateOrder(entry: { order: Order | null }, order: Order): void {
  if (entry.order === null || order.sequence >= entry.order.sequence) entry.order = order;
}

/** All faults found, by kind. */
export class Findings {
  /** Acknowledged, but missing or different now. */
  readonly lost: string[] = [];
  /** Present without a request, or twice. */
  readonly invented: string[] = [];
  /** Money or positions do not add up. */
  readonly unbalanced: string[] = [];
  /** Any other fault, such as a 500 or a server that does not start. */
  readonly other: string[] = [];

  get all(): string[] {
    return [
      ...this.lost.map((text) => `lost: ${text}`),
      ...this.invented.map((text) => `invented: ${text}`),
      ...this.unbalanced.map((text) => `unbalanced: ${text}`),
      ...this.other,
    ];
  }
}
