import { batch, computed, type Signal, signal } from "@preact/signals";
import type { Instrument, Ticker } from "../../client/types.ts";
import { decimalsOf } from "../text/decimal.ts";
import { Feed, publicClient } from "./connection.ts";
import { MARKET_PACE_MS, paintNext } from "./frame.ts";
import { SharedStream } from "./shared-stream.ts";

/** All markets: their limits and tickers, and which one the page shows. */

export const instruments = signal<readonly Instrument[]>([]);
/** Why the markets could not be read; the page tries again. */
export const marketsFault = signal<string | null>(null);
export const symbol = signal("");

export const instrument = computed<Instrument | null>(
  () => instruments.value.find((each) => each.symbol === symbol.value) ?? null,
);
export const priceDecimals = computed(() => decimalsOf(instrument.value?.tickSize ?? "0.1"));
export const quantityDecimals = computed(() => decimalsOf(instrument.value?.stepSize ?? "0.001"));

const tickers = new Map<string, Signal<Ticker | null>>();

export function tickerOf(name: string): Signal<Ticker | null> {
  let ticker = tickers.get(name);
  if (ticker === undefined) {
    ticker = signal<Ticker | null>(null);
    tickers.set(name, ticker);
  }
  return ticker;
}

/** Of the chosen market. */
export const ticker = computed<Ticker | null>(() => tickerOf(symbol.value).value);

export const decimalsOfMarket = (name: string): { price: number; quantity: number } => {
  const found = instruments.value.find((each) => each.symbol === name);
  return { price: decimalsOf(found?.tickSize ?? "0.1"), quantity: decimalsOf(found?.stepSize ?? "0.001") };
};

/** The name in the address bar: ?market=ETH-PERP. Null when there is none. */
const requestedMarket = (): string | null => new URLSearchParams(location.search).get("market") || null;

/** The market that the address asks for and that does not exist. */
export const unknownMarket = signal<string | null>(null);

export function chooseMarket(name: string): void {
  if (name === symbol.peek()) return;
  symbol.value = name;
  unknownMarket.value = null;
  history.replaceState(null, "", `?market=${encodeURIComponent(name)}`);
}

const RETRY_MS = 2_000;

export async function openMarkets(): Promise<void> {
  // The handshake does not wait for the markets.
  SharedStream.of(publicClient);
  try {
    const { data } = await publicClient.symbols();
    instruments.value = data;
    marketsFault.value = null;
  } catch (error) {
    marketsFault.value = (error as Error).message;
    setTimeout(openMarkets, RETRY_MS);
    return;
  }
  const names = instruments.value.map((each) => each.symbol);
  const asked = requestedMarket();
  const found = names.find((name) => name.toUpperCase() === asked?.toUpperCase());
  if (found === undefined) unknownMarket.value = asked;
  symbol.value = found ?? names[0] ?? "";
  document.title = `perpd · ${symbol.value}`;
  new Feed(publicClient, [{ channel: "symbols" }, { channel: "tickers", updateMs: 250 }], (message) => {
    if (message.channel === "tickers") {
      for (const each of message.data) newestTickers.set(each.symbol, each);
      paintNext(showTickers, MARKET_PACE_MS);
    }
    if (message.channel === "symbols") mergeInstruments(message.data);
  });
}

/** Tickers that the page does not show yet. */
const newestTickers = new Map<string, Ticker>();

/** In a frame, so that all that depends on them is drawn with the book and the trades. */
function showTickers(): void {
  batch(() => {
    for (const [name, newest] of newestTickers) tickerOf(name).value = newest;
  });
  newestTickers.clear();
}

/** Without the figures that may change with each trade, which the page takes from the tickers. */
const termsOf = (of: Instrument): string => JSON.stringify({ ...of, openInterest: 0, openingMarginRate: 0 });

/** An instrument stays the same object until its terms or its status change: then everything is computed again that uses it. */
function mergeInstruments(changed: readonly Instrument[]): void {
  const byName = new Map(changed.map((each) => [each.symbol, each]));
  instruments.value = instruments.value.map((each) => {
    const next = byName.get(each.symbol);
    return next === undefined || termsOf(next) === termsOf(each) ? each : next;
  });
}
