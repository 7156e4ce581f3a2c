import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { ReadPosition } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import { PositionView } from "../../core/protocol/replies.ts";
import { positionJson } from "../json/json-writers.ts";
import { type Member, type Publish, Stream } from "./stream.ts";

/** What is known of an account's position in one symbol. */
interface Slot {
  readonly instrument: Instrument;
  /** As last shown; "" = none open. */
  text: string;
  /** Something happened since the last question. */
  stale: boolean;
  /** Questions are numbered: the last one asked, and the last one answered. */
  asked: number;
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
  private readonly awaited = new Map<Member, Map<Slot, number>>();

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
      this.slots.set(instrument.id, { instrument, text: "", stale: false, asked: 0, answered: 0 });
    }
  }

  /** The snapshot rests on questions asked from now on, so it shows whatever the client was told of before. */
  override join(member: Member): void {
    this.members.add(member);
    const needed = new Map<Slot, number>();
    for (const slot of this.slots.values()) {
      needed.set(slot, slot.asked + 1);
      slot.stale = true;
    }
    this.awaited.set(member, needed);
    this.flush();
  }

  override leave(member: Member): boolean {
    this.awaited.delete(member);
    return super.leave(member);
  }

  /**
   * Something of the account happened at this actor. Other open positions are looked at too: what liquidates them
   * depends on the whole account.
   */
  touch(actorId: number): void {
    const slot = this.slots.get(actorId);
    if (slot !== undefined) slot.stale = true;
    this.touchOpen();
  }

  /** A price moved. If it moved a position, and so the account's equity, what liquidates the others has moved too. */
  priceMoved(instrumentId: number): void {
    if (this.slots.get(instrumentId)?.text !== "") this.touchOpen();
  }

  /** Others' positions move a rank (adlRank) without an event of this account: from time to time it is looked at. */
  override heartbeat(): void {
    this.touchOpen();
    this.flush();
    super.heartbeat();
  }

  private touchOpen(): void {
    for (const slot of this.slots.values()) if (slot.text !== "") slot.stale = true;
  }

  override flush(): void {
    for (const slot of this.slots.values()) if (slot.stale && slot.asked === slot.answered) this.ask(slot);
  }

  private ask(slot: Slot): void {
    const question = blank(ReadPosition);
    question.accountId = this.accountId;
    // A full ring, or nobody there, refuses the question: the slot stays stale, and a later flush asks again.
    if (!this.engine.request(slot.instrument.id, question, (transaction) => this.read(slot, transaction))) return;
    slot.asked++;
    slot.stale = false;
  }

  private read(slot: Slot, transaction: ReleasedTransaction | null): void {
    if (this.isEmpty) return;
    slot.answered++;
    if (transaction === null) return this.wasLost(slot);
    const view = transaction.messages.find((message) => message.type === PositionView.code);
    this.show(slot, (view as MessageOf<typeof PositionView> | undefined) ?? blank(PositionView), transaction.sequence);
    this.admitAnswered(slot);
    if (slot.stale) this.ask(slot);
  }

  /** Nobody has answered the question: whoever needs it needs the next one. */
  private wasLost(slot: Slot): void {
    slot.stale = true;
    for (const needed of this.awaited.values())
      if (needed.get(slot) === slot.answered) needed.set(slot, slot.asked + 1);
  }

  /** A question has been answered. Very many may have joined, and very many symbols have to answer. */
  private admitAnswered(slot: Slot): void {
    let printed: Buffer | null = null;
    for (const [member, needed] of this.awaited) {
      if (slot.answered >= (needed.get(slot) ?? Number.POSITIVE_INFINITY)) needed.delete(slot);
      if (needed.size > 0) continue;
      this.awaited.delete(member);
      printed ??= this.printAll();
      this.admitWith(member, printed);
    }
  }

  private printAll(): Buffer {
    const open = [...this.slots.values()].map(({ text }) => text).filter((text) => text !== "");
    return Buffer.from(this.snapshot(`"data":[${open.join(",")}]`));
  }

  private show(slot: Slot, view: MessageOf<typeof PositionView>, sequence: number): void {
    const text = positionJson(slot.instrument, view);
    const shown = view.sizeLots === 0 ? "" : text;
    if (shown === slot.text) return;
    slot.text = shown;
    // Symbols answer in their own time: one that has rested may rest on an earlier sequence than another's answer did.
    this.update("UPDATE", Math.max(sequence, this.sequence), `"data":[${text}]`);
  }
}
