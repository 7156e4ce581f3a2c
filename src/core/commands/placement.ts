import type { MarginTable } from "../accounts/margin-table.ts";
import { applyOrderTriggered } from "../apply/conditional-order-events.ts";
import { applyOrderExtended, applyOrderPlaced, applyOrderRested } from "../apply/order-events.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import { NO_ROW } from "../base/hash-fifo.ts";
import type { PriceTicks, Quanta, QuantityLots, RatePpm } from "../base/units.ts";
import * as units from "../base/units.ts";
import { exposedLots } from "../formulas/exposure.ts";
import { lossTicksAt, marginPriceAt } from "../formulas/margin.ts";
import { isBeyond, MarkLimits } from "../formulas/mark-limits.ts";
import { closingBankruptcyTicks, coversPriceBand } from "../margin/bankruptcy-price.ts";
import { isWithinKeyLimits } from "../margin/key-limits.ts";
import { restIceberg } from "../matching/iceberg.ts";
import { crosses, endOfTaker, match, TRADE_TERMS, takerFee } from "../matching/matching.ts";
import { close } from "../matching/order-closing.ts";
import { refuseNotional } from "../matching/order-size.ts";
import { meetsTooMany, type Preview, preview } from "../matching/preview.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { ClosePosition, PlaceExtended } from "../protocol/commands.ts";
import * as commands from "../protocol/commands.ts";
import * as events from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { type RefusalDetails, refuse, refuseLate } from "../protocol/refusals.ts";
import * as replies from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { beginDryRun, type DryRun, replyDryRun } from "./dry-run.ts";
import { replyOrder } from "./symbol-views.ts";

const { ACCOUNT, CONTRIBUTED, CONTRIBUTED_INITIAL, MARGIN_MODE, NONE, OPEN_ORDERS, SIZE } = columns;
const {
  BUY,
  CLOSE_POSITION,
  EXPIRE_MAKER,
  FOK,
  GTC,
  GTD,
  IOC,
  ISOLATED,
  LIMIT,
  MARKET,
  POST_ONLY,
  REASON_FOK_UNFILLABLE,
  REASON_NONE,
  REDUCE_ONLY,
  SELL,
  serialToId,
  STATUS_EXPIRED,
  STATUS_FILLED,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
} = enums;
const { DuplicateOrder } = replies;
const { OrderExtended, OrderPlaced, OrderRested, OrderTriggered } = events;
const { PlaceOrder } = commands;
const { PPM } = units;

// Filled in again for each event: a turn hands it on before it goes on (see Turn).
const placed = blank(OrderPlaced);
const rested = blank(OrderRested);
const triggered = blank(OrderTriggered);
const extended = blank(OrderExtended);

/** What an order may have beyond a PlaceOrder. */
export interface OrderOptions extends Pick<MessageOf<typeof PlaceExtended>, "goodTillDate" | "legs" | "displayLots"> {
  /** It is to be told what would come of it, and nothing is to be done: see trial.ts. */
  readonly isDryRun: boolean;
}

/**
 * How far a market order may go: to the edge of the band, and no further from the best price than it says, whole ticks
 * inside. Bybit, slippageToleranceType Percent: ask × (1 + tolerance), bid × (1 − tolerance).
 */
function slippageEdge(state: SymbolState, side: number, bandTicks: PriceTicks, maxSlippagePpm: RatePpm): PriceTicks {
  const best = state.book.opposite(side).best();
  if (maxSlippagePpm === 0 || best < 0) return bandTicks;
  if (side === BUY) return Math.min(bandTicks, Math.floor((best * (PPM + maxSlippagePpm)) / PPM));
  return Math.max(bandTicks, Math.ceil((best * (PPM - maxSlippagePpm)) / PPM));
}

/** Answers a command whose client order id was used before: with its first order, or with a refusal. */
export function answerRepeated(
  state: SymbolState,
  command: { accountId: number; clientOrderId: string; bodyHash: number },
  transaction: Transaction,
): boolean {
  const first = state.clientIds.find(command.accountId, command.clientOrderId);
  if (first === NO_ROW) return false;
  const orderId = state.clientIds.orderId(first);
  if (state.clientIds.bodyHash(first) === command.bodyHash) transaction.reply({ type: DuplicateOrder.code, orderId });
  else refuse(transaction, "CLIENT_ORDER_ID_REUSED", "clientOrderId", { orderId: String(orderId) });
  return true;
}

/** What becomes of a new order: refused, or placed and matched, and what is left of it rests or expires. */
export class Placement {
  private readonly instrument: Instrument;
  private readonly marginTable: MarginTable;
  private readonly state: SymbolState;
  readonly limits: MarkLimits;
  /** Of the order that is decided upon: see reserveMargin(). */
  readonly expected: Preview = { lots: 0, quanta: 0, leftLots: 0 };
  private readonly closing = blank(PlaceOrder);

  constructor(state: SymbolState) {
    this.instrument = state.instrument;
    this.marginTable = state.marginTable;
    this.state = state;
    this.limits = new MarkLimits(state.instrument);
  }

  /**
   * Check, check, check; then it must succeed. `waited`: the slot of an order that exists already and whose price has
   * come; it takes what the command says. `more`: what the order has beyond the command.
   */
  place(
    command: MessageOf<typeof PlaceOrder>,
    transaction: Transaction,
    waited: number = NONE,
    more: OrderOptions | null = null,
  ): void {
    const { state, instrument } = this;
    const { side } = command;
    // First of all, so that whoever lost a reply learns of the order, however late the same request comes again.
    if (command.clientOrderId !== "" && answerRepeated(state, command, transaction)) return;
    if (refuseLate(command, transaction)) return;
    const mark = state.markTicks;
    if (mark === 0) return refuse(transaction, "NO_MARK_PRICE", "symbol");
    const reduceOnly = (command.flags & REDUCE_ONLY) !== 0;
    if (refuseWhileHalted(state, transaction, reduceOnly)) return;
    // One that has waited may be as little as the order that it came with has filled, or as its position is.
    if (command.quantityLots < instrument.minQuantityLots && waited === NONE)
      return refuse(transaction, "QUANTITY_TOO_SMALL", "quantity", { limitLots: instrument.minQuantityLots });
    const closesAll = (command.flags & CLOSE_POSITION) !== 0;
    if (command.quantityLots > instrument.maxQuantityLots && !closesAll)
      return refuse(transaction, "QUANTITY_TOO_LARGE", "quantity", { limitLots: instrument.maxQuantityLots });

    const row = state.positions.draft(command.accountId);
    const numbers = state.positions.numbers;
    const size = numbers[row + SIZE];
    if (size !== 0) state.contributions.refreshMark(row);
    const isBuy = side === BUY;
    const closableLots = Math.max(0, isBuy ? -size : size);
    if (reduceOnly && closableLots === 0) return refuse(transaction, "REDUCE_ONLY_NO_POSITION", "reduceOnly");
    const quantityLots = reduceOnly ? Math.min(command.quantityLots, closableLots) : command.quantityLots;

    // A market order is an IOC order at the edge of the price band: that is its slippage cap.
    const bandTicks = this.edgeOf(row, side, closableLots, mark);
    const limitTicks =
      command.orderType === MARKET ? slippageEdge(state, side, bandTicks, command.maxSlippagePpm) : command.priceTicks;
    if (command.orderType !== MARKET && limitTicks > instrument.maxPriceTicks)
      return refuse(transaction, "PRICE_TOO_HIGH", "price", { limitTicks: instrument.maxPriceTicks });
    if (isBeyond(side, limitTicks, bandTicks))
      return refuse(transaction, "PRICE_OUT_OF_BAND", "price", { limitTicks: bandTicks, markTicks: mark });
    const valueTicks = command.orderType === MARKET ? mark : limitTicks;
    if (!reduceOnly && refuseNotional(instrument, transaction, command.quantityLots, valueTicks)) return;
    const mayRest = command.orderType === LIMIT && (command.timeInForce === GTC || command.timeInForce === GTD);
    if (mayRest && numbers[row + OPEN_ORDERS] >= instrument.maxOpenOrders)
      return refuse(transaction, "TOO_MANY_OPEN_ORDERS", "symbol", { limit: instrument.maxOpenOrders });

    const bestTicks = state.book.opposite(side).best();
    const takes = crosses(side, limitTicks, bestTicks);
    if (takes && (command.flags & POST_ONLY) !== 0)
      return refuse(transaction, "POST_ONLY_WOULD_TRADE", "price", { bestTicks });
    const dryRun = more?.isDryRun === true ? beginDryRun(quantityLots) : null;
    const expected = this.expected;
    expected.lots = 0;
    expected.quanta = 0;
    expected.leftLots = quantityLots;
    if (takes) preview(state, row, side, limitTicks, quantityLots, command.selfTradePrevention, expected, dryRun);
    const unfillable =
      command.timeInForce === FOK &&
      (expected.lots < quantityLots || meetsTooMany(state, side, limitTicks, quantityLots));

    const marginPriceTicks = marginPriceAt(isBuy, limitTicks, mark);
    const lossTicks = lossTicksAt(isBuy, limitTicks, mark);
    const restingLots = mayRest ? expected.leftLots : 0;
    if (!reduceOnly) {
      // What may not rest counts as filled, whatever the book has for it.
      const exposed = exposedLots(numbers, row, isBuy, mayRest ? expected.lots : quantityLots, restingLots);
      const limitLots = this.limits.positionLots(mark);
      if (exposed > limitLots) return refuse(transaction, "POSITION_LIMIT", "quantity", { limitLots });
      const dearestTicks = isBuy ? limitTicks : Math.max(marginPriceTicks, bestTicks);
      if (!isWithinKeyLimits(command, transaction, state, row, side, exposed, dearestTicks)) return;
    }
    if (!reduceOnly && !unfillable) {
      const shortfall = this.reserveMargin(row, isBuy, restingLots, marginPriceTicks, lossTicks, mark, NONE, dryRun);
      if (shortfall !== null) return refuse(transaction, "INSUFFICIENT_MARGIN", "quantity", shortfall);
    }

    if (dryRun === null && !unfillable) {
      const missing = this.spendLoss(row, isBuy);
      if (missing !== null) return refuse(transaction, "INSUFFICIENT_MARGIN", "quantity", missing);
    }

    // From here it must succeed.
    placed.orderId = serialToId(state.nextOrderSerial, instrument.id);
    placed.accountId = command.accountId;
    placed.side = side;
    placed.orderType = command.orderType;
    placed.timeInForce = command.orderType === MARKET && command.timeInForce === GTC ? IOC : command.timeInForce;
    placed.flags = command.flags;
    placed.selfTradePrevention = command.selfTradePrevention;
    placed.priceTicks = limitTicks;
    placed.quantityLots = quantityLots;
    const showsAll = more === null || more.displayLots === 0;
    placed.rests = mayRest && !takes && waited === NONE && showsAll ? 1 : 0;
    placed.marginPriceTicks = marginPriceTicks;
    placed.lossTicks = lossTicks;
    placed.bodyHash = command.bodyHash;
    placed.clientOrderId = command.clientOrderId;
    if (dryRun !== null) return replyDryRun(state, transaction, placed, dryRun, mayRest, unfillable, more);
    let slot = waited;
    if (waited === NONE) {
      slot = applyOrderPlaced(state, placed, transaction.time);
      transaction.emit(placed);
      if (more !== null) this.extend(transaction, slot, more);
    } else this.trigger(transaction, waited);
    if (placed.rests === 1) {
      if (!reduceOnly) state.dirty.markFresh();
      return replyOrder(state, transaction, slot, STATUS_NEW, REASON_NONE);
    }

    if (unfillable) return this.expire(transaction, slot, REASON_FOK_UNFILLABLE);
    if (takes || mayRest) this.take(transaction, slot, limitTicks, mayRest, marginPriceTicks, lossTicks);
    else this.expire(transaction, slot, endOfTaker(command.orderType, false));
  }

  /**
   * Matches the order in hand and answers with what became of it: filled, at rest, or expired, where it is at market
   * because nobody was left to trade with.
   */
  take(
    transaction: Transaction,
    slot: number,
    limitTicks: PriceTicks,
    mayRest: boolean,
    marginPriceTicks: PriceTicks,
    lossTicks: PriceTicks,
  ): void {
    const { state } = this;
    const { orders } = state;
    const stopped = match(
      state,
      transaction,
      slot,
      limitTicks,
      TRADE_TERMS,
      this.expectedLoss(orders.side(slot) === BUY),
    );
    if (orders.remainingLots(slot) === 0) return replyOrder(state, transaction, slot, STATUS_FILLED, REASON_NONE);
    if (stopped !== REASON_NONE) return this.expire(transaction, slot, stopped);
    const end = endOfTaker(orders.type(slot), mayRest);
    if (end !== REASON_NONE) return this.expire(transaction, slot, end);
    if (orders.isIceberg(slot)) restIceberg(state, transaction, slot, marginPriceTicks, lossTicks);
    else this.rest(transaction, slot, limitTicks, marginPriceTicks, lossTicks);
    const status = orders.filledLots(slot) > 0 ? STATUS_PARTIALLY_FILLED : STATUS_NEW;
    replyOrder(state, transaction, slot, status, REASON_NONE);
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

  /**
   * A reduce-only order for the position. It cannot be refused for other orders: reduce-only orders are each clipped to
   * the position, so they give way as it shrinks, and own orders in its way are canceled (EXPIRE_MAKER).
   */
  closePosition(command: MessageOf<typeof ClosePosition>, transaction: Transaction): void {
    const row = this.state.positions.find(command.accountId);
    const size = row === NONE ? 0 : this.state.positions.numbers[row + SIZE];
    if (size === 0) return refuse(transaction, "NO_POSITION", "symbol");
    const order = this.closing;
    order.accountId = command.accountId;
    order.side = size > 0 ? SELL : BUY;
    order.orderType = command.priceTicks === 0 ? MARKET : LIMIT;
    order.timeInForce = command.priceTicks === 0 ? IOC : GTC;
    order.flags = REDUCE_ONLY;
    order.selfTradePrevention = EXPIRE_MAKER;
    order.priceTicks = command.priceTicks;
    // All of it may be less than the minimum or more than the maximum of an order: place() clips it to the position.
    const { minQuantityLots, maxQuantityLots } = this.instrument;
    const wantedLots = command.quantityLots === 0 ? Math.max(Math.abs(size), minQuantityLots) : command.quantityLots;
    order.quantityLots = Math.min(wantedLots, maxQuantityLots);
    order.expiresAt = command.expiresAt;
    order.bodyHash = 0;
    order.clientOrderId = "";
    this.place(order, transaction);
  }

  /**
   * Takes the initial margin that the row needs once the order has done what is expected of it: filled lots at mark
   * with the loss of their price, resting lots by their own terms. Null, or what is required and what is there. `own`: the
   * resting order, not reduce-only, in whose place all this comes. `trial`: is told, and nothing is taken.
   *
   * What only closes needs none, and may lose all that stands for the position: see closingEdge(). So an order that closes
   * and opens must have the margin of what it opens beside what it closes loses. Of an isolated position its bucket pays that.
   */
  reserveMargin(
    row: number,
    isBuy: boolean,
    restingLots: QuantityLots,
    marginPriceTicks: PriceTicks,
    lossTicks: PriceTicks,
    mark: PriceTicks,
    own: number,
    dryRun: DryRun | null = null,
  ): RefusalDetails | null {
    const { state, expected } = this;
    const perTick = this.instrument.quantaPerTickLot;
    const atMark = expected.lots * mark * perTick;
    let lots = expected.lots + restingLots;
    let exposure = atMark + restingLots * marginPriceTicks * perTick;
    const takerLoss = this.expectedLoss(isBuy);
    let loss = takerLoss + restingLots * lossTicks * perTick;
    const { positions, orders } = state;
    if (own !== NONE) {
      const ownLots = orders.remainingLots(own);
      lots -= ownLots;
      exposure -= ownLots * orders.marginPriceTicks(own) * perTick;
      loss -= ownLots * orders.lossTicks(own) * perTick;
    }
    const numbers = positions.numbers;
    const size = numbers[row + SIZE];
    const closingLots = Math.min(expected.lots, Math.max(0, isBuy ? -size : size));
    const isTurning =
      closingLots > 0 && closingLots < expected.lots + restingLots && numbers[row + MARGIN_MODE] !== ISOLATED;
    if (isTurning) {
      // As of behind its fills: they are the position, they have cost what they cost, and the closed lots need no margin.
      lots -= expected.lots;
      exposure -= atMark;
      loss -= takerLoss;
      numbers[row + SIZE] = isBuy ? size + expected.lots : size - expected.lots;
    }
    positions.addResting(row, isBuy, lots, exposure, loss);
    const due = state.contributions.of(row);
    positions.addResting(row, isBuy, -lots, -exposure, -loss);
    numbers[row + SIZE] = size;
    let required = due.initial - numbers[row + CONTRIBUTED_INITIAL];
    if (isTurning) required = Math.max(0, required + takerLoss + takerFee(this.instrument, expected.quanta));
    const accountId = numbers[row + ACCOUNT];
    // What its fills will set aside may not be an unrealised gain of the cross margin: that could be lost again.
    if (numbers[row + MARGIN_MODE] === ISOLATED && required > 0) {
      const availableQuanta = this.marginTable.withdrawable(accountId);
      if (required > availableQuanta) return { requiredQuanta: required, availableQuanta };
    }
    // Whoever is short of margin may close, but neither turn around nor open, even where that needs no more than the old
    // position or than what the order had reserved: it may be gone.
    const needsMargin = required > 0 || isTurning || expected.lots > closingLots;
    const requiredQuanta = Math.max(0, required);
    if (dryRun !== null) {
      dryRun.requiredQuanta = requiredQuanta;
      const availableQuanta = this.marginTable.available(accountId);
      return needsMargin && required > availableQuanta ? { requiredQuanta, availableQuanta } : null;
    }
    if (needsMargin && !this.marginTable.reserve(accountId, required, numbers, row + CONTRIBUTED))
      return { requiredQuanta, availableQuanta: this.marginTable.available(accountId) };
    // All of it will rest: this is what the row will contribute, and nobody has to work it out again.
    if (expected.lots === 0) this.marginTable.setContribution(accountId, numbers, row + CONTRIBUTED, due);
    return null;
  }

  /**
   * Takes what a cross position is about to lose by being closed, which no margin is reserved for. Null, or what it is and
   * what is there: another thread has spent it since the order's price was looked at, or is withdrawing it.
   */
  spendLoss(row: number, isBuy: boolean): RefusalDetails | null {
    const { state, marginTable, expected } = this;
    const numbers = state.positions.numbers;
    const closes = isBuy ? numbers[row + SIZE] < 0 : numbers[row + SIZE] > 0;
    if (expected.lots === 0 || !closes || state.isIsolated(row)) return null;
    const requiredQuanta = this.expectedCost(isBuy) + takerFee(this.instrument, expected.quanta);
    // Whoever has less than nothing may still win by it.
    if (requiredQuanta <= 0 || marginTable.spend(numbers[row + ACCOUNT], requiredQuanta, numbers, row + CONTRIBUTED))
      return null;
    // With it goes what has been reserved for what it would open.
    state.contributions.refresh(row);
    return { requiredQuanta, availableQuanta: Math.max(0, marginTable.usableEquity(numbers[row + ACCOUNT])) };
  }

  /** What the fills that are expected lose against the mark. */
  private expectedLoss(isBuy: boolean): Quanta {
    return Math.max(0, this.expectedCost(isBuy));
  }

  /** The same, below zero where they win. */
  private expectedCost(isBuy: boolean): Quanta {
    const { lots, quanta } = this.expected;
    const atMark = lots * this.state.markTicks * this.instrument.quantaPerTickLot;
    return isBuy ? quanta - atMark : atMark - quanta;
  }

  /** The order that has waited becomes one in hand, at the price and quantity in `placed`. */
  private trigger(transaction: Transaction, slot: number): void {
    triggered.orderId = this.state.orderId(slot);
    triggered.accountId = placed.accountId;
    triggered.priceTicks = placed.priceTicks;
    triggered.quantityLots = placed.quantityLots;
    triggered.triggerTicks = this.state.terms.of(slot).triggerTicks;
    applyOrderTriggered(this.state, triggered, slot);
    transaction.emit(triggered);
  }

  private extend(transaction: Transaction, slot: number, more: OrderOptions): void {
    extended.orderId = this.state.orderId(slot);
    extended.accountId = placed.accountId;
    extended.goodTillDate = more.goodTillDate;
    extended.legs = more.legs;
    extended.displayLots = Math.min(more.displayLots, placed.quantityLots);
    applyOrderExtended(this.state, extended, slot);
    transaction.emit(extended);
  }

  private expire(transaction: Transaction, slot: number, reason: number): void {
    replyOrder(this.state, transaction, slot, STATUS_EXPIRED, reason);
    close(this.state, transaction, slot, STATUS_EXPIRED, reason);
  }

  /** How far the order's price may go: the band, and no further than the position that it closes can bear. */
  edgeOf(row: number, side: number, closableLots: QuantityLots, mark: PriceTicks): PriceTicks {
    const bandTicks = this.limits.edgeTicks(side, mark);
    if (closableLots === 0 || coversPriceBand(this.state, row)) return bandTicks;
    const edgeTicks = closingBankruptcyTicks(this.state, row);
    return side === BUY ? Math.min(bandTicks, edgeTicks) : Math.max(bandTicks, edgeTicks);
  }
}
