import { unreachable } from "../assert.ts";
import type { MarginTable } from "./accounts/margin-table.ts";
import { applyEvent } from "./apply/apply-event.ts";
import { applyIndexWentStale } from "./apply/market-events.ts";
import { auditSymbol } from "./audit/invariants.ts";
import { SelfCheck } from "./audit/self-check.ts";
import { summarizeSymbol } from "./audit/symbol-summary.ts";
import * as columns from "./base/columns.ts";
import * as enums from "./base/enums.ts";
import { NO_ROW } from "./base/hash-fifo.ts";
import { Amendment } from "./commands/amendment.ts";
import { AttachedOrders } from "./commands/attached.ts";
import { BatchDecision, inItsClass } from "./commands/batch.ts";
import { fireCancelSwitches, setCancelAfter } from "./commands/cancel-after.ts";
import { Conditional } from "./commands/conditional.ts";
import { MarginSettings } from "./commands/margin-settings.ts";
import { type OrderOptions, Placement } from "./commands/placement.ts";
import { replyOpenOrder, replyOrder, replyPosition } from "./commands/symbol-views.ts";
import { prepareWithdrawal } from "./commands/withdrawal.ts";
import { Liquidations } from "./liquidation/liquidation.ts";
import { close } from "./matching/order-closing.ts";
import { endExpiredHalt, mayLiquidate, replyStatus, setHalt } from "./pricing/halt.ts";
import { Pricing } from "./pricing/pricing.ts";
import type { Actor, SnapshotWriter, Transaction } from "./protocol/actor.ts";
import type { SymbolCommand } from "./protocol/commands.ts";
import * as commands from "./protocol/commands.ts";
import type { SymbolEvent } from "./protocol/events.ts";
import * as events from "./protocol/events.ts";
import { type Instrument, requireBelowMaxPrice } from "./protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "./protocol/message-schema.ts";
import type { ClientIdList } from "./protocol/payloads.ts";
import { refuse } from "./protocol/refusals.ts";
import * as replies from "./protocol/replies.ts";
import { loadSymbolRow, snapshotSymbol } from "./state/symbol-rows.ts";
import { SymbolState } from "./state/symbol-state.ts";

const { ACCOUNT, FIRST_ORDER, CONTRIBUTED, NONE } = columns;
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
  ReadOrder,
  ReadOrders,
  ReadPosition,
  ResumeSymbol,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
  DryRunOrder,
} = commands;
const { AuditReport, ClientIdsPage, Done, SymbolDescription } = replies;
const { IndexWentStale } = events;
const { MODE_HALTED, MODE_TRADING, HALT_REASON, REASON_USER, STATUS_CANCELED } = enums;

// Filled in again for each event: a turn hands it on before it goes on (see Turn).
const wentStale = blank(IndexWentStale);

export interface SymbolSettings {
  /** An index price that is older takes no new risk and liquidates nobody. */
  maxIndexAgeMs: number;
}

/** Of an order that is tried and has nothing more. */
const DRY_RUN: OrderOptions = { goodTillDate: 0, legs: null, displayLots: 0, isDryRun: true };

/** A page must fit into a ring. */
const CLIENT_IDS_PER_PAGE = 5000;

/** What changes nothing, and what leaves it to its items. */
const leavesWhatIsDue = (code: number): boolean =>
  (code >= ReadOrders.code && code <= ReadClientIds.code) || code === OrderBatch.code;

/** One symbol: its book, positions and open orders. Orders are decided upon in placement.ts, prices in pricing.ts. */
export class SymbolActor implements Actor {
  readonly actorId: number;
  readonly state: SymbolState;
  private readonly marginTable: MarginTable;
  private readonly placement: Placement;
  private readonly conditional: Conditional;
  private readonly amendment: Amendment;
  private readonly attached: AttachedOrders;
  private readonly pricing: Pricing;
  private readonly marginSettings: MarginSettings;
  private readonly batch: BatchDecision;
  private readonly liquidations = new Liquidations();
  private readonly selfCheck = new SelfCheck();

  constructor(instrument: Instrument, marginTable: MarginTable, settings?: SymbolSettings) {
    this.actorId = instrument.id;
    this.marginTable = marginTable;
    this.state = new SymbolState(instrument, marginTable);
    if (settings !== undefined) this.state.maxIndexAgeMs = settings.maxIndexAgeMs;
    this.placement = new Placement(this.state);
    this.attached = new AttachedOrders(this.state, this.placement);
    this.conditional = new Conditional(this.state, this.placement, (transaction) => this.attached.attach(transaction));
    this.amendment = new Amendment(this.state, this.placement);
    this.pricing = new Pricing(this.state);
    this.marginSettings = new MarginSettings(this.state);
    this.batch = new BatchDecision(this.state, (item, transaction) => this.decidePart(item, transaction));
  }

  decide(message: Message, transaction: Transaction): void {
    this.decidePart(message, transaction);
    if (this.state.mayReach) this.conditional.notePrices(transaction);
  }

  /** A command, or an item of a batch: what waits looks at prices when the whole turn ends. */
  private decidePart(message: Message, transaction: Transaction): void {
    const command = message as SymbolCommand;
    if (!leavesWhatIsDue(command.type)) this.endWhatIsDue(transaction);
    switch (command.type) {
      case PlaceOrder.code:
        this.placement.place(command, transaction);
        break;
      case PlaceTrigger.code:
        this.conditional.place(command, transaction);
        break;
      case PlaceExtended.code:
        this.attached.place(command, transaction);
        break;
      case CancelOrder.code:
        this.cancel(command, transaction);
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
      case CancelAll.code:
        this.cancelAll(command, transaction);
        break;
      case CancelAfter.code:
        setCancelAfter(this.state, command, transaction);
        break;
      case ClosePosition.code:
        this.placement.closePosition(command, transaction);
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
      case Tick.code:
        this.tick(transaction);
        break;
      case HaltSymbol.code:
        setHalt(this.state, transaction, command.mode, command.reason, 0);
        replyStatus(this.state, transaction);
        break;
      case ResumeSymbol.code:
        if (this.state.haltMode !== MODE_TRADING)
          setHalt(this.state, transaction, MODE_TRADING, HALT_REASON.OPERATOR, 0);
        replyStatus(this.state, transaction);
        break;
      case ReadOrders.code:
        this.readOrders(command.accountId, transaction);
        return;
      case ReadOrder.code:
        this.readOrder(command, transaction);
        return;
      case ReadPosition.code:
        this.readPosition(command.accountId, transaction);
        return;
      case Describe.code:
        transaction.reply({ type: SymbolDescription.code, state: summarizeSymbol(this.state, command.from) });
        return;
      case ReadClientIds.code:
        this.readClientIds(command.from, transaction);
        return;
      case Audit.code:
        transaction.reply({ type: AuditReport.code, report: auditSymbol(this.state) });
        return;
      default:
        unreachable(command);
    }
    this.endTransaction(transaction);
  }

  /** Positions come to the mark, accounts are looked at and waiting orders fire, while orders go on. */
  runBackground(transaction: Transaction): boolean {
    this.endWhatIsDue(transaction);
    const isMarking = this.pricing.runBackground();
    const isLooking = this.liquidate(transaction);
    this.fireDue(transaction);
    // Behind all that the turn has done: it counts what is in order by now.
    const isChecking = this.selfCheck.runBackground(this.state, transaction);
    const isEnding = this.state.hasOverdue(transaction.time);
    return isMarking || isLooking || isEnding || this.isFiring || isChecking;
  }

  get isFiring(): boolean {
    return this.conditional.isFiring;
  }

  fire(transaction: Transaction): void {
    this.endWhatIsDue(transaction);
    this.fireDue(transaction);
  }

  /** And the end of the turn. Nothing fires as long as orders are there that should be gone. */
  private fireDue(transaction: Transaction): void {
    if (!this.state.hasOverdue(transaction.time)) this.conditional.fireDue(transaction);
    this.endTransaction(transaction);
    if (this.state.mayReach) this.conditional.notePrices(transaction);
  }

  /**
   * Before anything else of a turn: what ends at a time that has come must not trade in it, and what trades in it comes
   * behind the funding interval that has ended.
   */
  private endWhatIsDue(transaction: Transaction): void {
    const { open, cancelSwitches, funding } = this.state;
    if (transaction.time >= open.expiries.earliest) this.conditional.expire(transaction);
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

  snapshot(writer: SnapshotWriter, most?: number): boolean {
    return snapshotSymbol(this.state, writer, most);
  }

  load(table: string, key: number | string, row: Message): void {
    loadSymbolRow(this.state, table, key, row);
  }

  restored(): void {
    requireBelowMaxPrice(this.state.instrument, this.state.indexTicks, "the index price");
    this.state.funding.countOwing();
    this.state.open.due.inOrder((slot) => this.state.terms.of(slot));
    this.state.contributions.refreshAll();
    this.marginTable.commit();
  }

  contribute(sums: MarginTable): void {
    const { positions } = this.state;
    positions.each((at) => sums.addAll(positions.numbers[at + ACCOUNT], positions.numbers, at + CONTRIBUTED));
  }

  private cancel(command: MessageOf<typeof CancelOrder>, transaction: Transaction): void {
    const slot = this.findOwnOrder(command.accountId, command.orderId, command.clientOrderId);
    if (slot === NONE) return refuse(transaction, "ORDER_NOT_FOUND", "id");
    if (this.state.haltMode === MODE_HALTED)
      return refuse(transaction, "SYMBOL_HALTED", "symbol", { status: "HALTED" });
    replyOrder(this.state, transaction, slot, STATUS_CANCELED, REASON_USER);
    close(this.state, transaction, slot, STATUS_CANCELED, REASON_USER);
  }

  private amend(command: MessageOf<typeof AmendOrder>, transaction: Transaction): void {
    const slot = this.findOwnOrder(command.accountId, command.orderId, command.clientOrderId);
    if (slot === NONE) return refuse(transaction, "ORDER_NOT_FOUND", "id");
    if (this.state.orders.isWaiting(slot)) this.conditional.amend(slot, command, transaction);
    else this.amendment.amend(slot, command, transaction);
  }

  private dryRunOrder(order: MessageOf<typeof DryRunOrder>["order"], transaction: Transaction): void {
    switch (order.type) {
      case PlaceOrder.code:
        return this.placement.place(inItsClass(order), transaction, NONE, DRY_RUN);
      case PlaceTrigger.code:
        return this.conditional.place(inItsClass(order), transaction, true);
      case PlaceExtended.code:
        return this.attached.place(inItsClass(order), transaction, true);
      default:
        unreachable(order);
    }
  }

  private cancelAll(command: MessageOf<typeof CancelAll>, transaction: Transaction): void {
    const { state } = this;
    if (state.haltMode === MODE_HALTED) return refuse(transaction, "SYMBOL_HALTED", "symbol", { status: "HALTED" });
    const row = state.positions.find(command.accountId);
    let slot = row === NONE ? NONE : state.positions.numbers[row + FIRST_ORDER];
    while (slot !== NONE) {
      const next = state.orders.accountNext(slot);
      if (command.side < 0 || state.orders.side(slot) === command.side) {
        replyOrder(state, transaction, slot, STATUS_CANCELED, REASON_USER);
        close(state, transaction, slot, STATUS_CANCELED, REASON_USER);
      }
      slot = next;
    }
    transaction.reply({ type: Done.code });
  }

  private tick(transaction: Transaction): void {
    const { state } = this;
    state.clientIds.expire(transaction.time);
    this.pricing.payOwed(transaction);
    this.selfCheck.begin(state, transaction);
    endExpiredHalt(state, transaction);
    if (!state.isIndexStale && state.markTicks !== 0 && state.isIndexOld(transaction.time)) {
      applyIndexWentStale(state);
      transaction.emit(wentStale);
    }
    if (mayLiquidate(state, transaction.time)) this.liquidations.begin();
    this.liquidate(transaction);
  }

  /** A share of the look that is under way. Returns whether more is left. */
  private liquidate(transaction: Transaction): boolean {
    const { state } = this;
    if (!mayLiquidate(state, transaction.time)) {
      this.liquidations.cancelScan();
      return false;
    }
    // It waits for orders that should be gone, and is not forgotten: or whoever has enough of them end is liquidated late.
    return state.hasOverdue(transaction.time) || this.liquidations.runBackground(state, transaction);
  }

  private readClientIds(from: number, transaction: Transaction): void {
    const rows = this.state.clientIds.page(from, CLIENT_IDS_PER_PAGE);
    const next = rows.length === CLIENT_IDS_PER_PAGE ? from + CLIENT_IDS_PER_PAGE : null;
    const ids = rows.map(({ accountId, clientOrderId, time }): ClientIdList["ids"][number] => [
      accountId,
      clientOrderId,
      time,
    ]);
    transaction.reply({ type: ClientIdsPage.code, page: { ids, next } });
  }

  private readOrders(accountId: number, transaction: Transaction): void {
    const { state } = this;
    const row = state.positions.find(accountId);
    let slot = row === NONE ? NONE : state.positions.numbers[row + FIRST_ORDER];
    for (; slot !== NONE; slot = state.orders.accountNext(slot)) replyOpenOrder(state, transaction, slot);
    transaction.reply({ type: Done.code });
  }

  private readOrder(command: MessageOf<typeof ReadOrder>, transaction: Transaction): void {
    const slot = this.findOwnOrder(command.accountId, command.orderId, command.clientOrderId);
    if (slot === NONE) return refuse(transaction, "ORDER_NOT_FOUND", "id");
    replyOpenOrder(this.state, transaction, slot);
  }

  private readPosition(accountId: number, transaction: Transaction): void {
    const row = this.state.positions.find(accountId);
    if (row !== NONE) replyPosition(this.state, transaction, row);
    transaction.reply({ type: Done.code });
  }

  /** 0 = the account has not used this client order id. */
  private orderIdOf(accountId: number, clientOrderId: string): number {
    const { clientIds } = this.state;
    const row = clientIds.find(accountId, clientOrderId);
    return row === NO_ROW ? 0 : clientIds.orderId(row);
  }

  /** NONE also when the order is another account's: it does not exist for this one. */
  private findOwnOrder(accountId: number, orderId: number, clientOrderId: string): number {
    const id = orderId !== 0 ? orderId : this.orderIdOf(accountId, clientOrderId);
    const slot = id === 0 ? NONE : this.state.findOrder(id);
    return slot !== NONE && this.state.accountId(slot) === accountId ? slot : NONE;
  }
}
