import {
  applyConditionalOrderAmended,
  applyConditionalOrderPlaced,
  applyTriggersReached,
} from "../apply/conditional-order-events.ts";
import { NONE, SIZE, WAITING_ORDERS } from "../base/columns.ts";
import {
  BUY,
  CLOSE_POSITION,
  isAtMarket,
  LIMIT,
  MARKET,
  REASON_GOOD_TILL_DATE,
  REASON_INSUFFICIENT_MARGIN,
  REASON_NONE,
  REASON_NOT_ACCEPTED,
  REASON_NOTIONAL_TOO_SMALL,
  REASON_OTHER_FIRED,
  REASON_POSITION_LIMIT,
  REASON_POST_ONLY_WOULD_TRADE,
  REASON_PRICE_OUT_OF_BAND,
  REASON_REDUCE_ONLY,
  REASON_SYMBOL_HALTED,
  REASON_TOO_MANY_OPEN_ORDERS,
  REDUCE_ONLY,
  STATUS_CANCELED,
  STATUS_EXPIRED,
  STATUS_REJECTED,
  STATUS_UNTRIGGERED,
  serialToId,
  TRIGGER_SOURCES,
} from "../base/enums.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import { exposedLots } from "../formulas/exposure.ts";
import { bandEdge, isBeyond } from "../formulas/mark-limits.ts";
import { isWithinKeyLimits } from "../margin/key-limits.ts";
import { spendLeg } from "../matching/legs.ts";
import { close } from "../matching/order-closing.ts";
import { refuseNotional, refuseQuantity } from "../matching/order-size.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import { type AmendOrder, PlaceOrder, type PlaceTrigger } from "../protocol/commands.ts";
import { ConditionalOrderAmended, ConditionalOrderPlaced, TriggersReached } from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { type RefusalCode, type RefusalDetails, refuse, refuseLate } from "../protocol/refusals.ts";
import { Refused, type Reply } from "../protocol/replies.ts";
import { WITH_POSITION, waitsForRise } from "../state/order-terms.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { activates, MAX_TRAILING_ORDERS, trailingTrigger } from "../state/trailing.ts";
import { reaches } from "../state/triggers.ts";
import { replyConditionalDryRun } from "./dry-run.ts";
import { answerRepeated, type Placement } from "./placement.ts";
import { replyOrder } from "./symbol-views.ts";

// Filled in again for each event: a turn hands it on before it goes on (see Turn).
const waits = blank(ConditionalOrderPlaced);
const reached = blank(TriggersReached);
const amended = blank(ConditionalOrderAmended);

/** Orders of one account that may wait for a price in one symbol. */
export const MAX_TRIGGER_ORDERS = 50;
/** So many orders fire in one turn at most: what comes behind it waits no longer than that takes. */
const FIRED_PER_TRANSACTION = 20;

/** Refuses so many orders that would wait beside as many of the account's as may; true when it did. */
export function refuseConditional(
  { positions }: SymbolState,
  transaction: Transaction,
  row: number,
  orderCount: number,
): boolean {
  if (positions.numbers[row + WAITING_ORDERS] + orderCount <= MAX_TRIGGER_ORDERS) return false;
  refuse(transaction, "TOO_MANY_TRIGGER_ORDERS", "symbol", { limit: MAX_TRIGGER_ORDERS });
  return true;
}

/** What an order that waits is to be. */
type Wanted = Pick<
  MessageOf<typeof PlaceTrigger>,
  | "side"
  | "orderType"
  | "flags"
  | "priceTicks"
  | "quantityLots"
  | "triggerTicks"
  | "triggerBy"
  | "callbackPpm"
  | "activationTicks"
  | "keyOrderQuanta"
  | "keyPositionQuanta"
  | "keyLeverage"
>;

/** How a refusal reads as the end of an order. */
const REASON_OF: Partial<Record<RefusalCode, number>> = {
  INSUFFICIENT_MARGIN: REASON_INSUFFICIENT_MARGIN,
  PRICE_OUT_OF_BAND: REASON_PRICE_OUT_OF_BAND,
  POSITION_LIMIT: REASON_POSITION_LIMIT,
  POST_ONLY_WOULD_TRADE: REASON_POST_ONLY_WOULD_TRADE,
  REDUCE_ONLY_NO_POSITION: REASON_REDUCE_ONLY,
  NOTIONAL_TOO_SMALL: REASON_NOTIONAL_TOO_SMALL,
  TOO_MANY_OPEN_ORDERS: REASON_TOO_MANY_OPEN_ORDERS,
  SYMBOL_HALTED: REASON_SYMBOL_HALTED,
  STALE_PRICE: REASON_SYMBOL_HALTED,
};

/** A turn within a turn, in which nobody has asked: of its answers only a refusal is kept. */
class TriggerTransaction implements Transaction {
  refusal = "";
  readonly time: number;
  readonly emit: Transaction["emit"];

  constructor(transaction: Transaction) {
    this.time = transaction.time;
    this.emit = (event) => transaction.emit(event);
  }

  reply(reply: Reply): void {
    if (reply.type === Refused.code) this.refusal = reply.code;
  }
}

/**
 * Orders that wait for a price. They take no margin while they wait; when their price has come they are looked at like a
 * new order, and one that is refused then ends as REJECTED with the reason (Bybit; Binance: EXPIRED).
 */
export class Conditional {
  private readonly instrument: Instrument;
  private readonly state: SymbolState;
  private readonly placement: Placement;
  private readonly attach: (transaction: Transaction) => void;
  private readonly order = blank(PlaceOrder);

  /** `attach`: see AttachedOrders. */
  constructor(state: SymbolState, placement: Placement, attach: (transaction: Transaction) => void) {
    this.instrument = state.instrument;
    this.state = state;
    this.placement = placement;
    this.attach = attach;
  }

  /** `isTrial`: see trial.ts. */
  place(command: MessageOf<typeof PlaceTrigger>, transaction: Transaction, isDryRun = false): void {
    const { state, instrument } = this;
    const { side, triggerBy, callbackPpm, activationTicks } = command;
    if (command.clientOrderId !== "" && answerRepeated(state, command, transaction)) return;
    if (refuseLate(command, transaction)) return;
    if (state.markTicks === 0) return refuse(transaction, "NO_MARK_PRICE", "symbol");
    const reduces = (command.flags & REDUCE_ONLY) !== 0;
    if (refuseWhileHalted(state, transaction, reduces)) return;
    const row = state.positions.draft(command.accountId);
    const numbers = state.positions.numbers;
    if ((command.flags & CLOSE_POSITION) !== 0) {
      const size = numbers[row + SIZE];
      if (side === BUY ? size >= 0 : size <= 0) return refuse(transaction, "REDUCE_ONLY_NO_POSITION", "closePosition");
    } else if (refuseQuantity(instrument, transaction, command.quantityLots)) return;
    if (refuseConditional(state, transaction, row, 1)) return;
    if (callbackPpm !== 0 && state.open.trailing.size >= MAX_TRAILING_ORDERS)
      return refuse(transaction, "TOO_MANY_TRIGGER_ORDERS", "symbol", { limit: MAX_TRAILING_ORDERS });
    const triggerTicks = callbackPpm === 0 ? command.triggerTicks : this.trailingFrom(command);
    if (!this.mayWait({ ...command, triggerTicks }, row, 0, transaction)) return;

    waits.orderId = serialToId(state.nextOrderSerial, instrument.id);
    waits.accountId = command.accountId;
    waits.side = side;
    waits.orderType = command.orderType;
    waits.timeInForce = command.timeInForce;
    waits.flags = command.flags;
    waits.selfTradePrevention = command.selfTradePrevention;
    waits.priceTicks = command.priceTicks;
    waits.quantityLots = command.quantityLots;
    waits.triggerTicks = triggerTicks;
    waits.triggerBy = triggerBy;
    waits.callbackPpm = callbackPpm;
    waits.activationTicks = activationTicks;
    waits.bodyHash = command.bodyHash;
    waits.clientOrderId = command.clientOrderId;
    if (isDryRun) return replyConditionalDryRun(state, transaction, waits);
    const slot = applyConditionalOrderPlaced(state, waits, transaction.time);
    transaction.emit(waits);
    replyOrder(state, transaction, slot, STATUS_UNTRIGGERED, REASON_NONE);
  }

  /**
   * Gives an order that waits another trigger, limit or quantity under the same id, or one that trails another callback,
   * which counts from the best price that it has seen. It is held to what a new one in its place would be, and fires among
   * others of its trigger by its age. Refused, nothing has changed.
   */
  amend(slot: number, command: MessageOf<typeof AmendOrder>, transaction: Transaction): void {
    const { state, instrument } = this;
    const { orders } = state;
    const terms = state.terms.of(slot);
    if (refuseLate(command, transaction)) return;
    const fixed = fixedField(state, slot, command);
    if (fixed !== "") return refuse(transaction, "ORDER_WAITS", fixed);
    if (terms.dueSerial !== 0)
      return refuse(transaction, "WOULD_TRIGGER", "id", { currentTicks: state.priceOf(terms.triggerBy) });
    const oldLots = orders.quantityLots(slot);
    const side = orders.side(slot);
    const callbackPpm = command.callbackPpm || terms.callbackPpm;
    const wanted = {
      ...command,
      side,
      orderType: orders.type(slot),
      flags: orders.flags(slot),
      priceTicks: command.priceTicks || orders.priceTicks(slot),
      quantityLots: command.quantityLots || oldLots,
      triggerTicks:
        terms.bestTicks === 0
          ? command.triggerTicks || terms.triggerTicks
          : trailingTrigger(side, terms.bestTicks, callbackPpm, instrument.maxPriceTicks),
      triggerBy: terms.triggerBy,
      callbackPpm,
      activationTicks: command.activationTicks || terms.activationTicks,
    };
    const { priceTicks, quantityLots, triggerTicks, activationTicks } = wanted;
    const isSame =
      priceTicks === orders.priceTicks(slot) &&
      quantityLots === oldLots &&
      triggerTicks === terms.triggerTicks &&
      callbackPpm === terms.callbackPpm &&
      activationTicks === terms.activationTicks;
    if (!isSame) {
      if (refuseWhileHalted(state, transaction, state.open.isReduceOnly(slot))) return;
      if (command.quantityLots !== 0 && refuseQuantity(instrument, transaction, quantityLots)) return;
      if (!this.mayWait(wanted, orders.row(slot), oldLots, transaction)) return;
      amended.orderId = state.orderId(slot);
      amended.accountId = state.accountId(slot);
      amended.priceTicks = priceTicks;
      amended.quantityLots = quantityLots;
      amended.triggerTicks = triggerTicks;
      amended.callbackPpm = callbackPpm;
      amended.activationTicks = activationTicks;
      applyConditionalOrderAmended(state, amended, slot);
      transaction.emit(amended);
    }
    replyOrder(state, transaction, slot, STATUS_UNTRIGGERED, REASON_NONE);
  }

  /**
   * Whether its prices, its value and its key's limits let an order wait; else it is refused. `oldLots`: what it has waited
   * with until now.
   */
  private mayWait(wanted: Wanted, row: number, oldLots: QuantityLots, transaction: Transaction): boolean {
    const { state, instrument } = this;
    const { side, priceTicks, quantityLots, triggerTicks, callbackPpm, activationTicks } = wanted;
    const no = (code: RefusalCode, field: string, details: RefusalDetails): boolean => {
      refuse(transaction, code, field, details);
      return false;
    };
    const { maxPriceTicks } = instrument;
    if (triggerTicks > maxPriceTicks) return no("PRICE_TOO_HIGH", "triggerPrice", { limitTicks: maxPriceTicks });
    if (activationTicks > maxPriceTicks) return no("PRICE_TOO_HIGH", "activationPrice", { limitTicks: maxPriceTicks });
    if (priceTicks > maxPriceTicks) return no("PRICE_TOO_HIGH", "price", { limitTicks: maxPriceTicks });
    const bandTicks = bandEdge(instrument, side, triggerTicks);
    if (priceTicks !== 0 && isBeyond(side, priceTicks, bandTicks))
      return no("PRICE_OUT_OF_BAND", "price", { limitTicks: bandTicks, triggerTicks });
    if ((wanted.flags & REDUCE_ONLY) === 0) {
      const atTicks = triggerTicks || activationTicks || state.markTicks;
      if (refuseNotional(instrument, transaction, quantityLots, priceTicks || atTicks)) return false;
      const isBuy = side === BUY;
      const dearestTicks = isBuy ? priceTicks || bandEdge(instrument, BUY, atTicks) : Math.max(priceTicks, atTicks);
      const exposed = exposedLots(state.positions.numbers, row, isBuy, 0, quantityLots);
      if (!isWithinKeyLimits(wanted, transaction, state, row, side, exposed, dearestTicks, oldLots)) return false;
    }
    const currentTicks = state.priceOf(wanted.triggerBy);
    if (currentTicks === 0) return true;
    if (triggerTicks !== 0 && reaches(waitsForRise(wanted.orderType, side), currentTicks, triggerTicks))
      return no("WOULD_TRIGGER", callbackPpm === 0 ? "triggerPrice" : "callbackRate", { currentTicks });
    if (triggerTicks === 0 && activationTicks !== 0 && activates(side, currentTicks, activationTicks))
      return no("WOULD_TRIGGER", "activationPrice", { currentTicks });
    return true;
  }

  /** Whether orders are due that may fire: while the symbol is halted none may. */
  get isFiring(): boolean {
    return this.state.open.due.size > 0 && this.state.countsPrices;
  }

  /**
   * At the end of a turn: what its prices reach is due, wherever they go before it has fired. While the symbol is halted
   * no price counts.
   */
  notePrices(transaction: Transaction): void {
    const { state } = this;
    state.mayReach = false;
    if (state.open.waitingCount === state.open.due.size || !state.countsPrices) return;
    for (const source of TRIGGER_SOURCES.keys()) {
      this.notePrice(source, false, transaction);
      this.notePrice(source, true, transaction);
    }
  }

  private notePrice(source: number, rises: boolean, transaction: Transaction): void {
    const { state } = this;
    const priceTicks = state.priceOf(source);
    if (state.open.firstReached(source, rises, priceTicks) === NONE) return;
    reached.triggerBy = source;
    reached.rises = rises ? 1 : 0;
    reached.priceTicks = priceTicks;
    applyTriggersReached(state, reached);
    transaction.emit(reached);
  }

  /**
   * Fires some of the orders that are due, in a turn behind the one that brought their price. What fires may trade and so
   * reach further orders, which are due when the turn ends. What needs margin fires in a turn of its own: gains that its
   * account makes in a turn count behind it.
   */
  fireDue(transaction: Transaction): void {
    const { state } = this;
    for (let fired = 0; fired < FIRED_PER_TRANSACTION && this.isFiring; fired++) {
      // One that fires next stands for what its order has filled until now.
      if (state.entryFills.size > 0) this.attach(transaction);
      const slot = state.open.due.first();
      if (state.dirty.hasRows && !state.open.isReduceOnly(slot)) return;
      // What those before it have lost is gone, also from what their orders in the book stand on; what they have closed needs
      // no margin any more.
      state.contributions.trackDirty();
      this.fire(slot, transaction);
    }
  }

  private fire(slot: number, transaction: Transaction): void {
    const { state, order } = this;
    const { orders, positions } = state;
    const closesAll = (orders.flags(slot) & CLOSE_POSITION) !== 0;
    const size = Math.abs(positions.numbers[orders.row(slot) + SIZE]);
    order.accountId = state.accountId(slot);
    order.side = orders.side(slot);
    order.orderType = isAtMarket(orders.type(slot)) ? MARKET : LIMIT;
    order.timeInForce = orders.timeInForce(slot);
    order.flags = orders.flags(slot);
    order.selfTradePrevention = orders.selfTradePrevention(slot);
    order.priceTicks = orders.priceTicks(slot);
    order.quantityLots = closesAll ? size : orders.quantityLots(slot);
    const { parentId, siblingId } = state.terms.of(slot);
    const orderId = state.orderId(slot);
    const firing = new TriggerTransaction(transaction);
    this.placement.place(order, firing, slot);
    if (firing.refusal === "") {
      spendLeg(state, transaction, orderId, parentId);
      this.cancelSibling(siblingId, parentId, transaction);
      return;
    }
    const reason = REASON_OF[firing.refusal as RefusalCode] ?? REASON_NOT_ACCEPTED;
    close(state, transaction, slot, STATUS_REJECTED, reason);
  }

  /** Of a take-profit and a stop that came with one order, one has fired. */
  private cancelSibling(orderId: number, parentId: number, transaction: Transaction): void {
    const { state } = this;
    const slot = orderId === 0 ? NONE : state.findOrder(orderId);
    if (slot === NONE || !state.orders.isWaiting(slot)) return;
    close(state, transaction, slot, STATUS_CANCELED, REASON_OTHER_FIRED);
    spendLeg(state, transaction, orderId, parentId);
  }

  /**
   * Ends the orders whose goodTillDate has come: before anything else of a turn, so that none of them trades. Those that
   * a long turn has no room for come in the next ones; until then nothing trades, see refuseWhileHalted.
   */
  expire(transaction: Transaction): void {
    const { state } = this;
    while (!state.progress.isLong) {
      const serial = state.open.expiries.takeDue(transaction.time);
      if (serial === undefined) break;
      const slot = state.orders.find(serial);
      if (slot !== NONE) close(state, transaction, slot, STATUS_EXPIRED, REASON_GOOD_TILL_DATE);
    }
    state.contributions.trackDirty();
  }

  /** Where a trailing order begins; 0 = it does not trail yet. */
  private trailingFrom({ side, triggerBy, callbackPpm, activationTicks }: MessageOf<typeof PlaceTrigger>): PriceTicks {
    const currentTicks = this.state.priceOf(triggerBy);
    if (activationTicks !== 0 || currentTicks === 0) return 0;
    return trailingTrigger(side, currentTicks, callbackPpm, this.instrument.maxPriceTicks);
  }
}

/** What is asked of an order that waits, and has none or takes it from elsewhere: the field's name, or "". */
function fixedField({ orders, terms }: SymbolState, slot: number, command: MessageOf<typeof AmendOrder>): string {
  if (command.priceMatch !== 0) return "priceMatch";
  if (command.displayLots !== 0) return "displayQuantity";
  if (command.goodTillDate !== 0) return "goodTillDate";
  if (command.priceTicks !== 0 && isAtMarket(orders.type(slot))) return "price";
  const isOther = command.quantityLots !== 0 && command.quantityLots !== orders.quantityLots(slot);
  if (isOther && (orders.flags(slot) & WITH_POSITION) !== 0) return "quantity";
  const { callbackPpm, activationTicks, bestTicks } = terms.of(slot);
  if (command.triggerTicks !== 0 && callbackPpm !== 0) return "triggerPrice";
  if (command.callbackPpm !== 0 && callbackPpm === 0) return "callbackRate";
  const isActivated = callbackPpm === 0 || bestTicks !== 0;
  const isOtherActivation = command.activationTicks !== 0 && command.activationTicks !== activationTicks;
  return isOtherActivation && isActivated ? "activationPrice" : "";
}
