import * as columns from "../base/columns.ts";
import type { Orders } from "./orders.ts";
import type { Positions } from "./positions.ts";

const { DIRTY_ROUND } = columns;

/**
 * Rows and orders that the transaction under way has changed. The arrays never shrink: emptying one would cost more than
 * the rest of the end of a transaction.
 */
export class DirtySet {
  /** The first `rowCount` are dirty. From `freshRowCount` on, their contribution to the margin table is not up to date. */
  readonly rows: number[] = [];
  rowCount = 0;
  freshRowCount = 0;
  /** Only the rows between freshRowCount and rowCount hold this number in DIRTY_ROUND. */
  private round = 1;
  private readonly slots: number[] = [];
  private slotCount = 0;
  private stampedSlotCount = 0;
  private readonly orders: Orders;
  private readonly positions: Positions;

  constructor(orders: Orders, positions: Positions) {
    this.orders = orders;
    this.positions = positions;
  }

  /** Margin that the transaction frees must wait for its sequence. */
  get hasRows(): boolean {
    return this.rowCount > 0;
  }

  order(slot: number): void {
    this.slots[this.slotCount++] = slot;
  }

  /** A transaction changes the same rows again and again. Each is listed, and refreshed, once. */
  row(at: number): void {
    const { numbers } = this.positions;
    if (numbers[at + DIRTY_ROUND] === this.round) return;
    numbers[at + DIRTY_ROUND] = this.round;
    this.rows[this.rowCount++] = at;
  }

  /** The transaction has changed the row, and its contribution is not up to date. */
  has(at: number): boolean {
    return this.positions.numbers[at + DIRTY_ROUND] === this.round;
  }

  /** The contributions of all rows so far are up to date. */
  markFresh(): void {
    this.freshRowCount = this.rowCount;
    this.round++;
  }

  /** Gives the changed orders the transaction's time already, for the parts of it that follow. */
  stamp(time: number): void {
    const { orders } = this;
    for (; this.stampedSlotCount < this.slotCount; this.stampedSlotCount++) {
      const slot = this.slots[this.stampedSlotCount];
      if (orders.serial(slot) !== 0) orders.settle(slot, 0, time);
    }
  }

  /** The transaction is in the log: all that it changed bears its sequence. */
  settle(sequence: number, time: number): void {
    const { orders, positions, slots, rows } = this;
    for (let i = 0; i < this.slotCount; i++) {
      const slot = slots[i];
      if (orders.serial(slot) === 0) continue; // gone within the transaction
      orders.settle(slot, sequence, time);
      orders.touch(slot);
    }
    for (let i = 0; i < this.rowCount; i++) positions.settle(rows[i], sequence, time);
    this.slotCount = 0;
    this.stampedSlotCount = 0;
    this.rowCount = 0;
    this.freshRowCount = 0;
    this.round++;
  }
}
