import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import { NO_ROW } from "../base/hash-fifo.ts";
import type { PriceTicks, QuantityLots, RatePpm } from "../base/units.ts";
import { exposedLots } from "../formulas/exposure.ts";
import { lossTicksAt, marginPriceAt } from "../formulas/margin.ts";
import { isBeyond, MarkLimits } from "../formulas/mark-limits.ts";
import { closingBankruptcyTicks, coversPriceBand } from "../margin/bankruptcy-price.ts";
import { isWithinKeyLimits } from "../margin/key-limits.ts";
import { crosses } from "../matching/matching.ts";
import { refuseNotional } from "../matching/order-size.ts";
import { nearerTicks, slippageLimitTicks } from "../matching/slippage.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { PlaceOrder } from "../protocol/commands.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import { refuse, refuseLate, refuses } from "../protocol/refusals.ts";
import { DuplicateOrder } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const { NONE, OPEN_ORDERS, SIZE } = columns;
const { BUY, CLOSE_POSITION, GTC, GTD, LIMIT, MARKET, POST_ONLY, REDUCE_ONLY } = enums;

/** The results of the checks of an order. One object, filled in again for each order. */
export interface OrderPlan {
  /** The account's row of positions. */
  row: number;
  isReduceOnly: boolean;
  /** All that may trade from now on. No larger than the position if the order is reduce-only. */
  quantityLots: QuantityLots;
  /** The worst price at which it may trade; its own price unless it is a market order. */
  limitTicks: PriceTicks;
  /** Of the other side of the book; negative = that side is empty. */
  bestTicks: PriceTicks;
  /** It trades at bestTicks. */
  crosses: boolean;
  /** Lots that do not fill at once rest in the book. */
  mayRest: boolean;
  /** See marginPriceAt() and lossTicksAt(). */
  marginPriceTicks: PriceTicks;
  lossTicks: PriceTicks;
}

/**
 * If the client order id was used before, answers with its order (the same request) or refuses (another request). Returns
 * whether it answered.
 */
export function answerDuplicate(
  state: SymbolState,
  command: { accountId: number; clientOrderId: string; bodyHash: number },
  transaction: Transaction,
): boolean {
  const row = state.clientIds.find(command.accountId, command.clientOrderId);
  if (row === NO_ROW) return false;
  const orderId = state.clientIds.orderId(row);
  if (state.clientIds.bodyHash(row) === command.bodyHash) transaction.reply({ type: DuplicateOrder.code, orderId });
  else refuse(transaction, "CLIENT_ORDER_ID_REUSED", "clientOrderId", { orderId: String(orderId) });
  return true;
}

/** How many lots the order of this side closes before it opens any. */
function closableLots({ positions }: SymbolState, row: number, isBuy: boolean): QuantityLots {
  const size = positions.numbers[row + SIZE];
  return Math.max(0, isBuy ? -size : size);
}

/**
 * The checks of an order that need no preview of its fills. They change no state. Methods named refuse… return whether
 * they have refused the order; the first check that fails decides the reply, so their order is part of the API.
 */
export class OrderChecks {
  readonly plan: OrderPlan = {
    row: NONE,
    isReduceOnly: false,
    quantityLots: 0,
    limitTicks: 0,
    bestTicks: 0,
    crosses: false,
    mayRest: false,
    marginPriceTicks: 0,
    lossTicks: 0,
  };
  private readonly state: SymbolState;
  private readonly limits: MarkLimits;

  constructor(state: SymbolState) {
    this.state = state;
    this.limits = new MarkLimits(state.instrument);
  }

  /** Checks a new order, or one whose trigger was reached (`isTriggered`), and fills in `plan`. */
  refuseOrder(command: MessageOf<typeof PlaceOrder>, transaction: Transaction, isTriggered: boolean): boolean {
    const { state, plan } = this;
    if (refuseLate(command, transaction)) return true;
    if (state.markTicks === 0) return refuses(transaction, "NO_MARK_PRICE", "symbol");
    plan.isReduceOnly = (command.flags & REDUCE_ONLY) !== 0;
    if (refuseWhileHalted(state, transaction, plan.isReduceOnly)) return true;
    if (this.refuseQuantity(command, transaction, isTriggered)) return true;
    plan.row = state.positions.draft(command.accountId);
    if (state.positions.numbers[plan.row + SIZE] !== 0) state.contributions.refreshMark(plan.row);
    const closable = closableLots(state, plan.row, command.side === BUY);
    if (plan.isReduceOnly && closable === 0) return refuses(transaction, "REDUCE_ONLY_NO_POSITION", "reduceOnly");
    plan.quantityLots = plan.isReduceOnly ? Math.min(command.quantityLots, closable) : command.quantityLots;
    return this.refusePrice(command, transaction, closable) || this.refuseResting(command, transaction);
  }

  private refuseQuantity(
    { quantityLots, flags }: MessageOf<typeof PlaceOrder>,
    transaction: Transaction,
    isTriggered: boolean,
  ): boolean {
    const { minQuantityLots, maxQuantityLots } = this.state.instrument;
    // A triggered order may be smaller: an attached one has what its parent has filled, a closing one the position.
    if (quantityLots < minQuantityLots && !isTriggered)
      return refuses(transaction, "QUANTITY_TOO_SMALL", "quantity", { limitLots: minQuantityLots });
    const closesAll = (flags & CLOSE_POSITION) !== 0;
    if (quantityLots > maxQuantityLots && !closesAll)
      return refuses(transaction, "QUANTITY_TOO_LARGE", "quantity", { limitLots: maxQuantityLots });
    return false;
  }

  private refusePrice(
    { orderType, side, priceTicks, quantityLots, maxSlippagePpm }: MessageOf<typeof PlaceOrder>,
    transaction: Transaction,
    closableLots: QuantityLots,
  ): boolean {
    const { state, plan } = this;
    const { instrument, markTicks } = state;
    const isMarket = orderType === MARKET;
    const worstTicks = this.worstPriceTicks(plan.row, side, closableLots);
    // A market order is an IOC order at the worst allowed price.
    const limitTicks = isMarket ? this.marketLimitTicks(side, worstTicks, priceTicks, maxSlippagePpm) : priceTicks;
    if (!isMarket && limitTicks > instrument.maxPriceTicks)
      return refuses(transaction, "PRICE_TOO_HIGH", "price", { limitTicks: instrument.maxPriceTicks });
    if (isBeyond(side, limitTicks, worstTicks))
      return refuses(transaction, "PRICE_OUT_OF_BAND", "price", { limitTicks: worstTicks, markTicks });
    plan.limitTicks = limitTicks;
    const valueTicks = isMarket ? markTicks : limitTicks;
    return !plan.isReduceOnly && refuseNotional(instrument, transaction, quantityLots, valueTicks);
  }

  /** The worst price of an order at market. `capTicks`: of a stop or a closing, see capFromMark(); 0 = none. */
  private marketLimitTicks(
    side: number,
    worstTicks: PriceTicks,
    capTicks: PriceTicks,
    maxSlippagePpm: RatePpm,
  ): PriceTicks {
    if (capTicks !== 0) return nearerTicks(side, worstTicks, capTicks);
    return slippageLimitTicks(side, this.state.book.opposite(side).best(), worstTicks, maxSlippagePpm);
  }

  private refuseResting(
    { orderType, side, timeInForce, flags }: MessageOf<typeof PlaceOrder>,
    transaction: Transaction,
  ): boolean {
    const { state, plan } = this;
    const { maxOpenOrders } = state.instrument;
    plan.mayRest = orderType === LIMIT && (timeInForce === GTC || timeInForce === GTD);
    if (plan.mayRest && state.positions.numbers[plan.row + OPEN_ORDERS] >= maxOpenOrders)
      return refuses(transaction, "TOO_MANY_OPEN_ORDERS", "symbol", { limit: maxOpenOrders });
    const bestTicks = state.book.opposite(side).best();
    plan.bestTicks = bestTicks;
    plan.crosses = crosses(side, plan.limitTicks, bestTicks);
    if (plan.crosses && (flags & POST_ONLY) !== 0)
      return refuses(transaction, "POST_ONLY_WOULD_TRADE", "price", { bestTicks });
    plan.marginPriceTicks = marginPriceAt(side === BUY, plan.limitTicks, state.markTicks);
    plan.lossTicks = lossTicksAt(side === BUY, plan.limitTicks, state.markTicks);
    return false;
  }

  /**
   * Checks the largest position that the order may lead to, by the instrument's limit and the API key's limits. Not for
   * reduce-only orders. `filledLots` fill at once, `restingLots` rest, `replacedLots` are what an amended order has at
   * rest until now.
   */
  refuseExposure(
    command: Parameters<typeof isWithinKeyLimits>[0],
    transaction: Transaction,
    plan: Readonly<OrderPlan>,
    side: number,
    filledLots: QuantityLots,
    restingLots: QuantityLots,
    replacedLots: QuantityLots,
  ): boolean {
    const { state } = this;
    const isBuy = side === BUY;
    const exposed = exposedLots(state.positions.numbers, plan.row, isBuy, filledLots, restingLots, replacedLots);
    const limitLots = this.limits.positionLots(state.markTicks);
    if (exposed > limitLots) return refuses(transaction, "POSITION_LIMIT", "quantity", { limitLots });
    // Most orders are far from the cap of the open interest, whatever part of them closes a position.
    const isNearCap =
      Math.max(exposed, state.openInterestLots + filledLots) > this.limits.openInterestLots(state.markTicks);
    if (isNearCap && this.refuseOpenInterest(command.quantityLots, transaction, plan, isBuy, filledLots, exposed))
      return true;
    const highestTicks = isBuy ? plan.limitTicks : Math.max(plan.marginPriceTicks, plan.bestTicks);
    return !isWithinKeyLimits(command, transaction, state, plan.row, side, exposed, highestTicks);
  }

  /**
   * Refuses an order that could raise the open interest above its cap. A trade raises it by no more than its taker opens, so
   * it is enough to check what an order opens at once. A resting order is only refused if the position that it may lead to is
   * above the cap by itself: while the open interest is at its cap, positions that close need orders to trade with.
   *
   * The nearest quantity opens no more than there is room for, even if all of it fills at once. It must not depend on the
   * expected fills, which count lots that icebergs hide.
   */
  private refuseOpenInterest(
    quantityLots: QuantityLots,
    transaction: Transaction,
    plan: Readonly<OrderPlan>,
    isBuy: boolean,
    filledLots: QuantityLots,
    exposedLots: QuantityLots,
  ): boolean {
    const { state } = this;
    const limitLots = this.limits.openInterestLots(state.markTicks);
    const closable = closableLots(state, plan.row, isBuy);
    const roomLots = Math.max(0, limitLots - state.openInterestLots);
    const opensTooMuch = filledLots > closable + roomLots;
    const excessLots = Math.max(0, exposedLots - limitLots);
    if (!opensTooMuch && excessLots === 0) return false;
    const { openInterestLots } = state;
    let nearestLots = Math.max(0, quantityLots - excessLots);
    const alreadyFilledLots = quantityLots - plan.quantityLots;
    if (opensTooMuch) nearestLots = Math.min(nearestLots, alreadyFilledLots + closable + roomLots);
    return refuses(transaction, "OPEN_INTEREST_CAP", "quantity", { limitLots, openInterestLots, nearestLots });
  }

  /** The worst price that the row's order may have: the edge of the price band, or the bankruptcy price of what it closes. */
  worstPriceTicks(row: number, side: number, closableLots: QuantityLots): PriceTicks {
    const bandTicks = this.limits.edgeTicks(side, this.state.markTicks);
    if (closableLots === 0 || coversPriceBand(this.state, row)) return bandTicks;
    const bankruptcyTicks = closingBankruptcyTicks(this.state, row);
    return side === BUY ? Math.min(bandTicks, bankruptcyTicks) : Math.max(bandTicks, bankruptcyTicks);
  }
}
