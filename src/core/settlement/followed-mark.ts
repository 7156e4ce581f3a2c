import type { PriceTicks } from "../base/units.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** Rows that one step brings to the mark. Reads wait a fraction of a millisecond for it. */
const ROWS_PER_STEP = 1000;

/** The sweep of a process that does not lead: it brings the margin of all rows to a new mark, and settles nobody. */
export class FollowedMark {
  private markTicks: PriceTicks = 0;
  /** The next row that may be at an older mark. Rows behind the last one are new, and were made at this mark. */
  private next = 0;

  /** Returns whether more is left. */
  step({ positions, contributions, markTicks }: SymbolState): boolean {
    if (markTicks !== this.markTicks) {
      this.markTicks = markTicks;
      this.next = 0;
    }
    const end = Math.min(positions.count, this.next + ROWS_PER_STEP);
    for (; this.next < end; this.next++) contributions.refreshMark(positions.offset(this.next));
    return this.next < positions.count;
  }
}
