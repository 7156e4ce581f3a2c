import { BUY } from "../base/enums.ts";
import type { PriceTicks, QuantityLots, TimeMs } from "../base/units.ts";
import type { PositionTransferred, Traded } from "../protocol/events.ts";
import type { MessageOf } from "../protocol/message-schema.ts";

/** A trade as everyone may see it. */
export interface PublicTrade {
  tradeId: number;
  priceTicks: PriceTicks;
  quantityLots: QuantityLots;
  takerSide: number;
  execType: number;
  time: TimeMs;
  sequence: number;
}

type Trade = MessageOf<typeof Traded>;

export const toPublicTrade = (trade: Trade, time: TimeMs, sequence: number): PublicTrade => ({
  tradeId: trade.tradeId,
  priceTicks: trade.priceTicks,
  quantityLots: trade.quantityLots,
  takerSide: trade.takerSide,
  execType: trade.execType,
  time,
  sequence,
});

/** A part of a position that went to another account outside the book; `takerSide` is the side that closed it. */
export const toPublicTransfer = (
  transfer: MessageOf<typeof PositionTransferred>,
  time: TimeMs,
  sequence: number,
): PublicTrade => ({
  tradeId: transfer.tradeId,
  priceTicks: transfer.priceTicks,
  quantityLots: transfer.quantityLots,
  takerSide: transfer.side,
  execType: transfer.execType,
  time,
  sequence,
});

/** How far a trade moves the open interest, the sum of all long positions: from both positions after it. */
export function openInterestChange(trade: Trade): QuantityLots {
  const bought = trade.takerSide === BUY ? trade.quantityLots : -trade.quantityLots;
  return longChange(trade.takerSizeLots, bought) + longChange(trade.makerSizeLots, -bought);
}

/** The same for a part of a position that went to another account outside the book. */
export function openInterestChangeOfTransfer(transfer: MessageOf<typeof PositionTransferred>): QuantityLots {
  const bought = transfer.side === BUY ? transfer.quantityLots : -transfer.quantityLots;
  return longChange(transfer.accountSizeLots, bought) + longChange(transfer.counterpartySizeLots, -bought);
}

/** How far a signed position's long part grew when it came to `sizeLots` by `byLots`. */
function longChange(sizeLots: QuantityLots, byLots: QuantityLots): QuantityLots {
  return Math.max(0, sizeLots) - Math.max(0, sizeLots - byLots);
}

/** The last `capacity` of what was pushed. */
export class Ring<T> {
  private readonly items: T[] = [];
  private readonly capacity: number;
  private start = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  push(item: T): void {
    if (this.items.length < this.capacity) {
      this.items.push(item);
      return;
    }
    this.items[this.start] = item;
    this.start = (this.start + 1) % this.capacity;
  }

  /** Nothing that was pushed has fallen out yet. */
  get isWhole(): boolean {
    return this.items.length < this.capacity;
  }

  /** At most `limit`, newest first. */
  newest(limit: number): T[] {
    const count = Math.min(limit, this.items.length);
    const taken: T[] = [];
    for (let back = 1; back <= count; back++)
      taken.push(this.items[(this.start + this.items.length - back) % this.items.length]);
    return taken;
  }
}
