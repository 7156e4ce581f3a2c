import { applyOrderTriggered } from "../apply/conditional-order-events.ts";
import { applyOrderExtended, applyOrderPlaced } from "../apply/order-events.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import { expiryReason } from "../matching/matching.ts";
import { exceedsTransaction, preview, takesHiddenLots } from "../matching/preview.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { PlaceExtended, PlaceOrder } from "../protocol/commands.ts";
import * as events from "../protocol/events.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { type RefusalCode, type RefusalDetails, refuses } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { beginDryRun, type DryRun, replyDryRun } from "./dry-run.ts";
import type { MarginReservation } from "./margin-reservation.ts";
import { answerDuplicate, type OrderChecks, type OrderPlan } from "./order-checks.ts";
import type { OrderExecution } from "./order-execution.ts";
import { replyOrder } from "./symbol-views.ts";

const { NONE } = columns;
const { BUY, FOK, GTC, IOC, MARKET, REASON_FOK_UNFILLABLE, REASON_NONE, serialToId, STATUS_NEW } = enums;
const { OrderExtended, OrderPlaced, OrderTriggered } = events;

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const placed = blank(OrderPlaced);
const triggered = blank(OrderTriggered);
const extended = blank(OrderExtended);

/** The fields that an order may have beyond those of PlaceOrder. */
export interface OrderOptions extends Pick<MessageOf<typeof PlaceExtended>, "goodTillDate" | "legs" | "displayLots"> {
  /** Reply with the expected outcome and change nothing: see dry-run.ts. */
  readonly isDryRun: boolean;
}

/**
 * Places limit and market orders, in four steps, each in a file of its own:
 * 1. order-checks.ts: may the order exist at all, and at what price;
 * 2. matching/preview.ts: what it will fill;
 * 3. margin-reservation.ts: does the account have the margin for that;
 * 4. order-execution.ts: match it, and let the rest come to rest or expire.
 *
 * A new order type starts in base/enums.ts. One that is a limit order with another price or lifetime changes step 1 or 4.
 * One that waits for a trigger belongs to conditional-placement.ts. One with additional fields comes as PlaceExtended, see
 * attached-orders.ts, and passes them here as OrderOptions.
 */
export class Placement {
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

  /**
   * Replies with the order, or refuses it and changes nothing. `triggeredSlot`: the untriggered order that becomes this
   * one, with the fields of the command. `options`: what the order has beyond the command.
   */
  place(
    command: MessageOf<typeof PlaceOrder>,
    transaction: Transaction,
    triggeredSlot: number = NONE,
    options: OrderOptions | null = null,
  ): void {
    const { state, checks, execution } = this;
    const { plan } = checks;
    // Before all other checks: a retry must get the original order, even if a new order would be refused by now.
    if (command.clientOrderId !== "" && answerDuplicate(state, command, transaction)) return;
    if (checks.refuseOrder(command, transaction, triggeredSlot !== NONE)) return;
    const dryRun = options?.isDryRun === true ? beginDryRun(plan.quantityLots) : null;
    const isUnfillable = this.previewFills(command, plan, dryRun);
    if (this.refuseRisk(command, transaction, plan, isUnfillable, dryRun)) return;
    // No check after this line: the order is accepted, and its margin is reserved.
    const showsAll = options === null || options.displayLots === 0;
    const rests = plan.mayRest && !plan.crosses && triggeredSlot === NONE && showsAll;
    this.fillPlaced(command, plan, rests);
    if (dryRun !== null) return replyDryRun(state, transaction, placed, dryRun, plan.mayRest, isUnfillable, options);
    let slot = triggeredSlot;
    if (triggeredSlot === NONE) {
      slot = applyOrderPlaced(state, placed, transaction.time);
      transaction.emit(placed);
      if (options !== null) this.emitExtended(transaction, slot, options);
    } else this.emitTriggered(transaction, triggeredSlot);
    if (rests) {
      // reserve() has set the row's contribution already. It is not called for reduce-only orders.
      if (!plan.isReduceOnly) state.dirty.markFresh();
      return replyOrder(state, transaction, slot, STATUS_NEW, REASON_NONE);
    }
    if (isUnfillable) return execution.expire(transaction, slot, REASON_FOK_UNFILLABLE);
    const { limitTicks, mayRest, marginPriceTicks, lossTicks } = plan;
    if (plan.crosses || mayRest) execution.execute(transaction, slot, limitTicks, mayRest, marginPriceTicks, lossTicks);
    else execution.expire(transaction, slot, expiryReason(command.orderType, false));
  }

  /** Fills in the expected fills. Returns whether the order is FOK and cannot be filled as a whole. */
  private previewFills(command: MessageOf<typeof PlaceOrder>, plan: OrderPlan, dryRun: DryRun | null): boolean {
    const { state } = this;
    const { expected } = this.margin;
    const { side, selfTradePrevention } = command;
    const { row, limitTicks, quantityLots } = plan;
    this.margin.expectNoFills(quantityLots);
    if (plan.crosses) preview(state, row, side, limitTicks, quantityLots, selfTradePrevention, expected, dryRun);
    if (command.timeInForce !== FOK) return false;
    return expected.lots < quantityLots || exceedsTransaction(state, side, limitTicks, quantityLots);
  }

  /** Checks position limits and reserves margin. Returns whether it has refused the order. */
  private refuseRisk(
    command: MessageOf<typeof PlaceOrder>,
    transaction: Transaction,
    plan: OrderPlan,
    isUnfillable: boolean,
    dryRun: DryRun | null,
  ): boolean {
    const { checks, margin } = this;
    const { expected } = margin;
    const { side } = command;
    const { row, mayRest, marginPriceTicks, lossTicks } = plan;
    const isBuy = side === BUY;
    const restingLots = mayRest ? expected.leftLots : 0;
    if (!plan.isReduceOnly) {
      // An order that must not rest counts as filled, whatever the preview says: the limit must not depend on the book.
      const filledLots = mayRest ? expected.lots : plan.quantityLots;
      if (checks.refuseExposure(command, transaction, plan, side, filledLots, restingLots, 0)) return true;
    }
    if (isUnfillable) return false;
    const unsettled = margin.unsettledLoss(row, isBuy);
    if (unsettled !== null) return this.refuseFills(command, transaction, plan, "LOSS_NOT_SETTLED", "price", unsettled);
    if (!plan.isReduceOnly) {
      margin.setOpeningRate(row, isBuy, transaction.time);
      const shortfall = margin.reserve(row, isBuy, restingLots, marginPriceTicks, lossTicks, NONE, dryRun);
      if (shortfall !== null)
        return this.refuseFills(command, transaction, plan, "INSUFFICIENT_MARGIN", "quantity", shortfall);
    }
    if (dryRun !== null) return false;
    const shortfall = margin.reserveLoss(row, isBuy);
    if (shortfall !== null)
      return this.refuseFills(command, transaction, plan, "INSUFFICIENT_MARGIN", "quantity", shortfall);
    const missing = margin.unsettledLossAfterTaking(row, isBuy);
    if (missing === null) return false;
    return this.refuseFills(command, transaction, plan, "LOSS_NOT_SETTLED", "price", missing);
  }

  /** Refuses an order for its expected fills. The figures are left out if they count lots that an iceberg hides. */
  private refuseFills(
    { side, selfTradePrevention }: MessageOf<typeof PlaceOrder>,
    transaction: Transaction,
    { row, limitTicks, quantityLots }: OrderPlan,
    code: RefusalCode,
    field: string,
    details: RefusalDetails,
  ): true {
    const { expected } = this.margin;
    const isHidden = takesHiddenLots(this.state, row, side, limitTicks, quantityLots, selfTradePrevention, expected);
    return refuses(transaction, code, field, isHidden ? null : details);
  }

  private fillPlaced(command: MessageOf<typeof PlaceOrder>, plan: OrderPlan, rests: boolean): void {
    const { state } = this;
    placed.orderId = serialToId(state.nextOrderSerial, state.instrument.id);
    placed.accountId = command.accountId;
    placed.side = command.side;
    placed.orderType = command.orderType;
    placed.timeInForce = command.orderType === MARKET && command.timeInForce === GTC ? IOC : command.timeInForce;
    placed.flags = command.flags;
    placed.selfTradePrevention = command.selfTradePrevention;
    placed.priceTicks = plan.limitTicks;
    placed.quantityLots = plan.quantityLots;
    placed.rests = rests ? 1 : 0;
    placed.marginPriceTicks = plan.marginPriceTicks;
    placed.lossTicks = plan.lossTicks;
    placed.bodyHash = command.bodyHash;
    placed.clientOrderId = command.clientOrderId;
  }

  /** The order keeps its id, and gets the price and quantity in `placed`. */
  private emitTriggered(transaction: Transaction, slot: number): void {
    triggered.orderId = this.state.orderId(slot);
    triggered.accountId = placed.accountId;
    triggered.priceTicks = placed.priceTicks;
    triggered.quantityLots = placed.quantityLots;
    triggered.triggerTicks = this.state.terms.of(slot).triggerTicks;
    applyOrderTriggered(this.state, triggered, slot);
    transaction.emit(triggered);
  }

  private emitExtended(transaction: Transaction, slot: number, options: OrderOptions): void {
    extended.orderId = this.state.orderId(slot);
    extended.accountId = placed.accountId;
    extended.goodTillDate = options.goodTillDate;
    extended.legs = options.legs;
    extended.displayLots = Math.min(options.displayLots, placed.quantityLots);
    applyOrderExtended(this.state, extended, slot);
    transaction.emit(extended);
  }
}
