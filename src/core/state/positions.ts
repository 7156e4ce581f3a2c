import { assert } from "../../assert.ts";
import { CONTRIBUTION_FIELDS } from "../accounts/contribution.ts";
import * as columns from "../base/columns.ts";
import type { Quanta, QuantityLots } from "../base/units.ts";
import * as units from "../base/units.ts";

const {
  ACCOUNT,
  BUY_LOTS,
  CASH,
  COST,
  UNSAVED,
  FIRST_ORDER,
  CONTRIBUTED,
  LEVERAGE,
  NONE,
  OPENED_AT,
  OPEN_INDEX,
  ROW_STRIDE,
  SELL_LOTS,
  SEQUENCE,
  SIZE,
  UPDATED_AT,
  WAITING_ORDERS,
} = columns;
const { proportion } = units;

const INITIAL_ROWS = 256;

assert(CONTRIBUTED + CONTRIBUTION_FIELDS <= WAITING_ORDERS, "the contribution ends before the next column");

/**
 * One row for each account that has ever used the symbol: its position, the sums over its open orders, and its
 * contribution to the margin table. A flat array of 32 numbers a row. Rows are never freed.
 *
 * A position is { size, cash }: signed lots, and the signed quanta of its trades, fees and funding. Its value is
 * cash + size × mark. `cost` splits that for display: the average cost of the open lots.
 */
export class Positions {
  /** Replaced when it grows: do not keep a reference across ensure(). */
  numbers: Float64Array;
  /** Rows whose size is not 0, in no order. */
  readonly open: number[] = [];
  count = 0;
  private rowOfAccount = new Int32Array(1024);
  private readonly dirtyRows: number[] = [];
  private readonly defaultLeverage: number;

  constructor(defaultLeverage: number) {
    this.defaultLeverage = defaultLeverage;
    this.numbers = new Float64Array(INITIAL_ROWS * ROW_STRIDE);
  }

  /** The offset of the n-th row. */
  offset(row: number): number {
    return row * ROW_STRIDE;
  }

  /** The offset of the account's row, or NONE. */
  find(accountId: number): number {
    const place = accountId < this.rowOfAccount.length ? this.rowOfAccount[accountId] : 0;
    return place === 0 ? NONE : (place - 1) * ROW_STRIDE;
  }

  /** The offset of the account's row, made if there is none. */
  ensure(accountId: number): number {
    const found = this.find(accountId);
    return found === NONE ? this.create(accountId) : found;
  }

  /**
   * The offset of the account's row, or of the row that ensure() would make. A command may compute on it until it is
   * accepted. If the command is refused, it must leave the row unchanged.
   */
  draft(accountId: number): number {
    const found = this.find(accountId);
    return found === NONE ? this.prepare(accountId) : found;
  }

  /** The profit, before fees, that a trade of `lots` (signed) for `quanta` of notional would take. */
  realized(at: number, lots: QuantityLots, quanta: Quanta): Quanta {
    const size = this.numbers[at + SIZE];
    if (size === 0 || size > 0 === lots > 0) return 0;
    const lotsClosed = Math.min(Math.abs(lots), Math.abs(size));
    const quantaClosed = proportion(quanta, lotsClosed, Math.abs(lots));
    return (size > 0 ? quantaClosed : -quantaClosed) - this.costOf(at, lotsClosed);
  }

  /** Moves a position by a trade of `lots` (signed) for `quanta` of notional and `fee`. */
  trade(at: number, lots: QuantityLots, quanta: Quanta, feeQuanta: Quanta, time: number): void {
    this.move(at, lots, quanta, feeQuanta, time);
    this.listOpen(at, this.numbers[at + SIZE]);
  }

  /** The same for a copy of a row, which is not in the list of open positions. */
  move(at: number, lots: QuantityLots, quanta: Quanta, feeQuanta: Quanta, time: number): void {
    const n = this.numbers;
    const size = n[at + SIZE];
    const newSize = size + lots;
    const spent = lots > 0 ? quanta : -quanta;
    if (size === 0 || size > 0 === lots > 0) n[at + COST] += spent;
    else if (Math.abs(lots) <= Math.abs(size)) n[at + COST] -= this.costOf(at, Math.abs(lots));
    else n[at + COST] = spent - proportion(spent, Math.abs(size), Math.abs(lots)); // flipped: the rest is the new position's
    n[at + CASH] -= spent + feeQuanta;
    n[at + SIZE] = newSize;
    if (size === 0 || newSize > 0 !== size > 0) n[at + OPENED_AT] = time;
  }

  /** Calls `use` with a copy of a row, and clears the copy afterwards. */
  withCopy<T>(at: number, use: (copy: number) => T): T {
    // The row after the one that draft() makes.
    const copy = (this.count + 1) * ROW_STRIDE;
    this.makeRoom(copy + ROW_STRIDE);
    this.numbers.copyWithin(copy, at, at + ROW_STRIDE);
    try {
      return use(copy);
    } finally {
      this.numbers.fill(0, copy, copy + ROW_STRIDE);
    }
  }

  /** Adds resting lots to the sums of their side; negative numbers take them out. */
  addResting(at: number, isBuy: boolean, lots: QuantityLots, exposure: Quanta, loss: Quanta): void {
    const n = this.numbers;
    const side = at + (isBuy ? BUY_LOTS : SELL_LOTS);
    n[side] += lots;
    n[side + 1] += exposure;
    n[side + 2] += loss;
  }

  settle(at: number, sequence: number, time: number): void {
    this.numbers[at + SEQUENCE] = sequence;
    this.numbers[at + UPDATED_AT] = time;
    this.touch(at);
  }

  touch(at: number): void {
    if (this.numbers[at + UNSAVED] !== 0) return;
    this.numbers[at + UNSAVED] = 1;
    this.dirtyRows.push(at);
  }

  /** Visits at most `most` rows that have changed since they were last visited. Returns whether that was all of them. */
  takeChanges(changed: (at: number) => void, most: number): boolean {
    const { dirtyRows } = this;
    for (let left = most; left > 0 && dirtyRows.length > 0; left--) {
      const at = dirtyRows.pop() as number;
      this.numbers[at + UNSAVED] = 0;
      changed(at);
    }
    return dirtyRows.length === 0;
  }

  /** A row from a snapshot. */
  load(at: number, sizeLots: QuantityLots, cashQuanta: Quanta, costQuanta: Quanta): void {
    this.numbers[at + SIZE] = sizeLots;
    this.numbers[at + CASH] = cashQuanta;
    this.numbers[at + COST] = costQuanta;
    this.listOpen(at, sizeLots);
  }

  each(visit: (at: number) => void): void {
    for (let row = 0; row < this.count; row++) visit(row * ROW_STRIDE);
  }

  /** The signed share of the cost that belongs to `lots` of the open position; all of it for all lots. */
  private costOf(at: number, lots: QuantityLots): Quanta {
    return proportion(this.numbers[at + COST], lots, Math.abs(this.numbers[at + SIZE]));
  }

  private create(accountId: number): number {
    if (accountId >= this.rowOfAccount.length) {
      const larger = new Int32Array(Math.max(accountId + 1, this.rowOfAccount.length * 2));
      larger.set(this.rowOfAccount);
      this.rowOfAccount = larger;
    }
    const at = this.prepare(accountId);
    this.count++;
    this.rowOfAccount[accountId] = this.count;
    return at;
  }

  /** Sets the first free row to its initial values. */
  private prepare(accountId: number): number {
    this.makeRoom((this.count + 1) * ROW_STRIDE);
    const at = this.count * ROW_STRIDE;
    this.numbers[at + ACCOUNT] = accountId;
    this.numbers[at + LEVERAGE] = this.defaultLeverage;
    this.numbers[at + FIRST_ORDER] = NONE;
    return at;
  }

  private makeRoom(length: number): void {
    if (length <= this.numbers.length) return;
    const larger = new Float64Array(this.numbers.length * 2);
    larger.set(this.numbers);
    this.numbers = larger;
  }

  /** Keeps the list of open positions, which a new mark visits. */
  private listOpen(at: number, sizeLots: QuantityLots): void {
    const n = this.numbers;
    const place = n[at + OPEN_INDEX];
    if (sizeLots !== 0 && place === 0) {
      this.open.push(at);
      n[at + OPEN_INDEX] = this.open.length;
    } else if (sizeLots === 0 && place !== 0) {
      const last = this.open.pop()!;
      if (last !== at) {
        this.open[place - 1] = last;
        n[last + OPEN_INDEX] = place;
      }
      n[at + OPEN_INDEX] = 0;
    }
  }
}
