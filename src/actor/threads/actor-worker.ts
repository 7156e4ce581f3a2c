import { must } from "../../assert.ts";
import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { Actor } from "../../core/protocol/actor.ts";
import { decodeShared } from "../../wire/codec.ts";
import { pad8 } from "../../wire/record.ts";
import type { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { SnapshotPartWriter } from "../../wire/snapshot.ts";
import { type Control, RUNNING } from "./control.ts";
import { RecountParticipant } from "./recount.ts";
import { TransactionWriter } from "./transaction.ts";

/** A command in a worker's ring: u32 request id, u32 actor id, then the message. */
export const COMMAND_HEADER_BYTES = 8;
/**
 * Behind so many turns the journal is woken and room is given back, the clock is read again, and what is under way goes on:
 * commands that never end hold up neither.
 */
const COMMANDS_PER_DRAIN = 64;
const IDLE_WAIT_MS = 100;
const ROWS_PER_SHARE = 512;
/** If changes came faster than they are handed over, the rest would be handed over at once behind so many shares. */
const MAX_SHARES = 4096;
/** At most; whoever ends a recount rings. */
const RECOUNT_WAIT_MS = 1;

export interface WorkerOptions {
  /** The worker's number, from 0. */
  worker: number;
  actors: readonly Actor[];
  marginTable: MarginTable;
  control: Control;
  commands: RingConsumer;
  doorbell: Doorbell;
  out: RingProducer;
  snapshotIntervalMs: number;
  /** Of a snapshot, handed over between two turns, about. Default: a fraction of a millisecond. */
  rowsPerSnapshotChunk?: number;
  /** The only clock that actors have: milliseconds since the epoch. */
  clock: () => number;
  /** Milliseconds by a clock that nobody sets: for when the next snapshot is due. */
  monotonic: () => number;
  /** No turn is stamped earlier. */
  notBefore: number;
  /** Where shares are added up in a recount. */
  sums: MarginTable;
  /**
   * For a worker in the place of one that has died: the account cells that it belongs to. Its actors have given what they
   * have to give to cells of its own, and it does nothing before a recount has taken them in.
   */
  joinTable?: SharedArrayBuffer;
}

interface Hosted {
  readonly actor: Actor;
  readonly writer: SnapshotPartWriter;
  /** Of its last snapshot. */
  sent: number;
  /** Of its next one, handed over so far. */
  shares: number;
}

/** The turns of all actors on one thread: drain → stamp → decide → ticket → ring. It knows nothing of symbols. */
export class ActorWorker {
  private readonly options: WorkerOptions;
  private readonly hosted = new Map<number, Hosted>();
  private readonly transaction: TransactionWriter;
  private readonly recount: RecountParticipant;
  private isJoining: boolean;
  private lastTime: number;
  private nextSnapshotAt = 0;
  /** Whose snapshot is due; the first one's is under way. */
  private due: Hosted[] = [];

  constructor(options: WorkerOptions) {
    this.options = options;
    this.lastTime = options.notBefore;
    this.isJoining = options.joinTable !== undefined;
    this.recount = new RecountParticipant(options);
    const waitForRoom = (): void => {
      options.out.wake();
      options.doorbell.prepareSleep();
      options.doorbell.wait(1);
    };
    this.transaction = new TransactionWriter(options.control, options.marginTable, options.out, waitForRoom);
    for (const actor of options.actors) {
      const emitPart = (part: Uint8Array): void => this.pushPart(part, waitForRoom);
      const sent = options.control.storedSnapshotOf(actor.actorId);
      this.hosted.set(actor.actorId, {
        actor,
        writer: new SnapshotPartWriter(actor.actorId, emitPart),
        sent,
        shares: 0,
      });
    }
  }

  /** Runs until the exchange stops; then hands over a last snapshot of each actor. */
  run(): void {
    const { doorbell, control } = this.options;
    while (control.phase === RUNNING) {
      if (this.step()) continue;
      doorbell.prepareSleep();
      if (this.mustWait()) doorbell.wait(RECOUNT_WAIT_MS);
      else if (this.options.commands.peek() < 0 && control.phase === RUNNING) doorbell.wait(IDLE_WAIT_MS);
      doorbell.cancelSleep();
    }
    this.finish();
  }

  /** Returns whether there was anything to do. What it throws ends the worker, and its thread. */
  step(): boolean {
    if (this.mustWait()) return false;
    return this.orDie(() => {
      const taken = this.drain();
      const more = this.proceed();
      const handedOver = this.handOver();
      return taken > 0 || more || handedOver;
    });
  }

  /** Takes what is left and hands over a last snapshot of each actor. */
  finish(): void {
    this.orDie(() => {
      // What is left has been sent because a recount has taken it in.
      this.join();
      while (this.drain() > 0);
      for (const hosted of this.hosted.values()) this.snapshot(hosted);
      this.options.out.wake();
    });
  }

  /** Between turns: a recount is under way, or this worker does not belong to the exchange yet. */
  private mustWait(): boolean {
    // First: the recount that has taken it in may be over, and another one may have been called.
    this.join();
    return this.recount.participate() || this.isJoining;
  }

  private join(): void {
    const { joinTable, marginTable } = this.options;
    if (!this.isJoining || joinTable === undefined || !this.recount.hasTakenEffect) return;
    marginTable.attach(joinTable);
    this.isJoining = false;
  }

  /** Of a turn that is cut short nothing stays: its events are nowhere yet, and the cells forget it. */
  private orDie<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      const { marginTable, out } = this.options;
      try {
        marginTable.rollback();
      } finally {
        // What it had said before is whole, and will be released.
        out.wake();
      }
      throw error;
    }
  }

  /** Takes the commands that are there, so many at most. Returns how many. */
  private drain(): number {
    const { commands, out } = this.options;
    // Never backwards, also when the machine's clock is set back, be it between two starts: time in the log only grows.
    this.lastTime = Math.max(this.lastTime, this.options.clock());
    let count = 0;
    for (let at = commands.peek(); at >= 0 && count < COMMANDS_PER_DRAIN; at = commands.peek()) {
      this.take(at);
      commands.next();
      count++;
    }
    if (count > 0) {
      commands.release();
      out.wake();
    }
    return count;
  }

  /** A share of what each actor has under way: see Actor.proceed. Returns whether any has more. */
  private proceed(): boolean {
    const { transaction } = this;
    let more = false;
    let pushed = false;
    for (const { actor } of this.hosted.values()) {
      transaction.begin(this.lastTime);
      if (actor.runBackground(transaction)) more = true;
      if (this.pushWork(actor)) pushed = true;
      if (actor.isFiring && this.fire(actor)) pushed = true;
    }
    if (pushed) this.options.out.wake();
    return more;
  }

  private take(at: number): void {
    const { commands } = this.options;
    const { view, bytes } = commands;
    const requestId = view.getUint32(at, true);
    const actorId = view.getUint32(at + 4, true);
    const { actor } = must(this.hosted.get(actorId), `actor ${actorId} on this worker`);
    const command = decodeShared(view, bytes, at + COMMAND_HEADER_BYTES);
    const { transaction } = this;
    transaction.begin(this.lastTime);
    actor.decide(command, transaction);
    // Also when nobody asked and nothing happened, as with most ticks: the front hears how far the actor's time has come.
    const { hasEvents } = transaction;
    const sequence = transaction.push(actorId, requestId);
    if (hasEvents) actor.settle(sequence, this.lastTime);
    if (actor.isFiring) this.fire(actor);
  }

  /** One turn: whatever has come due in whatever number, commands go on between its shares. Returns as pushWork(). */
  private fire(actor: Actor): boolean {
    const { transaction } = this;
    transaction.begin(this.lastTime);
    actor.fire(transaction);
    return this.pushWork(actor);
  }

  /** The turn of an actor that nobody has asked. Returns whether it has come to anything. */
  private pushWork(actor: Actor): boolean {
    const { transaction } = this;
    if (!transaction.hasEvents) {
      transaction.drop();
      return false;
    }
    actor.settle(transaction.push(actor.actorId, 0), this.lastTime);
    return true;
  }

  /**
   * A share of the snapshot that is due. Its rows go ahead of it, between turns; what changes behind them goes again. So
   * the snapshot itself, for which all turns wait, is small. Returns whether there was one.
   */
  private handOver(): boolean {
    if (this.due.length === 0) this.callForSnapshots();
    const { control, out, rowsPerSnapshotChunk = ROWS_PER_SHARE } = this.options;
    const hosted = this.due.at(0);
    if (hosted === undefined) return false;
    hosted.writer.stamp(control.lastSequence, this.lastTime);
    if (hosted.actor.snapshot(hosted.writer, rowsPerSnapshotChunk) || ++hosted.shares === MAX_SHARES) {
      this.due.shift();
      this.snapshot(hosted);
    }
    out.wake();
    return true;
  }

  /** All that have changed, unless their last snapshots are still on the way. */
  private callForSnapshots(): void {
    const { control, monotonic, snapshotIntervalMs } = this.options;
    const now = monotonic();
    if (now < this.nextSnapshotAt) return;
    const isFirst = this.nextSnapshotAt === 0;
    this.nextSnapshotAt = now + snapshotIntervalMs;
    if (isFirst) return;
    const isDue = ({ actor, sent }: Hosted): boolean =>
      control.storedSnapshotOf(actor.actorId) >= sent && control.lastSequence !== sent;
    this.due = [...this.hosted.values()].filter(isDue);
  }

  private snapshot(hosted: Hosted): void {
    hosted.sent = this.options.control.lastSequence;
    hosted.shares = 0;
    hosted.writer.stamp(hosted.sent, this.lastTime);
    hosted.actor.snapshot(hosted.writer);
    hosted.writer.end();
  }

  private pushPart(part: Uint8Array, waitForRoom: () => void): void {
    const { out } = this.options;
    let at = out.reserve(pad8(part.length));
    while (at < 0) {
      waitForRoom();
      at = out.reserve(pad8(part.length));
    }
    out.bytes.set(part, at);
    out.commit(part.length);
  }
}
