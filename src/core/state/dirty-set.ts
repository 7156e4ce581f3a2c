import * as columns from "../base/columns.ts";
import type { Orders } from "./orders.ts";
import type { Positions } from "./positions.ts";

const { DIRTY_ROUND } = columns;

/** What the turn that is under way has touched. The arrays only grow: emptying one would cost more than the rest of a turn's end. */
export class DirtySet {
  /** The first `rowCount` of them, from `freshRowCount` on those whose cells are not up to date. */
  readonly rows: number[] = [];
  rowCount = 0;
  freshRowCount = 0;
  /** What stands in the rows between freshRowCount and rowCount: no other row bears it. */
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

  /** A sweep, or a trade, touches the same rows again and again: each is brought up to date once. */
  row(at: number): void {
    const { numbers } = this.positions;
    if (numbers[at + DIRTY_ROUND] === this.round) return;
    numbers[at + DIRTY_ROUND] = this.round;
    this.rows[this.rowCount++] = at;
  }

  /** The turn has touched the row, and its cells are not up to date. */
  has(at: number): boolean {
    return this.positions.numbers[at + DIRTY_ROUND] === this.round;
  }

  /** The cells of all rows until now are up to date. */
  markFresh(): void {
    this.freshRowCount = this.rowCount;
    this.round++;
  }

  /** Orders bear the turn's time from here on, for what comes behind them in it. */
  stamp(time: number): void {
    const { orders } = this;
    for (; this.stampedSlotCount < this.slotCount; this.stampedSlotCount++) {
      const slot = this.slots[this.stampedSlotCount];
      if (orders.serial(slot) !== 0) orders.settle(slot, 0, time);
    }
  }

  /** The turn stands in the log: what it touched bears its sequence. */
  settle(sequence: number, time: number): void {
    const { orders, positions, slots, rows } = this;
    for (let i = 0; i < this.slotCount; i++) {
      const slot = slots[i];
      if (orders.serial(slot) === 0) continue; // gone within the turn
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
