import { assert } from "../../assert.ts";
import type { TimeMs } from "../../core/base/units.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { MessagePool, messageBytes } from "../../wire/codec.ts";
import {
  AT_ACTOR_ID,
  AT_LOG_BYTES,
  AT_REQUEST_ID,
  AT_SEQUENCE,
  AT_TIME,
  RECORD_HEADER_BYTES,
} from "../../wire/record.ts";
import type { RingConsumer } from "../../wire/ring.ts";
import type { ReleasedTransaction } from "./engine.ts";
import type { RequestTable } from "./request-table.ts";
import { SequenceWaiters } from "./sequence-waiters.ts";

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
  /** Filled in again for each transaction. */
  private readonly transaction: { -readonly [K in keyof ReleasedTransaction]: ReleasedTransaction[K] } & {
    messages: Message[];
  } = { actorId: 0, sequence: 0, time: 0, eventCount: 0, messages: [] };
  private readonly pool = new MessagePool();
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
    const { transaction, pool } = this;
    const { view, bytes } = this.ring;
    const logBytes = view.getUint32(at + AT_LOG_BYTES, true);
    const end = at + length;
    pool.reset(transaction.messages);
    transaction.messages.length = 0;
    transaction.actorId = view.getUint16(at + AT_ACTOR_ID, true);
    transaction.sequence = view.getFloat64(at + AT_SEQUENCE, true);
    transaction.time = view.getFloat64(at + AT_TIME, true);
    // Transactions of one actor come in their order, and their times never go back.
    this.times[transaction.actorId] = transaction.time;
    transaction.eventCount = 0;
    for (let offset = at + RECORD_HEADER_BYTES; offset < end; offset += messageBytes(view, offset)) {
      if (offset < at + logBytes) transaction.eventCount++;
      transaction.messages.push(pool.decode(view, bytes, offset));
    }
    if (logBytes > 0) {
      assert(transaction.sequence === this.sequence + 1, `released ${transaction.sequence} after ${this.sequence}`);
      this.sequence = transaction.sequence;
      for (const listener of this.releasedListeners) listener(transaction);
    }
    const requestId = view.getUint32(at + AT_REQUEST_ID, true);
    if (requestId !== 0) this.requests.take(requestId)(transaction);
    if (!this.waiters.isEmpty) this.waiters.reach(this.sequence);
  }
}
