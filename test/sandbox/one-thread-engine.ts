import type { Engine, ReleasedTransaction } from "../../src/actor/engine/engine.ts";
import { DEFAULT_INSTRUMENTS } from "../../src/config/instruments.ts";
import { MarginTable } from "../../src/core/accounts/margin-table.ts";
import { LEDGER } from "../../src/core/base/enums.ts";
import { LedgerActor } from "../../src/core/ledger/ledger.ts";
import type { Actor, Transaction } from "../../src/core/protocol/actor.ts";
import { Audit } from "../../src/core/protocol/commands.ts";
import { compileInstrument, type Instrument } from "../../src/core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../src/core/protocol/message-schema.ts";
import type { ActorAudit } from "../../src/core/protocol/payloads.ts";
import type { AuditReport } from "../../src/core/protocol/replies.ts";
import { SymbolActor } from "../../src/core/symbol.ts";

interface Asked {
  actorId: number;
  command: Message;
  onReply(transaction: ReleasedTransaction): void;
}

/** The real actors behind an engine without threads, disk or clock: commands wait until drain() runs them, in order. */
export class OneThreadEngine implements Engine {
  readonly hasDiskRoom = true;
  readonly diskFreeBytes = 0;
  readonly isStalled = false;
  readonly inFlight = 0;
  readonly historyLag = 0;
  readonly historySince = 0;
  readonly isHistoryStalled = false;
  readonly instruments: Instrument[];
  readonly marginTable = MarginTable.allocate(1024);
  time = Date.UTC(2026, 0, 1);
  /** While true every request is refused, as by full rings. */
  full = false;
  /** While true replies are lost, as with a worker that dies. */
  deaf = false;
  /** All commands so far. */
  readonly asked: { actorId: number; command: Message }[] = [];
  readonly refusals: string[] = [];
  private readonly actors = new Map<number, Actor>();
  private readonly queue: Asked[] = [];
  private readonly listeners: ((transaction: ReleasedTransaction) => void)[] = [];
  private sequence = 0;
  private draining = false;

  constructor(configs = DEFAULT_INSTRUMENTS, faucetCapQuanta = 1e12, minDepositQuanta = 0) {
    this.instruments = configs.map(compileInstrument);
    this.actors.set(
      LEDGER,
      new LedgerActor({ faucetCapQuanta, minDepositQuanta, withdrawalDelayMs: 0 }, this.marginTable),
    );
    for (const instrument of this.instruments)
      this.actors.set(instrument.id, new SymbolActor(instrument, this.marginTable));
  }

  request(actorId: number, command: Message, onReply: (transaction: ReleasedTransaction) => void): boolean {
    if (this.full) return false;
    this.asked.push({ actorId, command });
    this.queue.push({ actorId, command, onReply });
    if (this.queue.length === 1 && !this.draining) queueMicrotask(() => this.drain());
    return true;
  }

  /** Runs all pending commands, including those that replies send. */
  drain(): void {
    this.draining = true;
    for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
      const transaction = this.decide(next.actorId, next.command);
      if (transaction.eventCount > 0) for (const listener of this.listeners) listener(transaction);
      if (!this.deaf) next.onReply(transaction);
    }
    this.draining = false;
  }

  /** Sends a command and returns its reply. */
  replies(actorId: number, command: Message): Message[] {
    let replies: Message[] = [];
    this.request(actorId, command, (transaction) => {
      replies = transaction.messages.slice(transaction.eventCount);
    });
    this.drain();
    return replies;
  }

  audit(actorId: number): ActorAudit {
    const [reply] = this.replies(actorId, { type: Audit.code });
    return (reply as MessageOf<typeof AuditReport>).report;
  }

  readonly rebuilds = 0;
  readonly replication = null;
  isUnresponsive(): boolean {
    return false;
  }
  isDown(): boolean {
    return false;
  }
  onReleased(listener: (transaction: ReleasedTransaction) => void): void {
    this.listeners.push(listener);
  }
  onDrained(): void {}
  releasedSequence(): number {
    return this.sequence;
  }
  releasedTime(): number {
    return this.time;
  }
  whenAllDurable(then: () => void): boolean {
    then();
    return true;
  }
  historyCaughtUp(): Promise<boolean> {
    return Promise.resolve(true);
  }

  private decide(actorId: number, command: Message): ReleasedTransaction {
    const actor = this.actors.get(actorId) as Actor;
    while (actor.isSettlingMark) {
      const settled = this.transaction(actor, (transaction) => actor.settleMark(transaction));
      if (settled.eventCount > 0) for (const listener of this.listeners) listener(settled);
    }
    return this.transaction(actor, (transaction) => actor.decide(command, transaction));
  }

  private transaction(actor: Actor, run: (transaction: Transaction) => void): ReleasedTransaction {
    const { actorId } = actor;
    const events: Message[] = [];
    const replies: Message[] = [];
    const { time } = this;
    run({
      time,
      emit: (event) => events.push({ ...event }),
      reply: (reply) => {
        replies.push({ ...reply });
        if ("code" in reply) this.refusals.push(reply.code);
      },
    });
    if (events.length > 0) this.sequence++;
    actor.settle(this.sequence, time);
    this.marginTable.commit();
    return { actorId, sequence: this.sequence, time, eventCount: events.length, messages: [...events, ...replies] };
  }
}
