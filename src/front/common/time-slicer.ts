/** Of an event-loop iteration. Work of several kinds may be due, and orders wait for all of it. */
const MAX_MS = 1;

/**
 * Spreads work that is due for many items at once over several event-loop iterations. An item that is added again before its
 * work was done keeps its place, and its work is done once.
 */
export class TimeSlicer<T> {
  private readonly due = new Set<T>();
  private readonly perIteration: number;
  private readonly work: (each: T) => void;
  private readonly clock: (() => number) | null;
  /** Items done in this event-loop iteration. */
  private done = 0;
  /** The time that they took, if there is a clock. */
  private spentMs = 0;
  private iterationEnd: NodeJS.Immediate | null = null;

  /**
   * Each iteration does at most `perIteration` items. With a clock, which counts in milliseconds, it also ends after about one
   * millisecond: for items that differ much in what they cost.
   */
  constructor(perIteration: number, work: (each: T) => void, clock: (() => number) | null = null) {
    this.perIteration = perIteration;
    this.work = work;
    this.clock = clock;
  }

  /** Number of items that wait. */
  get size(): number {
    return this.due.size;
  }

  add(each: T): void {
    this.due.add(each);
  }

  delete(each: T): void {
    this.due.delete(each);
  }

  /** Does as many items as this event-loop iteration allows. The others follow in the next ones. */
  run(): void {
    const { clock } = this;
    let nowMs = clock?.() ?? 0;
    for (const each of this.due) {
      if (this.done >= this.perIteration || (this.done > 0 && this.spentMs >= MAX_MS)) break;
      this.done++;
      this.due.delete(each);
      this.work(each);
      const beforeMs = nowMs;
      nowMs = clock?.() ?? 0;
      this.spentMs += nowMs - beforeMs;
    }
    if (this.done > 0) this.iterationEnd ??= setImmediate(this.nextIteration);
  }

  /** Called by `work`: this item counts as 1 + `more` items of the iteration. -1: it was free. */
  spend(more: number): void {
    this.done += more;
  }

  private readonly nextIteration = (): void => {
    this.iterationEnd = null;
    this.done = 0;
    this.spentMs = 0;
    this.run();
  };
}
