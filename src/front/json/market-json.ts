import { crc32 } from "node:zlib";
import { EXEC_TYPES, SIDES } from "../../core/base/enums.ts";
import type { PriceTicks, QuantityLots } from "../../core/base/units.ts";
import type { PublicTrade } from "../../core/market-data/public-trades.ts";
import { type Instrument, printPrice, printQuantity } from "../../core/protocol/instrument.ts";

/** Number of levels of each side that the checksum of a book covers. */
export const CHECKSUM_LEVELS = 25;

/** Beyond this the cache is cleared, because the prices of a book drift over time. */
const MAX_CACHED_LEVELS = 8192;

/** A printed price level. */
export interface LevelText {
  readonly tick: PriceTicks;
  readonly lots: QuantityLots;
  readonly price: string;
  readonly quantity: string;
  /** `["65000.5","1.2"]` */
  readonly json: string;
}

/** Prints the price levels of an instrument. It caches the texts, because most levels do not change between two prints. */
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
 * Lets a client verify its copy of the book: the CRC-32 (as in zlib) over the best 25 levels of each side, or over all levels
 * of a shallower book. The printed levels alternate, best bid first: `bidPrice:bidQuantity:askPrice:askQuantity:…`. When one
 * side has no more levels, the other continues alone.
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

/** 0: there is no price. */
export const priceJson = (instrument: Instrument, priceTicks: PriceTicks): string =>
  priceTicks === 0 ? "null" : `"${printPrice(instrument, priceTicks)}"`;

/** A public trade as JSON text. */
export function publicTradeJson(instrument: Instrument, trade: PublicTrade): string {
  return (
    `{"tradeId":"${trade.tradeId}","symbol":"${instrument.symbol}","side":"${SIDES[trade.takerSide]}",` +
    `"price":"${printPrice(instrument, trade.priceTicks)}","quantity":"${printQuantity(instrument, trade.quantityLots)}",` +
    `"time":${trade.time},"execType":"${EXEC_TYPES[trade.execType]}","sequence":${trade.sequence}}`
  );
}
