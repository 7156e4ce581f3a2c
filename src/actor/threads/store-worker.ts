import type { Indexer } from "../../store/indexer/indexer.ts";
import type { Doorbell, RingConsumer } from "../../wire/ring.ts";
import type { Control } from "./control.ts";
import type { CooperativeYield } from "./cooperative-yield.ts";

/** Well within what a stop may take. */
const FINISH_WITHIN_MS = 5000;

export interface StoreWorkerOptions {
  indexer: Indexer;
  control: Control;
  /** Snapshots, from the journal. */
  input: RingConsumer;
  /** Rung after each step: the front waits for the index. */
  frontDoorbell: Doorbell;
  /** Whether the disk has room for a transaction: one that fails for want of it leaves LMDB unfit to go on. */
  hasRoom?(): boolean;
  cooperativeYield?: CooperativeYield;
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
    const { indexer, control, frontDoorbell, hasRoom } = this.options;
    this.receiveSnapshots();
    this.durable = control.durable;
    if (hasRoom?.() === false) return false;
    const more = indexer.step(this.durable);
    control.indexed = indexer.indexedSequence;
    frontDoorbell.wake();
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
  yieldNow(): void {
    const { indexer, frontDoorbell, cooperativeYield } = this.options;
    this.receiveSnapshots();
    if (!frontDoorbell.isSleeping) cooperativeYield?.yieldIfDue(indexer.indexedSequence);
  }

  /** Nobody has begun to wait behind the last step: to be asked between a bell's announce() and wait(). */
  get maySleep(): boolean {
    const { control, input, frontDoorbell } = this.options;
    return input.peek() < 0 && !(frontDoorbell.isSleeping && control.durable > this.durable);
  }

  private receiveSnapshots(): void {
    const { indexer, input } = this.options;
    for (let at = input.peek(); at >= 0; at = input.peek()) {
      indexer.onSnapshotRecord(input.bytes.subarray(at, at + input.length));
      input.next();
      input.release();
    }
  }
}
