import { applyOrderRested } from "../apply/order-events.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks } from "../base/units.ts";
import { restIceberg } from "../matching/iceberg.ts";
import { expiryReason, match, TRADE_TERMS } from "../matching/matching.ts";
import { closeOrder } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import { OrderRested } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import type { MarginReservation } from "./margin-reservation.ts";
import { replyOrder } from "./symbol-views.ts";

const { BUY, REASON_NONE, STATUS_EXPIRED, STATUS_FILLED, STATUS_NEW, STATUS_PARTIALLY_FILLED } = enums;

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const rested = blank(OrderRested);

/** Matches an accepted order and decides what becomes of the rest: it rests in the book, or it expires. */
export class OrderExecution {
  readonly margin: MarginReservation;
  private readonly state: SymbolState;

  constructor(state: SymbolState, margin: MarginReservation) {
    this.state = state;
    this.margin = margin;
  }

  /**
   * Matches the active taker in `slot`, whose margin is reserved, and replies with its status: FILLED, NEW or
   * PARTIALLY_FILLED when the rest has come to rest, EXPIRED with a reason otherwise.
   */
  execute(
    transaction: Transaction,
    slot: number,
    limitTicks: PriceTicks,
    mayRest: boolean,
    marginPriceTicks: PriceTicks,
    lossTicks: PriceTicks,
  ): void {
    const { state } = this;
    const { orders } = state;
    const maxLossQuanta = this.margin.expectedLoss(orders.side(slot) === BUY);
    const stopReason = match(state, transaction, slot, limitTicks, TRADE_TERMS, maxLossQuanta);
    if (orders.remainingLots(slot) === 0) return replyOrder(state, transaction, slot, STATUS_FILLED, REASON_NONE);
    if (stopReason !== REASON_NONE) return this.expire(transaction, slot, stopReason);
    const reason = expiryReason(orders.type(slot), mayRest);
    if (reason !== REASON_NONE) return this.expire(transaction, slot, reason);
    if (orders.isIceberg(slot)) restIceberg(state, transaction, slot, marginPriceTicks, lossTicks);
    else this.rest(transaction, slot, limitTicks, marginPriceTicks, lossTicks);
    const status = orders.filledLots(slot) > 0 ? STATUS_PARTIALLY_FILLED : STATUS_NEW;
    replyOrder(state, transaction, slot, status, REASON_NONE);
  }

  expire(transaction: Transaction, slot: number, reason: number): void {
    replyOrder(this.state, transaction, slot, STATUS_EXPIRED, reason);
    closeOrder(this.state, transaction, slot, STATUS_EXPIRED, reason);
  }

  private rest(
    transaction: Transaction,
    slot: number,
    limitTicks: PriceTicks,
    marginPriceTicks: PriceTicks,
    lossTicks: PriceTicks,
  ): void {
    const { state } = this;
    const { orders } = state;
    rested.orderId = state.orderId(slot);
    rested.accountId = state.accountId(slot);
    rested.side = orders.side(slot);
    rested.priceTicks = limitTicks;
    rested.restingLots = orders.remainingLots(slot);
    rested.marginPriceTicks = marginPriceTicks;
    rested.lossTicks = lossTicks;
    applyOrderRested(state, rested, slot);
    transaction.emit(rested);
  }
}
