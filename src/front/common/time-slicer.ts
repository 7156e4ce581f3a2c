/**
 * Spreads work that is due for many items at once over several event-loop iterations. An item that is added again before its
 * work was done keeps its place, and its work is done once.
 */
export class TimeSlicer<T> {
  private readonly due = new Set<T>();
  private readonly perIteration: number;
  private readonly work: (each: T) => void;
  /** Items done in this event-loop iteration. */
  private done = 0;
  private iterationEnd: NodeJS.Immediate | null = null;

  constructor(perIteration: number, work: (each: T) => void) {
    this.perIteration = perIteration;
    this.work = work;
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
    for (const each of this.due) {
      if (this.done >= this.perIteration) break;
      this.done++;
      this.due.delete(each);
      this.work(each);
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
    this.run();
  };
}
