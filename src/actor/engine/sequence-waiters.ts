/** More wait in vain for as long as anybody would. */
const MAX_WAITERS = 65_536;
/** Each of them goes on to read or print for some tens of microseconds: others have their turn between. */
const AT_ONCE = 128;

/** Who waits until a sequence has been reached. Later ones wait for the same or a later sequence. */
export class SequenceWaiters {
  private readonly row: { readonly sequence: number; readonly run: () => void }[] = [];
  private reached = 0;
  private hasMoreDue = false;

  get isEmpty(): boolean {
    return this.row.length === 0;
  }

  /** False, and nothing, when very many wait already, as while a disk does not answer. */
  add(sequence: number, run: () => void): boolean {
    if (this.row.length >= MAX_WAITERS) return false;
    this.row.push({ sequence, run });
    return true;
  }

  /** Lets go on who has waited for this sequence or an earlier one; very many in several turns of the event loop. */
  reach(sequence: number): void {
    this.reached = sequence;
    if (!this.hasMoreDue) this.resume();
  }

  private readonly resume = (): void => {
    const { row, reached } = this;
    let due = 0;
    while (due < AT_ONCE && due < row.length && row[due].sequence <= reached) due++;
    this.hasMoreDue = due === AT_ONCE;
    if (this.hasMoreDue) setImmediate(this.resume);
    for (const { run } of row.splice(0, due)) run();
  };
}
