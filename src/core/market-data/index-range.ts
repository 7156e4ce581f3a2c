import { PPM, type PriceTicks, type RatePpm, type TimeMs } from "../base/units.ts";
import type { IndexRangeFigures } from "../protocol/payloads.ts";

/** Long enough that a move is over before it is forgotten. */
const WINDOW_MS = 60_000;

/** Highest and lowest index price in a window of a minute and in the one before: at least the last minute, at most two. */
export class IndexRange implements IndexRangeFigures {
  since: TimeMs = 0;
  highTicks: PriceTicks = 0;
  lowTicks: PriceTicks = 0;
  previousHighTicks: PriceTicks = 0;
  previousLowTicks: PriceTicks = 0;
  /** The last result of movePpm(), and its time; NaN = none since the last price. Many orders come within a millisecond. */
  private move: RatePpm = 0;
  private moveTime: TimeMs = Number.NaN;

  /** `lastTicks`: the price until now, however old; 0 = none. A move from it is a move of this moment. */
  note(lastTicks: PriceTicks, ticks: PriceTicks, time: TimeMs): void {
    this.moveTime = Number.NaN;
    const age = time - this.since;
    if (this.highTicks === 0 || age >= WINDOW_MS || age < 0) {
      const isAdjacent = age >= 0 && age < 2 * WINDOW_MS && this.highTicks !== 0;
      this.previousHighTicks = isAdjacent ? Math.max(this.highTicks, lastTicks) : lastTicks;
      this.previousLowTicks = isAdjacent ? Math.min(this.lowTicks, lastTicks) : lastTicks;
      this.since = time;
      this.highTicks = ticks;
      this.lowTicks = ticks;
    }
    if (ticks > this.highTicks) this.highTicks = ticks;
    if (ticks < this.lowTicks) this.lowTicks = ticks;
  }

  /** The largest move within the windows, as a rate of the lowest price. */
  movePpm(time: TimeMs): RatePpm {
    if (time !== this.moveTime) {
      this.move = this.moveAt(time);
      this.moveTime = time;
    }
    return this.move;
  }

  private moveAt(time: TimeMs): RatePpm {
    const age = time - this.since;
    if (this.highTicks === 0 || age >= 2 * WINDOW_MS) return 0;
    const countsPrevious = age < WINDOW_MS && this.previousHighTicks !== 0;
    const highTicks = countsPrevious ? Math.max(this.highTicks, this.previousHighTicks) : this.highTicks;
    const lowTicks = countsPrevious ? Math.min(this.lowTicks, this.previousLowTicks) : this.lowTicks;
    return Math.ceil(((highTicks - lowTicks) * PPM) / lowTicks);
  }

  load({ since, highTicks, lowTicks, previousHighTicks, previousLowTicks }: Readonly<IndexRangeFigures>): void {
    this.moveTime = Number.NaN;
    this.since = since;
    this.highTicks = highTicks;
    this.lowTicks = lowTicks;
    this.previousHighTicks = previousHighTicks;
    this.previousLowTicks = previousLowTicks;
  }

  get figures(): IndexRangeFigures {
    const { since, highTicks, lowTicks, previousHighTicks, previousLowTicks } = this;
    return { since, highTicks, lowTicks, previousHighTicks, previousLowTicks };
  }
}
