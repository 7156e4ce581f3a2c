import type { CreatedApiKey, Fill, LedgerEntry, NewOrder, Order, Transfer } from "../../src/client/types.ts";
import type { PrivateKey } from "../e2e/support/wallet.ts";

/** What was asked of the exchange, and what it said: everything that must still be true after a crash. */

export const SYMBOLS = ["BTC-PERP", "ETH-PERP", "SOL-PERP"] as const;
/** In this one every account's position is isolated. */
export const ISOLATED_SYMBOL = "ETH-PERP";
export type SymbolName = (typeof SYMBOLS)[number];
export const DEFAULT_LEVERAGE = 10;

/** ASKED: no answer came, so either may be true. REFUSED: nothing was done, and nothing may be there. */
export type RequestState = "ASKED" | "ACKNOWLEDGED" | "REFUSED";

export interface OrderEntry {
  readonly body: NewOrder;
  state: RequestState;
  /** As it was last shown. */
  order: Order | null;
  /** What the answer to its placement said had traded at once. */
  fills: readonly Fill[];
  /** It has been found closed after a crash: the history must not be asked for it again before the end. */
  settled: boolean;
}

export interface TransferEntry {
  readonly path: "/account/deposit" | "/account/withdraw";
  readonly body: { asset: "USDC"; amount: string; reference: string; address?: string };
  state: RequestState;
  transfer: Transfer | null;
}

/** ENDING: it was asked to end, and no answer came. */
export type Lifecycle = "LIVE" | "ENDING" | "ENDED";

export interface KeyEntry {
  /** null: the answer that told it was lost. */
  readonly secret: string | null;
  life: Lifecycle;
}

/** All that one account has done. */
export class AccountModel {
  readonly privateKey: PrivateKey;
  readonly accountId: string;
  /** The session that is never ended. */
  readonly token: string;
  readonly sessions = new Map<string, Lifecycle>();
  readonly keys = new Map<string, KeyEntry>();
  /** Keys that were asked for without an answer: as many may appear. */
  keysAsked = 0;
  /** By client order id. */
  readonly orders = new Map<string, OrderEntry>();
  /** Orders that closed a position have no client order id: those that were told of, and how many were asked for. */
  readonly closings = new Map<string, Order>();
  closingsAsked = 0;
  /** By path and reference. */
  readonly transfers = new Map<string, TransferEntry>();
  /** What was acknowledged last, and all that was asked for since without an answer: it may have been the first of them. */
  readonly leverage = new Map<SymbolName, { known: number; asked: number[] }>();
  /** Every fill that was ever listed, by trade. */
  readonly fills = new Map<string, Fill>();
  /** What changed its money, by entryId. */
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

/** Takes in what an answer showed, unless something newer is known. */
export function updateOrder(entry: { order: Order | null }, order: Order): void {
  if (entry.order === null || order.sequence >= entry.order.sequence) entry.order = order;
}

/** Everything that was found wrong, by what it means. */
export class Findings {
  /** It was acknowledged, and is not there any more, or not as it was. */
  readonly lost: string[] = [];
  /** It is there, but nobody asked for it, or twice. */
  readonly invented: string[] = [];
  /** Money or positions do not add up. */
  readonly unbalanced: string[] = [];
  /** Anything else that must not happen: a 500, a server that does not start. */
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
