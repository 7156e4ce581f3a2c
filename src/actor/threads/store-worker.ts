import type { Indexer } from "../../store/indexer/indexer.ts";
import type { Doorbell, RingConsumer } from "../../wire/ring.ts";
import { type Control, STOP_STORE } from "./control.ts";
import type { CooperativeYield } from "./cooperative-yield.ts";

/** Half of what a stop may take. */
const FINISH_WITHIN_MS = 5000;

export interface StoreWorkerOptions {
  indexer: Indexer;
  control: Control;
  /** Snapshots, from the journal. */
  input: RingConsumer;
  /** Woken after each step: the gateway may wait for the index. */
  frontDoorbell: Doorbell;
  /** Whether the disk has room for a commit. LMDB cannot go on after a commit that failed for lack of room. */
  hasRoom?(): boolean;
  cooperativeYield?: CooperativeYield;
}

/** The store thread's work, in steps: receives snapshots from the ring and follows the log with the history index. */
export class StoreWorker {
  private readonly options: StoreWorkerOptions;
  /** The last durable sequence when the last step began. */
  private durable = 0;

  constructor(options: StoreWorkerOptions) {
    this.options = options;
  }

  /** One database commit. Returns whether there is more to do now. */
  step(): boolean {
    const { indexer, control, frontDoorbell, hasRoom } = this.options;
    this.receiveSnapshots();
    this.durable = control.durable;
    if (hasRoom?.() === false) return false;
    const hasMore = indexer.step(this.durable);
    control.historySince = indexer.historySince;
    control.indexed = indexer.indexedSequence;
    frontDoorbell.wake();
    return hasMore;
  }

  /**
   * At a stop: finishes what is left, if it takes less than FINISH_WITHIN_MS. An index that is far behind goes on at the
   * next start; the segments that it needs are kept. `now` is in milliseconds, by a clock that nobody sets.
   */
  finish(now: () => number): void {
    const deadline = now() + FINISH_WITHIN_MS;
    while (this.step() && now() < deadline);
  }

  /**
   * Call it every few microseconds of a step. It receives snapshots during a long step. Otherwise the ring would fill up,
   * and the journal would hold up every transaction until the step ends.
   */
  yieldNow(): void {
    const { indexer, cooperativeYield } = this.options;
    this.receiveSnapshots();
    cooperativeYield?.yieldIfDue(indexer.indexedSequence);
  }

  /**
   * Sleeps for so long even if clients wait for the index, who ring this doorbell. Call it after a step with the time that the
   * step took: then the log has the disk and the processor to itself for half of the time. `now` is as in finish().
   */
  rest(doorbell: Doorbell, ms: number, now: () => number): void {
    const { control } = this.options;
    const until = now() + ms;
    for (let leftMs = ms; leftMs > 0 && control.phase < STOP_STORE; leftMs = until - now()) {
      doorbell.prepareSleep();
      this.receiveSnapshots();
      doorbell.wait(leftMs);
    }
  }

  /** Whether nobody has begun to wait since the last step. Ask between Doorbell.prepareSleep() and wait(). */
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
