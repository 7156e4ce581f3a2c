import type { Engine, ReleasedTransaction } from "../../../actor/engine/engine.ts";
import { ISOLATED, LEDGER } from "../../../core/base/enums.ts";
import { mulDivFloor, PPM, type RatePpm, type TimeMs } from "../../../core/base/units.ts";
import { maintenanceMargin } from "../../../core/formulas/margin.ts";
import { ReadMarginCall, ReadPosition } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { MarginCallView, PositionView } from "../../../core/protocol/replies.ts";
import { readFigures } from "../../exchange/balance-reader.ts";
import type { MarketData } from "../../exchange/market.ts";
import { type MarginCallMembers, marginCallJson } from "../../json/json-writers.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

/** A call ends below this share of the threshold, so that a ratio around it does not send a message each time. */
const END_PPM = 950_000;

/** Something that is read again after it may have changed, one read at a time. */
class Source {
  isStale = true;
  private isReading = false;
  private readonly read: (done: (isRead: boolean) => void) => boolean;

  /** `read` returns false if it cannot read now. Otherwise it calls `done` with whether it got an answer. */
  constructor(read: (done: (isRead: boolean) => void) => boolean) {
    this.read = read;
  }

  flush(): void {
    if (!this.isStale || this.isReading) return;
    this.isStale = false;
    this.isReading = true;
    const isAsked = this.read((isRead) => {
      this.isReading = false;
      if (!isRead) this.isStale = true;
    });
    if (isAsked) return;
    this.isReading = false;
    this.isStale = true;
  }
}

/** The position in a symbol, as it was read last. */
interface Slot {
  readonly instrument: Instrument;
  readonly source: Source;
  readonly margin: MarginCallMembers;
  view: MessageOf<typeof PositionView>;
}

/**
 * An account's margin calls: the active ones in the snapshot, then each one that begins or ends. The cross margin is read
 * from the margin table. Isolated positions are read from their symbols after an event of the account. A new mark changes
 * their equity and maintenance margin by the formulas, without another read.
 */
export class MarginCallStream extends Stream {
  private readonly engine: Engine;
  private readonly accountId: number;
  private readonly market: Pick<MarketData, "symbol">;
  private readonly now: () => TimeMs;
  /** 0 = not read yet. */
  private thresholdPpm: RatePpm = 0;
  private readonly threshold: Source;
  private readonly cross: Source;
  private readonly crossMargin: MarginCallMembers = noMargin(null);
  private readonly slots = new Map<number, Slot>();
  /** Must be read before the next snapshot. */
  private readonly unread = new Set<Source>();
  private readonly sources: readonly Source[];
  /** A mark has moved since the last update. */
  private hasMoved = false;

  constructor(
    topic: string,
    accountId: number,
    engine: Engine,
    market: Pick<MarketData, "symbol">,
    publish: Publish,
    now: () => TimeMs,
  ) {
    super(topic, '"channel":"margin-calls"', engine.releasedSequence(), publish);
    this.accountId = accountId;
    this.engine = engine;
    this.market = market;
    this.now = now;
    this.threshold = this.requestSource(LEDGER, make(ReadMarginCall, accountId), (transaction) => {
      const view = findReply<MessageOf<typeof MarginCallView>>(transaction, MarginCallView.code);
      if (view !== undefined) this.thresholdPpm = view.ratioPpm;
    });
    this.cross = new Source((done) => this.readCross(done));
    for (const instrument of engine.instruments) this.slots.set(instrument.id, this.slotOf(instrument));
    const positions = Array.from(this.slots.values(), ({ source }) => source);
    this.sources = [this.threshold, this.cross, ...positions];
  }

  private slotOf(instrument: Instrument): Slot {
    const source = this.requestSource(instrument.id, make(ReadPosition, this.accountId), (transaction) => {
      // A copy: the transaction's messages are valid only here.
      const view = findReply<MessageOf<typeof PositionView>>(transaction, PositionView.code);
      slot.view = { ...(view ?? blank(PositionView)) };
    });
    const slot = { instrument, source, margin: noMargin(instrument.symbol), view: blank(PositionView) };
    return slot;
  }

  private requestSource(actorId: number, command: Message, keep: (transaction: ReleasedTransaction) => void): Source {
    const source = new Source((done) =>
      this.engine.request(actorId, command, (transaction) => {
        done(transaction !== null);
        if (transaction === null || this.isEmpty) return;
        keep(transaction);
        this.wasRead(source, transaction.sequence);
      }),
    );
    return source;
  }

  private readCross(done: (isRead: boolean) => void): boolean {
    return readFigures(this.engine, this.accountId, ({ equity, maintenance }, sequence) => {
      done(true);
      if (this.isEmpty) return;
      this.crossMargin.equityQuanta = equity;
      this.crossMargin.maintenanceQuanta = maintenance;
      this.wasRead(this.cross, sequence);
    });
  }

  override subscribe(subscriber: Subscriber): void {
    this.awaitSnapshot(subscriber);
    for (const source of this.sources) {
      source.isStale = true;
      this.unread.add(source);
    }
    this.flush();
  }

  /** The account has an event at this actor. */
  markStale(actorId: number): void {
    this.markCrossStale();
    const slot = this.slots.get(actorId);
    if (slot !== undefined) slot.source.isStale = true;
    if (actorId === LEDGER) this.threshold.isStale = true;
  }

  markCrossStale(): void {
    this.cross.isStale = true;
  }

  /** Isolated positions follow the mark at the next flush. */
  priceMoved(): void {
    this.markCrossStale();
    this.hasMoved = true;
  }

  /** Funding that is owed has no event, and a mark may take long to reach all positions (core/settlement/mark-settlement.ts). */
  override heartbeat(): void {
    this.markCrossStale();
    for (const { source, view } of this.slots.values()) if (isIsolated(view)) source.isStale = true;
    this.flush();
    super.heartbeat();
  }

  override flush(): void {
    for (const source of this.sources) source.flush();
    if (this.hasMoved) this.update(this.engine.releasedSequence());
    this.hasMoved = false;
  }

  private wasRead(source: Source, sequence: number): void {
    this.unread.delete(source);
    this.update(sequence);
    if (this.unread.size === 0) this.sendAwaitedSnapshots(`"data":[${this.print(this.margins().filter(isActive))}]`);
  }

  private margins(): MarginCallMembers[] {
    return [this.crossMargin, ...Array.from(this.slots.values(), ({ margin }) => margin)];
  }

  /** Publishes the calls that begin or end at the present margins. */
  private update(sequence: number): void {
    if (this.thresholdPpm === 0 || this.isEmpty) return;
    for (const slot of this.slots.values()) this.followMark(slot);
    const changed = this.margins().filter((margin) => this.changesCall(margin));
    if (changed.length > 0)
      this.publishUpdate("UPDATE", Math.max(sequence, this.sequence), `"data":[${this.print(changed)}]`);
  }

  /** Computes the margin of an isolated position at the present mark, as isolatedEquity() does. */
  private followMark({ instrument, margin, view }: Slot): void {
    const { id, quantaPerTickLot } = instrument;
    margin.equityQuanta = 0;
    margin.maintenanceQuanta = 0;
    if (!isIsolated(view)) return;
    const { sizeLots, isolatedQuanta } = view;
    const markTicks = this.market.symbol(id).markTicks || view.markTicks;
    margin.equityQuanta = isolatedQuanta + sizeLots * (markTicks - view.markTicks) * quantaPerTickLot;
    margin.maintenanceQuanta = maintenanceMargin(instrument, Math.abs(sizeLots) * markTicks * quantaPerTickLot);
  }

  private changesCall(margin: MarginCallMembers): boolean {
    const wasActive = margin.isActive;
    const ratioPpm = ratioOf(margin);
    if (ratioPpm >= this.thresholdPpm) margin.isActive = true;
    else if (ratioPpm * PPM < this.thresholdPpm * END_PPM) margin.isActive = false;
    return margin.isActive !== wasActive;
  }

  private print(calls: readonly MarginCallMembers[]): string {
    return calls.map((call) => marginCallJson(call, this.thresholdPpm, this.now())).join(",");
  }
}

const noMargin = (symbol: string | null): MarginCallMembers => ({
  symbol,
  isActive: false,
  equityQuanta: 0,
  maintenanceQuanta: 0,
});

const isActive = (call: MarginCallMembers): boolean => call.isActive;

const isIsolated = ({ sizeLots, marginMode }: MessageOf<typeof PositionView>): boolean =>
  sizeLots !== 0 && marginMode === ISOLATED;

/** Maintenance margin ÷ equity, in parts per million. */
function ratioOf({ equityQuanta, maintenanceQuanta }: MarginCallMembers): RatePpm {
  if (maintenanceQuanta === 0) return 0;
  return equityQuanta <= 0 ? Number.POSITIVE_INFINITY : mulDivFloor(maintenanceQuanta, PPM, equityQuanta);
}

const make = (of: typeof ReadMarginCall | typeof ReadPosition, accountId: number): Message =>
  Object.assign(blank(of), { accountId });

const findReply = <M extends Message>({ messages }: ReleasedTransaction, code: M["type"]): M | undefined =>
  messages.find(({ type }) => type === code) as M | undefined;
