import { assert } from "../../assert.ts";
import type { Contribution } from "../accounts/contribution.ts";
import type { MarginTable } from "../accounts/margin-table.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "../base/units.ts";
import { fundingPayment, fundingRatePpb, intervalBefore } from "../formulas/funding.ts";
import { contribution } from "../formulas/margin.ts";
import type { SymbolEvent } from "../protocol/events.ts";
import * as events from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { MarginReferences } from "../protocol/margin-references.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import type { Book } from "./book.ts";
import { CancelSwitches } from "./cancel-switches.ts";
import { CLIENT_ID_RETENTION_MS, ClientIds } from "./client-ids.ts";
import { DirtySet } from "./dirty-set.ts";
import { OpenOrders } from "./open-orders.ts";
import { type EntryFill, NO_TERMS, type OrderTerms, type OrderTermsTable } from "./order-terms.ts";
import { type Orders, packAttributes } from "./orders.ts";
import { Positions } from "./positions.ts";

const {
  ACCOUNT,
  CASH,
  FUNDING,
  FUNDING_TIME,
  CONTRIBUTED,
  CONTRIBUTED_MARK,
  ISOLATED_QUANTA,
  LEVERAGE,
  MARGIN_MODE,
  NONE,
  SIZE,
} = columns;
const {
  BUY,
  EXEC_LIQUIDATION,
  FEE_ACCOUNT,
  idToSerial,
  INSURANCE_ACCOUNT,
  ISOLATED,
  MODE_REDUCE_ONLY,
  MODE_TRADING,
  HALT_REASON,
  serialToId,
  TAKE_PROFIT,
  TAKE_PROFIT_MARKET,
} = enums;
const {
  CancelAfterSet,
  DeficitCovered,
  FundingPaid,
  FundingSettled,
  IndexWentStale,
  IsolatedMarginSet,
  LegSpent,
  LeverageSet,
  MarginModeSet,
  MarginMoved,
  OrderAmended,
  OrderClosed,
  OrderExtended,
  AttachedQuantityRaised,
  OrderPlaced,
  OrderReduced,
  OrderRested,
  OrderTriggered,
  ConditionalOrderPlaced,
  PositionTransferred,
  TriggersReached,
  PriceUpdated,
  SelfCheckFailed,
  SliceShown,
  Traded,
  TradingHalted,
  ConditionalOrderAmended,
} = events;

/**
 * What a turn does before it counts as long (see isTurnLong): a trade that fills a resting order counts twice, so that
 * 5000 of these fit, which are 640 kB.
 */
const LONG_TRANSACTION = 10_000;

/**
 * All that a symbol is, and how each event changes it. Deciding turns and replays go through the same methods; nothing
 * here asks whether an event should happen.
 */
export class SymbolState {
  readonly instrument: Instrument;
  readonly positions: Positions;
  readonly open: OpenOrders;
  /** What `open` keeps, at hand. */
  readonly orders: Orders;
  readonly book: Book;
  readonly terms: OrderTermsTable;
  readonly clientIds = new ClientIds(CLIENT_ID_RETENTION_MS, (orderId) => this.findOrder(orderId) !== NONE);
  readonly marginReferences = new MarginReferences();
  readonly marginTable: MarginTable;
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
  /** The interval that runs: when it ends, Σ k × premium of its k-th sample, and how many samples. */
  nextFundingTime: TimeMs = 0;
  premiumSum = 0;
  premiumCount = 0;
  /** The interval that ended last: positions with an older FUNDING_TIME owe it. */
  fundingTime: TimeMs = 0;
  fundingRatePpb = 0;
  fundingMarkTicks: PriceTicks = 0;
  /** Open positions that owe it, and what they come to together, longs less shorts. */
  fundingOwed = 0;
  private fundingOwedLots = 0;
  /** What the operator, the circuit breaker or the self-check lets happen; `haltUntil` 0 = until someone says otherwise. */
  haltMode = MODE_TRADING;
  haltReason: number = HALT_REASON.NONE;
  haltUntil: TimeMs = 0;
  /** What the self-check found, until trading is resumed; "" = nothing. */
  fault = "";
  /** The index has been older than this at a tick, and none came since. */
  isIndexStale = false;
  /** An index that is older takes no new risk and liquidates nobody. */
  maxIndexAgeMs = Number.POSITIVE_INFINITY;
  /** One of the numbers above that go into the symbol's row has changed since the last snapshot. */
  changed = false;
  /** A price, or what waits for one, has changed since the end of a turn was last looked at: see Conditional.notePrices. */
  mayReach = true;

  /** The order that took and has not come to rest: if nothing says otherwise by the turn's end, it is filled. */
  private activeTaker = NONE;
  private readonly dirty: DirtySet;
  /** What this turn has done, as far as one turn may do many of the kind. */
  private eventCount = 0;
  /** The turn has moved the mark: not in the log yet. */
  private markMoved = false;
  private readonly scratch: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };

  constructor(instrument: Instrument, marginTable: MarginTable) {
    this.instrument = instrument;
    this.marginTable = marginTable;
    this.positions = new Positions(instrument.defaultLeverage);
    this.open = new OpenOrders(instrument, this.positions);
    this.orders = this.open.orders;
    this.book = this.open.book;
    this.terms = this.open.terms;
    this.dirty = new DirtySet(this.orders, this.positions);
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
      case ConditionalOrderPlaced.code:
        this.conditionalPlaced(event, time);
        break;
      case OrderTriggered.code:
        this.triggered(event, this.slotOf(event.orderId));
        break;
      case TriggersReached.code:
        this.triggersReached(event);
        break;
      case SelfCheckFailed.code:
        this.selfCheckFailed(event);
        break;
      case OrderExtended.code:
        this.extended(event, this.slotOf(event.orderId));
        break;
      case AttachedQuantityRaised.code:
        this.attachedQuantityRaised(event, this.slotOf(event.orderId));
        break;
      case ConditionalOrderAmended.code:
        this.conditionalAmended(event, this.slotOf(event.orderId));
        break;
      case LegSpent.code:
        this.legSpent(event);
        break;
      case CancelAfterSet.code:
        this.cancelAfterSet(event);
        break;
      case SliceShown.code:
        this.sliceShown(event, this.slotOf(event.orderId));
        break;
      case MarginMoved.code:
        this.marginMoved(event);
        break;
    }
  }

  placed(event: MessageOf<typeof OrderPlaced>, time: TimeMs): number {
    this.eventCount++;
    const { orders } = this;
    const at = this.positions.ensure(event.accountId);
    const serial = idToSerial(event.orderId, this.instrument.id);
    const attributes = packAttributes(
      event.side,
      event.orderType,
      event.timeInForce,
      event.flags,
      event.selfTradePrevention,
    );
    const slot = orders.add(serial, at, attributes, event.priceTicks, event.quantityLots, time);
    if (event.clientOrderId !== "") {
      orders.setClientOrderId(slot, event.clientOrderId);
      this.clientIds.add(event.accountId, event.clientOrderId, event.orderId, event.bodyHash, time);
    }
    this.nextOrderSerial = serial + 1;
    this.changed = true;
    if (event.rests === 1) this.open.rest(slot, event.marginPriceTicks, event.lossTicks);
    else this.beginTaking(slot);
    this.dirty.order(slot);
    this.dirty.row(at);
    return slot;
  }

  /** An order that waits for its price. Returns its slot. */
  conditionalPlaced(event: MessageOf<typeof ConditionalOrderPlaced>, time: TimeMs): number {
    const { orders } = this;
    const { accountId, side, orderType, timeInForce, flags, selfTradePrevention, clientOrderId } = event;
    const at = this.positions.ensure(accountId);
    const serial = idToSerial(event.orderId, this.instrument.id);
    const attributes = packAttributes(side, orderType, timeInForce, flags, selfTradePrevention);
    const slot = orders.add(serial, at, attributes, event.priceTicks, event.quantityLots, time);
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
    this.open.wait(slot, terms);
    this.mayReach = true;
    if (parentId !== 0) this.link(event);
    this.dirty.order(slot);
    this.dirty.row(at);
    return slot;
  }

  extended(event: MessageOf<typeof OrderExtended>, slot: number): void {
    const { goodTillDate, legs, displayLots } = event;
    this.open.extend(slot, { ...NO_TERMS, goodTillDate, legs, displayLots });
    this.dirty.order(slot);
  }

  attachedQuantityRaised(event: MessageOf<typeof AttachedQuantityRaised>, slot: number): void {
    const { orders } = this;
    orders.setPriceAndQuantity(slot, orders.priceTicks(slot), event.quantityLots);
    this.dirty.order(slot);
    this.dirty.row(orders.row(slot));
  }

  conditionalAmended(event: MessageOf<typeof ConditionalOrderAmended>, slot: number): void {
    this.eventCount++;
    const { orders, open } = this;
    const { priceTicks, quantityLots, triggerTicks, callbackPpm, activationTicks } = event;
    orders.setPriceAndQuantity(slot, priceTicks, quantityLots);
    if (this.terms.of(slot).callbackPpm === 0) open.moveTrigger(slot, triggerTicks);
    else if (callbackPpm !== 0) open.setTrailing(slot, callbackPpm, activationTicks);
    this.mayReach = true;
    this.dirty.order(slot);
    this.dirty.row(orders.row(slot));
  }

  legSpent({ orderId, legId }: MessageOf<typeof LegSpent>): void {
    const slot = this.slotOf(orderId);
    const terms = this.terms.of(slot);
    if (terms.takeProfitId === legId) terms.takeProfitId = 0;
    if (terms.stopLossId === legId) terms.stopLossId = 0;
    this.orders.touch(slot);
  }

  cancelAfterSet(event: MessageOf<typeof CancelAfterSet>): void {
    this.eventCount++;
    this.cancelSwitches.set(event.accountId, event.cancelAt);
  }

  /** The order is about to trade `lots`: what came with it will have to wait. */
  noteFill(slot: number, lots: QuantityLots): void {
    const terms = this.terms.of(slot);
    if (terms.legs === null) return;
    this.entryFills.set(terms, {
      orderId: this.orderId(slot),
      accountId: this.accountId(slot),
      side: this.orders.side(slot),
      lots: lots + (this.entryFills.get(terms)?.lots ?? 0),
    });
  }

  /** Lets the order that a new one came with, and the other that did, know of it, as far as they are there. */
  private link(event: MessageOf<typeof ConditionalOrderPlaced>): void {
    const parent = this.findOrder(event.parentId);
    if (parent !== NONE) {
      const terms = this.terms.of(parent);
      if (event.orderType === TAKE_PROFIT || event.orderType === TAKE_PROFIT_MARKET) terms.takeProfitId = event.orderId;
      else terms.stopLossId = event.orderId;
      this.dirty.order(parent);
    }
    const sibling = event.siblingId === 0 ? NONE : this.findOrder(event.siblingId);
    if (sibling === NONE) return;
    this.terms.of(sibling).siblingId = event.orderId;
    this.dirty.order(sibling);
  }

  /** NONE when it is not open. */
  findOrder(orderId: number): number {
    return this.orders.find(idToSerial(orderId, this.instrument.id));
  }

  /** The price of a waiting order has come: it takes, and what is left of it stands behind all that rests by now. */
  triggered(event: MessageOf<typeof OrderTriggered>, slot: number): void {
    this.open.endWait(slot);
    this.orders.setPriceAndQuantity(slot, event.priceTicks, event.quantityLots);
    this.terms.of(slot).queueSerial = this.nextOrderSerial++;
    this.changed = true;
    this.beginTaking(slot);
    this.dirty.order(slot);
    this.dirty.row(this.orders.row(slot));
  }

  triggersReached({ triggerBy, rises, priceTicks }: MessageOf<typeof TriggersReached>): void {
    this.open.reach(triggerBy, rises === 1, priceTicks);
  }

  rested(event: MessageOf<typeof OrderRested>, slot: number): void {
    this.activeTaker = NONE;
    this.open.rest(slot, event.marginPriceTicks, event.lossTicks);
    this.dirty.row(this.orders.row(slot));
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
    this.open.takeFromResting(maker, lots);
    if (orders.fill(maker, lots, quanta, event.makerFeeQuanta) === 0) this.closed(maker);
    else this.dirty.order(maker);
    this.dirty.row(takerRow);
    this.dirty.row(makerRow);
    if (event.priceTicks !== this.lastTicks) this.mayReach = true;
    this.lastTicks = event.priceTicks;
    this.nextTradeSerial = idToSerial(event.tradeId, this.instrument.id) + 1;
    this.changed = true;
  }

  reduced(event: MessageOf<typeof OrderReduced>, slot: number): void {
    this.eventCount++;
    if (event.resting === 1) this.open.takeFromResting(slot, event.byLots);
    else if (this.orders.isResting(slot)) this.open.takeFromHidden(slot, event.byLots);
    this.orders.reduce(slot, event.byLots);
    this.dirty.order(slot);
    this.dirty.row(this.orders.row(slot));
  }

  amended(event: MessageOf<typeof OrderAmended>, slot: number): void {
    this.eventCount++;
    const { orders } = this;
    const { priceTicks, quantityLots, remainingLots, queueSerial, displayLots, hiddenLots, goodTillDate } = event;
    this.dirty.order(slot);
    this.dirty.row(orders.row(slot));
    if (goodTillDate !== 0) this.open.extend(slot, { ...this.terms.of(slot), goodTillDate });
    if (queueSerial === 0) {
      const shownLots = remainingLots - hiddenLots;
      this.open.takeFromHidden(slot, this.open.hiddenLots(slot) - hiddenLots);
      this.open.takeFromResting(slot, event.oldRestingLots - shownLots);
      orders.amend(slot, priceTicks, quantityLots, remainingLots);
      if (displayLots !== 0) this.open.setTerms(slot, { ...this.terms.of(slot), displayLots, shownLots });
      return;
    }
    this.open.unrest(slot);
    orders.amend(slot, priceTicks, quantityLots, remainingLots);
    this.open.setTerms(slot, { ...this.terms.of(slot), queueSerial, displayLots });
    this.nextOrderSerial = queueSerial + 1;
    this.changed = true;
    if (event.rests === 1) this.open.rest(slot, event.marginPriceTicks, event.lossTicks);
    else this.beginTaking(slot);
  }

  sliceShown(event: MessageOf<typeof SliceShown>, slot: number): void {
    this.eventCount++;
    const { shownLots, queueSerial } = event;
    const terms = this.terms.of(slot);
    terms.shownLots = shownLots;
    if (queueSerial === 0) {
      this.activeTaker = NONE;
      this.open.rest(slot, event.marginPriceTicks, event.lossTicks);
      this.dirty.row(this.orders.row(slot));
      return;
    }
    terms.queueSerial = queueSerial;
    this.nextOrderSerial = queueSerial + 1;
    this.changed = true;
    this.book.requeue(slot, shownLots);
    this.book.hide(event.priceTicks, -shownLots);
    this.dirty.order(slot);
  }

  /** The order is gone: filled, canceled or expired. */
  closed(slot: number): void {
    this.eventCount++;
    const { orders } = this;
    this.dirty.row(orders.row(slot));
    if (orders.isResting(slot)) this.open.unrest(slot);
    if (this.activeTaker === slot) this.activeTaker = NONE;
    this.open.forget(slot);
  }

  leverageSet(event: MessageOf<typeof LeverageSet>): void {
    const at = this.positions.ensure(event.accountId);
    this.positions.numbers[at + LEVERAGE] = event.leverage;
    this.dirty.row(at);
  }

  priceUpdated(event: MessageOf<typeof PriceUpdated>, time: TimeMs): void {
    this.indexTicks = event.indexTicks;
    this.markTicks = event.markTicks;
    this.basis1024 = event.basis1024;
    this.priceTime = time;
    this.markMoved = true;
    this.mayReach = true;
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
    this.fundingOwedLots = 0;
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
    this.fundingOwedLots -= event.sizeLots;
    this.dirty.row(at);
    this.dirty.row(positions.ensure(INSURANCE_ACCOUNT));
  }

  transferred(event: MessageOf<typeof PositionTransferred>, time: TimeMs): void {
    this.eventCount++;
    const from = this.positions.ensure(event.accountId);
    const to = this.positions.ensure(event.counterpartyId);
    const lots = event.side === BUY ? event.quantityLots : -event.quantityLots;
    this.movePosition(from, lots, event.quanta, 0, time);
    this.movePosition(to, -lots, event.quanta, 0, time);
    this.dirty.row(from);
    this.dirty.row(to);
    this.nextTradeSerial = idToSerial(event.tradeId, this.instrument.id) + 1;
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
    this.dirty.row(at);
  }

  isolatedMarginSet(event: MessageOf<typeof IsolatedMarginSet>): void {
    const at = this.positions.ensure(event.accountId);
    this.positions.numbers[at + ISOLATED_QUANTA] = event.isolatedQuanta;
    this.dirty.row(at);
    this.eventCount++;
  }

  marginMoved({ accountId, reference, amountQuanta }: MessageOf<typeof MarginMoved>): void {
    this.marginReferences.add(accountId, reference, amountQuanta);
  }

  /** Whether the row holds an open position with margin of its own. */
  isIsolated(at: number): boolean {
    const n = this.positions.numbers;
    return n[at + SIZE] !== 0 && n[at + MARGIN_MODE] === ISOLATED;
  }

  tradingHalted(event: MessageOf<typeof TradingHalted>): void {
    this.haltMode = event.mode;
    this.haltReason = event.mode === MODE_TRADING ? HALT_REASON.NONE : event.reason;
    this.haltUntil = event.until;
    // While it is halted nothing is reached: what stands at its price when it trades again is.
    this.mayReach = true;
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

  /** The rate of the interval that ends at `endTime`, from the premiums in it: by default those until now. */
  intervalRatePpb(endTime: TimeMs, premiumSum = this.premiumSum, premiumCount = this.premiumCount): number {
    const { instrument, fundingTime } = this;
    return fundingRatePpb(instrument, premiumSum, premiumCount, intervalBefore(instrument, endTime, fundingTime));
  }

  /** After recovery: rows remember what they have paid for, the count follows. */
  countFundingOwed(): void {
    const owing = this.positions.open.filter((at) => this.owesFunding(at));
    this.fundingOwed = owing.length;
    this.fundingOwedLots = owing.reduce((sum, at) => sum + this.positions.numbers[at + SIZE], 0);
  }

  owesFunding(at: number): boolean {
    const n = this.positions.numbers;
    return n[at + SIZE] !== 0 && n[at + FUNDING_TIME] < this.fundingTime;
  }

  /** The cells of the rows that this turn has touched until now are up to date. */
  markFresh(): void {
    this.dirty.markFresh();
  }

  /** Brings the cells of every other row that this turn touched up to date; see AccountCells.move for what waits. */
  refreshDirty(): void {
    const { dirty } = this;
    for (let i = dirty.freshRowCount; i < dirty.rowCount; i++) this.refresh(dirty.rows[i]);
  }

  /** What the turn has done until now, losses and what was freed alike, counts for what comes behind it in the same turn. */
  trackDirty(): void {
    this.refreshDirty();
    this.markFresh();
    this.marginTable.useDeferred();
  }

  /** The row holds a position that its cells know at an older mark: see MarkSweep. */
  isStale(at: number): boolean {
    const n = this.positions.numbers;
    return n[at + SIZE] !== 0 && n[at + CONTRIBUTED_MARK] !== this.markTicks;
  }

  /** Brings a stale row to the mark: at once if the price, and nothing else that is new, has made it so. */
  refreshMark(at: number): void {
    if (this.isStale(at)) this.refresh(at, !this.isDirty(at) && !this.markMoved);
  }

  /**
   * A part of the turn ends here, which was decided like a turn of its own: for what comes behind it, it has been. Its
   * rows are up to date.
   */
  endPart(time: TimeMs): void {
    if (this.activeTaker !== NONE) this.endTaking(this.activeTaker);
    this.dirty.stamp(time);
    this.dirty.markFresh();
    this.marginTable.useDeferred();
  }

  /** This turn has changed a row: what helps an account must wait for the turn's ticket. */
  get hasDirty(): boolean {
    return this.dirty.rowCount > 0;
  }

  /** This turn has changed this row, and its cells do not know it yet. */
  isDirty(at: number): boolean {
    return this.dirty.has(at);
  }

  refreshAll(): void {
    this.positions.each((at) => this.refresh(at));
  }

  /** What a row contributes, now or at another mark, in a scratch object that the next call fills in again. */
  contributionOf(at: number, markTicks: PriceTicks = this.markTicks): Contribution {
    const { instrument, positions, scratch } = this;
    contribution(instrument, positions.numbers, at, markTicks, scratch);
    if (this.fundingOwedLots !== 0 && positions.numbers[at + ACCOUNT] === INSURANCE_ACCOUNT)
      scratch.equity += this.fundingInTransit();
    return scratch;
  }

  /**
   * Payments go through the insurance fund, and some come sooner than others: what it has advanced by them is still its
   * own, and what it has in hand for those who are to come is not.
   */
  private fundingInTransit(): Quanta {
    return -fundingPayment(this.instrument, this.fundingOwedLots, this.fundingMarkTicks, this.fundingRatePpb);
  }

  /** The order in hand is filled: the turn goes on with another one. */
  endTaking(slot: number): void {
    assert(this.activeTaker === slot && this.orders.remainingLots(slot) === 0, "only a filled order leaves the hand");
    this.activeTaker = NONE;
    this.open.forget(slot);
  }

  /** Orders that should be gone are still there: a turn that was long has left them to the next ones. */
  hasOverdue(time: TimeMs): boolean {
    return time >= this.open.expiries.earliest || time >= this.cancelSwitches.earliest;
  }

  /**
   * The turn has done so much that it should come to its end: it is one record of the log and of each ring between two
   * threads, and whoever is behind it waits.
   */
  get isTransactionLong(): boolean {
    return this.eventCount >= LONG_TRANSACTION;
  }

  /** Half of what a turn may do is done: what comes behind it had better come in another turn. */
  get isTransactionHalfLong(): boolean {
    return this.eventCount >= LONG_TRANSACTION / 2;
  }

  /** How much the turn may still do before it is long. */
  get roomInTransaction(): number {
    return LONG_TRANSACTION - this.eventCount;
  }

  /** The turn stands in the log: what it touched bears its sequence, and an order left in hand has been filled. */
  settle(sequence: number, time: TimeMs): void {
    if (this.activeTaker !== NONE) this.endTaking(this.activeTaker);
    this.dirty.settle(sequence, time);
    this.eventCount = 0;
    this.markMoved = false;
    if (this.open.trailing.size > 0 && this.countsPrices)
      this.open.trailing.follow(this.markTicks, this.lastTicks, this.indexTicks);
  }

  /** Whether prices count: while the symbol is halted nothing is reached, follows or fires. */
  get countsPrices(): boolean {
    return this.haltMode <= MODE_REDUCE_ONLY;
  }

  /** The price that an order waits for, by its triggerBy; 0 = there is none yet. */
  priceOf(source: number): PriceTicks {
    return [this.markTicks, this.lastTicks, this.indexTicks][source];
  }

  slotOf(orderId: number): number {
    const slot = this.findOrder(orderId);
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
    this.dirty.row(at);
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

  private beginTaking(slot: number): void {
    // Replay: the one before it in the same turn was filled, or it would not be in hand any more.
    if (this.activeTaker !== NONE) this.endTaking(this.activeTaker);
    this.activeTaker = slot;
  }

  /** Brings a row's cells up to date now, where the rest of the turn depends on them; see AccountCells.move. */
  refresh(at: number, isLogged = false): void {
    const row = this.positions.numbers;
    this.marginTable.setContribution(row[at + ACCOUNT], row, at + CONTRIBUTED, this.contributionOf(at), isLogged);
    row[at + CONTRIBUTED_MARK] = this.markTicks;
  }
}
