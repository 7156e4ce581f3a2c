import type { Engine, ReleasedTransaction } from "../../../actor/engine/engine.ts";
import { ReadPosition } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { PositionView } from "../../../core/protocol/replies.ts";
import { mapReplies } from "../../exchange/request.ts";
import { positionJson } from "../../json/json-writers.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

/** The account's position in one symbol. */
interface Slot {
  readonly instrument: Instrument;
  /** As published last; "": not open. */
  text: string;
  /** Leverage and margin mode, which the account may also set without a position; "": not read yet. */
  settings: string;
  /** The position may have changed since the last request. */
  isStale: boolean;
  /** Numbers of the last request sent and of the last request answered. */
  requested: number;
  answered: number;
}

/**
 * An account's open positions: all of them in the snapshot, then each one that has changed, with size "0" when it was
 * closed. Also a symbol without a position when its leverage or margin mode was changed. The stream requests a position from the engine after each event that may change it, one request at a time.
 */
export class PositionStream extends Stream {
  private readonly engine: Engine;
  private readonly accountId: number;
  private readonly slots = new Map<number, Slot>();
  /** By subscriber without a snapshot: the number of the request that must be answered first, for each slot. */
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
      this.slots.set(instrument.id, { instrument, text: "", settings: "", isStale: false, requested: 0, answered: 0 });
    }
  }

  /** The snapshot uses requests sent from now on, so it includes everything that the client was told before. */
  override subscribe(subscriber: Subscriber): void {
    this.subscribers.add(subscriber);
    const needed = new Map<Slot, number>();
    for (const slot of this.slots.values()) {
      needed.set(slot, slot.requested + 1);
      slot.isStale = true;
    }
    this.awaitedReplies.set(subscriber, needed);
    this.flush();
  }

  override unsubscribe(subscriber: Subscriber): boolean {
    this.awaitedReplies.delete(subscriber);
    return super.unsubscribe(subscriber);
  }

  /**
   * The account has an event at this actor. Its other open positions become stale too, since their liquidation prices
   * depend on the whole account.
   */
  markStale(actorId: number): void {
    const slot = this.slots.get(actorId);
    if (slot !== undefined) slot.isStale = true;
    this.markOpenStale();
  }

  /** A price of an open position changes the account's equity, and so the liquidation prices of its other positions. */
  priceMoved(instrumentId: number): void {
    if (this.slots.get(instrumentId)?.text !== "") this.markOpenStale();
  }

  /** Positions of other accounts change adlRank without an event of this account, so it is read again at times. */
  override heartbeat(): void {
    this.markOpenStale();
    this.flush();
    super.heartbeat();
  }

  private markOpenStale(): void {
    for (const slot of this.slots.values()) if (slot.text !== "") slot.isStale = true;
  }

  override flush(): void {
    for (const slot of this.slots.values())
      if (slot.isStale && slot.requested === slot.answered) this.requestPosition(slot);
  }

  private requestPosition(slot: Slot): void {
    const command = blank(ReadPosition);
    command.accountId = this.accountId;
    // A full ring or a dead actor refuses the request. The slot stays stale, so a later flush sends it again.
    if (!this.engine.request(slot.instrument.id, command, (transaction) => this.handleReply(slot, transaction))) return;
    slot.requested++;
    slot.isStale = false;
  }

  private handleReply(slot: Slot, transaction: ReleasedTransaction | null): void {
    if (this.isEmpty) return;
    slot.answered++;
    if (transaction === null) return this.requestLost(slot);
    const [view] = mapReplies(transaction, PositionView, (view) => view);
    this.publishPosition(slot, view ?? neverOpened(slot.instrument), transaction.sequence);
    this.sendCompleteSnapshots(slot);
    if (slot.isStale) this.requestPosition(slot);
  }

  /** The request was not answered. Subscribers that wait for it wait for the next one. */
  private requestLost(slot: Slot): void {
    slot.isStale = true;
    for (const needed of this.awaitedReplies.values())
      if (needed.get(slot) === slot.answered) needed.set(slot, slot.requested + 1);
  }

  /** Sends the snapshot to subscribers whose last missing reply this was. It is printed once for all of them. */
  private sendCompleteSnapshots(slot: Slot): void {
    let printed: Buffer | null = null;
    for (const [subscriber, needed] of this.awaitedReplies) {
      if (slot.answered >= (needed.get(slot) ?? Number.POSITIVE_INFINITY)) needed.delete(slot);
      if (needed.size > 0) continue;
      this.awaitedReplies.delete(subscriber);
      printed ??= this.printSnapshot();
      this.sendPrintedSnapshot(subscriber, printed);
    }
  }

  private printSnapshot(): Buffer {
    const open = [...this.slots.values()].map(({ text }) => text).filter((text) => text !== "");
    return Buffer.from(this.snapshotText(`"data":[${open.join(",")}]`));
  }

  private publishPosition(slot: Slot, view: MessageOf<typeof PositionView>, sequence: number): void {
    const text = positionJson(slot.instrument, view);
    const openText = view.sizeLots === 0 ? "" : text;
    const settings = `${view.leverage} ${view.marginMode}`;
    const isKnown = openText === slot.text && (settings === slot.settings || slot.settings === "");
    slot.text = openText;
    slot.settings = settings;
    if (isKnown) return;
    // Symbols answer independently, so a reply may have an earlier sequence than the last published one.
    this.publishUpdate("UPDATE", Math.max(sequence, this.sequence), `"data":[${text}]`);
  }
}

/** The position of an account that has neither traded nor set anything in a symbol. */
const neverOpened = ({ defaultLeverage }: Instrument): MessageOf<typeof PositionView> => ({
  ...blank(PositionView),
  leverage: defaultLeverage,
});
