import type { OnReply, Released, Road } from "../../../src/actor/engine/engine.ts";
import type { AccountCells } from "../../../src/core/accounts/margin-table.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import type { Exchange, Said } from "../../core/support/exchange.ts";

/** A road to the real actors, one turn after the other: the test says when they come to their commands, and when turns are released. */
export class ExchangeRoad implements Road {
  readonly hasDiskRoom = true;
  readonly isStalled = false;
  readonly inFlight = 0;
  readonly historyLag = 0;
  readonly rebuilds = 0;
  readonly instruments: readonly Instrument[];
  /** The actors' rings take nothing more. */
  isFull = false;
  private readonly exchange: Exchange;
  private readonly asked: { actorId: number; command: Message; onReply: OnReply }[] = [];
  private readonly pending: { turn: Released; onReply: OnReply | null }[] = [];
  private readonly releasedListeners: ((turn: Released) => void)[] = [];
  private readonly drainedListeners: (() => void)[] = [];
  private waiting: { sequence: number; then: () => void }[] = [];
  private released = 0;

  constructor(exchange: Exchange, instruments: readonly Instrument[]) {
    this.exchange = exchange;
    this.instruments = instruments;
  }

  get cells(): AccountCells {
    return this.exchange.cells;
  }
  ask(actorId: number, command: Message, onReply: OnReply): boolean {
    if (this.isFull) return false;
    this.asked.push({ actorId, command: { ...command }, onReply });
    return true;
  }
  isDown(): boolean {
    return false;
  }
  onReleased(listener: (turn: Released) => void): void {
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
  afterEverything(then: () => void): boolean {
    this.waiting.push({ sequence: this.exchange.sequence, then });
    this.letGo();
    return true;
  }
  historyCaughtUp(): Promise<boolean> {
    return Promise.resolve(true);
  }

  /** An actor has said this, in a turn that is not released yet. */
  note(actorId: number, { sequence, time, events, replies }: Said, onReply: OnReply | null = null): void {
    const turn = { actorId, sequence, time, eventCount: events.length, messages: [...events, ...replies] };
    this.pending.push({ turn, onReply });
  }

  /** The actors come to what they have been asked. */
  decide(): void {
    for (const { actorId, command, onReply } of this.asked.splice(0))
      this.note(actorId, this.exchange.do(actorId, command), onReply);
  }

  /** So many turns, and a drain. */
  release(count: number): void {
    for (const { turn, onReply } of this.pending.splice(0, count)) {
      this.released = Math.max(this.released, turn.sequence);
      if (turn.eventCount > 0) for (const listener of this.releasedListeners) listener(turn);
      onReply?.(turn);
    }
    this.letGo();
    for (const listener of this.drainedListeners) listener();
  }

  /** Everything that was asked is answered. */
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
