import { assert } from "../../assert.ts";
import type { MarginTable } from "../accounts/margin-table.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import { PPM, type PriceTicks, type Quanta, type QuantityLots, type RatePpm, type TimeMs } from "../base/units.ts";
import { IndexRange } from "../market-data/index-range.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { MarginReferences } from "../protocol/margin-references.ts";
import type { Book } from "./book.ts";
import { CancelSwitches } from "./cancel-switches.ts";
import { CLIENT_ID_RETENTION_MS, ClientIds } from "./client-ids.ts";
import { DirtySet } from "./dirty-set.ts";
import { FundingState } from "./funding-state.ts";
import { MarginContributions } from "./margin-contributions.ts";
import { OpenOrders } from "./open-orders.ts";
import type { EntryFill, OrderTerms, OrderTermsTable } from "./order-terms.ts";
import type { Orders } from "./orders.ts";
import { Positions } from "./positions.ts";
import { RecentFills } from "./recent-fills.ts";
import { TransactionProgress } from "./transaction-progress.ts";

const { ACCOUNT, CASH, MARGIN_MODE, NONE, SIZE } = columns;
const { HALT_REASON, idToSerial, INSURANCE_ACCOUNT, ISOLATED, MODE_REDUCE_ONLY, MODE_TRADING, serialToId } = enums;

/** All state of a symbol. Only events change it, by the functions of core/apply. */
export class SymbolState {
  readonly instrument: Instrument;
  readonly positions: Positions;
  readonly open: OpenOrders;
  // The next three belong to `open`. They are here too because hot paths read them.
  readonly orders: Orders;
  readonly book: Book;
  readonly terms: OrderTermsTable;
  readonly funding: FundingState;
  readonly clientIds = new ClientIds(CLIENT_ID_RETENTION_MS, (orderId) => this.findOrder(orderId) !== NONE);
  readonly marginReferences = new MarginReferences();
  readonly cancelSwitches = new CancelSwitches();

  // Of the transaction under way.
  readonly dirty: DirtySet;
  readonly progress: TransactionProgress;
  /** Fills of orders with legs. The attached orders follow from them: see commands/attached-orders.ts. */
  readonly entryFills = new Map<OrderTerms, EntryFill>();

  readonly recentFills = new RecentFills();

  readonly marginTable: MarginTable;
  readonly contributions: MarginContributions;

  /** Of the transaction under way, or of the last one. */
  time: TimeMs = 0;
  nextOrderSerial = 1;
  nextTradeSerial = 1;
  indexTicks: PriceTicks = 0;
  markTicks: PriceTicks = 0;
  /** The mark before the last price, at which all accounts were settled: see core/settlement. */
  markBeforeTicks: PriceTicks = 0;
  /** Positions that the fund has taken over since the last price. */
  fundTakeovers = 0;
  /** The hour (of the epoch) that runs, and the fund's equity in this symbol when it began: see fundAllowance(). */
  readonly fundHour = { hour: 0, baseQuanta: 0 };
  lastTicks: PriceTicks = 0;
  /** Moving average of mid − index, in 1/1024 ticks. */
  basis1024 = 0;
  priceTime: TimeMs = 0;
  /** Of the last price that set the mark: during a halt prices come, and the mark stands still. Not in snapshots. */
  markTime: TimeMs = 0;
  /** Of recent index prices: opening needs as much margin as they have moved. */
  readonly indexRange = new IndexRange();
  openInterestLots: QuantityLots = 0;
  /**
   * The instrument's lastTriggerPpm at the last PriceUpdated. Trailing orders follow prices in a replay, too. So the log
   * says which rule held, and not the settings of today.
   */
  lastTriggerPpm: RatePpm = 0;
  /** One of TRADING_STATUSES: set by the operator, the circuit breaker or the self-check. */
  haltMode = MODE_TRADING;
  haltReason: number = HALT_REASON.NONE;
  /** 0 = until it is resumed. */
  haltUntil: TimeMs = 0;
  /** The difference that the self-check found, until trading is resumed; "" = none. */
  fault = "";
  /** A tick found the index too old, and none came since. */
  isIndexStale = false;
  /** The last index price that jumped and waits for confirmation; 0 = none. The mark is known to be old then. */
  pendingIndexTicks: PriceTicks = 0;
  /** So many prices in a row agree on it. */
  pendingIndexCount = 0;
  /** With an older index the symbol takes no new risk and liquidates nobody. */
  maxIndexAgeMs: number;
  /** A number of the symbol's own snapshot row has changed since the last snapshot. */
  changed = false;
  /** A price or a trigger has changed since the end of a transaction last compared them: see recordReachedTriggers(). */
  needsTriggerCheck = true;

  constructor(instrument: Instrument, marginTable: MarginTable) {
    this.instrument = instrument;
    this.marginTable = marginTable;
    this.maxIndexAgeMs = instrument.maxIndexAgeMs;
    this.positions = new Positions(instrument.defaultLeverage);
    this.open = new OpenOrders(instrument, this.positions);
    this.orders = this.open.orders;
    this.book = this.open.book;
    this.terms = this.open.terms;
    this.funding = new FundingState(instrument, this.positions);
    this.dirty = new DirtySet(this.orders, this.positions);
    this.progress = new TransactionProgress(this.open, this.dirty, marginTable);
    this.contributions = new MarginContributions(this);
  }

  /** The order is about to trade `lots`. If it has legs, attached orders will follow. */
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

  /** The transaction is in the log. */
  settle(sequence: number, time: TimeMs): void {
    this.progress.settle(sequence, time);
    if (this.open.trailing.size > 0 && this.countsPrices)
      this.open.trailing.follow(this.markTicks, this.triggeringLastTicks, this.indexTicks);
  }

  /** Orders are past their time because a long transaction left them to later ones. */
  hasOverdue(time: TimeMs): boolean {
    return time >= this.open.expiries.earliest || time >= this.cancelSwitches.earliest;
  }

  isIndexOld(time: TimeMs): boolean {
    return time - this.priceTime > this.maxIndexAgeMs;
  }

  /** Cash and value of the insurance fund's position in the symbol, and funding that it has advanced: quanta, at the current mark. */
  fundEquity(): Quanta {
    const row = this.positions.find(INSURANCE_ACCOUNT);
    if (row === NONE) return 0;
    const n = this.positions.numbers;
    const inTransit = this.funding.owingLots === 0 ? 0 : this.funding.inTransit();
    return n[row + CASH] + n[row + SIZE] * this.markTicks * this.instrument.quantaPerTickLot + inTransit;
  }

  /** False during a halt: then prices reach no trigger, and no order trails or fires. */
  get countsPrices(): boolean {
    return this.haltMode <= MODE_REDUCE_ONLY;
  }

  /** The current price by its triggerBy; 0 = there is none yet, or it does not count. */
  priceOf(source: number): PriceTicks {
    return [this.markTicks, this.triggeringLastTicks, this.indexTicks][source];
  }

  /** The last price if it is near enough to the mark to count for triggers; else 0. */
  private get triggeringLastTicks(): PriceTicks {
    const { markTicks, lastTicks, lastTriggerPpm } = this;
    const isFar = lastTriggerPpm !== 0 && Math.abs(lastTicks - markTicks) * PPM > lastTriggerPpm * markTicks;
    return isFar ? 0 : lastTicks;
  }

  /** Whether the row holds an open position with isolated margin. */
  isIsolated(at: number): boolean {
    const n = this.positions.numbers;
    return n[at + SIZE] !== 0 && n[at + MARGIN_MODE] === ISOLATED;
  }

  /** The slot of an open order, or NONE. */
  findOrder(orderId: number): number {
    return this.orders.find(idToSerial(orderId, this.instrument.id));
  }

  /** Of an order that an event names. Fails if it is not open. */
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
}
