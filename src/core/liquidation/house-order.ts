import { applyOrderPlaced } from "../apply/order-events.ts";
import { ACCOUNT, SIZE } from "../base/columns.ts";
import {
  BUY,
  EXEC_LIQUIDATION,
  EXPIRE_TAKER,
  IOC,
  LIQUIDATION_ORDER,
  MARKET,
  REASON_IOC_REMAINDER,
  REASON_NO_LIQUIDITY,
  REDUCE_ONLY,
  SELL,
  STATUS_EXPIRED,
  serialToId,
} from "../base/enums.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import { match, type TradeTerms } from "../matching/matching.ts";
import { closeOrder } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import { OrderPlaced } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const placed = blank(OrderPlaced);

/**
 * Closes up to `lots` of a row's position by a reduce-only IOC order of the exchange, no worse than `limitTicks`. Returns the
 * lots closed. If the order reached the limit of what one transaction may do, it returns all `lots`: then the book has
 * more to give, and the next scan continues there instead of transferring the rest.
 */
export function closeInBook(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  lots: QuantityLots,
  limitTicks: PriceTicks,
  terms: TradeTerms,
): QuantityLots {
  const { positions, orders, instrument } = state;
  // Makers of earlier steps may be makers again: their losses, and the margin that their closes freed, must count.
  state.contributions.refreshDirty();
  state.marginTable.useDeferred();
  placed.orderId = serialToId(state.nextOrderSerial, instrument.id);
  placed.accountId = positions.numbers[row + ACCOUNT];
  placed.side = positions.numbers[row + SIZE] > 0 ? SELL : BUY;
  placed.orderType = MARKET;
  placed.timeInForce = IOC;
  placed.flags = terms.execType === EXEC_LIQUIDATION ? REDUCE_ONLY | LIQUIDATION_ORDER : REDUCE_ONLY;
  placed.selfTradePrevention = EXPIRE_TAKER;
  placed.priceTicks = limitTicks;
  placed.quantityLots = lots;
  placed.rests = 0;
  const slot = applyOrderPlaced(state, placed, transaction.time);
  transaction.emit(placed);
  const stopped = match(state, transaction, slot, limitTicks, terms);
  const restLots = orders.remainingLots(slot);
  if (restLots > 0) closeOrder(state, transaction, slot, STATUS_EXPIRED, REASON_NO_LIQUIDITY);
  else state.progress.endTaking(slot);
  return stopped === REASON_IOC_REMAINDER ? lots : lots - restLots;
}
