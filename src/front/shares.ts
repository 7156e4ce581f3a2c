/**
 * What falls due for very many at once, done for so many in one turn of the event loop; then others have their turn. What
 * falls due again before its turn has come is done once, and keeps its place.
 */
export class Shares<T> {
  private readonly due = new Set<T>();
  private readonly perTurn: number;
  private readonly work: (each: T) => void;
  /** The next turn of the event loop does more. */
  private isGoingOn = false;

  constructor(perTurn: number, work: (each: T) => void) {
    this.perTurn = perTurn;
    this.work = work;
  }

  add(each: T): void {
    this.due.add(each);
  }

  delete(each: T): void {
    this.due.delete(each);
  }

  run(): void {
    if (!this.isGoingOn) this.doSome();
  }

  private readonly doSome = (): void => {
    let done = 0;
    for (const each of this.due) {
      if (done++ === this.perTurn) break;
      this.due.delete(each);
      this.work(each);
    }
    this.isGoingOn = this.due.size > 0;
    if (this.isGoingOn) setImmediate(this.doSome);
  };
}
