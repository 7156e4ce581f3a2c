import type { Engine, OnReply, ReleasedTransaction } from "../../../src/actor/engine/engine.ts";
import type { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import type { Exchange, Said } from "../../core/support/exchange.ts";

/** An engine of real actors on this thread. The test decides when they run their commands, and when transactions are released. */
export class ExchangeEngine implements Engine {
  readonly hasDiskRoom = true;
  readonly diskFreeBytes = 0;
  readonly isStalled = false;
  readonly inFlight = 0;
  readonly historyLag = 0;
  readonly historySince = 0;
  readonly isHistoryStalled = false;
  readonly rebuilds = 0;
  readonly replication = null;
  readonly instruments: readonly Instrument[];
  /** The actors' rings are full. */
  isFull = false;
  private readonly exchange: Exchange;
  private readonly asked: { actorId: number; command: Message; onReply: OnReply }[] = [];
  private readonly pending: { transaction: ReleasedTransaction; onReply: OnReply | null }[] = [];
  private readonly releasedListeners: ((transaction: ReleasedTransaction) => void)[] = [];
  private readonly drainedListeners: (() => void)[] = [];
  private waiting: { sequence: number; then: () => void }[] = [];
  private released = 0;

  constructor(exchange: Exchange, instruments: readonly Instrument[]) {
    this.exchange = exchange;
    this.instruments = instruments;
  }

  get marginTable(): MarginTable {
    return this.exchange.marginTable;
  }
  request(actorId: number, command: Message, onReply: OnReply): boolean {
    if (this.isFull) return false;
    this.asked.push({ actorId, command: { ...command }, onReply });
    return true;
  }
  isUnresponsive(): boolean {
    return false;
  }
  isDown(): boolean {
    return false;
  }
  onReleased(listener: (transaction: ReleasedTransaction) => void): void {
    this.releasedListeners.push(listener);
  }
  onDrained(listener: () => void): void {
    this.drainedListeners.push(listener);
  }
  releasedSequence(): number {
    return this.released;
  }
  releasedTime(): number {
    return this.exchange.time;
  }
  whenAllDurable(then: () => void): boolean {
    this.waiting.push({ sequence: this.exchange.sequence, then });
    this.letGo();
    return true;
  }
  historyCaughtUp(): Promise<boolean> {
    return Promise.resolve(true);
  }

  /** Adds a transaction of an actor, which is not released yet. */
  note(actorId: number, { sequence, time, events, replies }: Said, onReply: OnReply | null = null): void {
    const transaction = { actorId, sequence, time, eventCount: events.length, messages: [...events, ...replies] };
    this.pending.push({ transaction, onReply });
  }

  /** Runs the commands of the actors. */
  decide(): void {
    for (const { actorId, command, onReply } of this.asked.splice(0))
      this.note(actorId, this.exchange.do(actorId, command), onReply);
  }

  /** Releases this many transactions, then signals a drain. */
  release(count: number): void {
    for (const { transaction, onReply } of this.pending.splice(0, count)) {
      this.released = Math.max(this.released, transaction.sequence);
      if (transaction.eventCount > 0) for (const listener of this.releasedListeners) listener(transaction);
      onReply?.(transaction);
    }
    this.letGo();
    for (const listener of this.drainedListeners) listener();
  }

  /** Runs and releases everything. */
  settle(): void {
    do {
      this.decide();
      this.release(Number.POSITIVE_INFINITY);
    } while (this.asked.length > 0);
  }

  private letGo(): void {
    while ((this.waiting[0]?.sequence ?? Number.POSITIVE_INFINITY) <= this.released) this.waiting.shift()?.then();
  }
}
