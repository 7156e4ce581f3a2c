import { NONE } from "../base/columns.ts";
import { TAKE_PROFIT, TAKE_PROFIT_MARKET } from "../base/enums.ts";
import type { TimeMs } from "../base/units.ts";
import type {
  AttachedQuantityRaised,
  ConditionalOrderAmended,
  ConditionalOrderPlaced,
  LegDetached,
  OrderTriggered,
  TriggersReached,
} from "../protocol/events.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import { NO_TERMS } from "../state/order-terms.ts";
import { packAttributes } from "../state/orders.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { addOrder } from "./order-events.ts";

/** Returns the order's slot. */
export function applyConditionalOrderPlaced(
  state: SymbolState,
  event: MessageOf<typeof ConditionalOrderPlaced>,
  time: TimeMs,
): number {
  const { side, orderType, timeInForce, flags, selfTradePrevention } = event;
  const attributes = packAttributes(side, orderType, timeInForce, flags, selfTradePrevention);
  const { orderId, accountId, priceTicks, quantityLots, clientOrderId, bodyHash } = event;
  const slot = addOrder(state, orderId, accountId, attributes, priceTicks, quantityLots, clientOrderId, bodyHash, time);
  const { triggerTicks, triggerBy, parentId, siblingId, callbackPpm, activationTicks, maxSlippagePpm } = event;
  const bestTicks = callbackPpm === 0 || triggerTicks === 0 ? 0 : state.priceOf(triggerBy);
  state.open.wait(slot, {
    ...NO_TERMS,
    triggerTicks,
    triggerBy,
    parentId,
    siblingId,
    callbackPpm,
    activationTicks,
    bestTicks,
    maxSlippagePpm,
  });
  state.needsTriggerCheck = true;
  if (parentId !== 0) link(state, event);
  return slot;
}

/** Tells the parent and the sibling of a new attached order about it, if they are open. */
function link(state: SymbolState, event: MessageOf<typeof ConditionalOrderPlaced>): void {
  const parent = state.findOrder(event.parentId);
  if (parent !== NONE) {
    const terms = state.terms.of(parent);
    if (event.orderType === TAKE_PROFIT || event.orderType === TAKE_PROFIT_MARKET) terms.takeProfitId = event.orderId;
    else terms.stopLossId = event.orderId;
    state.dirty.order(parent);
  }
  const sibling = event.siblingId === 0 ? NONE : state.findOrder(event.siblingId);
  if (sibling === NONE) return;
  state.terms.of(sibling).siblingId = event.orderId;
  state.dirty.order(sibling);
}

export function applyConditionalOrderAmended(
  state: SymbolState,
  event: MessageOf<typeof ConditionalOrderAmended>,
  slot: number,
): void {
  state.progress.eventCount++;
  const { orders, open } = state;
  const { priceTicks, quantityLots, triggerTicks, callbackPpm, activationTicks } = event;
  orders.setPriceAndQuantity(slot, priceTicks, quantityLots);
  if (event.maxSlippagePpm !== 0) state.terms.of(slot).maxSlippagePpm = event.maxSlippagePpm;
  if (state.terms.of(slot).callbackPpm === 0) open.moveTrigger(slot, triggerTicks);
  else if (callbackPpm !== 0) open.setTrailing(slot, callbackPpm, activationTicks);
  state.needsTriggerCheck = true;
  state.dirty.order(slot);
  state.dirty.row(orders.row(slot));
}

export function applyAttachedQuantityRaised(
  state: SymbolState,
  event: MessageOf<typeof AttachedQuantityRaised>,
  slot: number,
): void {
  const { orders } = state;
  orders.setPriceAndQuantity(slot, orders.priceTicks(slot), event.quantityLots);
  state.dirty.order(slot);
  state.dirty.row(orders.row(slot));
}

export function applyLegDetached(state: SymbolState, { orderId, legId }: MessageOf<typeof LegDetached>): void {
  const slot = state.slotOf(orderId);
  const terms = state.terms.of(slot);
  if (terms.takeProfitId === legId) terms.takeProfitId = 0;
  if (terms.stopLossId === legId) terms.stopLossId = 0;
  state.orders.touch(slot);
}

/** The order begins to match. Its rest queues behind all orders that rest by now. */
export function applyOrderTriggered(state: SymbolState, event: MessageOf<typeof OrderTriggered>, slot: number): void {
  state.open.endWait(slot);
  state.orders.setPriceAndQuantity(slot, event.priceTicks, event.quantityLots);
  state.terms.of(slot).queueSerial = state.nextOrderSerial++;
  state.changed = true;
  state.progress.beginTaking(slot);
  state.dirty.order(slot);
  state.dirty.row(state.orders.row(slot));
}

export function applyTriggersReached(state: SymbolState, event: MessageOf<typeof TriggersReached>): void {
  state.open.reach(event.triggerBy, event.rises === 1, event.priceTicks);
}
