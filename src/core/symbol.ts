import { assert, unreachable } from "../assert.ts";
import type { MarginTable } from "./accounts/margin-table.ts";
import { applyEvent } from "./apply/apply-event.ts";
import { applyIndexWentStale } from "./apply/market-events.ts";
import { auditSymbol } from "./audit/invariants.ts";
import { SelfCheck } from "./audit/self-check.ts";
import { summarizeSymbol } from "./audit/symbol-summary.ts";
import * as columns from "./base/columns.ts";
import * as enums from "./base/enums.ts";
import type { PriceTicks, TimeMs } from "./base/units.ts";
import { Amendment } from "./commands/amendment.ts";
import { AttachedOrders } from "./commands/attached-orders.ts";
import { BatchDecision, inSchemaShape } from "./commands/batch.ts";
import { fireCancelSwitches, setCancelAfter } from "./commands/cancel-after.ts";
import { cancelAllOrders, cancelOrder } from "./commands/cancellation.ts";
import { closePosition } from "./commands/close-position.ts";
import { amendConditional } from "./commands/conditional-amendment.ts";
import { placeConditional } from "./commands/conditional-placement.ts";
import { replyMaxOrderSize } from "./commands/dry-run.ts";
import { expireOrders } from "./commands/good-till-date.ts";
import { MarginReservation } from "./commands/margin-reservation.ts";
import { MarginSettings } from "./commands/margin-settings.ts";
import { OrderChecks } from "./commands/order-checks.ts";
import { OrderExecution } from "./commands/order-execution.ts";
import { type OrderOptions, Placement } from "./commands/placement.ts";
import { findOwnOrder, readClientIds, readOrder, readOrders, readPosition } from "./commands/reads.ts";
import { TriggerFiring } from "./commands/trigger-firing.ts";
import { prepareWithdrawal } from "./commands/withdrawal.ts";
import { Liquidations } from "./liquidation/liquidation.ts";
import { endExpiredHalt, mayLiquidate, replyStatus, setHalt } from "./pricing/halt.ts";
import { recordAct } from "./pricing/operator-acts.ts";
import { Pricing } from "./pricing/pricing.ts";
import type { Actor, SnapshotWriter, Transaction } from "./protocol/actor.ts";
import type { SymbolCommand, SymbolRead } from "./protocol/commands.ts";
import * as commands from "./protocol/commands.ts";
import type { SymbolEvent } from "./protocol/events.ts";
import * as events from "./protocol/events.ts";
import { type Instrument, requireBelowMaxPrice } from "./protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "./protocol/message-schema.ts";
import { refuse } from "./protocol/refusals.ts";
import * as replies from "./protocol/replies.ts";
import { FollowedMark } from "./settlement/followed-mark.ts";
import { MarkSettlement } from "./settlement/mark-settlement.ts";
import type { PastClientIds } from "./state/client-ids.ts";
import { loadSymbolRow, snapshotSymbol } from "./state/symbol-rows.ts";
import { SymbolState } from "./state/symbol-state.ts";

const { NONE } = columns;
const {
  AmendOrder,
  Audit,
  CancelAfter,
  CancelAll,
  CancelOrder,
  ClosePosition,
  Describe,
  HaltSymbol,
  MoveMargin,
  OrderBatch,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  PrepareWithdrawal,
  ReadClientIds,
  ReadMaxOrderSize,
  ReadOrder,
  ReadOrders,
  ReadPosition,
  ResumeSymbol,
  SamplePremium,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
  DryRunOrder,
} = commands;
const { AuditReport, SymbolDescription } = replies;
const { IndexWentStale } = events;
const { MODE_TRADING, HALT_REASON, OPERATOR_ACT } = enums;

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const wentStale = blank(IndexWentStale);

export interface SymbolSettings {
  /** While the index price is older, nothing takes new risk and nobody is liquidated. */
  maxIndexAgeMs: number;
}

const DRY_RUN: OrderOptions = { goodTillDate: 0, legs: null, displayLots: 0, isDryRun: true };

/** Reads change nothing. */
const isRead = (code: number): boolean => code >= ReadOrders.code && code <= ReadClientIds.code;
/** The items of a batch run the timers themselves. */
const skipsTimers = (code: number): boolean => isRead(code) || code === OrderBatch.code;

/**
 * The actor of one symbol. Each command is decided by a function of src/core/commands. Work that no command waits for
 * (funding, liquidation, triggers, self-check) is done in bounded steps.
 */
export class SymbolActor implements Actor {
  readonly actorId: number;
  readonly state: SymbolState;
  private readonly marginTable: MarginTable;
  private readonly placement: Placement;
  private readonly amendment: Amendment;
  private readonly attached: AttachedOrders;
  private readonly triggers: TriggerFiring;
  private readonly pricing: Pricing;
  private readonly marginSettings: MarginSettings;
  private readonly batch: BatchDecision;
  private readonly settlement: MarkSettlement;
  private readonly liquidations: Liquidations;
  private readonly selfCheck = new SelfCheck();
  private readonly followedMark = new FollowedMark();

  /** `pastIds`: the client order ids that load() will not get; null = it gets all. */
  constructor(
    instrument: Instrument,
    marginTable: MarginTable,
    settings?: SymbolSettings,
    pastIds: PastClientIds | null = null,
  ) {
    this.actorId = instrument.id;
    this.marginTable = marginTable;
    this.settlement = new MarkSettlement(marginTable.weakAccounts);
    this.liquidations = new Liquidations(this.settlement);
    this.state = new SymbolState(instrument, marginTable);
    this.state.clientIds.past = pastIds;
    if (settings !== undefined) this.state.maxIndexAgeMs = Math.min(this.state.maxIndexAgeMs, settings.maxIndexAgeMs);
    const checks = new OrderChecks(this.state);
    const margin = new MarginReservation(this.state);
    const execution = new OrderExecution(this.state, margin);
    this.placement = new Placement(this.state, checks, margin, execution);
    this.amendment = new Amendment(this.state, checks, margin, execution);
    this.attached = new AttachedOrders(this.state, this.placement);
    this.triggers = new TriggerFiring(this.state, this.placement, this.attached);
    this.pricing = new Pricing(this.state);
    this.marginSettings = new MarginSettings(this.state);
    this.batch = new BatchDecision(this.state, (item, transaction) => this.decideItem(item, transaction));
  }

  decide(message: Message, transaction: Transaction): void {
    assert(!this.settlement.isPending || isRead(message.type), "a new mark is settled before the next command");
    this.state.time = transaction.time;
    const { markTicks, markTime } = this.state;
    this.decideItem(message, transaction);
    if (this.state.needsTriggerCheck) this.triggers.recordReachedTriggers(transaction);
    if (this.state.markTicks !== markTicks) this.beginSettlement(markTicks, markTime);
  }

  private beginSettlement(fromTicks: PriceTicks, fromTime: TimeMs): void {
    this.settlement.begin(this.state, fromTicks, fromTime);
    this.sweep();
  }

  /**
   * Decides a command, or an item of a batch. Triggers are not checked here, but once at the end of the transaction. One
   * switch, because it is the list of all commands of a symbol.
   */
  private decideItem(message: Message, transaction: Transaction): void {
    const command = message as SymbolCommand;
    if (!skipsTimers(command.type)) this.runTimers(transaction);
    switch (command.type) {
      case PlaceOrder.code:
        this.placement.place(command, transaction);
        break;
      case PlaceTrigger.code:
        placeConditional(this.state, command, transaction);
        break;
      case PlaceExtended.code:
        this.attached.place(command, transaction);
        break;
      case CancelOrder.code:
        cancelOrder(this.state, command, transaction);
        break;
      case AmendOrder.code:
        this.amend(command, transaction);
        break;
      case OrderBatch.code:
        this.batch.decide(command, transaction);
        break;
      case DryRunOrder.code:
        this.dryRunOrder(command.order, transaction);
        break;
      case ReadMaxOrderSize.code:
        this.read(command, transaction);
        break;
      case CancelAll.code:
        cancelAllOrders(this.state, command, transaction);
        break;
      case CancelAfter.code:
        setCancelAfter(this.state, command, transaction);
        break;
      case ClosePosition.code:
        closePosition(this.state, this.placement, command, transaction);
        break;
      case SetLeverage.code:
        this.marginSettings.setLeverage(command, transaction);
        break;
      case SetMarginMode.code:
        this.marginSettings.setMarginMode(command, transaction);
        break;
      case MoveMargin.code:
        this.marginSettings.moveMargin(command, transaction);
        break;
      case PrepareWithdrawal.code:
        prepareWithdrawal(this.state, command, transaction);
        break;
      case SetIndexPrice.code:
        this.pricing.setIndexPrice(command, transaction);
        break;
      case SamplePremium.code:
        this.pricing.samplePremium(transaction);
        break;
      case Tick.code:
        this.tick(transaction);
        break;
      case HaltSymbol.code:
        recordAct(transaction, command.operator, OPERATOR_ACT.HALT, command.mode);
        setHalt(this.state, transaction, command.mode, command.reason, 0);
        replyStatus(this.state, transaction);
        break;
      case ResumeSymbol.code:
        recordAct(transaction, command.operator, OPERATOR_ACT.RESUME, 0);
        this.resume(transaction);
        replyStatus(this.state, transaction);
        break;
      case ReadOrders.code:
      case ReadOrder.code:
      case ReadPosition.code:
      case Describe.code:
      case ReadClientIds.code:
      case Audit.code:
        return this.read(command, transaction);
      default:
        unreachable(command);
    }
    this.endTransaction(transaction);
  }

  read(message: Message, transaction: Transaction): void {
    const { state } = this;
    const command = message as SymbolRead;
    switch (command.type) {
      case ReadMaxOrderSize.code:
        return replyMaxOrderSize(state, transaction, command, (order, probe) =>
          this.placement.place(inSchemaShape(order), probe, NONE, DRY_RUN),
        );
      case ReadOrders.code:
        return readOrders(state, command.accountId, transaction);
      case ReadOrder.code:
        return readOrder(state, command, transaction);
      case ReadPosition.code:
        return readPosition(state, command.accountId, transaction);
      case Describe.code:
        return transaction.reply({ type: SymbolDescription.code, state: summarizeSymbol(state, command.from) });
      case ReadClientIds.code:
        return readClientIds(state, command.from, transaction);
      case Audit.code:
        return transaction.reply({ type: AuditReport.code, report: auditSymbol(state) });
      default:
        unreachable(command);
    }
  }

  /** A bounded step of marking positions, liquidating accounts and firing triggers. */
  runBackground(transaction: Transaction): boolean {
    this.state.time = transaction.time;
    this.runTimers(transaction);
    const isMarking = this.settlement.runBackground(this.state);
    const isLooking = this.liquidate(transaction);
    this.fireTriggered(transaction);
    // Last: the self-check counts the state that the steps before leave.
    const isChecking = this.selfCheck.runBackground(this.state, transaction);
    const isEnding = this.state.hasOverdue(transaction.time);
    return isMarking || isLooking || isEnding || this.isFiring || isChecking;
  }

  get isFiring(): boolean {
    return this.triggers.isFiring;
  }

  get isSettlingMark(): boolean {
    return this.settlement.isPending || this.settlement.hasWeakElsewhere;
  }

  settleMark(transaction: Transaction): boolean {
    this.state.time = transaction.time;
    // This only looks. What it finds is settled by the next call.
    if (!this.settlement.isPending) {
      this.settlement.lookAtWeakElsewhere(this.state);
      return true;
    }
    if (this.settlement.isClosing) this.runTimers(transaction);
    // No position is closed against an order whose time is over. The next transaction ends more of these.
    const isOverdue = this.settlement.isClosing && this.state.hasOverdue(transaction.time);
    const hasMoved = isOverdue || this.settlement.settle(this.state, transaction);
    this.sweep();
    this.endTransaction(transaction);
    if (this.state.needsTriggerCheck) this.triggers.recordReachedTriggers(transaction);
    return hasMoved;
  }

  fire(transaction: Transaction): void {
    this.state.time = transaction.time;
    this.runTimers(transaction);
    this.fireTriggered(transaction);
  }

  /** A part of the sweep, but no gain is used before the losses at the same mark are settled. */
  private sweep(): void {
    if (this.settlement.isPending) return;
    this.state.contributions.settleGains();
    this.settlement.runBackground(this.state);
  }

  /** Ends the transaction, too. Nothing fires while overdue orders are still open. */
  private fireTriggered(transaction: Transaction): void {
    if (!this.state.hasOverdue(transaction.time)) this.triggers.fireTriggered(transaction);
    this.endTransaction(transaction);
    if (this.state.needsTriggerCheck) this.triggers.recordReachedTriggers(transaction);
  }

  /**
   * Runs before the rest of a transaction. An order whose time has come must not trade in it. A funding
   * interval that has ended must be settled before the positions change.
   */
  private runTimers(transaction: Transaction): void {
    const { open, cancelSwitches, funding } = this.state;
    if (transaction.time >= open.expiries.earliest) expireOrders(this.state, transaction);
    if (transaction.time >= cancelSwitches.earliest) fireCancelSwitches(this.state, transaction);
    if (transaction.time >= funding.nextTime) this.pricing.settleDue(transaction);
  }

  private endTransaction(transaction: Transaction): void {
    if (this.state.entryFills.size > 0) this.attached.attach(transaction);
    this.state.contributions.refreshDirty();
  }

  apply(event: Message, time: number): void {
    applyEvent(this.state, event as SymbolEvent, time);
  }

  settle(sequence: number, time: number): void {
    this.state.settle(sequence, time);
  }

  settleFollowed(sequence: number, time: number): void {
    const { contributions, dirty } = this.state;
    const changedRows = dirty.rowCount;
    this.state.time = time;
    this.state.settle(sequence, time);
    this.marginTable.begin();
    for (let i = 0; i < changedRows; i++) contributions.refresh(dirty.rows[i]);
    this.marginTable.commit();
  }

  followMark(): boolean {
    this.marginTable.begin();
    const hasMore = this.followedMark.step(this.state);
    this.marginTable.commit();
    return hasMore;
  }

  snapshot(writer: SnapshotWriter, most?: number): boolean {
    return snapshotSymbol(this.state, writer, most);
  }

  snapshotStored(): void {}

  load(table: string, key: number | string, row: Message): void {
    loadSymbolRow(this.state, table, key, row);
  }

  restored(): void {
    requireBelowMaxPrice(this.state.instrument, this.state.indexTicks, "the index price");
    this.state.funding.countOwing();
    this.state.open.due.inOrder((slot) => this.state.terms.of(slot));
    this.state.contributions.refreshAll();
    this.marginTable.commit();
    this.settlement.beginAfterRecovery(this.state);
  }

  contribute(sums: MarginTable): void {
    const { contributions, positions } = this.state;
    positions.each((at) => contributions.addTo(sums, at));
  }

  private amend(command: MessageOf<typeof AmendOrder>, transaction: Transaction): void {
    const slot = findOwnOrder(this.state, command.accountId, command.orderId, command.clientOrderId);
    if (slot === NONE) return refuse(transaction, "ORDER_NOT_FOUND", "id");
    if (this.state.orders.isWaiting(slot)) amendConditional(this.state, slot, command, transaction);
    else this.amendment.amend(slot, command, transaction);
  }

  private dryRunOrder(order: MessageOf<typeof DryRunOrder>["order"], transaction: Transaction): void {
    switch (order.type) {
      case PlaceOrder.code:
        return this.placement.place(inSchemaShape(order), transaction, NONE, DRY_RUN);
      case PlaceTrigger.code:
        return placeConditional(this.state, inSchemaShape(order), transaction, true);
      case PlaceExtended.code:
        return this.attached.place(inSchemaShape(order), transaction, true);
      default:
        unreachable(order);
    }
  }

  private resume(transaction: Transaction): void {
    const { haltMode } = this.state;
    if (haltMode === MODE_TRADING) return;
    setHalt(this.state, transaction, MODE_TRADING, HALT_REASON.OPERATOR, 0);
    this.pricing.endHalt(haltMode, transaction);
  }

  private tick(transaction: Transaction): void {
    const { state } = this;
    state.clientIds.expire(transaction.time);
    this.pricing.payOwed(transaction);
    state.contributions.refreshSomeAdditional();
    this.selfCheck.begin(state, transaction);
    const { haltMode, markTicks } = state;
    if (endExpiredHalt(state, transaction)) this.pricing.endHalt(haltMode, transaction);
    if (!state.isIndexStale && state.markTicks !== 0 && state.isIndexOld(transaction.time)) {
      applyIndexWentStale(state);
      transaction.emit(wentStale);
    }
    // A mark that has moved is settled first.
    if (state.markTicks !== markTicks) return;
    if (state.markTicks !== 0) this.liquidations.begin(transaction.time);
    this.liquidate(transaction);
  }

  /** A bounded step of the liquidation scan. Returns whether more is left. */
  private liquidate(transaction: Transaction): boolean {
    const { state } = this;
    // The scan waits for overdue orders, but is not canceled: an account could delay its liquidation with many of them.
    if (state.hasOverdue(transaction.time)) return true;
    return this.liquidations.runBackground(state, transaction, mayLiquidate(state, transaction.time));
  }
}
