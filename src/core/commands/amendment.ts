import { applyOrderAmended } from "../apply/order-events.ts";
import { SIZE } from "../base/columns.ts";
import {
  BUY,
  GTD,
  MODE_HALTED,
  POST_ONLY,
  REASON_NONE,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
  STOP,
  TAKE_PROFIT,
} from "../base/enums.ts";
import type { PriceTicks, QuantityLots, TimeMs } from "../base/units.ts";
import { lossTicksAt, marginPriceAt } from "../formulas/margin.ts";
import { isBeyond } from "../formulas/mark-limits.ts";
import { refuseDisplayQuantity } from "../matching/iceberg.ts";
import { crosses } from "../matching/matching.ts";
import { refuseNotional, refuseQuantity } from "../matching/order-size.ts";
import { preview, takesHiddenLots } from "../matching/preview.ts";
import { matchPrice } from "../matching/price-match.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { AmendOrder } from "../protocol/commands.ts";
import { OrderAmended } from "../protocol/events.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import type { AttachedLegs, LegChanges } from "../protocol/payloads.ts";
import { type RefusalCode, type RefusalDetails, refuseEnded, refuseLate, refuses } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { amendedLegs, isLegReached, legCount, refuseLegs } from "./attached-orders.ts";
import { refuseTooManyConditional } from "./conditional-placement.ts";
import type { MarginReservation } from "./margin-reservation.ts";
import type { OrderChecks } from "./order-checks.ts";
import type { OrderExecution } from "./order-execution.ts";
import { replyOpenOrder, replyOrder } from "./symbol-views.ts";

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const amended = blank(OrderAmended);

/** The order as it is to be. */
interface AmendedOrder {
  readonly priceTicks: PriceTicks;
  readonly quantityLots: QuantityLots;
  readonly remainingLots: QuantityLots;
  /** 0 = not an iceberg. */
  readonly displayLots: QuantityLots;
  /** 0 = it does not expire. */
  readonly goodTillDate: TimeMs;
  /** The same object as before the amendment if they stay. */
  readonly legs: AttachedLegs | null;
}

/** The first field of untriggered orders that the command would change; "" = none. */
function triggerField(command: MessageOf<typeof AmendOrder>): string {
  const { triggerTicks, callbackPpm, activationTicks, maxSlippagePpm } = command;
  if (triggerTicks !== 0) return "triggerPrice";
  if (callbackPpm !== 0) return "callbackRate";
  if (maxSlippagePpm !== 0) return "maxSlippage";
  return activationTicks !== 0 ? "activationPrice" : "";
}

const displayLotsOf = ({ orders, terms }: SymbolState, slot: number): QuantityLots =>
  orders.isIceberg(slot) ? terms.of(slot).displayLots : 0;

const legsOf = ({ orders, terms }: SymbolState, slot: number): AttachedLegs | null =>
  orders.isExtended(slot) ? terms.of(slot).legs : null;

/** Whether a fill at this price would be beyond the trigger of an attached order: see refuseLegs(). */
function reachesLeg({ takeProfit, stopLoss }: AttachedLegs, side: number, priceTicks: PriceTicks): boolean {
  if (takeProfit !== null && isLegReached(takeProfit, TAKE_PROFIT, side, priceTicks)) return true;
  return stopLoss !== null && isLegReached(stopLoss, STOP, side, priceTicks);
}

/**
 * Amends price, quantity, display quantity, goodTillDate or legs of a resting order, which keeps its id. It keeps its place
 * in the queue if its price stays and its quantity does not grow; a smaller display quantity is shown at once, a larger one
 * with the next slice. Any other change is checked like a new order in place of the old one. Then it goes to the back of
 * the queue, and trades first if it crosses. A refused amendment changes nothing.
 */
export class Amendment {
  private readonly state: SymbolState;
  private readonly checks: OrderChecks;
  private readonly margin: MarginReservation;
  private readonly execution: OrderExecution;

  constructor(state: SymbolState, checks: OrderChecks, margin: MarginReservation, execution: OrderExecution) {
    this.state = state;
    this.checks = checks;
    this.margin = margin;
    this.execution = execution;
  }

  /** `slot`: the account's own resting order. */
  amend(slot: number, command: MessageOf<typeof AmendOrder>, transaction: Transaction): void {
    const { state } = this;
    const { orders } = state;
    if (this.refuseCommand(slot, command, transaction)) return;
    const matchedTicks =
      command.priceMatch === 0 ? 0 : matchPrice(state, orders.side(slot), command.priceMatch, transaction);
    if (matchedTicks < 0) return;
    const after = this.amendedOrder(slot, matchedTicks || command.priceTicks, command);
    const { quantityLots, remainingLots, displayLots } = after;
    const keepsPlace = after.priceTicks === orders.priceTicks(slot) && remainingLots <= orders.remainingLots(slot);
    const isSame =
      keepsPlace && displayLots === displayLotsOf(state, slot) && quantityLots === orders.quantityLots(slot);
    const keepsLegs = after.legs === legsOf(state, slot);
    if (isSame && keepsLegs && after.goodTillDate === state.terms.of(slot).goodTillDate)
      return replyOpenOrder(state, transaction, slot);
    if (!keepsLegs && this.refuseLegChanges(slot, after, command.legs ?? {}, transaction)) return;
    if (!isSame && this.refuseSize(slot, after, transaction)) return;
    if (!keepsPlace) return this.requeue(slot, after, command, transaction);
    const shownLots = Math.min(state.open.shownLots(slot), remainingLots, displayLots || remainingLots);
    const hiddenLots = remainingLots - shownLots;
    this.emit(slot, after, 1, 0, orders.marginPriceTicks(slot), orders.lossTicks(slot), hiddenLots, transaction);
    this.replyResting(slot, transaction);
  }

  /** The checks that need only the command and the order. Returns whether it refused. */
  private refuseCommand(slot: number, command: MessageOf<typeof AmendOrder>, transaction: Transaction): boolean {
    const { state } = this;
    const { orders } = state;
    if (refuseLate(command, transaction)) return true;
    const field = triggerField(command);
    if (field !== "") return refuses(transaction, "ORDER_DOES_NOT_WAIT", field);
    if (state.haltMode === MODE_HALTED) return refuses(transaction, "SYMBOL_HALTED", "symbol", { status: "HALTED" });
    if (command.goodTillDate !== 0) {
      if (orders.timeInForce(slot) !== GTD) return refuses(transaction, "ORDER_NOT_GTD", "goodTillDate");
      // An order whose end has passed, but which a full transaction has not expired yet, cannot be prolonged.
      const earliest = Math.min(state.terms.of(slot).goodTillDate, command.goodTillDate);
      if (refuseEnded(earliest, transaction)) return true;
    }
    if (command.quantityLots === 0) return false;
    const filledLots = orders.filledLots(slot);
    if (command.quantityLots <= filledLots)
      return refuses(transaction, "QUANTITY_BELOW_FILLED", "quantity", { filledLots });
    return refuseQuantity(state.instrument, transaction, command.quantityLots);
  }

  /**
   * The checks of changed legs. After the first fill they are orders of their own. They only reduce, so they may change
   * while the symbol takes no new risk. Returns whether it refused.
   */
  private refuseLegChanges(
    slot: number,
    { priceTicks, legs }: AmendedOrder,
    changes: LegChanges,
    transaction: Transaction,
  ): boolean {
    const { state } = this;
    const { orders, instrument } = state;
    const field = changes.takeProfit === undefined ? "stopLoss" : "takeProfit";
    if (state.open.isReduceOnly(slot)) return refuses(transaction, "ORDER_REDUCE_ONLY", field);
    const filledLots = orders.filledLots(slot);
    if (filledLots > 0) return refuses(transaction, "ORDER_PARTIALLY_FILLED", field, { filledLots });
    if (refuseWhileHalted(state, transaction, true)) return true;
    const { takeProfit = null, stopLoss = null } = changes;
    if (refuseLegs(instrument, { takeProfit, stopLoss }, orders.side(slot), priceTicks, transaction)) return true;
    const added = legCount(legs) - legCount(legsOf(state, slot));
    return added > 0 && refuseTooManyConditional(state, transaction, orders.row(slot), added);
  }

  private refuseSize(slot: number, after: AmendedOrder, transaction: Transaction): boolean {
    const { instrument, open } = this.state;
    const { priceTicks, quantityLots, remainingLots, displayLots } = after;
    if (displayLots !== 0 && refuseDisplayQuantity(instrument, transaction, displayLots, quantityLots, remainingLots))
      return true;
    return !open.isReduceOnly(slot) && refuseNotional(instrument, transaction, quantityLots, priceTicks);
  }

  /**
   * A price or quantity of 0 stays as it is. A new quantity counts from what has filled: lots that the order has given up
   * since it was placed come back.
   */
  private amendedOrder(slot: number, newPriceTicks: PriceTicks, command: MessageOf<typeof AmendOrder>): AmendedOrder {
    const { orders, positions, terms } = this.state;
    const priceTicks = newPriceTicks || orders.priceTicks(slot);
    let quantityLots = orders.quantityLots(slot);
    let remainingLots = orders.remainingLots(slot);
    if (command.quantityLots !== 0) {
      const filledLots = orders.filledLots(slot);
      remainingLots = command.quantityLots - filledLots;
      if (this.state.open.isReduceOnly(slot))
        remainingLots = Math.min(remainingLots, Math.abs(positions.numbers[orders.row(slot) + SIZE]));
      quantityLots = filledLots + remainingLots;
    }
    const displayLots = command.displayLots || Math.min(displayLotsOf(this.state, slot), quantityLots);
    const goodTillDate = command.goodTillDate || terms.of(slot).goodTillDate;
    const before = legsOf(this.state, slot);
    const legs = command.legs === null ? before : amendedLegs(before, command.legs);
    return { priceTicks, quantityLots, remainingLots, displayLots, goodTillDate, legs };
  }

  /** Places the order anew, as Placement.place() does, with the old order's margin and quantity released. */
  private requeue(
    slot: number,
    after: AmendedOrder,
    command: MessageOf<typeof AmendOrder>,
    transaction: Transaction,
  ): void {
    const { state } = this;
    if (this.refusePrice(slot, after, transaction)) return;
    if (this.refuseRisk(slot, after, command, transaction)) return;
    // No check after this line: the amendment is accepted, and its margin is reserved.
    const { plan } = this.checks;
    const { marginPriceTicks, lossTicks } = plan;
    const rests = !plan.crosses && after.displayLots === 0;
    this.emit(slot, after, rests ? 1 : 0, state.nextOrderSerial, marginPriceTicks, lossTicks, 0, transaction);
    if (rests) this.replyResting(slot, transaction);
    else this.execution.execute(transaction, slot, after.priceTicks, true, marginPriceTicks, lossTicks);
  }

  /** Checks a new price, and fills in the plan of the order. Returns whether it refused. */
  private refusePrice(
    slot: number,
    { priceTicks, remainingLots, legs }: AmendedOrder,
    transaction: Transaction,
  ): boolean {
    const { state, checks } = this;
    const { orders, instrument, markTicks } = state;
    const { plan } = checks;
    plan.isReduceOnly = state.open.isReduceOnly(slot);
    if (refuseWhileHalted(state, transaction, plan.isReduceOnly)) return true;
    const row = orders.row(slot);
    const size = state.positions.numbers[row + SIZE];
    if (size !== 0) state.contributions.refreshMark(row);
    const side = orders.side(slot);
    const isBuy = side === BUY;
    if (priceTicks > instrument.maxPriceTicks)
      return refuses(transaction, "PRICE_TOO_HIGH", "price", { limitTicks: instrument.maxPriceTicks });
    const worstTicks = checks.worstPriceTicks(row, side, Math.max(0, isBuy ? -size : size));
    if (isBeyond(side, priceTicks, worstTicks))
      return refuses(transaction, "PRICE_OUT_OF_BAND", "price", { limitTicks: worstTicks, markTicks });
    if (legs !== null && reachesLeg(legs, side, priceTicks))
      return refuses(transaction, "WOULD_TRIGGER", "price", { currentTicks: priceTicks });
    const bestTicks = state.book.opposite(side).best();
    plan.row = row;
    plan.limitTicks = priceTicks;
    plan.quantityLots = remainingLots;
    plan.bestTicks = bestTicks;
    plan.crosses = crosses(side, priceTicks, bestTicks);
    plan.marginPriceTicks = marginPriceAt(isBuy, priceTicks, markTicks);
    plan.lossTicks = lossTicksAt(isBuy, priceTicks, markTicks);
    if (plan.crosses && (orders.flags(slot) & POST_ONLY) !== 0)
      return refuses(transaction, "POST_ONLY_WOULD_TRADE", "price", { bestTicks });
    return false;
  }

  /** Checks position limits and reserves margin, as Placement does for a new order. Returns whether it refused. */
  private refuseRisk(
    slot: number,
    { priceTicks, quantityLots, remainingLots }: AmendedOrder,
    command: MessageOf<typeof AmendOrder>,
    transaction: Transaction,
  ): boolean {
    const { state, checks, margin } = this;
    const { orders } = state;
    const { plan } = checks;
    const { row, marginPriceTicks, lossTicks } = plan;
    const side = orders.side(slot);
    const isBuy = side === BUY;
    const { expected } = margin;
    margin.expectNoFills(remainingLots);
    if (plan.crosses) preview(state, row, side, priceTicks, remainingLots, orders.selfTradePrevention(slot), expected);
    const { lots, leftLots } = expected;
    const asked = { ...command, quantityLots };
    const replacedLots = orders.remainingLots(slot);
    if (!plan.isReduceOnly && checks.refuseExposure(asked, transaction, plan, side, lots, leftLots, replacedLots))
      return true;
    const unsettled = margin.unsettledLoss(row, isBuy);
    if (unsettled !== null) return this.refuseFills(slot, transaction, "LOSS_NOT_SETTLED", "price", unsettled);
    if (!plan.isReduceOnly) {
      margin.setOpeningRate(row, isBuy, transaction.time);
      const shortfall = margin.reserve(row, isBuy, leftLots, marginPriceTicks, lossTicks, slot);
      if (shortfall !== null) return this.refuseFills(slot, transaction, "INSUFFICIENT_MARGIN", "quantity", shortfall);
    }
    const shortfall = margin.reserveLoss(row, isBuy);
    if (shortfall !== null) return this.refuseFills(slot, transaction, "INSUFFICIENT_MARGIN", "quantity", shortfall);
    const missing = margin.unsettledLossAfterTaking(row, isBuy);
    if (missing === null) return false;
    return this.refuseFills(slot, transaction, "LOSS_NOT_SETTLED", "price", missing);
  }

  /** Refuses an order for its expected fills. The figures are left out if they count lots that an iceberg hides. */
  private refuseFills(
    slot: number,
    transaction: Transaction,
    code: RefusalCode,
    field: string,
    details: RefusalDetails,
  ): true {
    const { orders } = this.state;
    const { row, limitTicks, quantityLots } = this.checks.plan;
    const selfTradePrevention = orders.selfTradePrevention(slot);
    const { expected } = this.margin;
    const isHidden = takesHiddenLots(
      this.state,
      row,
      orders.side(slot),
      limitTicks,
      quantityLots,
      selfTradePrevention,
      expected,
    );
    return refuses(transaction, code, field, isHidden ? null : details);
  }

  private emit(
    slot: number,
    after: AmendedOrder,
    rests: number,
    queueSerial: number,
    marginPriceTicks: PriceTicks,
    lossTicks: PriceTicks,
    hiddenLots: QuantityLots,
    transaction: Transaction,
  ): void {
    const { state } = this;
    const { orders } = state;
    amended.orderId = state.orderId(slot);
    amended.accountId = state.accountId(slot);
    amended.side = orders.side(slot);
    amended.oldPriceTicks = orders.priceTicks(slot);
    amended.oldRestingLots = state.open.shownLots(slot);
    amended.priceTicks = after.priceTicks;
    amended.quantityLots = after.quantityLots;
    amended.remainingLots = after.remainingLots;
    amended.rests = rests;
    amended.queueSerial = queueSerial;
    amended.marginPriceTicks = marginPriceTicks;
    amended.lossTicks = lossTicks;
    amended.displayLots = after.displayLots;
    amended.hiddenLots = hiddenLots;
    amended.goodTillDate = after.goodTillDate;
    amended.legs = after.legs === legsOf(state, slot) ? null : after.legs;
    applyOrderAmended(state, amended, slot);
    transaction.emit(amended);
  }

  private replyResting(slot: number, transaction: Transaction): void {
    const status = this.state.orders.filledLots(slot) > 0 ? STATUS_PARTIALLY_FILLED : STATUS_NEW;
    replyOrder(this.state, transaction, slot, status, REASON_NONE);
  }
}
