import { assert } from "../assert.ts";
import { Book } from "./book.ts";
import { CancelSwitches } from "./cancel-switches.ts";
import type { AccountCells, Contribution } from "./cells.ts";
import { ClientIds } from "./client-ids.ts";
import { Deadlines } from "./deadlines.ts";
import type { Instrument } from "./instrument.ts";
import { contribution } from "./margin.ts";
import {
  BUY,
  CancelAfterSet,
  DeficitCovered,
  EXEC_LIQUIDATION,
  FEE_ACCOUNT,
  FundingPaid,
  FundingSettled,
  INSURANCE_ACCOUNT,
  IndexWentStale,
  ISOLATED,
  IsolatedMarginSet,
  LeverageSet,
  MarginModeSet,
  MODE_TRADING,
  OrderAmended,
  OrderClosed,
  OrderExtended,
  OrderGrown,
  OrderPlaced,
  OrderReduced,
  OrderRested,
  OrderTriggered,
  OrderWaits,
  PositionTransferred,
  PriceUpdated,
  REASON_OF_HALT,
  REDUCE_ONLY,
  SelfCheckFailed,
  SliceShown,
  type SymbolEvent,
  serialToId,
  TAKE_PROFIT,
  TAKE_PROFIT_MARKET,
  Traded,
  TradingHalted,
} from "./messages.ts";
import {
  type EntryFill,
  NO_TERMS,
  type OrderTerms,
  OrderTermsTable,
  WITH_POSITION,
  waitsForRise,
} from "./order-terms.ts";
import { NONE, Orders, packAttributes } from "./orders.ts";
import {
  ACCOUNT,
  CASH,
  CLOSING_ORDERS,
  FIRST_ORDER,
  FUNDING,
  FUNDING_TIME,
  GIVEN,
  GIVEN_MARK,
  ISOLATED_QUANTA,
  LEVERAGE,
  MARGIN_MODE,
  OPEN_ORDERS,
  Positions,
  REDUCE_ONLY_ORDERS,
  SIZE,
  WAITING_ORDERS,
} from "./positions.ts";
import type { MessageOf } from "./shape.ts";
import { TrailingOrders } from "./trailing.ts";
import { Triggers } from "./triggers.ts";
import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "./units.ts";

const CLIENT_ID_RETENTION_MS = 24 * 60 * 60 * 1000;

/**
 * What a turn does before it counts as long (see isTurnLong): a trade that fills a resting order counts twice, so that
 * 5000 of these fit, which are 640 kB.
 */
const LONG_TURN = 10_000;

/**
 * All that a symbol is, and how each event changes it. Deciding turns and replays go through the same methods; nothing
 * here asks whether an event should happen.
 */
export class SymbolState {
  readonly instrument: Instrument;
  readonly orders = new Orders();
  readonly book: Book;
  readonly positions: Positions;
  readonly clientIds = new ClientIds(CLIENT_ID_RETENTION_MS);
  readonly cells: AccountCells;
  /** Of orders that wait for a price, or have waited. */
  readonly terms = new OrderTermsTable();
  readonly triggers: Triggers;
  readonly trailing: TrailingOrders;
  /** Orders with a goodTillDate, by serial. */
  readonly expiries = new Deadlines();
  readonly cancelSwitches = new CancelSwitches();
  /** What orders with legs have filled in this turn. */
  readonly entryFills = new Map<OrderTerms, EntryFill>();

  nextOrderSerial = 1;
  nextTradeSerial = 1;
  indexTicks: PriceTicks = 0;
  markTicks: PriceTicks = 0;
  lastTicks: PriceTicks = 0;
  basis1024 = 0;
  priceTime: TimeMs = 0;
  openInterestLots: QuantityLots = 0;
  reduceOnlyResting = 0;
  /** Orders that wait for a price. */
  waitingCount = 0;
  /** The interval that runs: when it ends, Σ k × premium of its k-th sample, and how many samples. */
  nextFundingTime: TimeMs = 0;
  premiumSum = 0;
  premiumCount = 0;
  /** The interval that ended last: positions with an older FUNDING_TIME owe it. */
  fundingTime: TimeMs = 0;
  fundingRatePpb = 0;
  fundingMarkTicks: PriceTicks = 0;
  /** Open positions that owe it. */
  fundingOwed = 0;
  /** What the operator, the circuit breaker or the self-check lets happen; `haltUntil` 0 = until someone says otherwise. */
  haltMode = MODE_TRADING;
  haltReason: number = REASON_OF_HALT.NONE;
  haltUntil: TimeMs = 0;
  /** What the self-check found, until trading is resumed; "" = nothing. */
  fault = "";
  /** The index has been older than this at a tick, and none came since. */
  isIndexStale = false;
  /** An index that is older takes no new risk and liquidates nobody. */
  maxIndexAgeMs = Number.POSITIVE_INFINITY;
  /** Set by every event, cleared by a snapshot: the counters above go into one small row. */
  changed = false;

  /** The order that took and has not come to rest: if nothing says otherwise by the turn's end, it is filled. */
  private inHand = NONE;
  /** What the turn has touched. The arrays only grow: emptying one would cost more than the rest of a turn's end. */
  private readonly touchedOrders: number[] = [];
  private touchedOrderCount = 0;
  private stampedOrderCount = 0;
  private readonly touchedRows: number[] = [];
  private touchedRowCount = 0;
  private freshRowCount = 0;
  /** What this turn has done, as far as one turn may do many of the kind. */
  private eventCount = 0;
  /** The turn has moved the mark: not in the log yet. */
  private markMoved = false;
  private readonly scratch: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };

  constructor(instrument: Instrument, cells: AccountCells) {
    this.instrument = instrument;
    this.cells = cells;
    this.book = new Book(this.orders, instrument.maxPriceTicks);
    this.positions = new Positions(instrument.defaultLeverage);
    this.triggers = new Triggers(instrument.maxPriceTicks);
    const { orders, terms } = this;
    this.trailing = new TrailingOrders(instrument.maxPriceTicks, {
      terms: (slot) => terms.of(slot),
      side: (slot) => orders.side(slot),
      serial: (slot) => orders.serial(slot),
      moved: (slot) => orders.touch(slot),
    });
  }

  apply(event: SymbolEvent, time: TimeMs): void {
    switch (event.type) {
      case OrderPlaced.code:
        this.placed(event, time);
        break;
      case OrderRested.code:
        this.rested(event, this.slotOf(event.orderId));
        break;
      case Traded.code:
        this.traded(event, this.slotOf(event.takerOrderId), this.slotOf(event.makerOrderId), time);
        break;
      case OrderReduced.code:
        this.reduced(event, this.slotOf(event.orderId));
        break;
      case OrderClosed.code:
        this.closed(this.slotOf(event.orderId));
        break;
      case LeverageSet.code:
        this.leverageSet(event);
        break;
      case PriceUpdated.code:
        this.priceUpdated(event, time);
        break;
      case FundingSettled.code:
        this.fundingSettled(event);
        break;
      case FundingPaid.code:
        this.fundingPaid(event);
        break;
      case PositionTransferred.code:
        this.transferred(event, time);
        break;
      case DeficitCovered.code:
        this.deficitCovered(event);
        break;
      case TradingHalted.code:
        this.tradingHalted(event);
        break;
      case IndexWentStale.code:
        this.indexWentStale();
        break;
      case MarginModeSet.code:
        this.marginModeSet(event);
        break;
      case OrderAmended.code:
        this.amended(event, this.slotOf(event.orderId));
        break;
      case IsolatedMarginSet.code:
        this.isolatedMarginSet(event);
        break;
      case OrderWaits.code:
        this.waits(event, time);
        break;
      case OrderTriggered.code:
        this.triggered(event, this.slotOf(event.orderId));
        break;
      case SelfCheckFailed.code:
        this.selfCheckFailed(event);
        break;
      case OrderExtended.code:
        this.extended(event, this.slotOf(event.orderId));
        break;
      case OrderGrown.code:
        this.grown(event, this.slotOf(event.orderId));
        break;
      case CancelAfterSet.code:
        this.cancelAfterSet(event);
        break;
      case SliceShown.code:
        this.sliceShown(event, this.slotOf(event.orderId));
        break;
    }
  }

  placed(event: MessageOf<typeof OrderPlaced>, time: TimeMs): number {
    this.eventCount++;
    const { orders } = this;
    const at = this.positions.ensure(event.accountId);
    const serial = (event.orderId - this.instrument.id) / 256;
    const attributes = packAttributes(
      event.side,
      event.orderType,
      event.timeInForce,
      event.flags,
      event.selfTradePrevention,
    );
    const slot = orders.add(serial, at, attributes, event.priceTicks, event.quantityLots);
    orders.setTimes(slot, time, time);
    if (event.clientOrderId !== "") {
      orders.setClientOrderId(slot, event.clientOrderId);
      this.clientIds.add(event.accountId, event.clientOrderId, event.orderId, event.bodyHash, time);
    }
    this.nextOrderSerial = serial + 1;
    this.changed = true;
    if (event.rests === 1) this.rest(slot, event.marginPriceTicks, event.lossTicks);
    else this.takeInHand(slot);
    this.touchOrder(slot);
    this.touchRow(at);
    return slot;
  }

  /** An order that waits for its price. Returns its slot. */
  waits(event: MessageOf<typeof OrderWaits>, time: TimeMs): number {
    const { orders } = this;
    const { accountId, side, orderType, timeInForce, flags, selfTradePrevention, clientOrderId } = event;
    const at = this.positions.ensure(accountId);
    const serial = (event.orderId - this.instrument.id) / 256;
    const attributes = packAttributes(side, orderType, timeInForce, flags, selfTradePrevention);
    const slot = orders.add(serial, at, attributes, event.priceTicks, event.quantityLots);
    orders.setTimes(slot, time, time);
    if (clientOrderId !== "") {
      orders.setClientOrderId(slot, clientOrderId);
      this.clientIds.add(accountId, clientOrderId, event.orderId, event.bodyHash, time);
    }
    this.nextOrderSerial = serial + 1;
    this.changed = true;
    const { triggerTicks, triggerBy, parentId, siblingId, callbackPpm, activationTicks } = event;
    const bestTicks = callbackPpm === 0 || triggerTicks === 0 ? 0 : this.priceOf(triggerBy);
    const terms = {
      ...NO_TERMS,
      triggerTicks,
      triggerBy,
      parentId,
      siblingId,
      callbackPpm,
      activationTicks,
      bestTicks,
    };
    this.wait(slot, terms);
    if (parentId !== 0) this.link(event);
    this.touchOrder(slot);
    this.touchRow(at);
    return slot;
  }

  /** Lets an order wait for its trigger. */
  wait(slot: number, terms: OrderTerms): void {
    const { orders } = this;
    this.extend(slot, terms);
    orders.setWaiting(slot, true);
    this.list(slot);
    this.countWaiting(slot, 1);
    if (terms.callbackPpm !== 0) this.trailing.add(slot);
    else this.triggers.add(terms.triggerBy, this.isRiseAwaited(slot), terms.triggerTicks, slot);
  }

  extend(slot: number, terms: OrderTerms): void {
    this.setTerms(slot, terms);
    if (terms.goodTillDate !== 0) this.expiries.add(this.orders.serial(slot), terms.goodTillDate);
  }

  private setTerms(slot: number, terms: OrderTerms): void {
    this.orders.setExtended(slot);
    if (terms.displayLots !== 0) this.orders.setIceberg(slot);
    this.terms.set(slot, terms);
  }

  extended(event: MessageOf<typeof OrderExtended>, slot: number): void {
    const { goodTillDate, legs, displayLots } = event;
    this.extend(slot, { ...NO_TERMS, goodTillDate, legs, displayLots });
    this.touchOrder(slot);
  }

  grown(event: MessageOf<typeof OrderGrown>, slot: number): void {
    const { orders } = this;
    orders.setPriceAndQuantity(slot, orders.priceTicks(slot), event.quantityLots);
    this.touchOrder(slot);
    this.touchRow(orders.row(slot));
  }

  cancelAfterSet(event: MessageOf<typeof CancelAfterSet>): void {
    this.eventCount++;
    this.cancelSwitches.set(event.accountId, event.cancelAt);
  }

  /** The order is about to trade `lots`: what came with it will have to wait. */
  noteFill(slot: number, lots: QuantityLots): void {
    const terms = this.terms.of(slot);
    if (terms.legs === null) return;
    const { orders } = this;
    this.entryFills.set(terms, {
      orderId: this.orderId(slot),
      accountId: this.accountId(slot),
      side: orders.side(slot),
      filledLots: orders.filledLots(slot) + lots,
    });
  }

  /** Lets the order that a new one came with, and the other that did, know of it, as far as they are there. */
  private link(event: MessageOf<typeof OrderWaits>): void {
    const parent = this.findOrder(event.parentId);
    if (parent !== NONE) {
      const terms = this.terms.of(parent);
      if (event.orderType === TAKE_PROFIT || event.orderType === TAKE_PROFIT_MARKET) terms.takeProfitId = event.orderId;
      else terms.stopLossId = event.orderId;
      this.touchOrder(parent);
    }
    const sibling = event.siblingId === 0 ? NONE : this.findOrder(event.siblingId);
    if (sibling === NONE) return;
    this.terms.of(sibling).siblingId = event.orderId;
    this.touchOrder(sibling);
  }

  /** NONE when it is not open. */
  findOrder(orderId: number): number {
    return this.orders.find((orderId - this.instrument.id) / 256);
  }

  /** The price of a waiting order has come: it takes, and what is left of it stands behind all that rests by now. */
  triggered(event: MessageOf<typeof OrderTriggered>, slot: number): void {
    this.endWait(slot);
    this.orders.setPriceAndQuantity(slot, event.priceTicks, event.quantityLots);
    this.terms.of(slot).queueSerial = this.nextOrderSerial++;
    this.changed = true;
    this.takeInHand(slot);
    this.touchOrder(slot);
    this.touchRow(this.orders.row(slot));
  }

  rested(event: MessageOf<typeof OrderRested>, slot: number): void {
    this.inHand = NONE;
    this.rest(slot, event.marginPriceTicks, event.lossTicks);
    this.touchRow(this.orders.row(slot));
  }

  traded(event: MessageOf<typeof Traded>, taker: number, maker: number, time: TimeMs): void {
    this.eventCount++;
    const { orders } = this;
    const lots = event.quantityLots;
    const quanta = lots * event.priceTicks * this.instrument.quantaPerTickLot;
    const takerRow = orders.row(taker);
    const makerRow = orders.row(maker);
    const takerLots = event.takerSide === BUY ? lots : -lots;
    this.movePosition(takerRow, takerLots, quanta, event.takerFeeQuanta, time);
    this.movePosition(makerRow, -takerLots, quanta, event.makerFeeQuanta, time);
    // What a liquidation pays is no fee of the exchange: it belongs to the fund that stands in for it.
    if (event.execType === EXEC_LIQUIDATION) {
      this.credit(INSURANCE_ACCOUNT, event.takerFeeQuanta);
      this.credit(FEE_ACCOUNT, event.makerFeeQuanta);
    } else this.credit(FEE_ACCOUNT, event.takerFeeQuanta + event.makerFeeQuanta);
    orders.fill(taker, lots, quanta, event.takerFeeQuanta);
    this.takeFromResting(maker, lots);
    if (orders.fill(maker, lots, quanta, event.makerFeeQuanta) === 0) this.closed(maker);
    else this.touchOrder(maker);
    this.touchRow(takerRow);
    this.touchRow(makerRow);
    this.lastTicks = event.priceTicks;
    this.nextTradeSerial = (event.tradeId - this.instrument.id) / 256 + 1;
    this.changed = true;
  }

  reduced(event: MessageOf<typeof OrderReduced>, slot: number): void {
    this.eventCount++;
    if (event.resting === 1) this.takeFromResting(slot, event.byLots);
    else if (this.orders.isResting(slot)) this.takeFromHidden(slot, event.byLots);
    this.orders.reduce(slot, event.byLots);
    this.touchOrder(slot);
    this.touchRow(this.orders.row(slot));
  }

  amended(event: MessageOf<typeof OrderAmended>, slot: number): void {
    this.eventCount++;
    const { orders } = this;
    const { priceTicks, quantityLots, remainingLots, queueSerial, displayLots, hiddenLots } = event;
    this.touchOrder(slot);
    this.touchRow(orders.row(slot));
    if (queueSerial === 0) {
      const shownLots = remainingLots - hiddenLots;
      this.takeFromHidden(slot, this.hiddenLots(slot) - hiddenLots);
      this.takeFromResting(slot, event.oldRestingLots - shownLots);
      orders.amend(slot, priceTicks, quantityLots, remainingLots);
      if (displayLots !== 0) this.setTerms(slot, { ...this.terms.of(slot), displayLots, shownLots });
      return;
    }
    this.unrest(slot);
    orders.amend(slot, priceTicks, quantityLots, remainingLots);
    this.setTerms(slot, { ...this.terms.of(slot), queueSerial, displayLots });
    this.nextOrderSerial = queueSerial + 1;
    this.changed = true;
    if (event.rests === 1) this.rest(slot, event.marginPriceTicks, event.lossTicks);
    else this.takeInHand(slot);
  }

  sliceShown(event: MessageOf<typeof SliceShown>, slot: number): void {
    this.eventCount++;
    const { shownLots, queueSerial } = event;
    const terms = this.terms.of(slot);
    terms.shownLots = shownLots;
    if (queueSerial === 0) {
      this.inHand = NONE;
      this.rest(slot, event.marginPriceTicks, event.lossTicks);
      this.touchRow(this.orders.row(slot));
      return;
    }
    terms.queueSerial = queueSerial;
    this.nextOrderSerial = queueSerial + 1;
    this.changed = true;
    this.book.requeue(slot, shownLots);
    this.book.hide(event.priceTicks, -shownLots);
    this.touchOrder(slot);
  }

  /** The order is gone: filled, canceled or expired. */
  closed(slot: number): void {
    this.eventCount++;
    const { orders } = this;
    this.touchRow(orders.row(slot));
    if (orders.isResting(slot)) this.unrest(slot);
    if (this.inHand === slot) this.inHand = NONE;
    this.forget(slot);
  }

  leverageSet(event: MessageOf<typeof LeverageSet>): void {
    const at = this.positions.ensure(event.accountId);
    this.positions.numbers[at + LEVERAGE] = event.leverage;
    this.touchRow(at);
  }

  priceUpdated(event: MessageOf<typeof PriceUpdated>, time: TimeMs): void {
    this.indexTicks = event.indexTicks;
    this.markTicks = event.markTicks;
    this.basis1024 = event.basis1024;
    this.priceTime = time;
    this.markMoved = true;
    this.isIndexStale = false;
    this.nextFundingTime = event.nextFundingTime;
    this.premiumCount++;
    this.premiumSum += this.premiumCount * event.premiumPpb;
    this.changed = true;
  }

  fundingSettled(event: MessageOf<typeof FundingSettled>): void {
    this.fundingTime = event.fundingTime;
    this.fundingRatePpb = event.ratePpb;
    this.fundingMarkTicks = event.markTicks;
    this.fundingOwed = this.positions.open.length;
    this.nextFundingTime = event.nextFundingTime;
    this.premiumSum = 0;
    this.premiumCount = 0;
    this.changed = true;
  }

  fundingPaid(event: MessageOf<typeof FundingPaid>): void {
    this.eventCount++;
    const { positions } = this;
    const at = positions.ensure(event.accountId);
    this.credit(INSURANCE_ACCOUNT, -event.amountQuanta);
    const n = positions.numbers;
    n[at + CASH] += event.amountQuanta;
    n[at + FUNDING] += event.amountQuanta;
    n[at + FUNDING_TIME] = event.fundingTime;
    this.fundingOwed--;
    this.touchRow(at);
  }

  transferred(event: MessageOf<typeof PositionTransferred>, time: TimeMs): void {
    this.eventCount++;
    const from = this.positions.ensure(event.accountId);
    const to = this.positions.ensure(event.counterpartyId);
    const lots = event.side === BUY ? event.quantityLots : -event.quantityLots;
    this.movePosition(from, lots, event.quanta, 0, time);
    this.movePosition(to, -lots, event.quanta, 0, time);
    this.touchRow(from);
    this.touchRow(to);
    this.nextTradeSerial = (event.tradeId - this.instrument.id) / 256 + 1;
    this.changed = true;
  }

  deficitCovered(event: MessageOf<typeof DeficitCovered>): void {
    this.credit(INSURANCE_ACCOUNT, -event.amountQuanta);
    this.credit(event.accountId, event.amountQuanta);
    // It was the cross margin that was below zero: an isolated position gets nothing of it.
    const at = this.positions.ensure(event.accountId);
    if (this.isIsolated(at)) this.positions.numbers[at + ISOLATED_QUANTA] -= event.amountQuanta;
  }

  marginModeSet(event: MessageOf<typeof MarginModeSet>): void {
    const at = this.positions.ensure(event.accountId);
    this.positions.numbers[at + MARGIN_MODE] = event.marginMode;
    this.positions.numbers[at + ISOLATED_QUANTA] = event.isolatedQuanta;
    this.touchRow(at);
  }

  isolatedMarginSet(event: MessageOf<typeof IsolatedMarginSet>): void {
    const at = this.positions.ensure(event.accountId);
    this.positions.numbers[at + ISOLATED_QUANTA] = event.isolatedQuanta;
    this.touchRow(at);
    this.eventCount++;
  }

  /** Whether the row holds an open position with margin of its own. */
  isIsolated(at: number): boolean {
    const n = this.positions.numbers;
    return n[at + SIZE] !== 0 && n[at + MARGIN_MODE] === ISOLATED;
  }

  tradingHalted(event: MessageOf<typeof TradingHalted>): void {
    this.haltMode = event.mode;
    this.haltReason = event.mode === MODE_TRADING ? REASON_OF_HALT.NONE : event.reason;
    this.haltUntil = event.until;
    if (event.mode === MODE_TRADING) this.fault = "";
    this.changed = true;
  }

  selfCheckFailed(event: MessageOf<typeof SelfCheckFailed>): void {
    this.fault = event.fault;
    this.changed = true;
  }

  indexWentStale(): void {
    this.isIndexStale = true;
    this.changed = true;
  }

  isIndexOld(time: TimeMs): boolean {
    return time - this.priceTime > this.maxIndexAgeMs;
  }

  /** After recovery: rows remember what they have paid for, the count follows. */
  countFundingOwed(): void {
    this.fundingOwed = this.positions.open.filter((at) => this.owesFunding(at)).length;
  }

  owesFunding(at: number): boolean {
    const n = this.positions.numbers;
    return n[at + SIZE] !== 0 && n[at + FUNDING_TIME] < this.fundingTime;
  }

  /** The cells of the rows that this turn has touched until now are up to date. */
  markFresh(): void {
    this.freshRowCount = this.touchedRowCount;
  }

  /** Brings the cells of every other row that this turn touched up to date; see AccountCells.move for what waits. */
  refreshTouched(): void {
    for (let i = this.freshRowCount; i < this.touchedRowCount; i++) this.refresh(this.touchedRows[i]);
  }

  /** The row holds a position that its cells know at an older mark: see MarkSweep. */
  isStale(at: number): boolean {
    const n = this.positions.numbers;
    return n[at + SIZE] !== 0 && n[at + GIVEN_MARK] !== this.markTicks;
  }

  /** Brings a stale row to the mark: at once if the price, and nothing else that is new, has made it so. */
  freshen(at: number): void {
    if (this.isStale(at)) this.refresh(at, this.touchedRowCount === this.freshRowCount && !this.markMoved);
  }

  /**
   * A part of the turn ends here, which was decided like a turn of its own: for what comes behind it, it has been. Its
   * rows are up to date.
   */
  endPart(time: TimeMs): void {
    const { orders } = this;
    if (this.inHand !== NONE) this.takeOutOfHand(this.inHand);
    for (; this.stampedOrderCount < this.touchedOrderCount; this.stampedOrderCount++) {
      const slot = this.touchedOrders[this.stampedOrderCount];
      if (orders.serial(slot) !== 0) orders.settle(slot, 0, time);
    }
    this.markFresh();
    this.cells.countFavours();
  }

  /** This turn has changed a row: what helps an account must wait for the turn's ticket. */
  get hasTouched(): boolean {
    return this.touchedRowCount > 0;
  }

  refreshAll(): void {
    this.positions.each((at) => this.refresh(at));
  }

  /** What a row contributes now, in a scratch object that the next call fills in again. */
  contributionOf(at: number): Contribution {
    return contribution(this.instrument, this.positions.numbers, at, this.markTicks, this.scratch);
  }

  /** The order in hand is filled: the turn goes on with another one. */
  takeOutOfHand(slot: number): void {
    assert(this.inHand === slot && this.orders.remainingLots(slot) === 0, "only a filled order leaves the hand");
    this.inHand = NONE;
    this.forget(slot);
  }

  /** Orders that should be gone are still there: a turn that was long has left them to the next ones. */
  hasOverdue(time: TimeMs): boolean {
    return time >= this.expiries.earliest || time >= this.cancelSwitches.earliest;
  }

  /**
   * The turn has done so much that it should come to its end: it is one record of the log and of each ring between two
   * threads, and whoever is behind it waits.
   */
  get isTurnLong(): boolean {
    return this.eventCount >= LONG_TURN;
  }

  /** Half of what a turn may do is done: what comes behind it had better come in another turn. */
  get isTurnHalfLong(): boolean {
    return this.eventCount >= LONG_TURN / 2;
  }

  /** How much the turn may still do before it is long. */
  get roomInTurn(): number {
    return LONG_TURN - this.eventCount;
  }

  /** The turn stands in the log: what it touched bears its sequence, and an order left in hand has been filled. */
  settle(sequence: number, time: TimeMs): void {
    const { orders, positions } = this;
    if (this.inHand !== NONE) this.takeOutOfHand(this.inHand);
    for (let i = 0; i < this.touchedOrderCount; i++) {
      const slot = this.touchedOrders[i];
      if (orders.serial(slot) === 0) continue; // gone within the turn
      orders.settle(slot, sequence, time);
      orders.touch(slot);
    }
    for (let i = 0; i < this.touchedRowCount; i++) positions.settle(this.touchedRows[i], sequence, time);
    this.touchedOrderCount = 0;
    this.stampedOrderCount = 0;
    this.touchedRowCount = 0;
    this.freshRowCount = 0;
    this.eventCount = 0;
    this.markMoved = false;
    if (this.trailing.size > 0) this.trailing.follow(this.markTicks, this.lastTicks, this.indexTicks);
  }

  /** The price that an order waits for, by its triggerBy; 0 = there is none yet. */
  priceOf(source: number): PriceTicks {
    return [this.markTicks, this.lastTicks, this.indexTicks][source];
  }

  slotOf(orderId: number): number {
    const slot = this.orders.find((orderId - this.instrument.id) / 256);
    assert(slot !== NONE, `event about an order that does not exist: ${orderId}`);
    return slot;
  }

  orderId(slot: number): number {
    return serialToId(this.orders.serial(slot), this.instrument.id);
  }

  accountId(slot: number): number {
    return this.positions.numbers[this.orders.row(slot) + ACCOUNT];
  }

  /** Money of an account in this symbol, outside any trade. */
  private credit(accountId: number, quanta: Quanta): void {
    if (quanta === 0) return;
    const at = this.positions.ensure(accountId);
    this.positions.numbers[at + CASH] += quanta;
    this.touchRow(at);
  }

  /** Moves a position and keeps the open interest: long and short lots are equal, so it is half of all sizes. */
  private movePosition(at: number, lots: QuantityLots, quanta: Quanta, feeQuanta: Quanta, time: TimeMs): void {
    const n = this.positions.numbers;
    const before = n[at + SIZE];
    this.positions.trade(at, lots, quanta, feeQuanta, time);
    this.openInterestLots += (Math.abs(n[at + SIZE]) - Math.abs(before)) / 2;
    // A position that is opened or turned around owes nothing for intervals before it.
    if (before === 0 || before > 0 !== n[at + SIZE] > 0) {
      n[at + FUNDING_TIME] = this.fundingTime;
      n[at + FUNDING] = 0;
    }
  }

  /** Puts an order into the book and into its account's list and sums. */
  rest(slot: number, marginPriceTicks: PriceTicks, lossTicks: PriceTicks): void {
    const { orders, positions } = this;
    const at = orders.row(slot);
    const n = positions.numbers;
    orders.setMarginTerms(slot, marginPriceTicks, lossTicks);
    orders.setResting(slot, true);
    this.book.add(slot, this.shownLots(slot));
    if (orders.isIceberg(slot)) this.book.hide(orders.priceTicks(slot), this.hiddenLots(slot));
    // One that has waited is there already.
    if (!orders.isListed(slot)) this.list(slot);
    n[at + OPEN_ORDERS]++;
    if (this.isReduceOnly(slot)) {
      n[at + REDUCE_ONLY_ORDERS]++;
      this.reduceOnlyResting++;
    } else this.addToSums(slot, orders.remainingLots(slot));
  }

  /** Orders of a price queue by this. */
  queueSerial(slot: number): number {
    const { orders } = this;
    return (orders.isExtended(slot) && this.terms.of(slot).queueSerial) || orders.serial(slot);
  }

  /** What the book shows of a resting order: all that may still trade, or of an iceberg its slice. */
  shownLots(slot: number): QuantityLots {
    const { orders } = this;
    return orders.isIceberg(slot) ? this.terms.of(slot).shownLots : orders.remainingLots(slot);
  }

  /** What of a resting order may trade and is not shown. */
  hiddenLots(slot: number): QuantityLots {
    return this.orders.remainingLots(slot) - this.shownLots(slot);
  }

  isReduceOnly(slot: number): boolean {
    return (this.orders.flags(slot) & REDUCE_ONLY) !== 0;
  }

  private unrest(slot: number): void {
    const { orders, positions } = this;
    const at = orders.row(slot);
    const n = positions.numbers;
    this.book.remove(slot, this.shownLots(slot));
    if (orders.isIceberg(slot)) this.book.hide(orders.priceTicks(slot), -this.hiddenLots(slot));
    n[at + OPEN_ORDERS]--;
    if (this.isReduceOnly(slot)) {
      n[at + REDUCE_ONLY_ORDERS]--;
      this.reduceOnlyResting--;
    } else this.addToSums(slot, -orders.remainingLots(slot));
    orders.setResting(slot, false);
  }

  /** Puts an order at the head of its account's list: the newest first. */
  private list(slot: number): void {
    const { orders, positions } = this;
    const at = orders.row(slot) + FIRST_ORDER;
    const first = positions.numbers[at];
    orders.setAccountNext(slot, first);
    orders.setAccountPrevious(slot, NONE);
    if (first !== NONE) orders.setAccountPrevious(first, slot);
    positions.numbers[at] = slot;
    orders.setListed(slot, true);
  }

  private unlist(slot: number): void {
    const { orders, positions } = this;
    const next = orders.accountNext(slot);
    const previous = orders.accountPrevious(slot);
    if (previous === NONE) positions.numbers[orders.row(slot) + FIRST_ORDER] = next;
    else orders.setAccountNext(previous, next);
    if (next !== NONE) orders.setAccountPrevious(next, previous);
  }

  private takeInHand(slot: number): void {
    // Replay: the one before it in the same turn was filled, or it would not be in hand any more.
    if (this.inHand !== NONE) this.takeOutOfHand(this.inHand);
    this.inHand = slot;
  }

  private forget(slot: number): void {
    const { orders } = this;
    if (orders.isListed(slot)) this.unlist(slot);
    if (orders.isExtended(slot)) {
      if (orders.isWaiting(slot)) this.endWait(slot);
      this.expiries.remove(orders.serial(slot));
      this.terms.remove(slot, orders.serial(slot));
    }
    orders.remove(slot);
  }

  private endWait(slot: number): void {
    const { triggerTicks, triggerBy, callbackPpm } = this.terms.of(slot);
    if (callbackPpm !== 0) this.trailing.remove(slot);
    else this.triggers.remove(triggerBy, this.isRiseAwaited(slot), triggerTicks, slot);
    this.orders.setWaiting(slot, false);
    this.countWaiting(slot, -1);
  }

  private countWaiting(slot: number, by: number): void {
    const n = this.positions.numbers;
    const at = this.orders.row(slot);
    this.waitingCount += by;
    n[at + WAITING_ORDERS] += by;
    if ((this.orders.flags(slot) & WITH_POSITION) !== 0) n[at + CLOSING_ORDERS] += by;
  }

  private isRiseAwaited(slot: number): boolean {
    return waitsForRise(this.orders.type(slot), this.orders.side(slot));
  }

  /** `lots` that are shown of a resting order are about to trade or be given up. */
  private takeFromResting(slot: number, lots: QuantityLots): void {
    this.book.reduce(this.orders.priceTicks(slot), lots);
    if (this.orders.isIceberg(slot)) this.terms.of(slot).shownLots -= lots;
    if (!this.isReduceOnly(slot)) this.addToSums(slot, -lots);
  }

  /** `lots` that are hidden of a resting iceberg are about to be given up. */
  private takeFromHidden(slot: number, lots: QuantityLots): void {
    if (lots === 0) return;
    this.book.hide(this.orders.priceTicks(slot), -lots);
    if (!this.isReduceOnly(slot)) this.addToSums(slot, -lots);
  }

  private addToSums(slot: number, lots: QuantityLots): void {
    const { orders } = this;
    const quantaPerTick = lots * this.instrument.quantaPerTickLot;
    this.positions.addResting(
      orders.row(slot),
      orders.side(slot) === BUY,
      lots,
      quantaPerTick * orders.marginPriceTicks(slot),
      quantaPerTick * orders.lossTicks(slot),
    );
  }

  private touchOrder(slot: number): void {
    this.touchedOrders[this.touchedOrderCount++] = slot;
  }

  /** A sweep touches the same rows again and again, one after the other. */
  private touchRow(at: number): void {
    if (this.touchedRowCount > this.freshRowCount && this.touchedRows[this.touchedRowCount - 1] === at) return;
    this.touchedRows[this.touchedRowCount++] = at;
  }

  /** Brings a row's cells up to date now, where the rest of the turn depends on them; see AccountCells.move. */
  refresh(at: number, isLogged = false): void {
    const row = this.positions.numbers;
    this.cells.move(row[at + ACCOUNT], row, at + GIVEN, this.contributionOf(at), isLogged);
    row[at + GIVEN_MARK] = this.markTicks;
  }
}
