import { computed, signal } from "@preact/signals";
import { PerpdClient } from "../../client/client.ts";
import type { Stream } from "../../client/stream.ts";
import type { Balance, ChannelMessage, Fill, Order, Position, Transfer } from "../../client/types.ts";
import { BASE_URL, Feed } from "./connection.ts";
import { tickerOf } from "./markets.ts";

/** The account that is signed in: its balance, positions, orders and fills as its streams tell them. */

export interface SignedIn {
  readonly token: string;
  readonly accountId: string;
  readonly address: string;
  /** DEMO: the page made the account's key. WALLET: a wallet signed. */
  readonly kind: "DEMO" | "WALLET";
  readonly expiresAt: number;
  /** The wallet's personal_sign, for requests that the exchange has the wallet approve. */
  readonly sign: (message: string) => Promise<string>;
}

export const account = signal<SignedIn | null>(null);
/** The client with the account's token. Null without an account. */
export const accountClient = signal<PerpdClient | null>(null);
/** Why the account's streams ended. */
export const accountFault = signal<string | null>(null);

export const balance = signal<Balance | null>(null);
export const positions = signal<readonly Position[]>([]);
/** Newest first. */
export const openOrders = signal<readonly Order[]>([]);
/** Closed orders, the last closed first. */
export const closedOrders = signal<readonly Order[]>([]);
/** Newest first. */
export const fills = signal<readonly Fill[]>([]);
export const transfers = signal<readonly Transfer[]>([]);

/** In the order of the positions, at the present mark price. */
export const unrealizedPnl = computed(() => {
  let sum = 0;
  for (const position of positions.value) sum += pnlOf(position);
  return sum;
});

/** At the mark price of this moment: the stream sends a position only when it changes. */
export function pnlOf({ symbol, side, size, entryPrice, markPrice }: Position): number {
  const mark = Number(tickerOf(symbol).value?.markPrice ?? markPrice ?? 0);
  const distance = mark - Number(entryPrice ?? mark);
  return Number(size) * (side === "SHORT" ? -distance : distance);
}

/** With the profit and loss at the present marks. Isolated positions have their own margin. */
export const equity = computed<number | null>(() => {
  if (balance.value === null) return null;
  let sum = Number(balance.value.walletBalance);
  for (const position of positions.value) if (position.marginMode === "CROSS") sum += pnlOf(position);
  return sum;
});

const KEPT = 500;
let feed: Feed | null = null;
/** Orders go over the same connection as the account's streams. Null without an account. */
export const accountStream = (): Stream | null => feed?.stream ?? null;

type Listener = (message: ChannelMessage) => void;
const listeners = new Set<Listener>();
/** For what announces changes. Gets each message after the signals have taken it. */
export function onAccountMessage(listener: Listener): void {
  listeners.add(listener);
}

const CHANNELS = ["balance", "positions", "orders", "fills", "transfers", "margin-calls"] as const;

export function signIn(next: SignedIn): void {
  signOut();
  const client = new PerpdClient({ baseUrl: BASE_URL, token: next.token });
  account.value = next;
  accountClient.value = client;
  feed = new Feed(
    client,
    CHANNELS.map((channel) => ({ channel })),
    receive,
    (error) => {
      signOut();
      accountFault.value = error.message;
    },
  );
  client
    .orderHistory({ limit: 100 })
    .then(({ data }) => {
      if (accountClient.peek() === client) mergeClosed(data);
    })
    .catch(() => {});
}

export function signOut(): void {
  feed?.close();
  feed = null;
  account.value = null;
  accountClient.value = null;
  accountFault.value = null;
  balance.value = null;
  positions.value = [];
  openOrders.value = [];
  closedOrders.value = [];
  fills.value = [];
  transfers.value = [];
}

const OPEN: ReadonlySet<string> = new Set(["NEW", "PARTIALLY_FILLED", "UNTRIGGERED"]);
export const isOpen = ({ status }: Order): boolean => OPEN.has(status);

function receive(message: ChannelMessage): void {
  const isSnapshot = message.type === "SNAPSHOT";
  switch (message.channel) {
    case "balance":
      balance.value = message.data;
      break;
    case "positions":
      positions.value = merged(isSnapshot ? [] : positions.peek(), message.data, (each) => each.symbol)
        .filter(({ size }) => Number(size) !== 0)
        .sort((a, b) => a.symbol.localeCompare(b.symbol));
      break;
    case "orders":
      openOrders.value = merged(isSnapshot ? [] : openOrders.peek(), message.data, (each) => each.orderId)
        .filter(isOpen)
        .sort((a, b) => Number(b.orderId) - Number(a.orderId));
      mergeClosed(message.data.filter((each) => !isOpen(each)));
      break;
    case "fills":
      fills.value = merged(isSnapshot ? [] : fills.peek(), message.data, (each) => `${each.tradeId}${each.side}`)
        .sort((a, b) => b.sequence - a.sequence)
        .slice(0, KEPT);
      break;
    case "transfers":
      transfers.value = merged(isSnapshot ? [] : transfers.peek(), message.data, (each) => each.transferId)
        .sort((a, b) => b.createdAt - a.createdAt)
        .slice(0, KEPT);
      break;
  }
  for (const listener of listeners) listener(message);
}

function mergeClosed(orders: readonly Order[]): void {
  if (orders.length === 0) return;
  closedOrders.value = merged(closedOrders.peek(), orders, (each) => each.orderId)
    .sort((a, b) => b.updatedAt - a.updatedAt)
    .slice(0, KEPT);
}

/** The rows with those of `changed` in the place of the ones with the same key. */
function merged<T>(rows: readonly T[], changed: readonly T[], keyOf: (row: T) => string): T[] {
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  for (const row of changed) byKey.set(keyOf(row), row);
  return [...byKey.values()];
}
