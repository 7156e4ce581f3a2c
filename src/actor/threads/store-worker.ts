import type { Keeper } from "../../store/indexer/indexer.ts";
import type { Bell, RingConsumer } from "../../wire/ring.ts";
import type { Control } from "./control.ts";
import type { Breath } from "./cooperative-yield.ts";

/** Well within what a stop may take. */
const FINISH_WITHIN_MS = 5000;

export interface StoreWorkerOptions {
  keeper: Keeper;
  control: Control;
  /** Snapshots, from the journal. */
  input: RingConsumer;
  /** Rung after each step: the front waits for the index. */
  frontBell: Bell;
  /** Whether the disk has room for a transaction: one that fails for want of it leaves LMDB unfit to go on. */
  hasRoom?(): boolean;
  breath?: Breath;
}

/** The store thread's work, a step at a time: snapshots out of the ring, the history index behind the log. */
export class StoreWorker {
  private readonly options: StoreWorkerOptions;
  /** The last sequence on disk when it looked last. */
  private durable = 0;

  constructor(options: StoreWorkerOptions) {
    this.options = options;
  }

  /** One transaction. Returns whether there is more to do now. */
  step(): boolean {
    const { keeper, control, frontBell, hasRoom } = this.options;
    this.takeIn();
    this.durable = control.durable;
    if (hasRoom?.() === false) return false;
    const more = keeper.step(this.durable);
    control.indexed = keeper.indexedSequence;
    frontBell.ring();
    return more;
  }

  /**
   * At a stop: what is left, if it is soon done. An index that is far behind the log goes on from there at the next start,
   * and the segments that it needs stay. `now`: milliseconds by a clock that nobody sets.
   */
  finish(now: () => number): void {
    const deadline = now() + FINISH_WITHIN_MS;
    while (this.step() && now() < deadline);
  }

  /**
   * To be called every few microseconds of a step: a long one takes in what comes meanwhile, or the ring would be full, and
   * the journal stand still with all turns until the step is over.
   */
  breathe(): void {
    const { keeper, frontBell, breath } = this.options;
    this.takeIn();
    if (!frontBell.isAwaited) breath?.take(keeper.indexedSequence);
  }

  /** Nobody has begun to wait behind the last step: to be asked between a bell's announce() and wait(). */
  get mayRest(): boolean {
    const { control, input, frontBell } = this.options;
    return input.peek() < 0 && !(frontBell.isAwaited && control.durable > this.durable);
  }

  private takeIn(): void {
    const { keeper, input } = this.options;
    for (let at = input.peek(); at >= 0; at = input.peek()) {
      keeper.onSnapshotRecord(input.bytes.subarray(at, at + input.length));
      input.next();
      input.release();
    }
  }
}
