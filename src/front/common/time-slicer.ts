/**
 * What falls due for very many at once, done for so many in one turn of the event loop; then others have their turn. What
 * falls due again before its turn has come is done once, and keeps its place.
 */
export class TimeSlicer<T> {
  private readonly due = new Set<T>();
  private readonly perIteration: number;
  private readonly work: (each: T) => void;
  /** In this turn of the event loop. */
  private done = 0;
  private iterationEnd: NodeJS.Immediate | null = null;

  constructor(perTurn: number, work: (each: T) => void) {
    this.perIteration = perTurn;
    this.work = work;
  }

  add(each: T): void {
    this.due.add(each);
  }

  delete(each: T): void {
    this.due.delete(each);
  }

  /** As many as this turn of the event loop has room for; the others in the next ones. */
  run(): void {
    for (const each of this.due) {
      if (this.done >= this.perIteration) break;
      this.done++;
      this.due.delete(each);
      this.work(each);
    }
    if (this.done > 0) this.iterationEnd ??= setImmediate(this.nextIteration);
  }

  /** What is being done takes so much more of the turn than one; -1: nothing. */
  spend(more: number): void {
    this.done += more;
  }

  private readonly nextIteration = (): void => {
    this.iterationEnd = null;
    this.done = 0;
    this.run();
  };
}
