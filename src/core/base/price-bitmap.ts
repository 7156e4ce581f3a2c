import type { Side } from "./enums.ts";
import * as enums from "./enums.ts";
import type { PriceTicks } from "./units.ts";

const { BUY } = enums;

/**
 * The occupied price levels of one side of a book: a bit per tick, and a tree above, in which one bit says whether any of 32
 * bits below is set. Finding the best or the next worse level costs a few steps, however far apart levels are, and
 * allocates nothing. The book keeps the quantities, and says when a level fills and empties.
 */
export class PriceBitmap {
  readonly side: Side;
  private readonly bits: Int32Array[] = [];
  private bestTick = -1;

  /** Ticks from 0 to `maxPriceTicks`, both included. */
  constructor(maxPriceTicks: PriceTicks, side: Side) {
    this.side = side;
    let size = maxPriceTicks + 1;
    do {
      size = Math.ceil(size / 32);
      this.bits.push(new Int32Array(size));
    } while (size > 1);
  }

  /** Highest occupied tick of bids, lowest of asks; −1 when the side is empty. */
  best(): PriceTicks {
    return this.bestTick;
  }

  /** Marks a level as occupied. It may be already. */
  set(tick: PriceTicks): void {
    let index = tick;
    for (const words of this.bits) {
      const word = words[index >>> 5];
      words[index >>> 5] = word | (1 << (index & 31));
      if (word !== 0) break;
      index >>>= 5;
    }
    if (this.bestTick < 0 || (this.side === BUY ? tick > this.bestTick : tick < this.bestTick)) this.bestTick = tick;
  }

  /** Marks a level as empty. It may be already. */
  clear(tick: PriceTicks): void {
    let index = tick;
    for (const words of this.bits) {
      const word = words[index >>> 5] & ~(1 << (index & 31));
      words[index >>> 5] = word;
      if (word !== 0) break;
      index >>>= 5;
    }
    if (tick === this.bestTick) this.bestTick = this.next(tick);
  }

  /** The next worse occupied tick after `tick`, which need not be occupied itself; −1 when there is none. */
  next(tick: PriceTicks): PriceTicks {
    return this.side === BUY ? this.below(tick) : this.above(tick);
  }

  private below(tick: PriceTicks): PriceTicks {
    let index = tick;
    for (let level = 0; level < this.bits.length; level++) {
      const lower = this.bits[level][index >>> 5] & ((1 << (index & 31)) - 1);
      index >>>= 5;
      if (lower === 0) continue;
      index = (index << 5) | highestBit(lower);
      while (level > 0) {
        level--;
        index = (index << 5) | highestBit(this.bits[level][index]);
      }
      return index;
    }
    return -1;
  }

  private above(tick: PriceTicks): PriceTicks {
    let index = tick;
    for (let level = 0; level < this.bits.length; level++) {
      const higher = this.bits[level][index >>> 5] & (-2 << (index & 31));
      index >>>= 5;
      if (higher === 0) continue;
      index = (index << 5) | lowestBit(higher);
      while (level > 0) {
        level--;
        index = (index << 5) | lowestBit(this.bits[level][index]);
      }
      return index;
    }
    return -1;
  }
}

const highestBit = (word: number): number => 31 - Math.clz32(word);
const lowestBit = (word: number): number => 31 - Math.clz32(word & -word);
