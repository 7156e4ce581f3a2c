import { applyTriggersReached } from "../apply/conditional-order-events.ts";
import { NONE, SIZE } from "../base/columns.ts";
import {
  CLOSE_POSITION,
  isAtMarket,
  LIMIT,
  MARKET,
  REASON_INSUFFICIENT_MARGIN,
  REASON_NOT_ACCEPTED,
  REASON_NOTIONAL_TOO_SMALL,
  REASON_OTHER_FIRED,
  REASON_POSITION_LIMIT,
  REASON_POST_ONLY_WOULD_TRADE,
  REASON_PRICE_OUT_OF_BAND,
  REASON_REDUCE_ONLY,
  REASON_SYMBOL_HALTED,
  REASON_TOO_MANY_OPEN_ORDERS,
  STATUS_CANCELED,
  STATUS_REJECTED,
  TRIGGER_SOURCES,
} from "../base/enums.ts";
import { detachLeg } from "../matching/legs.ts";
import { closeOrder } from "../matching/order-closing.ts";
import { capFromMark } from "../matching/slippage.ts";
import type { Transaction } from "../protocol/actor.ts";
import { PlaceOrder } from "../protocol/commands.ts";
import { TriggersReached } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { RefusalCode } from "../protocol/refusals.ts";
import { Refused, type Reply } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import type { AttachedOrders } from "./attached-orders.ts";
import type { Placement } from "./placement.ts";

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const reached = blank(TriggersReached);

/** Orders that one transaction triggers at most. It bounds how long the next command waits. */
const FIRED_PER_TRANSACTION = 20;
/** One that is refused for its margin has looked through the book, and leaves nothing behind. It counts as so many of them. */
const REFUSED_COUNTS_AS = 4;

/** The closing reason of a triggered order for each refusal it may get. */
const REASON_OF: Partial<Record<RefusalCode, number>> = {
  INSUFFICIENT_MARGIN: REASON_INSUFFICIENT_MARGIN,
  LOSS_NOT_SETTLED: REASON_INSUFFICIENT_MARGIN,
  PRICE_OUT_OF_BAND: REASON_PRICE_OUT_OF_BAND,
  POSITION_LIMIT: REASON_POSITION_LIMIT,
  OPEN_INTEREST_CAP: REASON_POSITION_LIMIT,
  POST_ONLY_WOULD_TRADE: REASON_POST_ONLY_WOULD_TRADE,
  REDUCE_ONLY_NO_POSITION: REASON_REDUCE_ONLY,
  NOTIONAL_TOO_SMALL: REASON_NOTIONAL_TOO_SMALL,
  TOO_MANY_OPEN_ORDERS: REASON_TOO_MANY_OPEN_ORDERS,
  SYMBOL_HALTED: REASON_SYMBOL_HALTED,
  STALE_PRICE: REASON_SYMBOL_HALTED,
  PRICE_PENDING: REASON_SYMBOL_HALTED,
};

/** Places an order for which no client waits: it drops replies, but keeps the code of a refusal ("" = none). */
class FiringTransaction implements Transaction {
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
 * Triggers conditional orders in two steps. At the end of each transaction the orders whose trigger price was reached
 * become due. Then they are placed like new orders, in transactions of their own. An order that is refused then ends as
 * REJECTED with the reason (as at Bybit; Binance says EXPIRED).
 */
export class TriggerFiring {
  private readonly state: SymbolState;
  private readonly placement: Placement;
  private readonly attached: AttachedOrders;
  private readonly order = blank(PlaceOrder);

  constructor(state: SymbolState, placement: Placement, attached: AttachedOrders) {
    this.state = state;
    this.placement = placement;
    this.attached = attached;
  }

  /** Whether due orders may be placed now. Not while the symbol is halted. */
  get isFiring(): boolean {
    return this.state.open.due.size > 0 && this.state.countsPrices;
  }

  /**
   * Makes due what the prices at the end of a transaction have reached. Due orders stay due wherever the price goes next.
   * Prices during a halt do not count.
   */
  recordReachedTriggers(transaction: Transaction): void {
    const { state } = this;
    state.needsTriggerCheck = false;
    if (state.open.waitingCount === state.open.due.size || !state.countsPrices) return;
    for (const source of TRIGGER_SOURCES.keys()) {
      this.recordReached(source, false, transaction);
      this.recordReached(source, true, transaction);
    }
  }

  private recordReached(source: number, rises: boolean, transaction: Transaction): void {
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
   * Places some of the due orders. Their trades may reach further triggers, which become due when the transaction ends.
   * An order that needs margin only fires while the transaction has changed no position: a gain of this transaction must
   * not be used before it is in the log. A refused order changes none: orders that nobody can pay hold up others little.
   */
  fireTriggered(transaction: Transaction): void {
    const { state } = this;
    let mayHaveTraded = state.dirty.hasRows;
    for (let fired = 0; fired < FIRED_PER_TRANSACTION && this.isFiring; ) {
      // First attach what the orders before have filled: an attached order that fires next must cover those lots, too.
      if (state.entryFills.size > 0) this.attached.attach(transaction);
      const slot = state.open.due.first();
      if (mayHaveTraded && !state.open.isReduceOnly(slot)) return;
      // Count the losses of the orders before at once, and free the margin of what they have closed.
      state.contributions.trackDirty();
      const isPlaced = this.fire(slot, transaction);
      fired += isPlaced ? 1 : REFUSED_COUNTS_AS;
      if (isPlaced) mayHaveTraded = true;
    }
  }

  /** Returns whether the order was placed; otherwise it was refused. */
  private fire(slot: number, transaction: Transaction): boolean {
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
    // Read before place(): a filled order is gone after it.
    const { parentId, siblingId, maxSlippagePpm } = state.terms.of(slot);
    order.priceTicks =
      order.orderType === MARKET ? capFromMark(state, order.side, maxSlippagePpm) : orders.priceTicks(slot);
    order.quantityLots = closesAll ? size : orders.quantityLots(slot);
    const orderId = state.orderId(slot);
    const firing = new FiringTransaction(transaction);
    this.placement.place(order, firing, slot);
    if (firing.refusal === "") {
      detachLeg(state, transaction, orderId, parentId);
      this.cancelSibling(siblingId, parentId, transaction);
      return true;
    }
    const reason = REASON_OF[firing.refusal as RefusalCode] ?? REASON_NOT_ACCEPTED;
    closeOrder(state, transaction, slot, STATUS_REJECTED, reason);
    return false;
  }

  /** Take-profit and stop-loss of one parent order are one-cancels-the-other. */
  private cancelSibling(orderId: number, parentId: number, transaction: Transaction): void {
    const { state } = this;
    const slot = orderId === 0 ? NONE : state.findOrder(orderId);
    if (slot === NONE || !state.orders.isWaiting(slot)) return;
    closeOrder(state, transaction, slot, STATUS_CANCELED, REASON_OTHER_FIRED);
    detachLeg(state, transaction, orderId, parentId);
  }
}
