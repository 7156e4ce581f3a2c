import { BUY } from "../base/enums.ts";
import type { QuantityLots } from "../base/units.ts";
import type { PositionTransferred, Traded } from "../protocol/events.ts";
import type { MessageOf } from "../protocol/message-schema.ts";

/** How much a trade changes the open interest, which is the sum of all long positions. From both sizes after the trade. */
export function openInterestChange(trade: MessageOf<typeof Traded>): QuantityLots {
  const bought = trade.takerSide === BUY ? trade.quantityLots : -trade.quantityLots;
  return longChange(trade.takerSizeLots, bought) + longChange(trade.makerSizeLots, -bought);
}

/** The same for a part of a position that went to another account outside the book. */
export function openInterestChangeOfTransfer(transfer: MessageOf<typeof PositionTransferred>): QuantityLots {
  const bought = transfer.side === BUY ? transfer.quantityLots : -transfer.quantityLots;
  return longChange(transfer.accountSizeLots, bought) + longChange(transfer.counterpartySizeLots, -bought);
}

/** How much the long part of a signed position grew when the position changed by `byLots` to `sizeLots`. */
function longChange(sizeLots: QuantityLots, byLots: QuantityLots): QuantityLots {
  return Math.max(0, sizeLots) - Math.max(0, sizeLots - byLots);
}
