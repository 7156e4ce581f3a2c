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
import type { AttachedLeg, AttachedLegs, LegChanges } from "../protocol/payloads.ts";
import { refuseEnded, refuses } from "../protocol/refusals.ts";
import { type EntryFill, type OrderTerms, waitsForRise } from "../state/order-terms.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { reaches } from "../state/triggers.ts";
import { MAX_TRIGGER_ORDERS, refuseTooManyConditional } from "./conditional-placement.ts";
import { answerDuplicate } from "./order-checks.ts";
import type { Placement } from "./placement.ts";

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const legPlaced = blank(ConditionalOrderPlaced);
const quantityRaised = blank(AttachedQuantityRaised);

/** The most orders of an account in a symbol: resting, untriggered, and two attached ones of each order that has rested. */
export const maxOrdersPerAccount = (maxOpenOrders: number): number =>
  maxOpenOrders + MAX_TRIGGER_ORDERS + 2 * maxOpenOrders;

/** Whether an entry at this price has already reached the leg's trigger, so that the leg makes no sense. */
export function isLegReached(leg: AttachedLeg, type: number, entrySide: number, entryTicks: PriceTicks): boolean {
  return reaches(waitsForRise(type, otherSide(entrySide)), entryTicks, leg.triggerTicks);
}

/**
 * Refuses legs with a wrong price or a reached trigger. `entryTicks`: the price of the order; 0 = none is known. Returns
 * whether it refused.
 */
export function refuseLegs(
  instrument: Instrument,
  { takeProfit, stopLoss }: AttachedLegs,
  entrySide: number,
  entryTicks: PriceTicks,
  transaction: Transaction,
): boolean {
  if (
    takeProfit !== null &&
    refuseLeg(instrument, takeProfit, "takeProfit", TAKE_PROFIT, entrySide, entryTicks, transaction)
  )
    return true;
  return stopLoss !== null && refuseLeg(instrument, stopLoss, "stopLoss", STOP, entrySide, entryTicks, transaction);
}

function refuseLeg(
  instrument: Instrument,
  leg: AttachedLeg,
  field: string,
  type: number,
  entrySide: number,
  entryTicks: PriceTicks,
  transaction: Transaction,
): boolean {
  const side = otherSide(entrySide);
  const { triggerTicks, priceTicks } = leg;
  if (triggerTicks > instrument.maxPriceTicks || priceTicks > instrument.maxPriceTicks)
    return refuses(transaction, "PRICE_TOO_HIGH", field, { limitTicks: instrument.maxPriceTicks });
  if (entryTicks !== 0 && isLegReached(leg, type, entrySide, entryTicks))
    return refuses(transaction, "WOULD_TRIGGER", field, { currentTicks: entryTicks });
  const bandTicks = bandEdge(instrument, side, triggerTicks);
  if (priceTicks === 0 || !isBeyond(side, priceTicks, bandTicks)) return false;
  return refuses(transaction, "PRICE_OUT_OF_BAND", field, { limitTicks: bandTicks, triggerTicks });
}

/** How many attached orders an order with these legs can have. */
export const legCount = (legs: AttachedLegs | null): number =>
  (legs?.takeProfit == null ? 0 : 1) + (legs?.stopLoss == null ? 0 : 1);

/**
 * The legs of an order after an amendment; the same object if nothing changes. A client may send back the whole order
 * that it read, so a leg that is the same is no change.
 */
export function amendedLegs(before: AttachedLegs | null, changes: LegChanges): AttachedLegs | null {
  const [oldTakeProfit, oldStopLoss] = [before?.takeProfit ?? null, before?.stopLoss ?? null];
  const { takeProfit = oldTakeProfit, stopLoss = oldStopLoss } = changes;
  const isSame = isSameLeg(takeProfit, oldTakeProfit) && isSameLeg(stopLoss, oldStopLoss);
  return isSame ? before : { takeProfit, stopLoss };
}

function isSameLeg(one: AttachedLeg | null, other: AttachedLeg | null): boolean {
  if (one === null || other === null) return one === other;
  return (
    one.triggerTicks === other.triggerTicks &&
    one.triggerBy === other.triggerBy &&
    one.priceTicks === other.priceTicks &&
    (one.maxSlippagePpm ?? 0) === (other.maxSlippagePpm ?? 0)
  );
}

/**
 * Places orders with additional fields (PlaceExtended): goodTillDate, display quantity, price match, and legs, which are a
 * take-profit and a stop-loss. When an order with legs fills, its legs are attached as reduce-only conditional orders of
 * the filled quantity (Bybit's partial mode; Binance's one-triggers-the-others). They grow with further fills and end with
 * the position. When one fires, the other is canceled in the same transaction, and further fills attach new ones.
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

  /** `isDryRun`: see dry-run.ts. */
  place(command: MessageOf<typeof PlaceExtended>, transaction: Transaction, isDryRun = false): void {
    if (command.clientOrderId !== "" && answerDuplicate(this.state, command, transaction)) return;
    if (refuseEnded(command.goodTillDate, transaction)) return;
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
    if (legs !== null) {
      if (refuseLegs(this.instrument, legs, command.side, entryTicks, transaction)) return;
      const row = this.state.positions.draft(command.accountId);
      if (refuseTooManyConditional(this.state, transaction, row, legCount(legs))) return;
    }
    const hasMore = goodTillDate !== 0 || legs !== null || displayLots !== 0 || isDryRun;
    const more = hasMore ? { goodTillDate, legs, displayLots, isDryRun } : null;
    // this.order has the hidden class of every placed order: see inSchemaShape().
    this.placement.place(Object.assign(this.order, plain), transaction, NONE, more);
  }

  /** Attaches the legs of the orders that this transaction has filled. */
  attach(transaction: Transaction): void {
    const { entryFills } = this.state;
    for (const [terms, fill] of entryFills)
      if (terms.legs !== null) this.attachTo(terms, terms.legs, fill, transaction);
    entryFills.clear();
  }

  private attachTo(terms: OrderTerms, legs: AttachedLegs, fill: EntryFill, transaction: Transaction): void {
    const { positions } = this.state;
    const size = positions.numbers[positions.ensure(fill.accountId) + SIZE];
    // The fill has only reduced an opposite position: there is nothing to protect.
    if (fill.side === BUY ? size <= 0 : size >= 0) return;
    const { takeProfitId, stopLossId } = terms;
    let siblingId = 0;
    if (takeProfitId !== 0) this.raiseQuantity(takeProfitId, fill, transaction);
    else if (legs.takeProfit !== null)
      siblingId = this.placeLeg(legs.takeProfit, TAKE_PROFIT, fill, siblingId, transaction);
    if (stopLossId !== 0) this.raiseQuantity(stopLossId, fill, transaction);
    else if (legs.stopLoss !== null) this.placeLeg(legs.stopLoss, STOP, fill, siblingId, transaction);
  }

  /** Does nothing if the account has canceled the attached order, or if it was rejected when it fired. */
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
    legPlaced.maxSlippagePpm = leg.maxSlippagePpm ?? 0;
    legPlaced.parentId = fill.orderId;
    legPlaced.siblingId = siblingId;
    applyConditionalOrderPlaced(state, legPlaced, transaction.time);
    transaction.emit(legPlaced);
    return legPlaced.orderId;
  }
}
