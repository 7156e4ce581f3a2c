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
import { exposedLots } from "../formulas/exposure.ts";
import { lossTicksAt, marginPriceAt } from "../formulas/margin.ts";
import { isBeyond } from "../formulas/mark-limits.ts";
import { isWithinKeyLimits } from "../margin/key-limits.ts";
import { refuseDisplay } from "../matching/iceberg.ts";
import { crosses } from "../matching/matching.ts";
import { refuseNotional, refuseQuantity } from "../matching/order-size.ts";
import { preview } from "../matching/preview.ts";
import { matchPrice } from "../matching/price-match.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { AmendOrder } from "../protocol/commands.ts";
import { OrderAmended } from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { refuse, refuseEnded, refuseLate } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { isLegReached } from "./attached.ts";
import type { Placement } from "./placement.ts";
import { replyOpenOrder, replyOrder } from "./symbol-views.ts";

// Filled in again for each event: a turn hands it on before it goes on (see Turn).
const amended = blank(OrderAmended);

/** What the order is to be. */
interface Wanted {
  readonly priceTicks: PriceTicks;
  readonly quantityLots: QuantityLots;
  /** What of it may still trade. */
  readonly remainingLots: QuantityLots;
  /** 0 = it shows all of it. */
  readonly displayLots: QuantityLots;
  /** 0 = it has no end. */
  readonly goodTillDate: TimeMs;
}

/** What is asked of the price that an order waits for: the field's name, or "". */
function awaitedField({ triggerTicks, callbackPpm, activationTicks }: MessageOf<typeof AmendOrder>): string {
  if (triggerTicks !== 0) return "triggerPrice";
  if (callbackPpm !== 0) return "callbackRate";
  return activationTicks !== 0 ? "activationPrice" : "";
}

const displayLotsOf = ({ orders, terms }: SymbolState, slot: number): QuantityLots =>
  orders.isIceberg(slot) ? terms.of(slot).displayLots : 0;

/**
 * Gives an open order another price, quantity, display quantity or end under the same id. Less at the same price keeps
 * its place in the queue, and so does another end or display quantity: less is shown at once, more with the next slice.
 * Anything else is checked as a new order in the old one's place would be, goes to the back, and takes first what it
 * meets. Refused, nothing has changed.
 */
export class Amendment {
  private readonly instrument: Instrument;
  private readonly state: SymbolState;
  private readonly placement: Placement;

  constructor(state: SymbolState, placement: Placement) {
    this.instrument = state.instrument;
    this.state = state;
    this.placement = placement;
  }

  /** `slot`: the account's own resting order. */
  amend(slot: number, command: MessageOf<typeof AmendOrder>, transaction: Transaction): void {
    const { state, instrument } = this;
    const { orders } = state;
    if (refuseLate(command, transaction)) return;
    const awaited = awaitedField(command);
    if (awaited !== "") return refuse(transaction, "ORDER_DOES_NOT_WAIT", awaited);
    if (state.haltMode === MODE_HALTED) return refuse(transaction, "SYMBOL_HALTED", "symbol", { status: "HALTED" });
    const { goodTillDate } = state.terms.of(slot);
    if (command.goodTillDate !== 0) {
      if (orders.timeInForce(slot) !== GTD) return refuse(transaction, "ORDER_NOT_GTD", "goodTillDate");
      // One that a long turn has left behind its end stays ended.
      if (refuseEnded(Math.min(goodTillDate, command.goodTillDate), transaction)) return;
    }
    if (command.quantityLots !== 0) {
      const filledLots = orders.filledLots(slot);
      if (command.quantityLots <= filledLots)
        return refuse(transaction, "QUANTITY_BELOW_FILLED", "quantity", { filledLots });
      if (refuseQuantity(instrument, transaction, command.quantityLots)) return;
    }
    const side = orders.side(slot);
    const matchedTicks = command.priceMatch === 0 ? 0 : matchPrice(state, side, command.priceMatch, transaction);
    if (matchedTicks < 0) return;
    const wanted = this.wantedOf(slot, matchedTicks || command.priceTicks, command);
    const isSamePrice = wanted.priceTicks === orders.priceTicks(slot);
    const isNoMore = isSamePrice && wanted.remainingLots <= orders.remainingLots(slot);
    const { quantityLots, remainingLots, displayLots } = wanted;
    const isSameDisplay = displayLots === displayLotsOf(state, slot);
    const isSame = isNoMore && isSameDisplay && quantityLots === orders.quantityLots(slot);
    if (isSame && wanted.goodTillDate === goodTillDate) return replyOpenOrder(state, transaction, slot);
    if (!isSame) {
      if (displayLots !== 0 && refuseDisplay(instrument, transaction, displayLots, quantityLots, remainingLots)) return;
      if (!state.open.isReduceOnly(slot) && refuseNotional(instrument, transaction, quantityLots, wanted.priceTicks))
        return;
    }
    if (!isNoMore) return this.requeue(slot, wanted, command, transaction);
    const hiddenLots =
      remainingLots - Math.min(state.open.shownLots(slot), remainingLots, displayLots || remainingLots);
    this.emit(slot, wanted, 1, 0, orders.marginPriceTicks(slot), orders.lossTicks(slot), hiddenLots, transaction);
    this.replyResting(slot, transaction);
  }

  /** A price or quantity of 0 stays as it is, with what has been given up of it; one that is given counts anew. */
  private wantedOf(slot: number, newPriceTicks: PriceTicks, command: MessageOf<typeof AmendOrder>): Wanted {
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
    return { priceTicks, quantityLots, remainingLots, displayLots, goodTillDate };
  }

  /** Check, check, check; then it must succeed: as Placement.place(), with what the order has now out of the way. */
  private requeue(slot: number, wanted: Wanted, command: MessageOf<typeof AmendOrder>, transaction: Transaction): void {
    const { state, instrument, placement } = this;
    const { orders, positions } = state;
    const { priceTicks, quantityLots, remainingLots } = wanted;
    const mark = state.markTicks;
    const reduceOnly = state.open.isReduceOnly(slot);
    if (refuseWhileHalted(state, transaction, reduceOnly)) return;
    const row = orders.row(slot);
    const numbers = positions.numbers;
    const size = numbers[row + SIZE];
    if (size !== 0) state.contributions.refreshMark(row);
    const side = orders.side(slot);
    const isBuy = side === BUY;
    if (priceTicks > instrument.maxPriceTicks)
      return refuse(transaction, "PRICE_TOO_HIGH", "price", { limitTicks: instrument.maxPriceTicks });
    const edgeTicks = placement.edgeOf(row, side, Math.max(0, isBuy ? -size : size), mark);
    if (isBeyond(side, priceTicks, edgeTicks))
      return refuse(transaction, "PRICE_OUT_OF_BAND", "price", { limitTicks: edgeTicks, markTicks: mark });
    if (this.reachesLeg(slot, priceTicks))
      return refuse(transaction, "WOULD_TRIGGER", "price", { currentTicks: priceTicks });
    const marginPriceTicks = marginPriceAt(isBuy, priceTicks, mark);
    const bestTicks = state.book.opposite(side).best();
    const takes = crosses(side, priceTicks, bestTicks);
    if (takes && (orders.flags(slot) & POST_ONLY) !== 0)
      return refuse(transaction, "POST_ONLY_WOULD_TRADE", "price", { bestTicks });
    const { expected } = placement;
    expected.lots = 0;
    expected.quanta = 0;
    expected.leftLots = remainingLots;
    if (takes) preview(state, row, side, priceTicks, remainingLots, orders.selfTradePrevention(slot), expected);
    const lossTicks = lossTicksAt(isBuy, priceTicks, mark);
    if (!reduceOnly) {
      const { lots, leftLots } = expected;
      const exposed = exposedLots(numbers, row, isBuy, lots, leftLots, orders.remainingLots(slot));
      const limitLots = placement.limits.positionLots(mark);
      if (exposed > limitLots) return refuse(transaction, "POSITION_LIMIT", "quantity", { limitLots });
      const asked = { ...command, quantityLots };
      const dearestTicks = isBuy ? priceTicks : Math.max(marginPriceTicks, bestTicks);
      if (!isWithinKeyLimits(asked, transaction, state, row, side, exposed, dearestTicks)) return;
      const shortfall = placement.reserveMargin(row, isBuy, leftLots, marginPriceTicks, lossTicks, mark, slot);
      if (shortfall !== null) return refuse(transaction, "INSUFFICIENT_MARGIN", "quantity", shortfall);
    }

    const missing = placement.spendLoss(row, isBuy);
    if (missing !== null) return refuse(transaction, "INSUFFICIENT_MARGIN", "quantity", missing);

    // From here it must succeed.
    const rests = !takes && wanted.displayLots === 0;
    this.emit(slot, wanted, rests ? 1 : 0, state.nextOrderSerial, marginPriceTicks, lossTicks, 0, transaction);
    if (!rests) placement.take(transaction, slot, priceTicks, true, marginPriceTicks, lossTicks);
    else this.replyResting(slot, transaction);
  }

  /** Whether the price is beyond the take-profit or the stop that comes with the order: see AttachedOrders.place(). */
  private reachesLeg(slot: number, priceTicks: PriceTicks): boolean {
    const { orders, terms } = this.state;
    if (!orders.isExtended(slot)) return false;
    const { takeProfit = null, stopLoss = null } = terms.of(slot).legs ?? {};
    const side = orders.side(slot);
    if (takeProfit !== null && isLegReached(takeProfit, TAKE_PROFIT, side, priceTicks)) return true;
    return stopLoss !== null && isLegReached(stopLoss, STOP, side, priceTicks);
  }

  private emit(
    slot: number,
    wanted: Wanted,
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
    amended.priceTicks = wanted.priceTicks;
    amended.quantityLots = wanted.quantityLots;
    amended.remainingLots = wanted.remainingLots;
    amended.rests = rests;
    amended.queueSerial = queueSerial;
    amended.marginPriceTicks = marginPriceTicks;
    amended.lossTicks = lossTicks;
    amended.displayLots = wanted.displayLots;
    amended.hiddenLots = hiddenLots;
    amended.goodTillDate = wanted.goodTillDate;
    applyOrderAmended(state, amended, slot);
    transaction.emit(amended);
  }

  private replyResting(slot: number, transaction: Transaction): void {
    const status = this.state.orders.filledLots(slot) > 0 ? STATUS_PARTIALLY_FILLED : STATUS_NEW;
    replyOrder(this.state, transaction, slot, status, REASON_NONE);
  }
}
