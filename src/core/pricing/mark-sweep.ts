import type { SymbolState } from "../state/symbol-state.ts";

/** So many rows in one turn: orders behind it wait no longer than that takes, a fraction of a millisecond. */
const ROWS_PER_TRANSACTION = 1000;

/**
 * Brings the cells of all open positions to a new mark, a share at a time, while orders go on. Nobody has to wait for it:
 * whoever depends on a row (its order, its liquidation, its view) freshens that row first. It goes round in a circle, so
 * that a price that comes while it runs only makes it go further and no row is forgotten behind others.
 */
export class MarkSweep {
  private cursor = 0;
  /** Rows from the cursor on that may still be at an older mark. */
  private left = 0;
  /** Rows that there were when `left` was counted; new ones stand behind them. */
  private rows = 0;

  /** The mark has moved. */
  begin(state: SymbolState): void {
    this.rows = state.positions.count;
    this.left = this.rows;
  }

  /** Freshens a share of the rows. Returns whether more are left. */
  runBackground(state: SymbolState): boolean {
    if (this.left === 0) return false;
    const { positions } = state;
    // Rows between the cursor and the end may have become more: going too far costs nothing but the looks.
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
