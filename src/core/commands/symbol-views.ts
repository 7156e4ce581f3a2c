import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import { bankruptcyPrice, liquidationPrice } from "../formulas/margin.ts";
import { deleveragingRank } from "../liquidation/deleveraging.ts";
import { isolatedEquity } from "../margin/isolated.ts";
import { positionInitial, positionMaintenance } from "../margin/position-margin.ts";
import type { Transaction } from "../protocol/actor.ts";
import { blank } from "../protocol/message-schema.ts";
import * as replies from "../protocol/replies.ts";
import { NO_TERMS } from "../state/order-terms.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const { ACCOUNT, CASH, COST, FUNDING, LEVERAGE, MARGIN_MODE, OPENED_AT, SEQUENCE, SIZE, UPDATED_AT } = columns;
const { OrderView, PositionView } = replies;
const { REASON_NONE, STATUS_NEW, STATUS_PARTIALLY_FILLED, STATUS_UNTRIGGERED } = enums;

// Reused for each reply: reply() reads it and keeps nothing (see Transaction).
const orderView = blank(OrderView);
const positionView = blank(PositionView);

/** Replies with an order that this transaction does not change. */
export function replyOpenOrder(state: SymbolState, transaction: Transaction, slot: number): void {
  const { orders } = state;
  const open = orders.filledLots(slot) > 0 ? STATUS_PARTIALLY_FILLED : STATUS_NEW;
  fillOrderView(state, slot, orders.isWaiting(slot) ? STATUS_UNTRIGGERED : open, REASON_NONE);
  orderView.updatedAt = orders.updatedAt(slot);
  orderView.sequence = orders.sequence(slot);
  transaction.reply(orderView);
}

/** Replies with an order that this transaction changes. Its sequence is 0, which stands for that of the transaction. */
export function replyOrder(
  state: SymbolState,
  transaction: Transaction,
  slot: number,
  status: number,
  reason: number,
): void {
  fillOrderView(state, slot, status, reason);
  orderView.updatedAt = transaction.time;
  orderView.sequence = 0;
  transaction.reply(orderView);
}

function fillOrderView(state: SymbolState, slot: number, status: number, reason: number): void {
  const { orders } = state;
  orderView.orderId = state.orderId(slot);
  orderView.side = orders.side(slot);
  orderView.orderType = orders.type(slot);
  orderView.timeInForce = orders.timeInForce(slot);
  orderView.flags = orders.flags(slot);
  orderView.selfTradePrevention = orders.selfTradePrevention(slot);
  orderView.priceTicks = orders.priceTicks(slot);
  orderView.quantityLots = orders.quantityLots(slot);
  orderView.remainingLots = orders.remainingLots(slot);
  orderView.filledLots = orders.filledLots(slot);
  orderView.filledQuanta = orders.filledQuanta(slot);
  orderView.feeQuanta = orders.feeQuanta(slot);
  orderView.status = status;
  orderView.reason = reason;
  orderView.createdAt = orders.createdAt(slot);
  orderView.clientOrderId = orders.clientOrderId(slot);
  const terms = orders.isExtended(slot) ? state.terms.of(slot) : NO_TERMS;
  orderView.triggerTicks = terms.triggerTicks;
  orderView.triggerBy = terms.triggerBy;
  orderView.goodTillDate = terms.goodTillDate;
  orderView.parentId = terms.parentId;
  orderView.callbackPpm = terms.callbackPpm;
  orderView.activationTicks = terms.activationTicks;
  orderView.displayLots = terms.displayLots;
  orderView.maxSlippagePpm = terms.maxSlippagePpm;
  orderView.legs = terms.legs;
}

/**
 * Replies with the position of a row. `changing`: this transaction changes it, so its time is that of the transaction, and
 * its sequence is 0 as in replyOrder(). `duplicate`: an earlier transaction did what the command asks.
 */
export function replyPosition(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  { changing = false, duplicate = false } = {},
): void {
  const { instrument, marginTable, positions, markTicks } = state;
  state.contributions.refreshMark(row);
  const n = positions.numbers;
  const accountId = n[row + ACCOUNT];
  const size = n[row + SIZE];
  const isIsolated = state.isIsolated(row);
  const ownEquity = isIsolated ? isolatedEquity(state, row) : 0;
  const equity = isIsolated ? ownEquity : marginTable.equity(accountId);
  const ownMaintenance = positionMaintenance(state, row);
  const maintenance = isIsolated ? ownMaintenance : marginTable.maintenance(accountId);
  positionView.accountId = accountId;
  positionView.sizeLots = size;
  positionView.cashQuanta = n[row + CASH];
  positionView.costQuanta = n[row + COST];
  positionView.realizedQuanta = n[row + CASH] + n[row + COST];
  positionView.markTicks = markTicks;
  positionView.leverage = n[row + LEVERAGE];
  positionView.initialQuanta = positionInitial(state, row);
  positionView.maintenanceQuanta = ownMaintenance;
  positionView.liquidationTicks = liquidationPrice(instrument, size, markTicks, equity, maintenance);
  positionView.bankruptcyTicks = bankruptcyPrice(instrument, size, markTicks, equity, maintenance);
  // The row of a closed position still holds its last values.
  positionView.fundingQuanta = size === 0 ? 0 : n[row + FUNDING];
  positionView.openedAt = size === 0 ? 0 : n[row + OPENED_AT];
  positionView.updatedAt = changing ? transaction.time : n[row + UPDATED_AT];
  positionView.sequence = changing ? 0 : n[row + SEQUENCE];
  positionView.adlRank = deleveragingRank(state, row);
  positionView.marginMode = n[row + MARGIN_MODE];
  positionView.isolatedQuanta = ownEquity;
  positionView.duplicate = duplicate ? 1 : 0;
  transaction.reply(positionView);
}
