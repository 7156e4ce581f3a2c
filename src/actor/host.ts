import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { Config } from "../config.ts";
import { AccountCells } from "../core/cells.ts";
import { compileInstrument } from "../core/instrument.ts";
import { LEDGER } from "../core/messages.ts";
import { DiskRoom } from "../store/disk-room.ts";
import { allocateRing, Bell, RingConsumer, RingProducer } from "../wire/ring.ts";
import { Control, STOP_ACTORS, STOP_JOURNAL, STOP_STORE } from "./control.ts";
import { type PinnedThread, pinThread } from "./pools.ts";
import { RingRoad } from "./ring-road.ts";
import type { ActorTask, JournalReady, JournalTask, StoreReady, StoreTask, ThreadTask } from "./threads.ts";

const DRAIN_BEFORE_STOP_MS = 3000;
const PROGRESS_INTERVAL_MS = 200;
const DISK_INTERVAL_MS = 250;

/** What the host tells whoever starts it, while actors recover. */
export interface Progress {
  /** Turns that the workers have read of the log. */
  records: number;
  /** Turns that they will have read: each worker reads the log behind the oldest snapshot of its actors. */
  total: number;
  elapsedMs: number;
}

interface Thread {
  readonly pinned: PinnedThread;
  readonly port: MessagePort;
  readonly bell: Bell;
}

/** Starts the threads, pins the actors to them and stops them: the ring road as a whole. Runs on the main thread. */
export class Host extends RingRoad {
  /** Called once if a thread dies: the process cannot go on, and a restart recovers. */
  onFatal: (error: Error) => void = () => {};
  /** Called when the disk has become too full for new orders, and when it no longer is (`hasDiskRoom`). */
  onDiskRoom: (freeBytes: number) => void = () => {};

  private readonly config: Config;
  private readonly frontBuffer: SharedArrayBuffer;
  private readonly workers: Thread[] = [];
  private journal: Thread | null = null;
  private store: Thread | null = null;
  private readonly disk: DiskRoom;
  private ticker: NodeJS.Timeout | null = null;
  private diskWatch: NodeJS.Timeout | null = null;

  private constructor(config: Config) {
    const frontBuffer = allocateRing(config.ringBytes);
    super({
      instruments: config.instruments.map(compileInstrument),
      cells: AccountCells.allocate(config.maxAccounts),
      control: new Control(),
      front: new RingConsumer(frontBuffer),
      frontBell: new Bell(),
      indexBell: new Bell(),
      storeBell: new Bell(),
      maxInFlight: config.maxInFlight,
    });
    this.config = config;
    this.disk = new DiskRoom(config.data, config.minFreeBytes);
    this.frontBuffer = frontBuffer;
  }

  /** Resolves when every actor has recovered. The store opens first, since it knows what the log may not lose. */
  static async start(config: Config, onProgress: (progress: Progress) => void): Promise<Host> {
    const host = new Host(config);
    if (!host.disk.isEnough())
      throw new Error(
        `${config.data}: no space left: ${host.disk.freeBytes} bytes are free, and minFreeBytes asks for ${config.minFreeBytes}`,
      );
    await host.startThreads(onProgress);
    return host;
  }

  /** Time begins to pass for the actors: call it when everything else is ready. */
  startTicking(): void {
    this.ticker = setInterval(() => this.tick(), this.config.tickMs);
    this.diskWatch = setInterval(() => this.watchDisk(), DISK_INTERVAL_MS);
  }

  /** Answers what is on its way, then stops the threads in the order in which work flows. Nothing acknowledged is lost. */
  async stop(): Promise<void> {
    this.stopping = true;
    for (const timer of [this.ticker, this.diskWatch]) if (timer !== null) clearInterval(timer);
    const deadline = Date.now() + DRAIN_BEFORE_STOP_MS;
    while (this.inFlight > 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    await this.stopThreads(STOP_ACTORS, this.workers);
    await this.stopThreads(STOP_JOURNAL, this.journal === null ? [] : [this.journal]);
    this.drain();
    await this.stopThreads(STOP_STORE, this.store === null ? [] : [this.store]);
  }

  private watchDisk(): void {
    const before = this.hasDiskRoom;
    this.hasDiskRoom = this.disk.isEnough();
    if (this.hasDiskRoom !== before) this.onDiskRoom(this.disk.freeBytes);
  }

  private async startThreads(onProgress: (progress: Progress) => void): Promise<void> {
    const { config, control, storeBell } = this;
    const logDir = `${config.data}/log`;
    const actorIds = [LEDGER, ...this.instruments.map((instrument) => instrument.id)];
    const storeRing = allocateRing(config.ringBytes);
    const workerCount = Math.min(config.workers, actorIds.length);
    const workerBells = Array.from({ length: workerCount }, () => new Bell());
    const outputs = Array.from({ length: workerCount }, () => allocateRing(config.ringBytes));
    const journalBell = new Bell();

    const store = this.spawn<StoreTask>("store", storeBell, {
      dataDir: config.data,
      logDir,
      input: storeRing,
      frontBell: this.indexBell.buffer,
      actorIds,
      instruments: [...config.instruments],
      keepSegments: config.keepSegments,
      minFreeBytes: config.minFreeBytes / 2,
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
    journal.thread.port.on("message", () => this.drain());
    this.startAt(lastSequence);

    const pinned = workerBells.map((_, index) => actorIds.filter((_, place) => place % workerCount === index));
    const starting = workerBells.map((bell, index) => {
      const own = pinned[index];
      const commands = allocateRing(config.ringBytes);
      const worker = this.spawn<ActorTask>("actor", bell, {
        dataDir: config.data,
        logDir,
        commands,
        out: outputs[index],
        journalBell: journalBell.buffer,
        cells: this.cells.buffer,
        actorIds: own,
        instruments: [...config.instruments],
        ledger: { faucetCapQuanta: config.faucetCapQuanta, withdrawalDelayMs: config.withdrawalDelayMs },
        symbols: { maxIndexAgeMs: config.maxIndexAgeMs },
        snapshotIntervalMs: config.snapshotIntervalMs,
      });
      this.workers.push(worker.thread);
      this.addLane(new RingProducer(commands, bell), own);
      return worker.ready();
    });
    const begunAt = performance.now();
    const reporting = setInterval(() => {
      // Known once the actors have loaded their snapshots.
      const tails = pinned.map((own) => lastSequence - Math.min(...own.map((actorId) => control.snapshotOf(actorId))));
      const total = tails.reduce((sum, tail) => sum + tail, 0);
      onProgress({ records: control.recovered, total, elapsedMs: performance.now() - begunAt });
    }, PROGRESS_INTERVAL_MS);
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
    const die = (error: Error): void =>
      this.onFatal(new Error(`the ${name} thread died: ${error.message}`, { cause: error }));
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
