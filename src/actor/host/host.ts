import type { Config } from "../../config.ts";
import { NO_STRIPE } from "../../core/accounts/margin-memory.ts";
import { MarginTable } from "../../core/accounts/margin-table.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { compileInstrument } from "../../core/protocol/instrument.ts";
import { logOf } from "../../store/files/data-folder.ts";
import { DiskRoom } from "../../store/files/disk-room.ts";
import type { LogTruncation } from "../../store/log/log.ts";
import { allocateRing, Doorbell, RingConsumer } from "../../wire/ring.ts";
import { EngineClient } from "../engine/engine-client.ts";
import { Control, STOP_ACTORS, STOP_JOURNAL, STOP_STORE } from "../threads/control.ts";
import type { JournalReady, JournalTask, StoreReady, StoreTask, ThreadTask } from "../threads/thread-mains.ts";
import { ActorThreads, type RebuildNote } from "./actor-threads.ts";
import { StallWatch } from "./stall-watch.ts";
import { type Spawned, spawnThread, stopThreads, type Thread } from "./thread.ts";

const DRAIN_BEFORE_STOP_MS = 3000;
const PROGRESS_INTERVAL_MS = 200;
const DISK_INTERVAL_MS = 250;
/** About what an order takes when nothing else is under way. */
const LOOK_MS = 0.2;

/** What the host tells whoever starts it, while actors recover. */
export interface Progress {
  /** Turns that the workers have read of the log. */
  records: number;
  /** Turns that they will have read: each worker reads the log behind the oldest snapshot of its actors. */
  total: number;
  elapsedMs: number;
}

export interface HostOptions {
  /** The module that actor threads run, in the place of workers/actor: for tests. */
  actorEntry?: string;
  /** How often it is looked whether an actor thread hangs: for tests. */
  watchEveryMs?: number;
}

/** One has an actor at least: a symbol or the ledger. */
const workerCountOf = ({ workers, instruments }: Config): number => Math.min(workers, instruments.length + 1);

/** Starts the threads, pins the actors to them and stops them: the ring road as a whole. Runs on the main thread. */
export class Host extends EngineClient {
  /** Called if a thread dies and the process cannot go on: a restart recovers. */
  onFatal: (error: Error) => void = () => {};
  /** Called when the disk has become too full for new orders, and when it no longer is (`hasDiskRoom`). */
  onDiskRoom: (freeBytes: number) => void = () => {};
  /** Called when the disk no longer answers, and when it does again (`isStalled`). */
  onStall: () => void = () => {};
  /** Called when an actor thread dies, with its error, and when all of its actors have been rebuilt. */
  onRebuild: (note: RebuildNote) => void = () => {};
  /** What the start has cut off the log's end, or null. */
  logTruncation: LogTruncation | null = null;

  private readonly config: Config;
  private readonly options: HostOptions;
  private readonly frontBuffer: SharedArrayBuffer;
  private actorThreads: ActorThreads | null = null;
  private journal: Thread | null = null;
  private store: Thread | null = null;
  private readonly disk: DiskRoom;
  private readonly stallWatch = new StallWatch(this.control);
  private ticker: NodeJS.Timeout | null = null;
  private diskWatch: NodeJS.Timeout | null = null;

  private constructor(config: Config, options: HostOptions) {
    const frontBuffer = allocateRing(config.ringBytes);
    super({
      instruments: config.instruments.map(compileInstrument),
      marginTable: MarginTable.allocate(config.maxAccounts, workerCountOf(config), NO_STRIPE),
      control: new Control(),
      front: new RingConsumer(frontBuffer),
      frontDoorbell: new Doorbell(),
      indexDoorbell: new Doorbell(),
      storeDoorbell: new Doorbell(),
      maxInFlight: config.maxInFlight,
      pollMs: LOOK_MS,
    });
    this.config = config;
    this.disk = new DiskRoom(config.data, config.minFreeBytes);
    this.options = options;
    this.frontBuffer = frontBuffer;
  }

  /** Resolves when every actor has recovered. The store opens first, since it knows what the log may not lose. */
  static async start(
    config: Config,
    onProgress: (progress: Progress) => void,
    options: HostOptions = {},
  ): Promise<Host> {
    const host = new Host(config, options);
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
    this.diskWatch = setInterval(() => {
      try {
        this.watchDisk();
      } catch (error) {
        this.onFatal(new Error(`${this.config.data} has gone: ${(error as Error).message}`, { cause: error }));
      }
    }, DISK_INTERVAL_MS);
  }

  /** Answers what is on its way, then stops the threads in the order in which work flows. Nothing acknowledged is lost. */
  async stop(): Promise<void> {
    this.stopping = true;
    for (const timer of [this.ticker, this.diskWatch]) if (timer !== null) clearInterval(timer);
    const deadline = performance.now() + DRAIN_BEFORE_STOP_MS;
    while (this.inFlight > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    const { control, journal, store } = this;
    await stopThreads(control, STOP_ACTORS, this.actorThreads?.living ?? []);
    await stopThreads(control, STOP_JOURNAL, journal === null ? [] : [journal]);
    this.drain(Number.POSITIVE_INFINITY);
    await stopThreads(control, STOP_STORE, store === null ? [] : [store]);
  }

  private watchDisk(): void {
    const before = this.hasDiskRoom;
    this.hasDiskRoom = this.disk.isEnough();
    if (this.hasDiskRoom !== before) this.onDiskRoom(this.disk.freeBytes);
    const wasStalled = this.isStalled;
    this.isStalled = this.stallWatch.check();
    if (this.isStalled !== wasStalled) this.onStall();
  }

  private async startThreads(onProgress: (progress: Progress) => void): Promise<void> {
    const { config, control, storeDoorbell } = this;
    const actorIds = [LEDGER, ...this.instruments.map((instrument) => instrument.id)];
    const storeRing = allocateRing(config.ringBytes);
    const workerCount = workerCountOf(config);
    const workerDoorbells = Array.from({ length: workerCount }, () => new Doorbell());
    const outputs = Array.from({ length: workerCount }, () => allocateRing(config.ringBytes));
    const journalDoorbell = new Doorbell();

    const store = this.spawn<StoreTask>("store", storeDoorbell, {
      dataDir: config.data,
      input: storeRing,
      frontDoorbell: this.indexDoorbell.buffer,
      actorIds,
      instruments: [...config.instruments],
      keepSegments: config.keepSegments,
      minFreeBytes: config.minFreeBytes / 2,
    });
    this.store = store.thread;
    const { storedThrough } = await store.ready<StoreReady>();
    store.thread.port.on("message", () => this.awaitIndex());

    const journal = this.spawn<JournalTask>("journal", journalDoorbell, {
      logDir: logOf(config.data),
      segmentBytes: config.segmentBytes,
      protectedThrough: storedThrough,
      inputs: outputs,
      front: this.frontBuffer,
      frontDoorbell: this.frontDoorbell.buffer,
      store: storeRing,
      storeDoorbell: storeDoorbell.buffer,
    });
    this.journal = journal.thread;
    const { lastSequence, truncation } = await journal.ready<JournalReady>();
    this.logTruncation = truncation;
    journal.thread.port.on("message", () => this.drain());
    this.startAt(lastSequence);

    const workers = workerDoorbells.map((doorbell, index) => ({
      actorIds: actorIds.filter((_, place) => place % workerCount === index),
      out: outputs[index],
      doorbell,
    }));
    this.actorThreads = new ActorThreads({
      ...{ config, control, workers, journalDoorbell },
      marginTable: this.marginTable,
      engine: this,
      front: this.frontBuffer,
      store: storeRing,
      entry: this.options.actorEntry ?? "actor",
      watchEveryMs: this.options.watchEveryMs,
      onRebuild: (note) => this.onRebuild(note),
      onFatal: (error) => this.onFatal(error),
    });
    const begunAt = performance.now();
    const reporting = setInterval(() => {
      const tails = workers.map(
        (worker) => lastSequence - Math.min(...worker.actorIds.map((id) => control.storedSnapshotOf(id))),
      );
      const total = tails.reduce((sum, tail) => sum + tail, 0);
      onProgress({ records: control.recovered, total, elapsedMs: performance.now() - begunAt });
    }, PROGRESS_INTERVAL_MS);
    try {
      // The other threads work already, and nothing else hears yet when one of them dies.
      await Promise.race([this.actorThreads.start(), store.thread.pinned.done, journal.thread.pinned.done]);
    } finally {
      clearInterval(reporting);
    }
  }

  /** Without it nothing can go on. */
  private spawn<T extends ThreadTask>(name: string, doorbell: Doorbell, task: Omit<T, keyof ThreadTask>): Spawned {
    return spawnThread<T>(name, this.control, doorbell, task, (error) =>
      this.onFatal(new Error(`the ${name} thread died: ${error.message}`, { cause: error })),
    );
  }
}
