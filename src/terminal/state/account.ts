import { computed, effect, type Signal, signal, untracked } from "@preact/signals";
import { PerpdClient } from "../../client/client.ts";
import type { Stream } from "../../client/stream.ts";
import type { Balance, ChannelMessage, Fill, MarginCall, Order, Position } from "../../client/types.ts";
import { text } from "../text/catalogue.ts";
import { refusalText } from "../text/refusals.ts";
import { BASE_URL, Feed } from "./connection.ts";
import { tickerOf } from "./markets.ts";
import { toast } from "./toasts.ts";

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
/** Newest first. */
export const fills = signal<readonly Fill[]>([]);
/** Warnings of liquidations that are near. */
export const marginCalls = signal<readonly MarginCall[]>([]);

/** At the mark price of this moment: the stream sends a position only when it changes. */
export function pnlOf({ symbol, side, size, entryPrice, markPrice }: Position): number {
  const mark = Number(tickerOf(symbol).value?.markPrice ?? markPrice ?? 0);
  const distance = mark - Number(entryPrice ?? mark);
  return Number(size) * (side === "SHORT" ? -distance : distance);
}

/** The margin set aside for isolated positions, and the profit in it. Null without one: the balance is all there is. */
export const isolated = computed<{ readonly margin: number; readonly unrealizedPnl: number } | null>(() => {
  const own = positions.value.filter(({ isolatedMargin }) => isolatedMargin !== null);
  if (own.length === 0) return null;
  let [margin, unrealizedPnl] = [0, 0];
  for (const position of own) {
    margin += Number(position.isolatedMargin);
    unrealizedPnl += Number(position.unrealizedPnl);
  }
  return { margin, unrealizedPnl };
});

/** All that the account owns: the equity of its balance, and the margin of isolated positions. */
export const totalEquity = computed<number | null>(() =>
  balance.value === null ? null : Number(balance.value.equity) + (isolated.value?.margin ?? 0),
);

const KEPT = 500;
const feed = signal<Feed | null>(null);
/** Orders go over the same connection as the account's streams. Null without an account. */
export const accountStream = (): Stream | null => feed.peek()?.stream ?? null;
/** Whether a request would be sent now. */
export const canSend = computed(() => feed.value?.link.value === "OPEN");

type Listener = (message: ChannelMessage) => void;
const listeners = new Set<Listener>();
/** For what announces changes. Gets each message after the signals have taken it. */
export function onAccountMessage(listener: Listener): void {
  listeners.add(listener);
}

type ClosedListener = (orders: readonly Order[]) => void;
const closedListeners = new Set<ClosedListener>();
/** Orders that closed while the page was not connected. */
export function onClosedMeanwhile(listener: ClosedListener): void {
  closedListeners.add(listener);
}

const CHANNELS = ["balance", "positions", "orders", "fills", "transfers", "margin-calls"] as const;
type AccountChannel = (typeof CHANNELS)[number];
const messageCounts = Object.fromEntries(CHANNELS.map((channel) => [channel, signal(0)])) as Record<
  AccountChannel,
  Signal<number>
>;
/** How many messages have come. For what must be read again when there is another one. */
export const messagesOf = (channel: AccountChannel): number => messageCounts[channel].value;

/**
 * Forgets what belongs to one account when its session ends, also from elsewhere, or another account is signed in. The
 * account that signs in first finds what was filled in without one.
 */
export function forgetWithAccount(forget: () => void): void {
  let before: SignedIn | null = null;
  effect(() => {
    if (before !== null) untracked(forget);
    before = account.value;
  });
}

export function signIn(next: SignedIn): void {
  signOut();
  const client = new PerpdClient({ baseUrl: BASE_URL, token: next.token });
  account.value = next;
  accountClient.value = client;
  feed.value = new Feed(
    client,
    CHANNELS.map((channel) => ({ channel })),
    receive,
    {
      onError(error) {
        signOut();
        accountFault.value = refusalText(error);
        toast({ key: "sign-in", tone: "bad", title: text.signedOut, detail: accountFault.value, isLasting: true });
      },
    },
  );
}

/** Tells of orders that closed during an outage, without a message. */
async function tellClosed(vanished: ReadonlySet<string>): Promise<void> {
  const client = accountClient.peek();
  if (client === null || vanished.size === 0) return;
  try {
    const { data } = await client.orderHistory({ limit: 100 });
    if (accountClient.peek() !== client) return;
    const closed = data.filter(({ orderId }) => vanished.has(orderId));
    for (const listener of closedListeners) listener(closed);
  } catch {
    // The tables show them.
  }
}

export function signOut(): void {
  feed.peek()?.close();
  feed.value = null;
  account.value = null;
  accountClient.value = null;
  accountFault.value = null;
  balance.value = null;
  positions.value = [];
  openOrders.value = [];
  fills.value = [];
  marginCalls.value = [];
}

const OPEN: ReadonlySet<string> = new Set(["NEW", "PARTIALLY_FILLED", "UNTRIGGERED"]);
export const isOpen = ({ status }: Pick<Order, "status">): boolean => OPEN.has(status);

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
      if (isSnapshot) {
        const present = new Set(message.data.map(({ orderId }) => orderId));
        void tellClosed(new Set(openOrders.peek().flatMap(({ orderId }) => (present.has(orderId) ? [] : [orderId]))));
      }
      openOrders.value = merged(isSnapshot ? [] : openOrders.peek(), message.data, (each) => each.orderId)
        .filter(isOpen)
        .sort((a, b) => Number(b.orderId) - Number(a.orderId));
      break;
    case "fills":
      fills.value = merged(isSnapshot ? [] : fills.peek(), message.data, (each) => `${each.tradeId}${each.side}`)
        .sort((a, b) => b.sequence - a.sequence)
        .slice(0, KEPT);
      break;
    case "margin-calls":
      marginCalls.value = merged(
        isSnapshot ? [] : marginCalls.peek(),
        message.data,
        (each) => each.symbol ?? "",
      ).filter(({ active }) => active);
      break;
  }
  const counter = messageCounts[message.channel as AccountChannel];
  counter.value++;
  for (const listener of listeners) listener(message);
}

/** The rows with those of `changed` in the place of the ones with the same key. */
function merged<T>(rows: readonly T[], changed: readonly T[], keyOf: (row: T) => string): T[] {
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  for (const row of changed) byKey.set(keyOf(row), row);
  return [...byKey.values()];
}
