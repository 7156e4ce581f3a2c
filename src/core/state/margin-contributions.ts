import type { Contribution } from "../accounts/contribution.ts";
import type { MarginTable } from "../accounts/margin-table.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta, TimeMs } from "../base/units.ts";
import { contribution } from "../formulas/margin.ts";
import { keptCrossMargin, type OpeningState, openingRatePpm } from "../formulas/opening-rate.ts";
import type { Instrument } from "../protocol/instrument.ts";
import type { DirtySet } from "./dirty-set.ts";
import type { FundingState } from "./funding-state.ts";
import type { Positions } from "./positions.ts";
import type { TransactionProgress } from "./transaction-progress.ts";

const { ACCOUNT, CONTRIBUTED, CONTRIBUTED_MARK, MARGIN_MODE, SIZE } = columns;
const { INSURANCE_ACCOUNT, ISOLATED } = enums;

/** Rows that are refreshed at once, while commands wait. */
const REFRESHED_AT_A_TIME = 1000;

/** The parts of the symbol's state that contributions follow from. */
interface ContributionSource extends OpeningState {
  readonly instrument: Instrument;
  readonly positions: Positions;
  readonly marginTable: MarginTable;
  readonly funding: FundingState;
  readonly dirty: DirtySet;
  readonly progress: TransactionProgress;
  readonly markTicks: PriceTicks;
  readonly time: TimeMs;
}

/** Keeps what the symbol's rows contribute to the margin table of all accounts. */
export class MarginContributions {
  private readonly state: ContributionSource;
  private readonly scratch: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
  /** The additional margin that the table has of each row. In a calm market only positions at a high leverage have some. */
  private readonly additional = new Map<number, Quanta>();
  /**
   * The last mark that is settled; 0 = gains count at once. So it is after a start until the first price: the last step may
   * have been settled before, and who relied on its gain since must not be closed for the lack of it.
   */
  private settledTicks: PriceTicks = 0;

  constructor(state: ContributionSource) {
    this.state = state;
  }

  /**
   * The mark is settled. The next one brings losses into the margin table at once, and gains only when this is called again:
   * its losers may be closed against its winners, and a winner that has used the gain for a loss in another symbol would be
   * left below zero.
   */
  settleGains(): void {
    this.settledTicks = this.state.markTicks;
  }

  /** The gain of the row from the step that is being settled, in quanta. It does not count yet. */
  heldGain(at: number): Quanta {
    const { positions, markTicks, instrument } = this.state;
    return positions.numbers[at + SIZE] * (markTicks - this.countedTicks(at)) * instrument.quantaPerTickLot;
  }

  /** The mark, or the one before it for a row that gains by a step that is being settled. */
  private countedTicks(at: number): PriceTicks {
    const { settledTicks } = this;
    const { markTicks, positions } = this.state;
    if (settledTicks === markTicks || settledTicks === 0) return markTicks;
    return positions.numbers[at + SIZE] > 0 === markTicks > settledTicks ? settledTicks : markTicks;
  }

  /** A row's contribution now, or at another mark. The next call overwrites the object that it returns. */
  of(at: number, markTicks: PriceTicks = this.countedTicks(at)): Contribution {
    const { state, scratch } = this;
    const { numbers } = state.positions;
    contribution(state.instrument, numbers, at, markTicks, scratch);
    if (numbers[at + ACCOUNT] === INSURANCE_ACCOUNT) this.adaptToFund(at, markTicks);
    return scratch;
  }

  /** The fund uses no leverage: its initial margin is the notional of its position. It holds the funding in transit. */
  private adaptToFund(at: number, markTicks: PriceTicks): void {
    const { state, scratch } = this;
    if (state.funding.owingLots !== 0) scratch.equity += state.funding.inTransit();
    scratch.positionInitial =
      Math.abs(state.positions.numbers[at + SIZE]) * markTicks * state.instrument.quantaPerTickLot;
    scratch.initial = scratch.positionInitial;
  }

  /** Brings the margin table to what the row contributes now. `isLogged`: see MarginTable.setContribution. */
  refresh(at: number, isLogged = false): void {
    const { state } = this;
    const row = state.positions.numbers;
    const isIsolated = row[at + MARGIN_MODE] === ISOLATED;
    state.marginTable.setContribution(row[at + ACCOUNT], row, at + CONTRIBUTED, this.of(at), isLogged, isIsolated);
    row[at + CONTRIBUTED_MARK] = this.countedTicks(at);
    this.refreshAdditional(at);
  }

  /** The row's additional margin in the table, in quanta. */
  additionalOf(at: number): Quanta {
    return this.additional.get(at) ?? 0;
  }

  /** Adds what the row has contributed to an empty table. */
  addTo(sums: MarginTable, at: number): void {
    const row = this.state.positions.numbers;
    sums.addAll(row[at + ACCOUNT], row, at + CONTRIBUTED, row[at + MARGIN_MODE] === ISOLATED);
    const quanta = this.additionalOf(at);
    if (quanta !== 0) sums.addAdditional(row[at + ACCOUNT], quanta);
  }

  /** Brings the row's additional margin to the mark and the opening rate of now, which rises and falls with time, too. */
  refreshAdditional(at: number): void {
    const { state } = this;
    const row = state.positions.numbers;
    if (row[at + ACCOUNT] === INSURANCE_ACCOUNT) return;
    const ratePpm = openingRatePpm(state, state.time, 0);
    const quanta = keptCrossMargin(state.instrument, row, at, state.markTicks, ratePpm);
    if (quanta !== 0 || this.additional.size !== 0) this.setAdditional(at, quanta);
  }

  /**
   * Does so for open positions, at once: the opening rate has risen without a new mark, and what an account does in other symbols
   * must leave the margin. The liquidation scan comes to the rows beyond the first ones.
   */
  refreshAdditionalOfOpen(): void {
    const { open } = this.state.positions;
    const end = Math.min(REFRESHED_AT_A_TIME, open.length);
    for (let i = 0; i < end; i++) this.refreshAdditional(open[i]);
  }

  /** Does so for some of the rows that have additional margin, and the next call goes on with others. */
  refreshSomeAdditional(): void {
    let left = Math.min(REFRESHED_AT_A_TIME, this.additional.size);
    for (const [at, quanta] of this.additional) {
      if (left-- === 0) return;
      this.additional.delete(at);
      this.additional.set(at, quanta);
      this.refreshAdditional(at);
    }
  }

  /** Sets what the table has, until the row is refreshed. */
  setAdditional(at: number, quanta: Quanta): void {
    const { state } = this;
    const by = quanta - this.additionalOf(at);
    if (by === 0) return;
    if (quanta === 0) this.additional.delete(at);
    else this.additional.set(at, quanta);
    state.marginTable.addAdditional(state.positions.numbers[at + ACCOUNT], by);
  }

  refreshAll(): void {
    this.state.positions.each((at) => this.refresh(at));
  }

  /** Refreshes the rows that the transaction has changed since they were last refreshed. */
  refreshDirty(): void {
    const { dirty } = this.state;
    for (let i = dirty.freshRowCount; i < dirty.rowCount; i++) this.refresh(dirty.rows[i]);
  }

  /** Lets the rest of the transaction use all that it has done so far: losses, and margin that it has freed. */
  trackDirty(): void {
    this.refreshDirty();
    this.state.dirty.markFresh();
    this.state.marginTable.useDeferred();
  }

  /** The row holds a position whose contribution is from an older mark: see MarkSettlement. */
  isStale(at: number): boolean {
    const n = this.state.positions.numbers;
    return n[at + SIZE] !== 0 && n[at + CONTRIBUTED_MARK] !== this.countedTicks(at);
  }

  /** Brings a stale row to the mark. It counts as logged if only a mark of an earlier transaction has made it stale. */
  refreshMark(at: number): void {
    if (this.isStale(at)) this.refresh(at, !this.state.dirty.has(at) && !this.state.progress.hasMovedMark);
    else this.refreshAdditional(at);
  }
}
