import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { isReadOnly, Tick } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import type { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import type { Control } from "../threads/control.ts";
import { isNewOrder, needsDiskRoom } from "./admission.ts";
import { CommandQueues } from "./command-queues.ts";
import type { Engine, OnReply, ReleasedTransaction, ReplicationStatus } from "./engine.ts";
import { ReleaseDrain } from "./release-drain.ts";
import { ReleasedTransactions } from "./released-transactions.ts";
import { MAX_PENDING, RequestTable } from "./request-table.ts";
import { SequenceWaiters } from "./sequence-waiters.ts";

export interface EngineClientOptions {
  readonly instruments: readonly Instrument[];
  readonly marginTable: MarginTable;
  readonly control: Control;
  /** The ring from the journal. */
  readonly front: RingConsumer;
  readonly frontDoorbell: Doorbell;
  /** The store wakes it after each commit. */
  readonly indexDoorbell: Doorbell;
  readonly storeDoorbell: Doorbell;
  /**
   * With this many requests on their way, new orders are refused as overload. They are refused too when less than a
   * quarter of the worker's ring is free, as with large batches. This bounds how long an order waits, and keeps room
   * for cancels, prices, ticks and everything that reduces. Default MAX_PENDING.
   */
  readonly maxInFlight?: number;
}

/** Sends commands into the workers' rings and hands out what the journal releases. Single-threaded. */
export class EngineClient implements Engine {
  readonly instruments: readonly Instrument[];
  readonly marginTable: MarginTable;
  protected readonly control: Control;
  protected readonly frontDoorbell: Doorbell;
  protected readonly indexDoorbell: Doorbell;
  protected readonly storeDoorbell: Doorbell;
  hasDiskRoom = true;
  diskFreeBytes = 0;
  isStalled = false;
  isHistoryStalled = false;
  /** Set at a stop: every request is refused. */
  protected stopping = false;
  private readonly maxInFlight: number;
  private readonly requests = new RequestTable();
  private readonly queues = new CommandQueues();
  private readonly released: ReleasedTransactions;
  private readonly releaseDrain: ReleaseDrain;
  private readonly indexWaiters = new SequenceWaiters();
  private rebuildCount = 0;

  constructor(options: EngineClientOptions) {
    const { instruments, marginTable, control, front, frontDoorbell, maxInFlight = MAX_PENDING } = options;
    this.instruments = instruments;
    this.marginTable = marginTable;
    this.control = control;
    this.frontDoorbell = frontDoorbell;
    this.indexDoorbell = options.indexDoorbell;
    this.storeDoorbell = options.storeDoorbell;
    this.maxInFlight = maxInFlight;
    this.released = new ReleasedTransactions(front, this.requests);
    this.releaseDrain = new ReleaseDrain(this.released, frontDoorbell);
  }

  /** Adds a worker and the actors that are pinned to it. Workers are numbered from 0 in the order of these calls. */
  addWorker(commands: RingProducer, actorIds: readonly number[]): void {
    this.queues.add(commands, actorIds);
  }

  /** The worker's thread has died: requests to its actors are refused. */
  markDown(worker: number): void {
    this.queues.markDown(worker);
  }

  /** Whether the worker's thread takes no commands although it has some. */
  setUnresponsive(worker: number, isUnresponsive: boolean): void {
    this.queues.setUnresponsive(worker, isUnresponsive);
  }

  /** Everything that the dead worker had committed was handed out: requests that still wait were not executed. */
  failPending(worker: number): void {
    this.requests.failAll(worker);
  }

  /** Another thread has rebuilt the worker's actors. It takes commands from a ring of its own. */
  markUp(worker: number, commands: RingProducer): void {
    this.queues.markUp(worker, commands);
    this.rebuildCount++;
  }

  isDown(actorId: number): boolean {
    return this.queues.isDown(this.queues.workerOf(actorId));
  }

  isUnresponsive(actorId: number): boolean {
    return this.queues.isUnresponsive(this.queues.workerOf(actorId));
  }

  get rebuilds(): number {
    return this.rebuildCount;
  }

  /** Everything that was in the log at the start counts as released. */
  startAt(sequence: number): void {
    this.released.sequence = sequence;
    this.frontDoorbell.prepareSleep();
  }

  request(actorId: number, command: Message, onReply: OnReply): boolean {
    const { requests, queues } = this;
    if (this.stopping || requests.isFull) return false;
    if (this.control.isFollowing && !isReadOnly(command.type)) return false;
    const worker = queues.workerOf(actorId);
    const isBusy = requests.size >= this.maxInFlight || queues.isCrowded(worker);
    if (isBusy && isNewOrder(command)) return false;
    if (!this.hasDiskRoom && needsDiskRoom(command)) return false;
    const requestId = requests.freeId();
    if (!queues.send(worker, actorId, command, requestId)) return false;
    requests.add(requestId, worker, onReply);
    return true;
  }

  onReleased(listener: (transaction: ReleasedTransaction) => void): void {
    this.released.onReleased(listener);
  }

  onDrained(listener: () => void): void {
    this.released.onDrained(listener);
  }

  releasedSequence(): number {
    return this.released.sequence;
  }

  releasedTime(actorId: number): TimeMs {
    return this.released.timeOf(actorId);
  }

  whenAllDurable(then: () => void): boolean {
    const sequence = this.control.lastSequence;
    if (sequence > this.released.sequence) return this.released.waiters.add(sequence, then);
    then();
    return true;
  }

  historyCaughtUp(): Promise<boolean> {
    const { sequence } = this.released;
    if (this.control.indexed >= sequence) return Promise.resolve(true);
    return new Promise((resolve) => {
      if (!this.indexWaiters.add(sequence, () => resolve(true))) resolve(false);
      this.awaitIndex();
    });
  }

  get replication(): ReplicationStatus | null {
    return null;
  }

  get inFlight(): number {
    return this.requests.size;
  }

  /** Since when the history is kept, in ms; 0 = from the beginning. Reads no disk. */
  get historySince(): number {
    return this.control.historySince;
  }

  get historyLag(): number {
    return Math.max(0, this.released.sequence - this.control.indexed);
  }

  /** Tells every actor that time passes. Each answers how far its time has come: see releasedTime(). */
  tick(): void {
    this.queues.sendToAll({ type: Tick.code });
  }

  /** Hands out what the journal has released. Without `maxBytes` a large backlog takes several event-loop iterations. */
  drain(maxBytes?: number): void {
    this.releaseDrain.drain(maxBytes);
  }

  /** Resumes requests for which the index has caught up. Wakes the store if others still wait. */
  awaitIndex(): void {
    this.indexDoorbell.prepareSleep();
    this.indexWaiters.reach(this.control.indexed);
    if (this.indexWaiters.isEmpty) this.indexDoorbell.cancelSleep();
    else this.storeDoorbell.wake();
  }
}
