import { MessageChannel, type MessagePort } from "node:worker_threads";
import { assert, must } from "../assert.ts";
import type { Config } from "../config.ts";
import { AccountCells } from "../core/cells.ts";
import { compileInstrument, type Instrument } from "../core/instrument.ts";
import { LEDGER, Tick } from "../core/messages.ts";
import type { Message } from "../core/shape.ts";
import { encodeMessage, MessagePool, maxMessageBytes, messageBytes } from "../wire/codec.ts";
import { AT_ACTOR_ID, AT_LOG_BYTES, AT_REQUEST_ID, AT_SEQUENCE, AT_TIME, RECORD_HEADER_BYTES } from "../wire/record.ts";
import { allocateRing, Bell, RingConsumer, RingProducer } from "../wire/ring.ts";
import { COMMAND_HEADER_BYTES } from "./actor.ts";
import { Control, STOP_ACTORS, STOP_JOURNAL, STOP_STORE } from "./control.ts";
import { type PinnedThread, pinThread } from "./pools.ts";
import type { Released, Road } from "./road.ts";
import type { ActorTask, JournalReady, JournalTask, StoreReady, StoreTask, ThreadTask } from "./threads.ts";

/** Requests on their way at once; one more is refused as overload. A power of two. */
const MAX_PENDING = 65_536;
const DRAIN_BEFORE_STOP_MS = 3000;

type OnReply = (turn: Released) => void;

/** What the host tells whoever starts it, while actors recover. */
export interface Progress {
  records: number;
  /** Records in the log's tail that the slowest worker may have to read. */
  total: number;
}

interface Thread {
  readonly pinned: PinnedThread;
  readonly port: MessagePort;
  readonly bell: Bell;
}

interface Worker extends Thread {
  readonly commands: RingProducer;
  /** Has commands that it has not been woken for. */
  unannounced: boolean;
}

/**
 * The front's end of the ring road: starts the threads and pins the actors to them, sends commands, and hands out what
 * the journal releases. Everything here runs on the main thread.
 */
export class Host implements Road {
  readonly instruments: readonly Instrument[];
  readonly cells: AccountCells;
  /** Called once if a thread dies: the process cannot go on, and a restart recovers. */
  onFatal: (error: Error) => void = () => {};

  private readonly control = new Control();
  private readonly config: Config;
  private readonly workerOfActor = new Map<number, Worker>();
  private readonly workers: Worker[] = [];
  private journal: Thread | null = null;
  private store: Thread | null = null;
  private readonly frontBuffer: SharedArrayBuffer;
  private readonly front: RingConsumer;
  private readonly frontBell = new Bell();
  private readonly indexBell = new Bell();

  private readonly pending: (OnReply | undefined)[] = new Array(MAX_PENDING).fill(undefined);
  private pendingCount = 0;
  private nextRequestId = 1;
  private released = 0;
  private readonly turn: { -readonly [K in keyof Released]: Released[K] } & { messages: Message[] };
  private readonly pool = new MessagePool();
  private readonly releasedListeners: ((turn: Released) => void)[] = [];
  private readonly drainedListeners: (() => void)[] = [];
  private readonly waiters: { sequence: number; run: () => void }[] = [];
  private readonly indexWaiters: { sequence: number; run: () => void }[] = [];
  private ticker: NodeJS.Timeout | null = null;
  private ringing = false;
  private stopping = false;

  private constructor(config: Config) {
    this.config = config;
    this.instruments = config.instruments.map(compileInstrument);
    this.cells = AccountCells.allocate(config.maxAccounts);
    this.frontBuffer = allocateRing(config.ringBytes);
    this.front = new RingConsumer(this.frontBuffer);
    this.turn = { actorId: 0, sequence: 0, time: 0, eventCount: 0, messages: [] };
  }

  /** Resolves when every actor has recovered. The store opens first, since it knows what the log may not lose. */
  static async start(config: Config, onProgress: (progress: Progress) => void): Promise<Host> {
    const host = new Host(config);
    await host.startThreads(onProgress);
    return host;
  }

  /** Time begins to pass for the actors: call it when everything else is ready. */
  startTicking(): void {
    this.ticker = setInterval(() => {
      for (const actorId of this.workerOfActor.keys()) this.send(actorId, { type: Tick.code }, 0);
    }, this.config.tickMs);
  }

  ask(actorId: number, command: Message, onReply: OnReply): boolean {
    const requestId = this.nextRequestId;
    const slot = requestId & (MAX_PENDING - 1);
    if (this.stopping || this.pending[slot] !== undefined) return false;
    if (!this.send(actorId, command, requestId)) return false;
    this.pending[slot] = onReply;
    this.pendingCount++;
    this.nextRequestId = requestId === 0xffff_ffff ? 1 : requestId + 1;
    return true;
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

  afterEverything(then: () => void): void {
    const sequence = this.control.lastTicket;
    if (sequence <= this.released) then();
    else this.waiters.push({ sequence, run: then });
  }

  historyCaughtUp(): Promise<void> {
    const sequence = this.released;
    if (this.control.indexed >= sequence) return Promise.resolve();
    return new Promise((resolve) => {
      this.indexWaiters.push({ sequence, run: resolve });
      this.awaitIndex();
    });
  }

  /** Requests on their way: for metrics and for a graceful stop. */
  get inFlight(): number {
    return this.pendingCount;
  }

  /** Answers what is on its way, then stops the threads in the order in which work flows. Nothing acknowledged is lost. */
  async stop(): Promise<void> {
    this.stopping = true;
    if (this.ticker !== null) clearInterval(this.ticker);
    const deadline = Date.now() + DRAIN_BEFORE_STOP_MS;
    while (this.pendingCount > 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    await this.stopThreads(STOP_ACTORS, this.workers);
    await this.stopThreads(STOP_JOURNAL, this.journal === null ? [] : [this.journal]);
    this.drain();
    await this.stopThreads(STOP_STORE, this.store === null ? [] : [this.store]);
  }

  private send(actorId: number, command: Message, requestId: number): boolean {
    const worker = must(this.workerOfActor.get(actorId), `actor ${actorId}`);
    const { commands } = worker;
    const at = commands.reserve(COMMAND_HEADER_BYTES + maxMessageBytes(command));
    if (at < 0) return false;
    commands.view.setUint32(at, requestId, true);
    commands.view.setUint32(at + 4, actorId, true);
    const end = encodeMessage(commands.view, commands.bytes, at + COMMAND_HEADER_BYTES, command);
    commands.commit(end - at);
    worker.unannounced = true;
    if (!this.ringing) {
      this.ringing = true;
      setImmediate(this.ringWorkers);
    }
    return true;
  }

  /** Once for all requests that came in with one look at the sockets: waking a thread costs more than a request does. */
  private readonly ringWorkers = (): void => {
    this.ringing = false;
    for (const worker of this.workers) {
      if (!worker.unannounced) continue;
      worker.unannounced = false;
      worker.commands.ring();
    }
  };

  /** Hands out everything that the journal has released; sleeps again only when there is nothing left. */
  private drain(): void {
    const { front, frontBell } = this;
    do {
      frontBell.awake();
      let count = 0;
      for (let at = front.peek(); at >= 0; at = front.peek()) {
        this.handOut(at, front.length);
        front.next();
        if (++count % 64 === 0) front.release();
      }
      front.release();
      if (count > 0) for (const listener of this.drainedListeners) listener();
      frontBell.announce();
    } while (front.peek() >= 0);
  }

  private handOut(at: number, length: number): void {
    const { turn, pool } = this;
    const { view, bytes } = this.front;
    const logBytes = view.getUint32(at + AT_LOG_BYTES, true);
    const end = at + length;
    pool.reset(turn.messages);
    turn.messages.length = 0;
    turn.actorId = view.getUint16(at + AT_ACTOR_ID, true);
    turn.sequence = view.getFloat64(at + AT_SEQUENCE, true);
    turn.time = view.getFloat64(at + AT_TIME, true);
    turn.eventCount = 0;
    for (let offset = at + RECORD_HEADER_BYTES; offset < end; offset += messageBytes(view, offset)) {
      if (offset < at + logBytes) turn.eventCount++;
      turn.messages.push(pool.decode(view, bytes, offset));
    }
    if (logBytes > 0) {
      assert(turn.sequence === this.released + 1, `released ${turn.sequence} after ${this.released}`);
      this.released = turn.sequence;
      for (const listener of this.releasedListeners) listener(turn);
    }
    const requestId = view.getUint32(at + AT_REQUEST_ID, true);
    if (requestId !== 0) {
      const slot = requestId & (MAX_PENDING - 1);
      const onReply = must(this.pending[slot], "a reply that nobody waits for");
      this.pending[slot] = undefined;
      this.pendingCount--;
      onReply(turn);
    }
    while (this.waiters.length > 0 && this.waiters[0].sequence <= this.released) this.waiters.shift()?.run();
  }

  /** Wakes the store, and whoever waits once it has caught up. */
  private awaitIndex(): void {
    this.indexBell.announce();
    const { indexed } = this.control;
    for (let i = this.indexWaiters.length - 1; i >= 0; i--)
      if (this.indexWaiters[i].sequence <= indexed) this.indexWaiters.splice(i, 1)[0].run();
    if (this.indexWaiters.length > 0) this.store?.bell.ring();
    else this.indexBell.awake();
  }

  private async startThreads(onProgress: (progress: Progress) => void): Promise<void> {
    const { config, control } = this;
    const logDir = `${config.data}/log`;
    const actorIds = [LEDGER, ...this.instruments.map((instrument) => instrument.id)];
    const storeRing = allocateRing(config.ringBytes);
    const workerCount = Math.min(config.workers, actorIds.length);
    const workerBells = Array.from({ length: workerCount }, () => new Bell());
    const outputs = Array.from({ length: workerCount }, () => allocateRing(config.ringBytes));
    const storeBell = new Bell();
    const journalBell = new Bell();

    const store = this.spawn<StoreTask>("store", storeBell, {
      dataDir: config.data,
      logDir,
      input: storeRing,
      frontBell: this.indexBell.buffer,
      actorIds,
      instruments: [...config.instruments],
      keepSegments: config.keepSegments,
    });
    this.store = store.thread;
    const { indexedSequence } = await store.ready<StoreReady>();
    store.thread.port.on("message", () => this.awaitIndex());

    const journal = this.spawn<JournalTask>("journal", journalBell, {
      logDir,
      segmentBytes: config.segmentBytes,
      protectedThrough: indexedSequence,
      inputs: outputs,
      front: this.frontBuffer,
      frontBell: this.frontBell.buffer,
      store: storeRing,
      storeBell: storeBell.buffer,
    });
    this.journal = journal.thread;
    const { lastSequence } = await journal.ready<JournalReady>();
    this.released = lastSequence;
    journal.thread.port.on("message", () => this.drain());
    this.frontBell.announce();

    const starting = workerBells.map((bell, index) => {
      const commands = allocateRing(config.ringBytes);
      const worker = this.spawn<ActorTask>("actor", bell, {
        dataDir: config.data,
        logDir,
        commands,
        out: outputs[index],
        journalBell: journalBell.buffer,
        cells: this.cells.buffer,
        actorIds: actorIds.filter((_, place) => place % workerCount === index),
        instruments: [...config.instruments],
        ledger: { faucetCapQuanta: config.faucetCapQuanta, withdrawalDelayMs: config.withdrawalDelayMs },
        snapshotIntervalMs: config.snapshotIntervalMs,
      });
      this.workers.push({ ...worker.thread, commands: new RingProducer(commands, bell), unannounced: false });
      return worker.ready();
    });
    for (const [place, actorId] of actorIds.entries())
      this.workerOfActor.set(actorId, this.workers[place % workerCount]);
    const total = lastSequence - Math.min(...actorIds.map((actorId) => control.snapshotOf(actorId)));
    const reporting = setInterval(() => onProgress({ records: control.recovered, total }), 200);
    try {
      await Promise.all(starting);
    } finally {
      clearInterval(reporting);
    }
  }

  /** `ready` resolves with the first thing it says. */
  private spawn<T extends ThreadTask>(
    name: string,
    bell: Bell,
    rest: Omit<T, keyof ThreadTask>,
  ): { thread: Thread; ready: <R>() => Promise<R> } {
    const { port1, port2 } = new MessageChannel();
    const task = { ...rest, port: port2, control: this.control.buffer, bell: bell.buffer };
    const die = (error: unknown): void => this.onFatal(new Error(`the ${name} thread died`, { cause: error }));
    const pinned = pinThread(name, task, port2, die);
    pinned.done.catch(die);
    const first = new Promise((resolve) => port1.once("message", resolve));
    const thread: Thread = { pinned, port: port1, bell };
    const died = pinned.done.then(() => {
      throw new Error(`the ${name} thread ended before it was ready`);
    });
    return { thread, ready: <R>() => Promise.race([first, died]) as Promise<R> };
  }

  private async stopThreads(phase: number, threads: readonly Thread[]): Promise<void> {
    this.control.phase = phase;
    for (const thread of threads) thread.bell.ring();
    await Promise.all(threads.map((thread) => thread.pinned.done));
    for (const thread of threads) {
      thread.port.close();
      await thread.pinned.close();
    }
  }
}
