import type { Engine, OnReply, ReleasedTransaction } from "../../../src/actor/engine/engine.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { compileInstrument, type Instrument } from "../../../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf, type MessageSchema } from "../../../src/core/protocol/message-schema.ts";
import type { SymbolSummary } from "../../../src/core/protocol/payloads.ts";
import { SymbolDescription } from "../../../src/core/protocol/replies.ts";
import type { StreamHistory } from "../../../src/front/streams/streams.ts";
import { FINE } from "../../core/support/instruments.ts";

export const START = Date.parse("2024-03-01T10:00:30Z");

/** Prices to a tenth, quantities to a thousandth: 650000 ticks are 65000, 1500 lots are 1.5. */
export const instrument = (id: number, symbol: string): Instrument =>
  compileInstrument({
    ...FINE,
    id,
    symbol,
    baseAsset: symbol.split("-")[0],
    riskTiers: [{ maxNotional: "1000000", maxLeverage: 100, maintenanceMarginRate: "0.005" }],
  });

export const make = <S extends MessageSchema>(of: S, fields: Partial<MessageOf<S>> = {}): MessageOf<S> =>
  Object.assign(blank(of), fields);

export const EMPTY_STATE: SymbolSummary = {
  next: null,
  indexTicks: 0,
  markTicks: 0,
  lastTicks: 0,
  openInterestLots: 0,
  priceTime: 0,
  indexRange: { since: 0, highTicks: 0, lowTicks: 0, previousHighTicks: 0, previousLowTicks: 0 },
  fundingRatePpb: 0,
  nextFundingTime: 0,
  haltMode: 0,
  haltReason: 0,
  haltUntil: 0,
  fault: "",
  isIndexStale: false,
  pendingIndexTicks: 0,
  bids: [],
  asks: [],
};

export const EMPTY_HISTORY: StreamHistory = {
  candles: () => [],
  closedPositionsOf: () => ({ data: [], nextCursor: null }),
  fillsOf: () => ({ data: [], nextCursor: null }),
  fundingOf: () => ({ data: [], nextCursor: null }),
  transfersOf: () => ({ data: [], nextCursor: null }),
};

export interface Asked {
  actorId: number;
  command: Message;
  onReply: OnReply;
}

/** An engine that the test controls: it decides what the actors did, and when their answers come. */
export class ScriptedEngine implements Engine {
  hasDiskRoom = true;
  readonly diskFreeBytes = 0;
  isStalled = false;
  isHistoryStalled = false;
  readonly inFlight = 0;
  readonly historyLag = 0;
  readonly historySince = 0;
  readonly instruments: Instrument[];
  readonly marginTable = MarginTable.allocate(64);
  readonly asked: Asked[] = [];
  time = START;
  /** Delay in ms between the time of a transaction and its release. */
  lagMs = 0;
  sequence = 100;
  /** The actors' rings are full. */
  full = false;
  /** Too many already wait for the log and the history. */
  crowded = false;
  /** The history does not catch up. */
  historyStalls = false;
  /** Number of waits for the history. */
  historyAsked = 0;
  /** The actors' threads have died and are not replaced yet. */
  down = false;
  /** Of the actors whose threads take no commands. */
  readonly unresponsive = new Set<number>();
  private readonly releasedListeners: ((transaction: ReleasedTransaction) => void)[] = [];
  private readonly drainedListeners: (() => void)[] = [];
  private waiting: (() => void)[] = [];

  constructor(symbols = ["BTC-PERP", "ETH-PERP"]) {
    this.instruments = symbols.map((symbol, index) => instrument(index + 1, symbol));
  }

  request(actorId: number, command: Message, onReply: OnReply): boolean {
    if (this.full || this.down) return false;
    this.asked.push({ actorId, command: { ...command }, onReply });
    return true;
  }
  readonly rebuilds = 0;
  readonly replication = null;
  isUnresponsive(actorId: number): boolean {
    return this.unresponsive.has(actorId);
  }
  isDown(): boolean {
    return this.down;
  }
  onReleased(listener: (transaction: ReleasedTransaction) => void): void {
    this.releasedListeners.push(listener);
  }
  onDrained(listener: () => void): void {
    this.drainedListeners.push(listener);
  }
  releasedSequence(): number {
    return this.sequence;
  }
  releasedTime(): number {
    return this.time - this.lagMs;
  }
  whenAllDurable(then: () => void): boolean {
    if (!this.crowded) this.waiting.push(then);
    return !this.crowded;
  }
  historyCaughtUp(): Promise<boolean> {
    this.historyAsked++;
    return this.historyStalls ? new Promise(() => {}) : Promise.resolve(!this.crowded);
  }

  /** Releases a transaction with these events under the next sequence. */
  transaction(actorId: number, ...events: Message[]): number {
    this.sequence++;
    const { sequence, time } = this;
    const transaction = { actorId, sequence, time, eventCount: events.length, messages: events };
    for (const listener of this.releasedListeners) listener(transaction);
    return sequence;
  }

  drain(): void {
    for (const listener of this.drainedListeners) listener();
  }

  /** Answers the oldest unanswered command. Returns false when there is none. */
  answer(reply: (asked: Asked) => Message[]): boolean {
    const asked = this.asked.shift();
    if (asked === undefined) return false;
    const { actorId, onReply } = asked;
    onReply({ actorId, sequence: this.sequence, time: this.time, eventCount: 0, messages: reply(asked) });
    return true;
  }

  /** The actor of the oldest command dies before it has done anything. */
  lose(): void {
    this.asked.shift()?.onReply(null);
  }

  /** Answers every Describe. */
  describe(states: Record<number, Partial<SymbolSummary>> = {}): void {
    const reply = ({ actorId }: Asked): Message[] => [
      make(SymbolDescription, { state: { ...EMPTY_STATE, ...states[actorId] } }),
    ];
    while (this.answer(reply));
  }

  /** Makes everything durable, so that waiting readers continue. Returns their number. */
  settle(): number {
    const waiting = this.waiting;
    this.waiting = [];
    for (const then of waiting) then();
    return waiting.length;
  }
}
