/** The most callbacks that may wait. More would only wait longer than any client does. */
const MAX_WAITERS = 65_536;
/** A callback reads or prints for some tens of microseconds. Other work gets its turn after this many. */
const MAX_PER_ITERATION = 128;

/** Callbacks that wait until a sequence has been reached, in ascending order of their sequences. */
export class SequenceWaiters {
  private readonly queue: { readonly sequence: number; readonly run: () => void }[] = [];
  private reached = 0;
  private hasMoreDue = false;

  get isEmpty(): boolean {
    return this.queue.length === 0;
  }

  /** `sequence` is never below that of an earlier call. Returns false, and adds nothing, when too many wait already. */
  add(sequence: number, run: () => void): boolean {
    if (this.queue.length >= MAX_WAITERS) return false;
    this.queue.push({ sequence, run });
    return true;
  }

  /** Runs the callbacks up to this sequence. A large number takes several event-loop iterations. */
  reach(sequence: number): void {
    this.reached = sequence;
    if (!this.hasMoreDue) this.resume();
  }

  private readonly resume = (): void => {
    const { queue, reached } = this;
    let due = 0;
    while (due < MAX_PER_ITERATION && due < queue.length && queue[due].sequence <= reached) due++;
    this.hasMoreDue = due === MAX_PER_ITERATION;
    if (this.hasMoreDue) setImmediate(this.resume);
    for (const { run } of queue.splice(0, due)) run();
  };
}
