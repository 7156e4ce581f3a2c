import { crc32 } from "./crc32.ts";
import type { Level, OrderBookMessage } from "./types.ts";

/** Best levels of each side that the checksum covers. */
const CHECKSUM_LEVELS = 25;

/** A copy of the order book, built from `orderbook` messages. Detects when it differs from the exchange's book. */
export class LocalOrderBook {
  /** Best first. */
  readonly bids: Level[] = [];
  readonly asks: Level[] = [];
  sequence = 0;

  /**
   * Applies a message. Returns false when a message before it is missing or the checksum differs: the book is wrong
   * until the next snapshot.
   */
  apply(message: OrderBookMessage): boolean {
    if (message.type === "SNAPSHOT") {
      this.bids.length = 0;
      this.asks.length = 0;
    } else if (message.prevSequence !== this.sequence) return false;
    for (const level of message.bids) put(this.bids, level, true);
    for (const level of message.asks) put(this.asks, level, false);
    this.sequence = message.sequence;
    return this.checksum() === message.checksum;
  }

  /** CRC-32 of the best levels, bid and ask alternating: `bidPrice:bidQuantity:askPrice:askQuantity:…`. */
  checksum(): number {
    const parts: string[] = [];
    for (let i = 0; i < CHECKSUM_LEVELS; i++) {
      const bid = this.bids[i];
      const ask = this.asks[i];
      if (bid !== undefined) parts.push(bid[0], bid[1]);
      if (ask !== undefined) parts.push(ask[0], ask[1]);
    }
    return crc32(parts.join(":"));
  }
}

/** Sets or inserts a level, or removes it (quantity "0"). Levels stay sorted, best first. */
function put(levels: Level[], level: Level, highFirst: boolean): void {
  const price = Number(level[0]);
  let low = 0;
  let high = levels.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = Number(levels[middle]![0]);
    if (highFirst ? other > price : other < price) low = middle + 1;
    else high = middle;
  }
  const found = levels[low]?.[0] === level[0];
  if (level[1] === "0") {
    if (found) levels.splice(low, 1);
  } else levels.splice(low, found ? 1 : 0, level);
}
