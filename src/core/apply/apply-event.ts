import type { TimeMs } from "../base/units.ts";
import type { SymbolEvent } from "../protocol/events.ts";
import * as events from "../protocol/events.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import {
  applyAttachedQuantityRaised,
  applyConditionalOrderAmended,
  applyConditionalOrderPlaced,
  applyLegDetached,
  applyOrderTriggered,
  applyTriggersReached,
} from "./conditional-order-events.ts";
import {
  applyFundingSettled,
  applyIndexJumpHeld,
  applyIndexWentStale,
  applyPriceUpdated,
  applySelfCheckFailed,
  applyTradingHalted,
} from "./market-events.ts";
import {
  applyCancelAfterSet,
  applyOrderAmended,
  applyOrderClosed,
  applyOrderExtended,
  applyOrderPlaced,
  applyOrderReduced,
  applyOrderRested,
  applySliceShown,
} from "./order-events.ts";
import {
  applyDeficitCovered,
  applyFundingPaid,
  applyIsolatedMarginSet,
  applyLeverageSet,
  applyMarginModeSet,
  applyMarginMoved,
  applyPositionTransferred,
  applyTraded,
} from "./position-events.ts";

const {
  AttachedQuantityRaised,
  CancelAfterSet,
  ConditionalOrderAmended,
  ConditionalOrderPlaced,
  DeficitCovered,
  FundingPaid,
  FundingSettled,
  IndexJumpHeld,
  IndexWentStale,
  IsolatedMarginSet,
  LegDetached,
  LeverageSet,
  MarginModeSet,
  MarginMoved,
  OperatorActed,
  OrderAmended,
  OrderClosed,
  OrderExtended,
  OrderPlaced,
  OrderReduced,
  OrderRested,
  OrderTriggered,
  PositionTransferred,
  PriceUpdated,
  SelfCheckFailed,
  SliceShown,
  Traded,
  TradingHalted,
  TriggersReached,
} = events;

/**
 * Changes the state by one event. Deciding and replay go through the same functions, and none of them asks whether the
 * event should happen. One switch over 60 lines, since it is the table of all events.
 */
export function applyEvent(state: SymbolState, event: SymbolEvent, time: TimeMs): void {
  switch (event.type) {
    case OrderPlaced.code:
      applyOrderPlaced(state, event, time);
      break;
    case OrderRested.code:
      applyOrderRested(state, event, state.slotOf(event.orderId));
      break;
    case Traded.code:
      applyTraded(state, event, state.slotOf(event.takerOrderId), state.slotOf(event.makerOrderId), time);
      break;
    case OrderReduced.code:
      applyOrderReduced(state, event, state.slotOf(event.orderId));
      break;
    case OrderClosed.code:
      applyOrderClosed(state, state.slotOf(event.orderId));
      break;
    case LeverageSet.code:
      applyLeverageSet(state, event);
      break;
    case PriceUpdated.code:
      applyPriceUpdated(state, event, time);
      break;
    case FundingSettled.code:
      applyFundingSettled(state, event);
      break;
    case FundingPaid.code:
      applyFundingPaid(state, event);
      break;
    case PositionTransferred.code:
      applyPositionTransferred(state, event, time);
      break;
    case DeficitCovered.code:
      applyDeficitCovered(state, event);
      break;
    case TradingHalted.code:
      applyTradingHalted(state, event);
      break;
    case IndexJumpHeld.code:
      applyIndexJumpHeld(state, event);
      break;
    case IndexWentStale.code:
      applyIndexWentStale(state);
      break;
    case MarginModeSet.code:
      applyMarginModeSet(state, event);
      break;
    case OrderAmended.code:
      applyOrderAmended(state, event, state.slotOf(event.orderId));
      break;
    case OperatorActed.code:
      // For the record alone.
      break;
    case IsolatedMarginSet.code:
      applyIsolatedMarginSet(state, event);
      break;
    case ConditionalOrderPlaced.code:
      applyConditionalOrderPlaced(state, event, time);
      break;
    case OrderTriggered.code:
      applyOrderTriggered(state, event, state.slotOf(event.orderId));
      break;
    case TriggersReached.code:
      applyTriggersReached(state, event);
      break;
    case SelfCheckFailed.code:
      applySelfCheckFailed(state, event);
      break;
    case OrderExtended.code:
      applyOrderExtended(state, event, state.slotOf(event.orderId));
      break;
    case AttachedQuantityRaised.code:
      applyAttachedQuantityRaised(state, event, state.slotOf(event.orderId));
      break;
    case ConditionalOrderAmended.code:
      applyConditionalOrderAmended(state, event, state.slotOf(event.orderId));
      break;
    case LegDetached.code:
      applyLegDetached(state, event);
      break;
    case CancelAfterSet.code:
      applyCancelAfterSet(state, event);
      break;
    case SliceShown.code:
      applySliceShown(state, event, state.slotOf(event.orderId));
      break;
    case MarginMoved.code:
      applyMarginMoved(state, event);
      break;
  }
}
