import type { Engine, ReleasedTransaction } from "../../../actor/engine/engine.ts";
import { ReadPosition } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { PositionView } from "../../../core/protocol/replies.ts";
import { positionJson } from "../../json/json-writers.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

/** What is known of an account's position in one symbol. */
interface Slot {
  readonly instrument: Instrument;
  /** As last shown; "" = none open. */
  text: string;
  /** Something happened since the last question. */
  stale: boolean;
  /** Questions are numbered: the last one asked, and the last one answered. */
  requested: number;
  answered: number;
}

/**
 * An account's open positions: all of them in a snapshot, then each that changed, with size "0" when it was closed. The
 * symbol is asked anew after whatever touches the position, with one question under way at a time.
 */
export class PositionStream extends Stream {
  private readonly engine: Engine;
  private readonly accountId: number;
  private readonly slots = new Map<number, Slot>();
  /** Of members without a snapshot yet: which question of each slot has still to be answered for one. */
  private readonly awaitedReplies = new Map<Subscriber, Map<Slot, number>>();

  constructor(
    topic: string,
    head: string,
    accountId: number,
    instruments: readonly Instrument[],
    engine: Engine,
    publish: Publish,
  ) {
    super(topic, head, engine.releasedSequence(), publish);
    this.engine = engine;
    this.accountId = accountId;
    for (const instrument of instruments) {
      this.slots.set(instrument.id, { instrument, text: "", stale: false, requested: 0, answered: 0 });
    }
  }

  /** The snapshot rests on questions asked from now on, so it shows whatever the client was told of before. */
  override subscribe(member: Subscriber): void {
    this.subscribers.add(member);
    const needed = new Map<Slot, number>();
    for (const slot of this.slots.values()) {
      needed.set(slot, slot.requested + 1);
      slot.stale = true;
    }
    this.awaitedReplies.set(member, needed);
    this.flush();
  }

  override unsubscribe(member: Subscriber): boolean {
    this.awaitedReplies.delete(member);
    return super.unsubscribe(member);
  }

  /**
   * Something of the account happened at this actor. Other open positions are looked at too: what liquidates them
   * depends on the whole account.
   */
  markStale(actorId: number): void {
    const slot = this.slots.get(actorId);
    if (slot !== undefined) slot.stale = true;
    this.markOpenStale();
  }

  /** A price moved. If it moved a position, and so the account's equity, what liquidates the others has moved too. */
  priceMoved(instrumentId: number): void {
    if (this.slots.get(instrumentId)?.text !== "") this.markOpenStale();
  }

  /** Others' positions move a rank (adlRank) without an event of this account: from time to time it is looked at. */
  override heartbeat(): void {
    this.markOpenStale();
    this.flush();
    super.heartbeat();
  }

  private markOpenStale(): void {
    for (const slot of this.slots.values()) if (slot.text !== "") slot.stale = true;
  }

  override flush(): void {
    for (const slot of this.slots.values())
      if (slot.stale && slot.requested === slot.answered) this.requestPosition(slot);
  }

  private requestPosition(slot: Slot): void {
    const question = blank(ReadPosition);
    question.accountId = this.accountId;
    // A full ring, or nobody there, refuses the question: the slot stays stale, and a later flush asks again.
    if (!this.engine.request(slot.instrument.id, question, (transaction) => this.handleReply(slot, transaction)))
      return;
    slot.requested++;
    slot.stale = false;
  }

  private handleReply(slot: Slot, transaction: ReleasedTransaction | null): void {
    if (this.isEmpty) return;
    slot.answered++;
    if (transaction === null) return this.requestLost(slot);
    const view = transaction.messages.find((message) => message.type === PositionView.code);
    this.publishPosition(
      slot,
      (view as MessageOf<typeof PositionView> | undefined) ?? blank(PositionView),
      transaction.sequence,
    );
    this.sendCompleteSnapshots(slot);
    if (slot.stale) this.requestPosition(slot);
  }

  /** Nobody has answered the question: whoever needs it needs the next one. */
  private requestLost(slot: Slot): void {
    slot.stale = true;
    for (const needed of this.awaitedReplies.values())
      if (needed.get(slot) === slot.answered) needed.set(slot, slot.requested + 1);
  }

  /** A question has been answered. Very many may have joined, and very many symbols have to answer. */
  private sendCompleteSnapshots(slot: Slot): void {
    let printed: Buffer | null = null;
    for (const [member, needed] of this.awaitedReplies) {
      if (slot.answered >= (needed.get(slot) ?? Number.POSITIVE_INFINITY)) needed.delete(slot);
      if (needed.size > 0) continue;
      this.awaitedReplies.delete(member);
      printed ??= this.printSnapshot();
      this.sendPrintedSnapshot(member, printed);
    }
  }

  private printSnapshot(): Buffer {
    const open = [...this.slots.values()].map(({ text }) => text).filter((text) => text !== "");
    return Buffer.from(this.snapshotText(`"data":[${open.join(",")}]`));
  }

  private publishPosition(slot: Slot, view: MessageOf<typeof PositionView>, sequence: number): void {
    const text = positionJson(slot.instrument, view);
    const shown = view.sizeLots === 0 ? "" : text;
    if (shown === slot.text) return;
    slot.text = shown;
    // Symbols answer in their own time: one that has rested may rest on an earlier sequence than another's answer did.
    this.publishUpdate("UPDATE", Math.max(sequence, this.sequence), `"data":[${text}]`);
  }
}
