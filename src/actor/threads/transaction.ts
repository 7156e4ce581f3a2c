import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { Transaction } from "../../core/protocol/actor.ts";
import type { Event } from "../../core/protocol/events.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import type { Reply } from "../../core/protocol/replies.ts";
import { encodeMessage, maxMessageBytes } from "../../wire/codec.ts";
import {
  AT_ACTOR_ID,
  AT_DURABLE_THROUGH,
  AT_KIND,
  AT_LOG_BYTES,
  AT_REQUEST_ID,
  AT_SEQUENCE,
  AT_TIME,
  AT_VERSION,
  FORMAT_VERSION,
  KIND_REPLY,
  KIND_TRANSACTION,
  RECORD_HEADER_BYTES,
} from "../../wire/record.ts";
import type { Doorbell, RingProducer } from "../../wire/ring.ts";
import type { Control } from "./control.ts";
import { reserveOrWait } from "./reserve-or-wait.ts";

/** Encodes messages back to back into a buffer that grows. */
class MessageBuffer {
  bytes = new Uint8Array(64 * 1024);
  view = new DataView(this.bytes.buffer);
  length = 0;

  add(message: Message): void {
    const bytes = maxMessageBytes(message);
    if (this.length + bytes > this.bytes.length) this.grow(bytes);
    this.length = encodeMessage(this.view, this.bytes, this.length, message);
  }

  private grow(bytes: number): void {
    const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.length + bytes));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }
}

/**
 * Collects the events and replies of one transaction after another. Takes a sequence for each and writes it to the
 * journal's ring.
 */
export class TransactionWriter implements Transaction {
  time = 0;
  private readonly events = new MessageBuffer();
  private readonly replies = new MessageBuffer();
  private readonly control: Control;
  private readonly marginTable: MarginTable;
  private readonly out: RingProducer;
  /** The thread waits on it while the journal's ring is full. */
  private readonly doorbell: Doorbell;

  constructor(control: Control, marginTable: MarginTable, out: RingProducer, doorbell: Doorbell) {
    this.control = control;
    this.marginTable = marginTable;
    this.out = out;
    this.doorbell = doorbell;
  }

  begin(time: number): void {
    this.time = time;
    this.events.length = 0;
    this.replies.length = 0;
    this.marginTable.begin();
  }

  /** Ends a transaction that has nothing to publish. */
  discard(): void {
    this.marginTable.commit();
  }

  emit(event: Event): void {
    this.events.add(event);
  }

  reply(reply: Reply): void {
    this.replies.add(reply);
  }

  get hasEvents(): boolean {
    return this.events.length > 0;
  }

  /**
   * Writes the transaction to the ring. Returns its sequence: a new one if it has events, else `known`, which the journal waits
   * for: the last one taken, or the last one that a follower has applied. Ring room is reserved before the sequence is taken, so that no other thread has to wait for a
   * sequence whose owner is blocked.
   *
   * Deferred credits reach the margin table after the sequence is taken and before the ring is committed. A transaction
   * that uses them so has a later sequence, and a reader that sees this transaction released sees its margin changes. A
   * sequence that never arrives would block the journal for ever: the ring is committed whatever is thrown.
   */
  push(actorId: number, requestId: number, known: number = this.control.lastSequence): number {
    const { events, replies, out, control } = this;
    const logBytes = events.length === 0 ? 0 : RECORD_HEADER_BYTES + events.length;
    const bytes = RECORD_HEADER_BYTES + events.length + replies.length;
    const at = reserveOrWait(out, bytes, this.doorbell);
    out.bytes.set(events.bytes.subarray(0, events.length), at + RECORD_HEADER_BYTES);
    out.bytes.set(replies.bytes.subarray(0, replies.length), at + RECORD_HEADER_BYTES + events.length);
    const { view } = out;
    view.setUint32(at + AT_LOG_BYTES, logBytes, true);
    view.setFloat64(at + AT_TIME, this.time, true);
    view.setFloat64(at + AT_DURABLE_THROUGH, 0, true);
    view.setUint32(at + AT_REQUEST_ID, requestId, true);
    view.setUint16(at + AT_ACTOR_ID, actorId, true);
    view.setUint8(at + AT_KIND, logBytes === 0 ? KIND_REPLY : KIND_TRANSACTION);
    view.setUint8(at + AT_VERSION, FORMAT_VERSION);
    const sequence = logBytes === 0 ? known : control.nextSequence();
    view.setFloat64(at + AT_SEQUENCE, sequence, true);
    try {
      this.marginTable.commit();
    } finally {
      out.commit(bytes);
      if (logBytes > 0) control.lingerBell.reached(sequence);
    }
    return sequence;
  }
}
