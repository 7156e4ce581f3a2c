import type { PriceTicks, QuantityLots, TimeMs } from "../base/units.ts";
import type { PositionTransferred, Traded } from "../protocol/events.ts";
import type { MessageOf } from "../protocol/message-schema.ts";

/** A trade without its accounts: everyone may see it. */
export interface PublicTrade {
  tradeId: number;
  priceTicks: PriceTicks;
  quantityLots: QuantityLots;
  takerSide: number;
  execType: number;
  time: TimeMs;
  sequence: number;
}

export const toPublicTrade = (trade: MessageOf<typeof Traded>, time: TimeMs, sequence: number): PublicTrade => ({
  tradeId: trade.tradeId,
  priceTicks: trade.priceTicks,
  quantityLots: trade.quantityLots,
  takerSide: trade.takerSide,
  execType: trade.execType,
  time,
  sequence,
});

/**
 * A part of a position that went to another account outside the book. `takerSide` is the side of the trade that closed
 * the position.
 */
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
