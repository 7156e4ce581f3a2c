import { EXPIRE_BOTH, EXPIRE_MAKER, EXPIRE_TAKER, REASON_SELF_TRADE, STATUS_CANCELED } from "../base/enums.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { showNextSlice } from "./iceberg.ts";
import { closeOrder, reduceOrder } from "./order-closing.ts";

/**
 * Applies the taker's self-trade prevention mode where taker and maker have the same account. Returns whether the taker
 * goes on; if not, the caller expires it. preview.ts predicts the same outcome: change both together.
 */
export function preventSelfTrade(state: SymbolState, transaction: Transaction, taker: number, maker: number): boolean {
  const { orders } = state;
  switch (orders.selfTradePrevention(taker)) {
    case EXPIRE_TAKER:
      return false;
    case EXPIRE_MAKER:
      closeOrder(state, transaction, maker, STATUS_CANCELED, REASON_SELF_TRADE);
      return true;
    case EXPIRE_BOTH:
      closeOrder(state, transaction, maker, STATUS_CANCELED, REASON_SELF_TRADE);
      return false;
    default:
      return decrement(state, transaction, taker, maker);
  }
}

/** DECREMENT: takes the smaller of the two quantities from both orders. */
function decrement(state: SymbolState, transaction: Transaction, taker: number, maker: number): boolean {
  const { orders } = state;
  const lots = Math.min(orders.remainingLots(taker), state.open.shownLots(maker));
  if (lots === orders.remainingLots(maker)) closeOrder(state, transaction, maker, STATUS_CANCELED, REASON_SELF_TRADE);
  else {
    reduceOrder(state, transaction, maker, lots, REASON_SELF_TRADE);
    if (state.open.shownLots(maker) === 0) showNextSlice(state, transaction, maker);
  }
  // The caller expires a taker that has nothing left: its last lots were not filled, so its status must not be FILLED.
  if (lots === orders.remainingLots(taker)) return false;
  reduceOrder(state, transaction, taker, lots, REASON_SELF_TRADE);
  return true;
}
