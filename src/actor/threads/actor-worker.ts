import { must } from "../../assert.ts";
import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { Actor } from "../../core/protocol/actor.ts";
import { decodeShared } from "../../wire/codec.ts";
import type { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { type Control, RUNNING } from "./control.ts";
import { LogClock } from "./log-clock.ts";
import { RecountParticipant } from "./recount.ts";
import { SnapshotSchedule } from "./snapshot-schedule.ts";
import { TransactionWriter } from "./transaction.ts";

/** A command in a worker's ring: u32 request id, u32 actor id, then the message. */
export const COMMAND_HEADER_BYTES = 8;
/**
 * After this many commands the journal is woken, ring room is given back, the clock is read and background work goes on.
 * So an endless stream of commands blocks none of these.
 */
const COMMANDS_PER_DRAIN = 64;
const IDLE_WAIT_MS = 100;
/** How often the thread's event loop gets a turn. Each read of the database leaves a timer behind that only it clears. */
const EVENT_LOOP_INTERVAL_MS = 1000;
/** A busy worker looks at the clock for that after so many steps. */
const STEPS_PER_LOOK = 256;
/** How often a settlement is tried that waits for other threads. Their transactions take microseconds. */
const SETTLEMENT_ATTEMPTS = 10_000;
/** An upper bound only: the end of a recount wakes the worker. */
const RECOUNT_WAIT_MS = 1;

export interface WorkerOptions {
  /** The worker's number, from 0. */
  worker: number;
  actors: readonly Actor[];
  marginTable: MarginTable;
  control: Control;
  commands: RingConsumer;
  doorbell: Doorbell;
  /** The ring to the journal. */
  out: RingProducer;
  snapshotIntervalMs: number;
  /** About how many snapshot rows are written between two transactions. Default: a fraction of a millisecond's worth. */
  rowsPerSnapshotChunk?: number;
  /** That of a follower, whose last snapshot may be unfinished. Default: a new one. */
  snapshots?: SnapshotSchedule;
  /** The only clock that actors have: milliseconds since the epoch. */
  clock: () => number;
  /** Milliseconds by a clock that nobody sets: decides when the next snapshot is due, and how time goes on: see LogClock. */
  monotonic: () => number;
  /** No transaction gets an earlier time. */
  notBefore: number;
  /** Where all workers add up their contributions in a recount. */
  sums: MarginTable;
  /**
   * Set for a worker that replaces a dead one: the shared margin table, which it joins later. Until then its actors write
   * to `marginTable`, a private one. The worker does nothing before a recount has taken its contributions in.
   */
  joinTable?: SharedArrayBuffer;
}

/**
 * Runs the transactions of all actors on one thread: read a command, stamp its time, let the actor decide, take a
 * sequence, write to the journal's ring. Knows nothing of symbols.
 */
export class ActorWorker {
  private readonly options: WorkerOptions;
  private readonly actors: ReadonlyMap<number, Actor>;
  private readonly transaction: TransactionWriter;
  private readonly snapshots: SnapshotSchedule;
  private readonly recount: RecountParticipant;
  private isJoining: boolean;
  /** Commands come when all workers have recovered. Before, the margin table does not hold all that accounts have. */
  private hasBegun = false;
  private readonly logClock: LogClock;

  constructor(options: WorkerOptions) {
    const { actors, control, marginTable, out, doorbell, joinTable } = options;
    this.options = options;
    this.logClock = new LogClock(options);
    this.isJoining = joinTable !== undefined;
    this.recount = new RecountParticipant(options);
    this.transaction = new TransactionWriter(control, marginTable, out, doorbell);
    this.snapshots = options.snapshots ?? new SnapshotSchedule(options);
    this.actors = new Map(actors.map((actor) => [actor.actorId, actor]));
  }

  /** Runs until the exchange stops. Then writes a last snapshot of each actor. */
  async run(): Promise<void> {
    const { doorbell, control, commands, monotonic } = this.options;
    let eventLoopAt = 0;
    for (let steps = 1; control.phase === RUNNING; steps++) {
      const isBusy = this.step();
      if ((!isBusy || steps % STEPS_PER_LOOK === 0) && monotonic() >= eventLoopAt) {
        await new Promise((resolve) => setImmediate(resolve));
        eventLoopAt = monotonic() + EVENT_LOOP_INTERVAL_MS;
      }
      if (isBusy) continue;
      doorbell.prepareSleep();
      if (this.mustWait()) doorbell.wait(RECOUNT_WAIT_MS);
      else if (commands.peek() < 0 && control.phase === RUNNING) doorbell.wait(IDLE_WAIT_MS);
      doorbell.cancelSleep();
    }
    this.finish();
  }

  /** Returns whether there was anything to do. An error that it throws ends the worker and its thread. */
  step(): boolean {
    if (this.mustWait()) return false;
    return this.orRollBack(() => {
      const taken = this.drain();
      const hasMore = this.runBackground();
      const hasWritten = this.snapshots.step(this.logClock.time, this.options.control.lastSequence);
      return taken > 0 || hasMore || hasWritten;
    });
  }

  /** Executes the commands that are left and writes a last snapshot of each actor. */
  finish(): void {
    this.orRollBack(() => {
      // A worker that still joins has commands only if a recount has taken it in.
      this.join();
      while (this.drain() > 0);
      this.snapshots.writeAll(this.logClock.time, this.options.control.lastSequence);
      this.options.out.wake();
    });
  }

  /** Between transactions: true while a recount runs, or while this worker has not joined the exchange. */
  private mustWait(): boolean {
    // Join first: the recount that took this worker in may be over, and the next one may have begun.
    this.join();
    return this.recount.participate() || this.isJoining;
  }

  private join(): void {
    const { joinTable, marginTable } = this.options;
    if (!this.isJoining || joinTable === undefined || !this.recount.hasTakenEffect) return;
    marginTable.attach(joinTable);
    this.isJoining = false;
  }

  /** If `work` throws, the transaction in progress leaves no trace: it has no events yet, and the table is rolled back. */
  private orRollBack<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      const { marginTable, out } = this.options;
      try {
        marginTable.rollback();
      } finally {
        // Earlier transactions are complete. The journal must release them.
        out.wake();
      }
      throw error;
    }
  }

  /** Executes waiting commands, at most COMMANDS_PER_DRAIN. Returns how many. */
  private drain(): number {
    const { commands, out } = this.options;
    this.logClock.read();
    let count = 0;
    for (let at = commands.peek(); at >= 0 && count < COMMANDS_PER_DRAIN; at = commands.peek()) {
      if (!this.execute(at)) break;
      commands.next();
      count++;
    }
    if (count > 0) {
      commands.release();
      out.wake();
    }
    return count;
  }

  /** Runs a part of each actor's background work: see Actor.runBackground. Returns whether any has more. */
  private runBackground(): boolean {
    if (!this.hasBegun) return false;
    const { transaction } = this;
    let hasMore = false;
    let hasPushed = false;
    for (const actor of this.actors.values()) {
      if (actor.isSettlingMark) hasPushed = true;
      if (!this.settleMark(actor)) {
        hasMore = true;
        continue;
      }
      transaction.begin(this.logClock.time);
      if (actor.runBackground(transaction)) hasMore = true;
      if (this.pushUnrequested(actor)) hasPushed = true;
      if (actor.isFiring && this.settleMark(actor) && this.fire(actor)) hasPushed = true;
    }
    if (hasPushed) this.options.out.wake();
    return hasMore;
  }

  /** Returns false, and leaves the command in the ring, if the actor's mark cannot be settled now. */
  private execute(at: number): boolean {
    const { commands } = this.options;
    const { view, bytes } = commands;
    this.hasBegun = true;
    const requestId = view.getUint32(at, true);
    const actorId = view.getUint32(at + 4, true);
    const actor = must(this.actors.get(actorId), `actor ${actorId} on this worker`);
    if (!this.settleMark(actor)) return false;
    const command = decodeShared(view, bytes, at + COMMAND_HEADER_BYTES);
    const { transaction } = this;
    transaction.begin(this.logClock.time);
    actor.decide(command, transaction);
    // Pushed even without events and without a requester, as most ticks are: it tells the gateway the actor's time.
    const { hasEvents } = transaction;
    const sequence = transaction.push(actorId, requestId);
    if (hasEvents) actor.settle(sequence, this.logClock.time);
    if (actor.isFiring && this.settleMark(actor)) this.fire(actor);
    return true;
  }

  /**
   * Settles the actor's mark, in as many transactions as it takes. Returns false if that must wait: a thread that died in the
   * middle of a transaction keeps its accounts until a recount, in which this thread must take part.
   */
  private settleMark(actor: Actor): boolean {
    const { transaction } = this;
    for (let attempt = 0; actor.isSettlingMark; attempt++) {
      if (attempt === SETTLEMENT_ATTEMPTS) return false;
      transaction.begin(this.logClock.time);
      if (actor.settleMark(transaction)) attempt = 0;
      this.pushUnrequested(actor);
    }
    return true;
  }

  /** One transaction for a part of what has come due. Commands run between the parts. Returns as pushUnrequested(). */
  private fire(actor: Actor): boolean {
    const { transaction } = this;
    transaction.begin(this.logClock.time);
    actor.fire(transaction);
    return this.pushUnrequested(actor);
  }

  /** Ends a transaction that no command asked for. Returns whether it had events. */
  private pushUnrequested(actor: Actor): boolean {
    const { transaction } = this;
    if (!transaction.hasEvents) {
      transaction.discard();
      return false;
    }
    actor.settle(transaction.push(actor.actorId, 0), this.logClock.time);
    return true;
  }
}
