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
import type { RingProducer } from "../../wire/ring.ts";
import type { Control } from "./control.ts";

/** Encoded messages of one kind, gathered while a turn lasts. */
class Pages {
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

/** One turn after another: gathers what an actor says, takes a ticket for it and pushes it towards the journal. */
export class TransactionWriter implements Transaction {
  time = 0;
  private readonly events = new Pages();
  private readonly replies = new Pages();
  private readonly control: Control;
  private readonly marginTable: MarginTable;
  private readonly out: RingProducer;
  /** Called while the journal's ring is full. */
  private readonly waitForRoom: () => void;

  constructor(control: Control, marginTable: MarginTable, out: RingProducer, waitForRoom: () => void) {
    this.control = control;
    this.marginTable = marginTable;
    this.out = out;
    this.waitForRoom = waitForRoom;
  }

  begin(time: number): void {
    this.time = time;
    this.events.length = 0;
    this.replies.length = 0;
    this.marginTable.begin();
  }

  /** The turn has come to nothing that anybody hears of. */
  drop(): void {
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
   * Pushes the turn. Returns its sequence: a place of its own if it has events, else the last one taken, on which it
   * rests. Room is found before the ticket is taken, so that nobody waits behind a ticket.
   *
   * What the turn does in accounts' favour reaches the cells after the ticket and before the commit: whoever builds on it
   * has a later ticket, and whoever sees this turn released sees its cells. A ticket that never came would block the
   * journal for ever: whatever is thrown from the ticket on, the turn is committed.
   */
  push(actorId: number, requestId: number): number {
    const { events, replies, out, control } = this;
    const logBytes = events.length === 0 ? 0 : RECORD_HEADER_BYTES + events.length;
    const bytes = RECORD_HEADER_BYTES + events.length + replies.length;
    let at = out.reserve(bytes);
    while (at < 0) {
      this.waitForRoom();
      at = out.reserve(bytes);
    }
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
    const sequence = logBytes === 0 ? control.lastSequence : control.nextSequence();
    view.setFloat64(at + AT_SEQUENCE, sequence, true);
    try {
      this.marginTable.commit();
    } finally {
      out.commit(bytes);
    }
    return sequence;
  }
}
