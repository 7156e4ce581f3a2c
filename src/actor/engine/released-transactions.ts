import { assert } from "../../assert.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { AT_LOG_BYTES, AT_REQUEST_ID } from "../../wire/record.ts";
import type { RingConsumer } from "../../wire/ring.ts";
import type { ReleasedTransaction } from "./engine.ts";
import type { RequestTable } from "./request-table.ts";
import { SequenceWaiters } from "./sequence-waiters.ts";
import { TransactionDecoder } from "./transaction-decoder.ts";

/** Ring room is given back to the journal after this many transactions. */
const TRANSACTIONS_PER_RELEASE = 64;

/** Decodes what the journal releases and hands it to listeners, and then to the callback of the request. */
export class ReleasedTransactions {
  /** The last sequence that was released. */
  sequence = 0;
  readonly waiters = new SequenceWaiters();
  private readonly ring: RingConsumer;
  private readonly requests: RequestTable;
  /** By actor id: the time of its last transaction. */
  private readonly times: TimeMs[] = [];
  private readonly decoder = new TransactionDecoder();
  private readonly releasedListeners: ((transaction: ReleasedTransaction) => void)[] = [];
  private readonly drainedListeners: (() => void)[] = [];

  constructor(ring: RingConsumer, requests: RequestTable) {
    this.ring = ring;
    this.requests = requests;
  }

  onReleased(listener: (transaction: ReleasedTransaction) => void): void {
    this.releasedListeners.push(listener);
  }

  onDrained(listener: () => void): void {
    this.drainedListeners.push(listener);
  }

  timeOf(actorId: number): TimeMs {
    return this.times[actorId] ?? 0;
  }

  get isEmpty(): boolean {
    return this.ring.peek() < 0;
  }

  /** Hands out transactions until `maxBytes` are passed or none is left. Returns the number of bytes. */
  read(maxBytes: number): number {
    const { ring } = this;
    let bytes = 0;
    let count = 0;
    for (let at = ring.peek(); at >= 0 && bytes < maxBytes; at = ring.peek()) {
      bytes += ring.length;
      this.dispatch(at, ring.length);
      ring.next();
      if (++count % TRANSACTIONS_PER_RELEASE === 0) ring.release();
    }
    ring.release();
    if (count > 0) for (const listener of this.drainedListeners) listener();
    return bytes;
  }

  private dispatch(at: number, length: number): void {
    const { view, bytes } = this.ring;
    const transaction = this.decoder.decode(view, bytes, at, length);
    // Transactions of one actor come in their order, and their times never go back.
    this.times[transaction.actorId] = transaction.time;
    if (view.getUint32(at + AT_LOG_BYTES, true) > 0) {
      assert(transaction.sequence === this.sequence + 1, `released ${transaction.sequence} after ${this.sequence}`);
      this.sequence = transaction.sequence;
      for (const listener of this.releasedListeners) listener(transaction);
    }
    const requestId = view.getUint32(at + AT_REQUEST_ID, true);
    if (requestId !== 0) this.requests.take(requestId)(transaction);
    if (!this.waiters.isEmpty) this.waiters.reach(this.sequence);
  }
}
