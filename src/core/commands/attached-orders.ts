import { applyAttachedQuantityRaised, applyConditionalOrderPlaced } from "../apply/conditional-order-events.ts";
import { NONE, SIZE } from "../base/columns.ts";
import {
  ATTACHED,
  BUY,
  EXPIRE_MAKER,
  GTC,
  IOC,
  MARKET,
  otherSide,
  REDUCE_ONLY,
  STOP,
  STOP_MARKET,
  serialToId,
  TAKE_PROFIT,
  TAKE_PROFIT_MARKET,
} from "../base/enums.ts";
import type { PriceTicks } from "../base/units.ts";
import { bandEdge, isBeyond } from "../formulas/mark-limits.ts";
import { refuseDisplayQuantity } from "../matching/iceberg.ts";
import { matchPrice } from "../matching/price-match.ts";
import type { Transaction } from "../protocol/actor.ts";
import { type PlaceExtended, PlaceOrder } from "../protocol/commands.ts";
import { AttachedQuantityRaised, ConditionalOrderPlaced } from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import type { AttachedLeg, AttachedLegs } from "../protocol/payloads.ts";
import { refuse, refuseEnded } from "../protocol/refusals.ts";
import { type EntryFill, type OrderTerms, waitsForRise } from "../state/order-terms.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { reaches } from "../state/triggers.ts";
import { MAX_TRIGGER_ORDERS, refuseTooManyConditional } from "./conditional-placement.ts";
import { answerDuplicate } from "./order-checks.ts";
import type { Placement } from "./placement.ts";

// Filled in again for each event: a turn hands it on before it goes on (see Turn).
const legPlaced = blank(ConditionalOrderPlaced);
const quantityRaised = blank(AttachedQuantityRaised);

/** Orders that an account may have in a symbol: in the book, waiting, and two that came with each that was in the book before. */
export const maxOrdersPerAccount = (maxOpenOrders: number): number =>
  maxOpenOrders + MAX_TRIGGER_ORDERS + 2 * maxOpenOrders;

/** Whether a leg could not do its work: an order that fills at this price has reached the leg's trigger already. */
export function isLegReached(leg: AttachedLeg, type: number, entrySide: number, entryTicks: PriceTicks): boolean {
  return reaches(waitsForRise(type, otherSide(entrySide)), entryTicks, leg.triggerTicks);
}

/**
 * Orders with more than the usual: an end in time, or a take-profit and a stop that come with them. These wait once the
 * order has filled, reduce-only, for as much as it has filled (Bybit's partial mode; Binance's one-triggers-the-others),
 * grow with it, end with the position, and when one of them fires the other is canceled in the same turn. What the order
 * fills after that brings new ones, for so much.
 */
export class AttachedOrders {
  private readonly instrument: Instrument;
  private readonly state: SymbolState;
  private readonly placement: Placement;
  private readonly order = blank(PlaceOrder);

  constructor(state: SymbolState, placement: Placement) {
    this.instrument = state.instrument;
    this.state = state;
    this.placement = placement;
  }

  /** `isTrial`: see trial.ts. */
  place(command: MessageOf<typeof PlaceExtended>, transaction: Transaction, isDryRun = false): void {
    if (command.clientOrderId !== "" && answerDuplicate(this.state, command, transaction)) return;
    if (refuseEnded(command.goodTillDate, transaction)) return;
    const { takeProfit = null, stopLoss = null } = command.legs ?? {};
    const { type: _, goodTillDate, legs, priceMatch, displayLots, ...plain } = command;
    const { quantityLots } = plain;
    if (
      displayLots !== 0 &&
      refuseDisplayQuantity(this.instrument, transaction, displayLots, quantityLots, quantityLots)
    )
      return;
    if (priceMatch !== 0) {
      plain.priceTicks = matchPrice(this.state, command.side, priceMatch, transaction);
      if (plain.priceTicks < 0) return;
    }
    const entryTicks = command.orderType === MARKET ? this.state.markTicks : plain.priceTicks;
    if (
      takeProfit !== null &&
      this.refuseLeg(takeProfit, "takeProfit", TAKE_PROFIT, command.side, entryTicks, transaction)
    )
      return;
    if (stopLoss !== null && this.refuseLeg(stopLoss, "stopLoss", STOP, command.side, entryTicks, transaction)) return;
    if (legs !== null && this.refuseTooManyLegs(command.accountId, legs, transaction)) return;
    const hasMore = goodTillDate !== 0 || legs !== null || displayLots !== 0 || isDryRun;
    const more = hasMore ? { goodTillDate, legs, displayLots, isDryRun } : null;
    // Of the same hidden class as every other order that is placed.
    this.placement.place(Object.assign(this.order, plain), transaction, NONE, more);
  }

  /**
   * Refuses legs for which the account has no room among the orders that wait; true when it did. Those of orders that are
   * placed by now come all the same: that is two for each that may rest.
   */
  private refuseTooManyLegs(
    accountId: number,
    { takeProfit, stopLoss }: AttachedLegs,
    transaction: Transaction,
  ): boolean {
    const legCount = (takeProfit === null ? 0 : 1) + (stopLoss === null ? 0 : 1);
    return refuseTooManyConditional(this.state, transaction, this.state.positions.draft(accountId), legCount);
  }

  /** Refuses a leg that could not do its work; true when it did. */
  private refuseLeg(
    leg: AttachedLeg,
    field: string,
    type: number,
    entrySide: number,
    entryTicks: PriceTicks,
    transaction: Transaction,
  ): boolean {
    const { instrument } = this;
    const side = otherSide(entrySide);
    const { triggerTicks, priceTicks } = leg;
    if (triggerTicks > instrument.maxPriceTicks || priceTicks > instrument.maxPriceTicks) {
      refuse(transaction, "PRICE_TOO_HIGH", field, { limitTicks: instrument.maxPriceTicks });
      return true;
    }
    if (entryTicks !== 0 && isLegReached(leg, type, entrySide, entryTicks)) {
      refuse(transaction, "WOULD_TRIGGER", field, { currentTicks: entryTicks });
      return true;
    }
    const bandTicks = bandEdge(instrument, side, triggerTicks);
    if (priceTicks === 0 || !isBeyond(side, priceTicks, bandTicks)) return false;
    refuse(transaction, "PRICE_OUT_OF_BAND", field, { limitTicks: bandTicks, triggerTicks });
    return true;
  }

  /** Lets wait what came with the orders that this turn has filled. */
  attach(transaction: Transaction): void {
    const { entryFills } = this.state;
    for (const [terms, fill] of entryFills)
      if (terms.legs !== null) this.attachTo(terms, terms.legs, fill, transaction);
    entryFills.clear();
  }

  private attachTo(terms: OrderTerms, legs: AttachedLegs, fill: EntryFill, transaction: Transaction): void {
    const { positions } = this.state;
    const size = positions.numbers[positions.ensure(fill.accountId) + SIZE];
    // It has only reduced a position: there is nothing to protect.
    if (fill.side === BUY ? size <= 0 : size >= 0) return;
    const { takeProfitId, stopLossId } = terms;
    let siblingId = 0;
    if (takeProfitId !== 0) this.raiseQuantity(takeProfitId, fill, transaction);
    else if (legs.takeProfit !== null)
      siblingId = this.placeLeg(legs.takeProfit, TAKE_PROFIT, fill, siblingId, transaction);
    if (stopLossId !== 0) this.raiseQuantity(stopLossId, fill, transaction);
    else if (legs.stopLoss !== null) this.placeLeg(legs.stopLoss, STOP, fill, siblingId, transaction);
  }

  /** One that has been canceled, or was refused when it fired, stays away. */
  private raiseQuantity(orderId: number, { accountId, lots }: EntryFill, transaction: Transaction): void {
    const { state } = this;
    const slot = state.findOrder(orderId);
    if (slot === NONE || !state.orders.isWaiting(slot)) return;
    quantityRaised.orderId = orderId;
    quantityRaised.accountId = accountId;
    quantityRaised.quantityLots = state.orders.quantityLots(slot) + lots;
    applyAttachedQuantityRaised(state, quantityRaised, slot);
    transaction.emit(quantityRaised);
  }

  private placeLeg(
    leg: AttachedLeg,
    type: number,
    fill: EntryFill,
    siblingId: number,
    transaction: Transaction,
  ): number {
    const { state } = this;
    const atMarket = leg.priceTicks === 0;
    legPlaced.orderId = serialToId(state.nextOrderSerial, this.instrument.id);
    legPlaced.accountId = fill.accountId;
    legPlaced.side = otherSide(fill.side);
    if (type === STOP) legPlaced.orderType = atMarket ? STOP_MARKET : STOP;
    else legPlaced.orderType = atMarket ? TAKE_PROFIT_MARKET : TAKE_PROFIT;
    legPlaced.timeInForce = atMarket ? IOC : GTC;
    legPlaced.flags = REDUCE_ONLY | ATTACHED;
    legPlaced.selfTradePrevention = EXPIRE_MAKER;
    legPlaced.priceTicks = leg.priceTicks;
    legPlaced.quantityLots = fill.lots;
    legPlaced.triggerTicks = leg.triggerTicks;
    legPlaced.triggerBy = leg.triggerBy;
    legPlaced.parentId = fill.orderId;
    legPlaced.siblingId = siblingId;
    applyConditionalOrderPlaced(state, legPlaced, transaction.time);
    transaction.emit(legPlaced);
    return legPlaced.orderId;
  }
}
