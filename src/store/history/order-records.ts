import {
  otherSide,
  REASON_NONE,
  STATUS_FILLED,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
  STATUS_UNTRIGGERED,
} from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import type {
  AttachedQuantityRaised,
  ConditionalOrderAmended,
  ConditionalOrderPlaced,
  OrderAmended,
  OrderClosed,
  OrderExtended,
  OrderPlaced,
  OrderTriggered,
  PositionTransferred,
  Traded,
} from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import { FillRecord, OrderRecord } from "../database/history-schema.ts";

/** What events make of orders, and the fills they leave: the same for the history index as for whoever follows live. */

export const placedOrder = (event: MessageOf<typeof OrderPlaced>, time: TimeMs, sequence: number): OrderRecord => ({
  type: OrderRecord.code,
  orderId: event.orderId,
  accountId: event.accountId,
  side: event.side,
  orderType: event.orderType,
  timeInForce: event.timeInForce,
  flags: event.flags,
  selfTradePrevention: event.selfTradePrevention,
  priceTicks: event.priceTicks,
  quantityLots: event.quantityLots,
  remainingLots: event.quantityLots,
  filledLots: 0,
  filledQuanta: 0,
  feeQuanta: 0,
  status: STATUS_NEW,
  reason: REASON_NONE,
  createdAt: time,
  updatedAt: time,
  sequence,
  clientOrderId: event.clientOrderId,
  triggerTicks: 0,
  triggerBy: 0,
  goodTillDate: 0,
  parentId: 0,
  callbackPpm: 0,
  activationTicks: 0,
  displayLots: 0,
});

/** An order that waits for a price. */
export const waitingOrder = (
  event: MessageOf<typeof ConditionalOrderPlaced>,
  time: TimeMs,
  sequence: number,
): OrderRecord => ({
  ...event,
  type: OrderRecord.code,
  remainingLots: event.quantityLots,
  filledLots: 0,
  filledQuanta: 0,
  feeQuanta: 0,
  goodTillDate: 0,
  displayLots: 0,
  status: STATUS_UNTRIGGERED,
  reason: REASON_NONE,
  createdAt: time,
  updatedAt: time,
  sequence,
});

/** The price of a waiting order has come: its quantity is known now, and of a type at market its cap. */
export function triggerOrder(order: OrderRecord, event: MessageOf<typeof OrderTriggered>): void {
  order.priceTicks = event.priceTicks;
  if (event.triggerTicks !== 0) order.triggerTicks = event.triggerTicks;
  order.quantityLots = event.quantityLots;
  order.remainingLots = event.quantityLots;
  order.status = STATUS_NEW;
}

/** An order that waits has grown with the one that it came with. */
export function growOrder(order: OrderRecord, event: MessageOf<typeof AttachedQuantityRaised>): void {
  order.quantityLots = event.quantityLots;
  order.remainingLots = event.quantityLots;
}

/** Gives an order that waits what an amendment gave it. */
export function amendWaiting(order: OrderRecord, event: MessageOf<typeof ConditionalOrderAmended>): void {
  order.priceTicks = event.priceTicks;
  order.triggerTicks = event.triggerTicks;
  order.quantityLots = event.quantityLots;
  order.remainingLots = event.quantityLots;
  if (event.callbackPpm === 0) return;
  order.callbackPpm = event.callbackPpm;
  order.activationTicks = event.activationTicks;
}

/** Gives the order what it has beyond its OrderPlaced. */
export function extendOrder(order: OrderRecord, event: MessageOf<typeof OrderExtended>): void {
  order.goodTillDate = event.goodTillDate;
  order.displayLots = event.displayLots;
}

/** Ends the order early. */
export function closeOrder(order: OrderRecord, event: MessageOf<typeof OrderClosed>): void {
  order.status = event.status;
  order.reason = event.reason;
  if (event.triggerTicks !== 0) order.triggerTicks = event.triggerTicks;
}

/** Gives the order what an amendment gave it. */
export function amendOrder(order: OrderRecord, event: MessageOf<typeof OrderAmended>): void {
  order.priceTicks = event.priceTicks;
  order.quantityLots = event.quantityLots;
  order.remainingLots = event.remainingLots;
  order.displayLots = event.displayLots;
  if (event.goodTillDate !== 0) order.goodTillDate = event.goodTillDate;
}

/** Fills the order by its side of the trade. No event says that an order was filled: its last lot does. */
export function fillOrder(
  order: OrderRecord,
  event: MessageOf<typeof Traded>,
  instrument: Instrument,
  time: TimeMs,
  sequence: number,
): FillRecord {
  const { tradeId, priceTicks, quantityLots, execType } = event;
  const isMaker = event.makerOrderId === order.orderId;
  const feeQuanta = isMaker ? event.makerFeeQuanta : event.takerFeeQuanta;
  order.remainingLots -= quantityLots;
  order.filledLots += quantityLots;
  order.filledQuanta += priceTicks * quantityLots * instrument.quantaPerTickLot;
  order.feeQuanta += feeQuanta;
  order.status = order.remainingLots === 0 ? STATUS_FILLED : STATUS_PARTIALLY_FILLED;
  return {
    type: FillRecord.code,
    tradeId,
    orderId: order.orderId,
    side: order.side,
    priceTicks,
    quantityLots,
    feeQuanta,
    feePpm: isMaker ? instrument.makerFeePpm : instrument.takerFeePpm,
    maker: isMaker ? 1 : 0,
    realizedQuanta: isMaker ? event.makerRealizedQuanta : event.takerRealizedQuanta,
    execType,
    positionSizeLots: isMaker ? event.makerSizeLots : event.takerSizeLots,
    time,
    sequence,
    clientOrderId: order.clientOrderId,
    offPriceQuanta: 0,
  };
}

/** A part of a position that changed hands outside the book: a fill of both accounts, without an order or a fee. */
export function transferFill(
  event: MessageOf<typeof PositionTransferred>,
  accountId: number,
  instrument: Instrument,
  time: TimeMs,
  sequence: number,
): FillRecord {
  const { tradeId, priceTicks, quantityLots, execType } = event;
  const isFirst = event.accountId === accountId;
  return {
    type: FillRecord.code,
    tradeId,
    orderId: 0,
    side: isFirst ? event.side : otherSide(event.side),
    priceTicks,
    quantityLots,
    feeQuanta: 0,
    feePpm: 0,
    maker: 0,
    realizedQuanta: isFirst ? event.accountRealizedQuanta : event.counterpartyRealizedQuanta,
    execType,
    positionSizeLots: isFirst ? event.accountSizeLots : event.counterpartySizeLots,
    time,
    sequence,
    clientOrderId: "",
    offPriceQuanta: event.quanta - priceTicks * quantityLots * instrument.quantaPerTickLot,
  };
}
