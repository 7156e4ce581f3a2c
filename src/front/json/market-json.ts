import { crc32 } from "node:zlib";
import { EXEC_TYPES, SIDES } from "../../core/base/enums.ts";
import type { PriceTicks, QuantityLots } from "../../core/base/units.ts";
import type { PublicTrade } from "../../core/market-data/public-trades.ts";
import { type Instrument, printPrice, printQuantity } from "../../core/protocol/instrument.ts";

/** How many of the best levels of each side the checksum of a book covers. */
export const CHECKSUM_LEVELS = 25;

/** More texts than this are thrown away together: a book that wanders must not fill the memory. */
const MAX_CACHED_LEVELS = 8192;

/** A price level as it is printed. */
export interface LevelText {
  readonly tick: PriceTicks;
  readonly lots: QuantityLots;
  readonly price: string;
  readonly quantity: string;
  /** `["65000.5","1.2"]` */
  readonly json: string;
}

/** Prints price levels of one instrument, and remembers them: most levels of a book stay as they are between two looks. */
export class LevelPrinter {
  private readonly texts = new Map<PriceTicks, LevelText>();
  private readonly instrument: Instrument;

  constructor(instrument: Instrument) {
    this.instrument = instrument;
  }

  print(tick: PriceTicks, lots: QuantityLots): LevelText {
    const known = this.texts.get(tick);
    if (known?.lots === lots) return known;
    const price = known?.price ?? printPrice(this.instrument, tick);
    const quantity = printQuantity(this.instrument, lots);
    const text = { tick, lots, price, quantity, json: `["${price}","${quantity}"]` };
    if (this.texts.size >= MAX_CACHED_LEVELS) this.texts.clear();
    this.texts.set(tick, text);
    return text;
  }
}

export const levelsJson = (levels: readonly LevelText[]): string => `[${levels.map((level) => level.json).join(",")}]`;

/**
 * Tells a client whether the book it has put together is ours: the CRC-32 (that of zlib) of the best 25 levels of each
 * side, or of all that a shallower book shows, taken in turns, best bid first: `bidPrice:bidQuantity:askPrice:askQuantity:…`
 * as they are printed. When one side has fewer levels, the rest of the other stands alone.
 *
 * bids 65000.5 × 1.2 and 65000 × 3, asks 65001 × 0.5 → "65000.5:1.2:65001:0.5:65000:3" → 842467022
 */
export function bookChecksum(bids: readonly LevelText[], asks: readonly LevelText[]): number {
  const depth = Math.min(CHECKSUM_LEVELS, Math.max(bids.length, asks.length));
  let text = "";
  for (let i = 0; i < depth; i++) {
    if (i < bids.length) text += `:${bids[i].price}:${bids[i].quantity}`;
    if (i < asks.length) text += `:${asks[i].price}:${asks[i].quantity}`;
  }
  return crc32(text.slice(1));
}

/** 0 = there is none. */
export const priceJson = (instrument: Instrument, priceTicks: PriceTicks): string =>
  priceTicks === 0 ? "null" : `"${printPrice(instrument, priceTicks)}"`;

/** Public trade as the API shows it, to everyone. */
export function publicTradeJson(instrument: Instrument, trade: PublicTrade): string {
  return (
    `{"tradeId":"${trade.tradeId}","symbol":"${instrument.symbol}","side":"${SIDES[trade.takerSide]}",` +
    `"price":"${printPrice(instrument, trade.priceTicks)}","quantity":"${printQuantity(instrument, trade.quantityLots)}",` +
    `"time":${trade.time},"execType":"${EXEC_TYPES[trade.execType]}","sequence":${trade.sequence}}`
  );
}
