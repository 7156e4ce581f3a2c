import { computed, effect, signal } from "@preact/signals";
import { LocalOrderBook } from "../../client/order-book.ts";
import type { ChannelMessage } from "../../client/types.ts";
import { Feed, publicClient } from "./connection.ts";
import { symbol } from "./markets.ts";
import { settings } from "./settings.ts";
import { Tape } from "./tape.ts";

/** The order book and the trades of the chosen market. Plain data: whoever shows it asks for a frame. */

const BOOK_DEPTH = 500;
const PACE_MS = 100;
const MOST_TRADES_READ = 1000;
const REPAIR_AGAIN_MS = 1_000;

export const book = new LocalOrderBook();
/** Trades of the chosen market, and liquidations of all markets. Each has a smallest size in the settings. */
export const trades = new Tape();
export const liquidations = new Tape();

/** Whether the book's sequence and checksum agree with the exchange. */
export const isBookVerified = signal(false);
/** How often the book was repaired since the page was opened. */
export const bookRepairs = signal(0);

type Listener = () => void;
const bookListeners = new Set<Listener>();
const tradeListeners = new Set<Listener>();
const liquidationListeners = new Set<Listener>();

/** Each returns a function that ends the subscription. */
export function onBook(listener: Listener): () => void {
  bookListeners.add(listener);
  return () => bookListeners.delete(listener);
}
export function onTrades(listener: Listener): () => void {
  tradeListeners.add(listener);
  return () => tradeListeners.delete(listener);
}

/** Follows the liquidations while somebody shows them. */
export function onLiquidations(listener: Listener): () => void {
  liquidationListeners.add(listener);
  if (liquidationListeners.size === 1) closeLiquidations = openLiquidations();
  return () => {
    liquidationListeners.delete(listener);
    if (liquidationListeners.size === 0) closeLiquidations();
  };
}

const tell = (listeners: Set<Listener>): void => {
  for (const listener of listeners) listener();
};

function clear(): void {
  book.bids.length = 0;
  book.asks.length = 0;
  trades.clear();
  isBookVerified.value = false;
  tell(bookListeners);
  tell(tradeListeners);
}

const smallestTrade = computed(() => settings.value.tradesFrom);
const smallestLiquidation = computed(() => settings.value.liquidationsFrom);

let closeLiquidations = (): void => {};

/** A snapshot has the last ones, so a new smallest size begins with another one. */
const openLiquidations = (): (() => void) =>
  effect(() => {
    const smallest = smallestLiquidation.value;
    liquidations.clear();
    tell(liquidationListeners);
    const onMessage = (message: ChannelMessage): void => {
      if (message.channel !== "liquidations") return;
      liquidations.add(message.data, smallest);
      tell(liquidationListeners);
    };
    const feed = new Feed(publicClient, [{ channel: "liquidations" }], onMessage, { isAuxiliary: true });
    return () => feed.close();
  });

let smallestBefore = 0;

/** Trades below the smallest size are not kept: after a change the last ones are read again. */
function readTrades(): void {
  const name = symbol.value;
  const smallest = smallestTrade.value;
  // The stream's snapshot has the last trades of any size.
  const isInSnapshot = smallest === 0 && smallestBefore === 0;
  smallestBefore = smallest;
  trades.keep(smallest);
  tell(tradeListeners);
  if (name === "" || isInSnapshot) return;
  publicClient
    .publicTrades(name, { limit: MOST_TRADES_READ })
    .then(({ data }) => {
      if (symbol.peek() !== name || smallestTrade.peek() !== smallest) return;
      trades.add(data.reverse(), smallest);
      tell(tradeListeners);
    })
    .catch(() => {});
}

/** Follows the chosen market. Call once. */
export function openMarketFeed(): void {
  effect(() => {
    const name = symbol.value;
    if (name === "") return;
    clear();
    const channels = [
      { channel: "orderbook", symbol: name, depth: BOOK_DEPTH, updateMs: PACE_MS },
      { channel: "trades", symbol: name, updateMs: PACE_MS },
    ] as const;
    let repair: number | undefined;
    /** After its last message. */
    let isRight = false;
    const onMessage = (message: ChannelMessage): void => {
      if (message.channel === "orderbook") {
        isRight = book.apply(message);
        isBookVerified.value = isRight;
        if (!isRight) {
          bookRepairs.value++;
          // A snapshot that is wrong, too, must not be asked for in a circle.
          const wait = message.type === "SNAPSHOT" ? REPAIR_AGAIN_MS : 0;
          clearTimeout(repair);
          repair = window.setTimeout(() => feed.stream.resync(message), wait);
        }
        tell(bookListeners);
      } else if (message.channel === "trades") {
        trades.add(message.data, smallestTrade.peek());
        tell(tradeListeners);
      }
    };
    const feed = new Feed(publicClient, [...channels], onMessage, {
      onHeartbeat({ channel }) {
        if (channel === "orderbook") isBookVerified.value = isRight;
      },
      onGap({ channel }) {
        if (channel !== "orderbook") return;
        bookRepairs.value++;
        isBookVerified.value = false;
      },
      onDisconnect() {
        isBookVerified.value = false;
      },
    });
    return () => {
      clearTimeout(repair);
      feed.close();
    };
  });
  effect(readTrades);
}
