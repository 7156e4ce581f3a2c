import { assert, must } from "../../assert.ts";
import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { Actor } from "../../core/protocol/actor.ts";
import { isReadOnly } from "../../core/protocol/commands.ts";
import { decodeShared } from "../../wire/codec.ts";
import type { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { COMMAND_HEADER_BYTES } from "./actor-worker.ts";
import { type Control, RUNNING } from "./control.ts";
import type { Recovery } from "./recovery.ts";
import type { SnapshotSchedule } from "./snapshot-schedule.ts";
import { TransactionWriter } from "./transaction.ts";

/** After so many reads the log is looked at again. */
const READS_PER_STEP = 64;
const IDLE_WAIT_MS = 100;
/** Each read of the database leaves a timer behind that only the event loop clears. */
const EVENT_LOOP_INTERVAL_MS = 1000;

export interface FollowerOptions {
  /** The worker's number, from 0. */
  worker: number;
  actors: readonly Actor[];
  marginTable: MarginTable;
  control: Control;
  commands: RingConsumer;
  doorbell: Doorbell;
  /** The ring to the journal. */
  out: RingProducer;
  /** Has caught up with the log once. */
  recovery: Recovery;
  snapshots: SnapshotSchedule;
  clock: () => number;
  monotonic: () => number;
}

/**
 * Runs the actors of a worker while another process leads. It applies the leader's transactions and answers commands that
 * change nothing. It decides nothing: no timer, no settlement and no background work of an actor runs.
 */
export class Follower {
  private readonly options: FollowerOptions;
  private readonly actors: ReadonlyMap<number, Actor>;
  private readonly transaction: TransactionWriter;

  constructor(options: FollowerOptions) {
    const { actors, control, marginTable, out, doorbell, recovery } = options;
    this.options = options;
    this.actors = new Map(actors.map((actor) => [actor.actorId, actor]));
    this.transaction = new TransactionWriter(control, marginTable, out, doorbell);
    recovery.restore();
    this.noteApplied();
  }

  /**
   * Runs until this process leads, and returns true: everything of the leaders before is applied. Returns false when the
   * process stops, after a last snapshot of each actor.
   */
  async run(): Promise<boolean> {
    const { control, recovery, monotonic, doorbell, snapshots, out } = this.options;
    let eventLoopAt = monotonic() + EVENT_LOOP_INTERVAL_MS;
    for (;;) {
      // Read it before the log: when it is cleared, everything of the leaders before is in the log.
      const { isFollowing } = this;
      const isBusy = this.step();
      if (!isFollowing) break;
      if (monotonic() >= eventLoopAt) {
        await new Promise((resolve) => setImmediate(resolve));
        eventLoopAt = monotonic() + EVENT_LOOP_INTERVAL_MS;
      }
      if (isBusy) continue;
      doorbell.prepareSleep();
      if (this.isFollowing && !this.hasWork) doorbell.wait(IDLE_WAIT_MS);
      doorbell.cancelSleep();
    }
    recovery.catchUp();
    this.noteApplied();
    if (control.phase === RUNNING) return true;
    snapshots.writeAll(recovery.time, recovery.through);
    out.wake();
    return false;
  }

  /** Returns whether there was anything to do. */
  step(): boolean {
    const { recovery, snapshots } = this.options;
    const hasApplied = recovery.catchUp();
    if (hasApplied) this.noteApplied();
    let isBusy = this.answer() > 0 || hasApplied;
    for (const actor of this.actors.values()) if (actor.followMark()) isBusy = true;
    return snapshots.step(recovery.time, recovery.through) || isBusy;
  }

  private get isFollowing(): boolean {
    const { control } = this.options;
    return control.isFollowing && control.phase === RUNNING;
  }

  private get hasWork(): boolean {
    const { control, recovery, commands } = this.options;
    return control.durable > recovery.through || commands.peek() >= 0;
  }

  /** The journal waits for it. */
  private noteApplied(): void {
    const { control, worker, recovery, out } = this.options;
    control.setAppliedBy(worker, recovery.through);
    out.wake();
  }

  /** Answers waiting commands. Returns how many. */
  private answer(): number {
    const { commands, out, recovery, clock } = this.options;
    const { view, bytes } = commands;
    const { transaction } = this;
    let count = 0;
    for (let at = commands.peek(); at >= 0 && count < READS_PER_STEP; at = commands.peek()) {
      const command = decodeShared(view, bytes, at + COMMAND_HEADER_BYTES);
      // This process leads by now: ActorWorker will decide it.
      if (!isReadOnly(command.type)) break;
      const requestId = view.getUint32(at, true);
      const actorId = view.getUint32(at + 4, true);
      // The actor's time is that of its last transaction: the leader may be about to do something at any time after it.
      transaction.begin(recovery.timeOf(actorId) || clock());
      must(this.actors.get(actorId), `actor ${actorId} on this worker`).read(command, transaction);
      assert(!transaction.hasEvents, "a read changes nothing");
      transaction.push(actorId, requestId, recovery.through);
      commands.next();
      count++;
    }
    if (count === 0) return 0;
    commands.release();
    out.wake();
    return count;
  }
}
