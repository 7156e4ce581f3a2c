import { effect, signal } from "@preact/signals";
import { LocalOrderBook } from "../../client/order-book.ts";
import type { PublicTrade } from "../../client/types.ts";
import { Feed, publicClient } from "./connection.ts";
import { symbol } from "./markets.ts";

/** The order book and the trades of the chosen market. Plain data: whoever shows it asks for a frame. */

const BOOK_DEPTH = 500;
const BOOK_PACE_MS = 100;
const TRADES_KEPT = 200;

export const book = new LocalOrderBook();
/** Newest first. */
export const trades: PublicTrade[] = [];

/** Whether the book's sequence and checksum agree with the exchange. */
export const isBookVerified = signal(false);
/** How often the book was repaired since the page was opened. */
export const bookRepairs = signal(0);

type Listener = () => void;
const bookListeners = new Set<Listener>();
const tradeListeners = new Set<Listener>();

/** Each returns a function that ends the subscription. */
export function onBook(listener: Listener): () => void {
  bookListeners.add(listener);
  return () => bookListeners.delete(listener);
}
export function onTrades(listener: Listener): () => void {
  tradeListeners.add(listener);
  return () => tradeListeners.delete(listener);
}

const tell = (listeners: Set<Listener>): void => {
  for (const listener of listeners) listener();
};

function clear(): void {
  book.bids.length = 0;
  book.asks.length = 0;
  trades.length = 0;
  isBookVerified.value = false;
  tell(bookListeners);
  tell(tradeListeners);
}

/** Follows the chosen market. Call once. */
export function openMarketFeed(): void {
  effect(() => {
    const name = symbol.value;
    if (name === "") return;
    clear();
    const channels = [
      { channel: "orderbook", symbol: name, depth: BOOK_DEPTH, updateMs: BOOK_PACE_MS },
      { channel: "trades", symbol: name },
    ] as const;
    const feed: Feed = new Feed(publicClient, [...channels], (message) => {
      if (message.channel === "orderbook") {
        const isRight = book.apply(message);
        isBookVerified.value = isRight;
        if (!isRight) {
          bookRepairs.value++;
          feed.resync(message);
        }
        tell(bookListeners);
      } else if (message.channel === "trades") {
        if (message.type === "SNAPSHOT") trades.length = 0;
        for (const trade of message.data) trades.unshift(trade);
        if (trades.length > TRADES_KEPT) trades.length = TRADES_KEPT;
        tell(tradeListeners);
      }
    });
    return () => feed.close();
  });
}
