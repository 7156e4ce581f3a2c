import type { SymbolState } from "../state/symbol-state.ts";

/** Rows per transaction. It delays the orders behind it by a fraction of a millisecond. */
const ROWS_PER_TRANSACTION = 1000;

/**
 * Brings the contributions of all positions to a new mark, a part at a time, between orders. Nothing waits for it: code that
 * depends on a row calls refreshMark() on it first. The sweep goes round in a circle. So a price that comes while it runs
 * makes it go further, and no row is starved.
 */
export class MarkSweep {
  private cursor = 0;
  /** How many rows from the cursor on may still be at an older mark. */
  private left = 0;
  /** How many rows there were when `left` was set. New rows are appended. */
  private rows = 0;

  /** The mark has moved. */
  begin(state: SymbolState): void {
    this.rows = state.positions.count;
    this.left = this.rows;
  }

  /** Brings some rows to the mark. Returns whether more are left. */
  runBackground(state: SymbolState): boolean {
    if (this.left === 0) return false;
    const { positions } = state;
    // New rows may lie between the cursor and the end. To check too many costs only time.
    this.left += positions.count - this.rows;
    this.rows = positions.count;
    const share = Math.min(this.left, ROWS_PER_TRANSACTION);
    for (let i = 0; i < share; i++) {
      state.contributions.refreshMark(positions.offset(this.cursor));
      this.cursor = this.cursor + 1 < this.rows ? this.cursor + 1 : 0;
    }
    this.left -= share;
    return this.left > 0;
  }
}
