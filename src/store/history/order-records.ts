import {
  EXEC_ADL,
  EXEC_LIQUIDATION,
  otherSide,
  REASON_NONE,
  STATUS_FILLED,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
  STATUS_UNTRIGGERED,
} from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import {
  AttachedQuantityRaised,
  ConditionalOrderAmended,
  ConditionalOrderPlaced,
  type Event,
  OrderAmended,
  OrderClosed,
  OrderExtended,
  OrderPlaced,
  OrderReduced,
  OrderTriggered,
  PositionTransferred,
  Traded,
} from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import { FillRecord, OrderRecord } from "../database/history-schema.ts";

/** Keeps the orders and fills of the accounts that it follows: all customers in the history, one account in a stream. */
export interface OrderStore {
  /** Of the transaction under way. */
  readonly time: TimeMs;
  readonly sequence: number;
  follows(accountId: number): boolean;
  instrumentOf(tradeId: number): Instrument;
  add(order: OrderRecord): void;
  /** Returns the open order with this id. The event is about to change it. */
  change(orderId: number): OrderRecord;
  /** The order is filled, canceled or expired: no further event names it. */
  end(order: OrderRecord): void;
  addFill(accountId: number, fill: FillRecord): void;
}

/**
 * Changes the records of orders by one event, and adds the fills that it brings. The history and the streams share this
 * table. The engine has a fold of its own (core/apply), since its orders are rows of flat arrays.
 */
export function applyToOrders(event: Event, store: OrderStore): void {
  switch (event.type) {
    case OrderPlaced.code:
      if (store.follows(event.accountId)) store.add(newOrder(event, store));
      break;
    case ConditionalOrderPlaced.code:
      if (store.follows(event.accountId)) store.add(newConditionalOrder(event, store));
      break;
    case OrderExtended.code:
      if (store.follows(event.accountId)) extend(changed(store, event.orderId), event);
      break;
    case OrderTriggered.code:
      if (store.follows(event.accountId)) trigger(changed(store, event.orderId), event);
      break;
    case AttachedQuantityRaised.code:
      if (store.follows(event.accountId)) setUnfilledQuantity(changed(store, event.orderId), event.quantityLots);
      break;
    case ConditionalOrderAmended.code:
      if (store.follows(event.accountId)) amendConditional(changed(store, event.orderId), event);
      break;
    case OrderAmended.code:
      if (store.follows(event.accountId)) amend(changed(store, event.orderId), event);
      break;
    case OrderReduced.code:
      if (store.follows(event.accountId)) changed(store, event.orderId).remainingLots -= event.byLots;
      break;
    case OrderClosed.code:
      if (store.follows(event.accountId)) close(store, changed(store, event.orderId), event);
      break;
    case Traded.code:
      if (store.follows(event.takerAccountId)) fill(store, changed(store, event.takerOrderId), event);
      if (store.follows(event.makerAccountId)) fill(store, changed(store, event.makerOrderId), event);
      break;
    case PositionTransferred.code:
      if (store.follows(event.accountId)) addTransfer(store, event.accountId, event);
      if (store.follows(event.counterpartyId)) addTransfer(store, event.counterpartyId, event);
      break;
  }
}

function changed(store: OrderStore, orderId: number): OrderRecord {
  const order = store.change(orderId);
  order.updatedAt = store.time;
  order.sequence = store.sequence;
  return order;
}

/** A literal, since most of its numbers are small: blank() would give each of them memory of its own. */
const newOrder = (
  event: MessageOf<typeof OrderPlaced> | MessageOf<typeof ConditionalOrderPlaced>,
  { time, sequence }: OrderStore,
): OrderRecord => ({
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
  maxSlippagePpm: 0,
  legs: null,
});

function newConditionalOrder(event: MessageOf<typeof ConditionalOrderPlaced>, store: OrderStore): OrderRecord {
  const order = newOrder(event, store);
  order.status = STATUS_UNTRIGGERED;
  order.triggerTicks = event.triggerTicks;
  order.triggerBy = event.triggerBy;
  order.parentId = event.parentId;
  order.callbackPpm = event.callbackPpm;
  order.activationTicks = event.activationTicks;
  order.maxSlippagePpm = event.maxSlippagePpm;
  return order;
}

function extend(order: OrderRecord, event: MessageOf<typeof OrderExtended>): void {
  order.goodTillDate = event.goodTillDate;
  order.displayLots = event.displayLots;
  order.legs = event.legs;
}

/** Only now the price cap of an order at market is known, and the quantity of one that closes the position. */
function trigger(order: OrderRecord, event: MessageOf<typeof OrderTriggered>): void {
  order.priceTicks = event.priceTicks;
  if (event.triggerTicks !== 0) order.triggerTicks = event.triggerTicks;
  setUnfilledQuantity(order, event.quantityLots);
  order.status = STATUS_NEW;
}

function amendConditional(order: OrderRecord, event: MessageOf<typeof ConditionalOrderAmended>): void {
  order.priceTicks = event.priceTicks;
  order.triggerTicks = event.triggerTicks;
  setUnfilledQuantity(order, event.quantityLots);
  if (event.maxSlippagePpm !== 0) order.maxSlippagePpm = event.maxSlippagePpm;
  if (event.callbackPpm === 0) return;
  order.callbackPpm = event.callbackPpm;
  order.activationTicks = event.activationTicks;
}

function setUnfilledQuantity(order: OrderRecord, quantityLots: number): void {
  order.quantityLots = quantityLots;
  order.remainingLots = quantityLots;
}

function amend(order: OrderRecord, event: MessageOf<typeof OrderAmended>): void {
  order.priceTicks = event.priceTicks;
  order.quantityLots = event.quantityLots;
  order.remainingLots = event.remainingLots;
  order.displayLots = event.displayLots;
  if (event.goodTillDate !== 0) order.goodTillDate = event.goodTillDate;
  if (event.legs !== null) order.legs = event.legs;
}

function close(store: OrderStore, order: OrderRecord, event: MessageOf<typeof OrderClosed>): void {
  order.status = event.status;
  order.reason = event.reason;
  if (event.triggerTicks !== 0) order.triggerTicks = event.triggerTicks;
  store.end(order);
}

/** Fills the order by its side of the trade. Its last lot ends it: no event says that an order is filled. */
function fill(store: OrderStore, order: OrderRecord, event: MessageOf<typeof Traded>): void {
  const { tradeId, priceTicks, quantityLots, execType } = event;
  const instrument = store.instrumentOf(tradeId);
  const isMaker = event.makerOrderId === order.orderId;
  const feeQuanta = isMaker ? event.makerFeeQuanta : event.takerFeeQuanta;
  order.remainingLots -= quantityLots;
  order.filledLots += quantityLots;
  order.filledQuanta += priceTicks * quantityLots * instrument.quantaPerTickLot;
  order.feeQuanta += feeQuanta;
  order.status = order.remainingLots === 0 ? STATUS_FILLED : STATUS_PARTIALLY_FILLED;
  store.addFill(order.accountId, {
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
    time: store.time,
    sequence: store.sequence,
    clientOrderId: order.clientOrderId,
    offPriceQuanta: 0,
  });
  if (order.status === STATUS_FILLED) store.end(order);
}

/** A part of a position changed hands outside the book: a fill of both accounts, without an order or a fee. */
function addTransfer(store: OrderStore, accountId: number, event: MessageOf<typeof PositionTransferred>): void {
  const { tradeId, priceTicks, quantityLots } = event;
  const isFirst = event.accountId === accountId;
  store.addFill(accountId, {
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
    // The account is liquidated. For that, deleveraging closes the counterparty's position.
    execType: isFirst ? EXEC_LIQUIDATION : EXEC_ADL,
    positionSizeLots: isFirst ? event.accountSizeLots : event.counterpartySizeLots,
    time: store.time,
    sequence: store.sequence,
    clientOrderId: "",
    offPriceQuanta: event.quanta - priceTicks * quantityLots * store.instrumentOf(tradeId).quantaPerTickLot,
  });
}
