import { assert, must } from "../../assert.ts";
import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { TimeMs } from "../../core/base/units.ts";
import {
  AmendOrder,
  CreateKey,
  Deposit,
  DryRunOrder,
  OpenSession,
  OrderBatch,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  Tick,
  Withdraw,
} from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../core/protocol/message-schema.ts";
import { encodeMessage, MessagePool, maxMessageBytes, messageBytes } from "../../wire/codec.ts";
import {
  AT_ACTOR_ID,
  AT_LOG_BYTES,
  AT_REQUEST_ID,
  AT_SEQUENCE,
  AT_TIME,
  RECORD_HEADER_BYTES,
} from "../../wire/record.ts";
import type { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { COMMAND_HEADER_BYTES } from "../threads/actor.ts";
import type { Control } from "../threads/control.ts";
import type { Engine, OnReply, ReleasedTransaction } from "./engine.ts";
import { SequenceWaiters } from "./sequence-waiters.ts";

/** Requests on their way at once; one more is refused as overload. A power of two. */
export const MAX_PENDING = 65_536;

/**
 * So many commands wake their worker though more may come with the same look at the sockets: it works, and the journal
 * writes, while they are read. Fewer would cost more in waking than they save in waiting.
 */
const COMMANDS_PER_WAKE = 16;

/**
 * With fewer or more requests on their way the front does not look for answers: a single one passes threads that want the
 * processor that it would look on, and with many there is always something to do.
 */
const MIN_POLLED_REQUESTS = 2;
const MAX_POLLED_REQUESTS = 64;

/**
 * Of what the journal has released, so much is handed out in one turn of the event loop: a few hundred turns, or the open
 * orders of one account in a symbol, which take some milliseconds to print. Then others have their turn.
 */
const MAX_BYTES_PER_ITERATION = 1 << 18;

/** Also those that are only tried. Refused as overload while cancels, closing and prices still go through. */
const NEW_ORDERS: ReadonlySet<number> = new Set([
  PlaceOrder.code,
  PlaceTrigger.code,
  PlaceExtended.code,
  DryRunOrder.code,
]);
/** Refused when the disk is nearly full: what the exchange would have to keep. */
const STORES_MORE: ReadonlySet<number> = new Set([
  ...NEW_ORDERS,
  ...[AmendOrder.code, Deposit.code, Withdraw.code, OpenSession.code, CreateKey.code],
]);

export interface EngineClientOptions {
  readonly instruments: readonly Instrument[];
  readonly marginTable: MarginTable;
  readonly control: Control;
  /** What the journal releases. */
  readonly front: RingConsumer;
  readonly frontDoorbell: Doorbell;
  /** Rung by the store after each commit. */
  readonly indexDoorbell: Doorbell;
  readonly storeDoorbell: Doorbell;
  /**
   * New orders are refused as overload while so many requests are on their way, or while those that are, batches for one,
   * leave less than a quarter of the worker's ring: that bounds how long an order waits, and leaves room for cancels, for
   * prices, for ticks and for all that reduces. Default MAX_PENDING.
   */
  readonly maxInFlight?: number;
  /**
   * For so long behind the last thing that it sent or found the front looks for answers at each turn of its event loop,
   * before it waits to be woken: that takes as long as an order's way through the other threads. Default 0.
   */
  readonly pollMs?: number;
}

/** The ring of one actor worker. */
interface WorkerQueue {
  commands: RingProducer;
  /** Its worker has died: nothing is sent. */
  isDown: boolean;
  /** Commands that the worker has not been woken for. */
  unwokenCommands: number;
}

/**
 * The front's end of the ring road, whoever runs the other threads: sends commands into the workers' rings and hands out
 * what the journal releases. Single-threaded.
 */
export class EngineClient implements Engine {
  readonly instruments: readonly Instrument[];
  readonly marginTable: MarginTable;
  protected readonly control: Control;
  protected readonly frontDoorbell: Doorbell;
  protected readonly indexDoorbell: Doorbell;
  protected readonly storeDoorbell: Doorbell;
  hasDiskRoom = true;
  isStalled = false;
  /** No more requests. */
  protected stopping = false;
  private readonly front: RingConsumer;
  private readonly maxInFlight: number;
  private readonly lookMs: number;
  private readonly queues: WorkerQueue[] = [];
  /** The lane's number, by actor. */
  private readonly queueOfActor: (number | undefined)[] = [];

  private readonly pending: (OnReply | undefined)[] = new Array(MAX_PENDING).fill(undefined);
  /** Where each of them went: the lane's number. */
  private readonly pendingQueues = new Uint16Array(MAX_PENDING);
  private pendingCount = 0;
  private nextRequestId = 1;
  private released = 0;
  /** By actor. */
  private readonly releasedTimes: TimeMs[] = [];
  private readonly transaction: { -readonly [K in keyof ReleasedTransaction]: ReleasedTransaction[K] } & {
    messages: Message[];
  };
  private readonly pool = new MessagePool();
  private readonly releasedListeners: ((transaction: ReleasedTransaction) => void)[] = [];
  private readonly drainedListeners: (() => void)[] = [];
  private readonly releaseWaiters = new SequenceWaiters();
  private readonly indexWaiters = new SequenceWaiters();
  private willWakeWorkers = false;
  /** Nobody needs to wake the front. */
  private isPolling = false;
  private pollUntil = 0;
  /** The next turn of the event loop hands out more. */
  private willDrainLater = false;
  private rebuildCount = 0;

  constructor(parts: EngineClientOptions) {
    const {
      instruments,
      marginTable,
      control,
      front,
      frontDoorbell,
      indexDoorbell,
      storeDoorbell,
      maxInFlight = MAX_PENDING,
    } = parts;
    this.instruments = instruments;
    this.marginTable = marginTable;
    this.control = control;
    this.front = front;
    this.frontDoorbell = frontDoorbell;
    this.indexDoorbell = indexDoorbell;
    this.storeDoorbell = storeDoorbell;
    this.maxInFlight = maxInFlight;
    this.lookMs = parts.pollMs ?? 0;
    this.transaction = { actorId: 0, sequence: 0, time: 0, eventCount: 0, messages: [] };
  }

  /** A worker and the actors that are pinned to it. */
  addWorker(commands: RingProducer, actorIds: readonly number[]): void {
    for (const actorId of actorIds) this.queueOfActor[actorId] = this.queues.length;
    this.queues.push({ commands, isDown: false, unwokenCommands: 0 });
  }

  /** The worker of the lane (by the order of addLane) has died: its actors cannot be asked any more. */
  markDown(lane: number): void {
    this.queues[lane].isDown = true;
  }

  /** All that it had done has been handed out: whoever still waits for it hears that nothing was done. */
  failPending(lane: number): void {
    for (let slot = 0; slot < MAX_PENDING; slot++)
      if (this.pending[slot] !== undefined && this.pendingQueues[slot] === lane) this.takePending(slot)(null);
  }

  /** Its actors have been rebuilt by another thread, which takes its commands from a ring of its own. */
  markUp(lane: number, commands: RingProducer): void {
    Object.assign(this.queues[lane], { commands, isDown: false, unannounced: 0 });
    this.rebuildCount++;
  }

  isDown(actorId: number): boolean {
    return this.queues[this.queueNumber(actorId)].isDown;
  }

  get rebuilds(): number {
    return this.rebuildCount;
  }

  /** What was in the log at the start counts as released. */
  startAt(sequence: number): void {
    this.released = sequence;
    this.frontDoorbell.prepareSleep();
  }

  request(actorId: number, command: Message, onReply: OnReply): boolean {
    if (this.stopping || this.pendingCount === MAX_PENDING) return false;
    const lane = this.queueNumber(actorId);
    const isBusy = this.pendingCount >= this.maxInFlight || this.queues[lane].commands.isCrowded;
    if (isBusy && isAmong(NEW_ORDERS, command)) return false;
    if (!this.hasDiskRoom && isAmong(STORES_MORE, command)) return false;
    const requestId = this.freeRequestId();
    if (!this.send(lane, actorId, command, requestId)) return false;
    const slot = slotOf(requestId);
    this.pending[slot] = onReply;
    this.pendingQueues[slot] = lane;
    this.pendingCount++;
    this.nextRequestId = requestIdAfter(requestId);
    return true;
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

  releasedTime(actorId: number): TimeMs {
    return this.releasedTimes[actorId] ?? 0;
  }

  whenAllDurable(then: () => void): boolean {
    const sequence = this.control.lastSequence;
    if (sequence > this.released) return this.releaseWaiters.add(sequence, then);
    then();
    return true;
  }

  historyCaughtUp(): Promise<boolean> {
    const sequence = this.released;
    if (this.control.indexed >= sequence) return Promise.resolve(true);
    return new Promise((resolve) => {
      if (!this.indexWaiters.add(sequence, () => resolve(true))) resolve(false);
      this.awaitIndex();
    });
  }

  get inFlight(): number {
    return this.pendingCount;
  }

  get historyLag(): number {
    return Math.max(0, this.released - this.control.indexed);
  }

  /** Tells every actor that time passes, and hears from each how far it has come: see releasedTime. */
  tick(): void {
    this.queueOfActor.forEach((lane, actorId) => {
      if (lane !== undefined) this.send(lane, actorId, { type: Tick.code }, 0);
    });
  }

  /** Past those that wait for a thread that hangs: nobody else waits for it. */
  private freeRequestId(): number {
    while (this.pending[slotOf(this.nextRequestId)] !== undefined)
      this.nextRequestId = requestIdAfter(this.nextRequestId);
    return this.nextRequestId;
  }

  private queueNumber(actorId: number): number {
    return must(this.queueOfActor[actorId], "the worker of an actor");
  }

  private send(laneNumber: number, actorId: number, command: Message, requestId: number): boolean {
    const lane = this.queues[laneNumber];
    if (lane.isDown) return false;
    const { commands } = lane;
    const at = commands.reserve(COMMAND_HEADER_BYTES + maxMessageBytes(command));
    if (at < 0) return false;
    commands.view.setUint32(at, requestId, true);
    commands.view.setUint32(at + 4, actorId, true);
    const end = encodeMessage(commands.view, commands.bytes, at + COMMAND_HEADER_BYTES, command);
    commands.commit(end - at);
    if (++lane.unwokenCommands === COMMANDS_PER_WAKE) wakeWorker(lane);
    else if (!this.willWakeWorkers) {
      this.willWakeWorkers = true;
      setImmediate(this.wakeWorkers);
    }
    return true;
  }

  /** For all requests that came in with one look at the sockets: waking a thread costs more than a request does. */
  private readonly wakeWorkers = (): void => {
    this.willWakeWorkers = false;
    for (const lane of this.queues) if (lane.unwokenCommands > 0) wakeWorker(lane);
    if (this.lookMs === 0 || !this.isWorthPolling) return;
    this.pollUntil = performance.now() + this.lookMs;
    if (this.isPolling) return;
    this.isPolling = true;
    this.frontDoorbell.cancelSleep();
    setImmediate(this.poll);
  };

  private get isWorthPolling(): boolean {
    return this.pendingCount >= MIN_POLLED_REQUESTS && this.pendingCount <= MAX_POLLED_REQUESTS;
  }

  private readonly poll = (): void => {
    if (this.dispatchSome(MAX_BYTES_PER_ITERATION) > 0) this.pollUntil = performance.now() + this.lookMs;
    if (this.isWorthPolling && performance.now() < this.pollUntil) {
      setImmediate(this.poll);
      return;
    }
    this.isPolling = false;
    this.drain();
  };

  /** Hands out what the journal has released, very much in several turns of the event loop; sleeps only when nothing is left. */
  drain(mostBytes = MAX_BYTES_PER_ITERATION): void {
    const { front, frontDoorbell } = this;
    let bytes = 0;
    do {
      frontDoorbell.cancelSleep();
      bytes += this.dispatchSome(mostBytes - bytes);
      if (this.isPolling) return;
      if (bytes >= mostBytes) return this.drainLater();
      frontDoorbell.prepareSleep();
    } while (front.peek() >= 0);
  }

  private drainLater(): void {
    if (this.willDrainLater) return;
    this.willDrainLater = true;
    setImmediate(() => {
      this.willDrainLater = false;
      this.drain();
    });
  }

  /** Returns how many bytes it was. */
  private dispatchSome(mostBytes: number): number {
    const { front } = this;
    let bytes = 0;
    let count = 0;
    for (let at = front.peek(); at >= 0 && bytes < mostBytes; at = front.peek()) {
      bytes += front.length;
      this.dispatch(at, front.length);
      front.next();
      if (++count % 64 === 0) front.release();
    }
    front.release();
    if (count > 0) for (const listener of this.drainedListeners) listener();
    return bytes;
  }

  private dispatch(at: number, length: number): void {
    const { transaction, pool } = this;
    const { view, bytes } = this.front;
    const logBytes = view.getUint32(at + AT_LOG_BYTES, true);
    const end = at + length;
    pool.reset(transaction.messages);
    transaction.messages.length = 0;
    transaction.actorId = view.getUint16(at + AT_ACTOR_ID, true);
    transaction.sequence = view.getFloat64(at + AT_SEQUENCE, true);
    transaction.time = view.getFloat64(at + AT_TIME, true);
    // An actor's turns come in their order, and time in them only grows.
    this.releasedTimes[transaction.actorId] = transaction.time;
    transaction.eventCount = 0;
    for (let offset = at + RECORD_HEADER_BYTES; offset < end; offset += messageBytes(view, offset)) {
      if (offset < at + logBytes) transaction.eventCount++;
      transaction.messages.push(pool.decode(view, bytes, offset));
    }
    if (logBytes > 0) {
      assert(transaction.sequence === this.released + 1, `released ${transaction.sequence} after ${this.released}`);
      this.released = transaction.sequence;
      for (const listener of this.releasedListeners) listener(transaction);
    }
    const requestId = view.getUint32(at + AT_REQUEST_ID, true);
    if (requestId !== 0) this.takePending(slotOf(requestId))(transaction);
    if (!this.releaseWaiters.isEmpty) this.releaseWaiters.reach(this.released);
  }

  private takePending(slot: number): OnReply {
    const onReply = must(this.pending[slot], "a reply that nobody waits for");
    this.pending[slot] = undefined;
    this.pendingCount--;
    return onReply;
  }

  /** Wakes the store, and whoever waits once it has caught up. */
  awaitIndex(): void {
    this.indexDoorbell.prepareSleep();
    this.indexWaiters.reach(this.control.indexed);
    if (this.indexWaiters.isEmpty) this.indexDoorbell.cancelSleep();
    else this.storeDoorbell.wake();
  }
}

const slotOf = (requestId: number): number => requestId & (MAX_PENDING - 1);

/** 0 stands for nobody. */
const requestIdAfter = (requestId: number): number => (requestId === 0xffff_ffff ? 1 : requestId + 1);

/** Wakes the worker if it sleeps. */
function wakeWorker(lane: WorkerQueue): void {
  lane.unwokenCommands = 0;
  lane.commands.wake();
}

/** A batch is what any of its items is. */
const isAmong = (codes: ReadonlySet<number>, command: Message): boolean =>
  command.type === OrderBatch.code
    ? (command as MessageOf<typeof OrderBatch>).items.some(({ type }) => codes.has(type))
    : codes.has(command.type);
