import { must } from "../../assert.ts";
import type { Config } from "../../config.ts";
import { NO_STRIPE } from "../../core/accounts/margin-memory.ts";
import { MarginTable } from "../../core/accounts/margin-table.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { compileInstrument } from "../../core/protocol/instrument.ts";
import type { CutTail } from "../../replication/reconcile.ts";
import { refuseAlone, refuseOtherStream } from "../../replication/replication-marker.ts";
import type { LeaseEntry } from "../../replication/stream.ts";
import { ClientIdFilter } from "../../store/database/client-id-filter.ts";
import { NO_PAST_IDS, type SharedPastIds } from "../../store/database/past-client-ids.ts";
import { checkPastRows } from "../../store/database/past-rows-check.ts";
import { databaseFileOf, logOf } from "../../store/files/data-folder.ts";
import { DiskRoom, type FreeRoom } from "../../store/files/disk-room.ts";
import { DISK, type FileIdentity, requireSameFile } from "../../store/files/files.ts";
import { DatabaseCorruptError, readGenesis } from "../../store/files/genesis.ts";
import type { LogTruncation } from "../../store/log/log.ts";
import { allocateRing, Doorbell, RingConsumer } from "../../wire/ring.ts";
import { SharedBatch } from "../../wire/shared-batch.ts";
import type { ReplicationStatus } from "../engine/engine.ts";
import { EngineClient } from "../engine/engine-client.ts";
import { Control, STOP_ACTORS, STOP_JOURNAL, STOP_STORE } from "../threads/control.ts";
import { MAX_BATCH_BYTES } from "../threads/journal.ts";
import type { JournalReady, JournalTask } from "../threads/journal-main.ts";
import type { LostTransactions, ReplicatorMessage, ReplicatorTask } from "../threads/replicator-main.ts";
import type { StoreMessage, StoreReady, StoreTask } from "../threads/store-main.ts";
import type { ThreadTask } from "../threads/thread-task.ts";
import { ActorThreads, type RebuildNote } from "./actor-threads.ts";
import type { RebuildWorker } from "./rebuild.ts";
import { StallWatch } from "./stall-watch.ts";
import { Standbys } from "./standbys.ts";
import { type Spawned, spawnThread, stopThreads, type Thread } from "./thread.ts";

const DRAIN_BEFORE_STOP_MS = 3000;
const PROGRESS_INTERVAL_MS = 200;
const DISK_INTERVAL_MS = 250;
const RETRY_MS = 10;
/** Of DISK_INTERVAL_MS: two seconds, twenty times as long as a sync on a slow disk. */
const LOG_STALL_CHECKS = 8;
/** Of DISK_INTERVAL_MS: half a minute. A commit of the index with a large snapshot may take seconds. */
const HISTORY_STALL_CHECKS = 120;
/** New segments of the log need a file each until old ones are removed. */
const MIN_FREE_FILES = 32;

/** How far recovery has come. */
export interface Progress {
  /** Transactions that the workers have read from the log. */
  records: number;
  /** Transactions to read in all. Each worker reads the log from the oldest snapshot of its actors. */
  total: number;
  elapsedMs: number;
}

export interface HostOptions {
  /** The module that actor threads run instead of workers/actor: for tests. */
  actorEntry?: string;
  /** How often actor threads are checked for a hang, in ms: for tests. */
  watchEveryMs?: number;
  /** Called each time that the replicated stream does not answer. */
  onStreamSilence?: (reason: string) => void;
  /** Called with the monitors of NATS servers that did not answer at the start. They are asked again. */
  onUncheckedServers?: (monitors: readonly string[]) => void;
}

/** Milliseconds of a clock that nobody sets and that all threads share. */
const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);

/** Each worker has at least one actor: a symbol or the ledger. */
const workerCountOf = ({ workers, instruments }: Config): number => Math.min(workers, instruments.length + 1);

/** Whether this process leads, or follows another one. */
export interface Leadership {
  /** Of the leader that it follows; null = none is known, or this process leads. */
  readonly leader: LeaseEntry | null;
  /** The epoch in which this process leads; 0 = it follows. */
  readonly epoch: number;
}

/** Starts the threads, pins the actors to them and stops them. Runs on the main thread. */
export class Host extends EngineClient {
  /** Called if a thread dies and the process cannot go on. A restart recovers. */
  onFatal: (error: Error) => void = () => {};
  /** Called when `hasDiskRoom` changes. */
  onDiskRoom: (free: FreeRoom) => void = () => {};
  /** Called when a segment of the log is no longer needed and cannot be removed. */
  onSegmentKept: (reason: string) => void = () => {};
  /** Called when the rows that the start has left on disk could not be checked. */
  onCheckNotDone: (reason: string) => void = () => {};
  /** Called when `isStalled` changes. */
  onStall: () => void = () => {};
  /** Called when an actor thread dies, and when all of its actors have been rebuilt. */
  onRebuild: (note: RebuildNote) => void = () => {};
  /** The torn tail that the start has cut off the log, or null. */
  logTruncation: LogTruncation | null = null;
  /** Client order ids that are on disk only. */
  pastIds: SharedPastIds = { ...NO_PAST_IDS, filter: ClientIdFilter.allocate(0) };

  private readonly config: Config;
  private readonly options: HostOptions;
  private readonly actorIds: readonly number[];
  /** The rings from the journal to the gateway and to the store. */
  private readonly frontRing: SharedArrayBuffer;
  private readonly storeRing: SharedArrayBuffer;
  private readonly journalDoorbell = new Doorbell();
  private readonly workers: readonly RebuildWorker[];
  private actorThreads: ActorThreads | null = null;
  private journal: Thread | null = null;
  private store: Thread | null = null;
  private replicator: Thread | null = null;
  private readonly replicas: {
    input: SharedArrayBuffer;
    batch: SharedArrayBuffer | null;
    replicatedDoorbell: Doorbell;
    writtenDoorbell: Doorbell;
  };
  /** Whether this process leads. Without replication nobody else can. */
  leadership: Leadership = { leader: null, epoch: 0 };
  /** The tail of the log that was not in the stream and that the start has cut off, or null. */
  cutTail: CutTail | null = null;
  private readonly standbys = new Standbys({
    onWrongClock: (url, aheadMs) => this.onWrongClock({ standby: url, aheadMs }),
  });
  /** Called once when the clock of a standby differs much from that of this machine, which leads. */
  onWrongClock: (difference: { readonly standby: string; readonly aheadMs: number }) => void = () => {};
  /** Called if the leader before has answered transactions that never came into the stream, in mode `async`. */
  onLost: (lost: LostTransactions) => void = () => {};
  /** Called if answers of the leader before may be lost, of so many ms at most. See ReplicatorEvents. */
  onPossibleLoss: (withinMs: number) => void = () => {};
  /** Called if another process leads although this one did: it must end at once. */
  onDeposed: (reason: string) => void = () => {};
  /** Called when `leadership` changes. */
  onLeadership: () => void = () => {};
  private readonly disk: DiskRoom;
  private readonly logStall = new StallWatch(LOG_STALL_CHECKS);
  private readonly historyStall = new StallWatch(HISTORY_STALL_CHECKS);
  private endCheck: () => void = () => {};
  /** The database that is open. */
  private databaseFile: FileIdentity | null = null;
  private ticker: NodeJS.Timeout | null = null;
  private diskWatch: NodeJS.Timeout | null = null;

  private constructor(config: Config, options: HostOptions) {
    const frontRing = allocateRing(config.ringBytes);
    const workerCount = workerCountOf(config);
    super({
      instruments: config.instruments.map(compileInstrument),
      marginTable: MarginTable.allocate(config.maxAccounts, workerCount, NO_STRIPE),
      control: new Control(),
      front: new RingConsumer(frontRing),
      frontDoorbell: new Doorbell(),
      indexDoorbell: new Doorbell(),
      storeDoorbell: new Doorbell(),
      maxInFlight: config.maxInFlight,
    });
    const actorIds = [LEDGER, ...this.instruments.map((instrument) => instrument.id)];
    this.config = config;
    this.options = options;
    this.actorIds = actorIds;
    this.frontRing = frontRing;
    this.storeRing = allocateRing(config.ringBytes);
    this.workers = Array.from({ length: workerCount }, (_, worker) => ({
      actorIds: actorIds.filter((_, i) => i % workerCount === worker),
      out: allocateRing(config.ringBytes),
      doorbell: new Doorbell(),
    }));
    this.replicas = {
      input: allocateRing(config.ringBytes),
      // The last record of a batch may be as large as a ring allows.
      batch: config.replication?.mode === "sync" ? SharedBatch.allocate(MAX_BATCH_BYTES + config.ringBytes / 2) : null,
      replicatedDoorbell: new Doorbell(),
      writtenDoorbell: new Doorbell(),
    };
    this.disk = new DiskRoom(config.data, config.minFreeBytes, MIN_FREE_FILES);
  }

  /** Resolves when every actor has recovered. Throws when the disk is too full or a thread dies before it is ready. */
  static async start(
    config: Config,
    onProgress: (progress: Progress) => void,
    options: HostOptions = {},
  ): Promise<Host> {
    const host = new Host(config, options);
    if (!host.disk.isEnough()) {
      const { freeBytes, freeFiles } = host.disk.free;
      if (freeBytes >= config.minFreeBytes)
        throw new Error(
          `${config.data}: no space left: the disk has room for ${freeFiles} more files. Remove some files`,
        );
      throw new Error(
        `${config.data}: no space left: ${freeBytes} bytes are free. Free some space, or set minFreeBytes (now ${config.minFreeBytes}) lower`,
      );
    }
    host.diskFreeBytes = host.disk.freeBytes;
    // The store first: it knows through which sequence the log must exist.
    const { storedThrough, pastIds } = await host.startStore();
    host.pastIds = { ...pastIds, filter: ClientIdFilter.allocate(pastIds.count) };
    await host.startReplicator(storedThrough);
    await host.startJournal(storedThrough);
    host.replicator?.port.postMessage("begin");
    await host.startActors(onProgress);
    return host;
  }

  /** Starts the clock of the actors, when this process leads and everything else is ready. */
  startTicking(): void {
    this.ticker = setInterval(() => this.tick(), this.config.tickMs);
  }

  /** Call it when the gateway's caches are filled: transactions of a leader come from now on. */
  startFollowing(): void {
    this.control.mayFollow = true;
  }

  /** Starts to watch the disk. */
  startWatching(): void {
    this.checkPastRows();
    const look = (): void => {
      try {
        this.watchDisk();
      } catch (error) {
        const why = `the data folder ${this.config.data} cannot be used: ${(error as Error).message}`;
        this.onFatal(new Error(why, { cause: error }));
      }
    };
    // A released lease need not wait for the first interval.
    look();
    this.diskWatch = setInterval(look, DISK_INTERVAL_MS);
  }

  /** Answers the requests on their way, then stops the threads in the order in which data flows. Loses nothing durable. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.endCheck();
    for (const timer of [this.ticker, this.diskWatch]) if (timer !== null) clearInterval(timer);
    const deadline = performance.now() + DRAIN_BEFORE_STOP_MS;
    // While the stream does not answer, no request can be answered.
    while (this.inFlight > 0 && (this.isLeading || this.control.isFollowing) && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const { control, journal, store, replicator } = this;
    await stopThreads(control, STOP_ACTORS, this.actorThreads?.living ?? []);
    await stopThreads(control, STOP_JOURNAL, journal === null ? [] : [journal]);
    this.drain(Number.POSITIVE_INFINITY);
    await stopThreads(
      control,
      STOP_STORE,
      [store, replicator].filter((thread) => thread !== null),
    );
  }

  /** Checks what the start has left on disk. */
  private checkPastRows(): void {
    const { config, pastIds } = this;
    if (pastIds.count === 0) return;
    this.endCheck = checkPastRows(config.data, pastIds, (error) => {
      if (error instanceof DatabaseCorruptError) this.onFatal(error);
      else if (error !== null) this.onCheckNotDone(error.message);
    });
  }

  private watchDisk(): void {
    if (this.databaseFile !== null) requireSameFile(databaseFileOf(this.config.data), this.databaseFile);
    const hadRoom = this.hasDiskRoom;
    this.hasDiskRoom = this.disk.isEnough();
    this.diskFreeBytes = this.disk.freeBytes;
    if (this.hasDiskRoom !== hadRoom) this.onDiskRoom(this.disk.free);
    const wasStalled = this.isStalled;
    const { durable, lastSequence, indexed } = this.control;
    this.isStalled = this.logStall.check(durable, lastSequence);
    this.isHistoryStalled = this.historyStall.check(indexed, durable);
    if (this.isStalled !== wasStalled) this.onStall();
    const isImpaired = !this.hasDiskRoom || this.isStalled || this.isHistoryStalled;
    this.control.isHealthy =
      !isImpaired && this.actorIds.every((actorId) => !this.isDown(actorId) && !this.isUnresponsive(actorId));
  }

  private async startStore(): Promise<StoreReady> {
    const { config, storeDoorbell } = this;
    const { thread, ready } = this.spawn<StoreTask>("store", storeDoorbell, {
      dataDir: config.data,
      input: this.storeRing,
      frontDoorbell: this.indexDoorbell.buffer,
      actorIds: [...this.actorIds],
      instruments: [...config.instruments],
      keepSegments: config.keepSegments,
      isReplicated: config.replication !== null,
      retention: { days: config.historyRetentionDays, maxBytes: config.historyMaxBytes },
      minFreeBytes: config.minFreeBytes / 2,
    });
    this.store = thread;
    const stored = await ready<StoreReady>();
    this.databaseFile = DISK.statSync(databaseFileOf(config.data));
    thread.port.on("message", (message: StoreMessage) => {
      if (message === "indexed") this.awaitIndex();
      else this.onSegmentKept(message.segmentKept);
    });
    return stored;
  }

  /** Resolves when this process leads: at once, without replication. */
  whenLeading(): Promise<void> {
    if (!this.control.isFollowing) return Promise.resolve();
    return new Promise((resolve) => {
      this.lead = resolve;
    });
  }
  private lead: () => void = () => {};

  /** Whether this process decides: no other one leads, and none can have begun to. */
  get isLeading(): boolean {
    return this.replicator === null || (!this.control.isFollowing && this.control.leasedUntilMs >= monotonicMs());
  }

  override get replication(): ReplicationStatus | null {
    if (this.replicator === null) return null;
    const { control, leadership } = this;
    const { isFollowing, readWholeAtMs } = control;
    const nowMs = monotonicMs();
    return {
      isFollowing,
      epoch: leadership.epoch,
      leaderUrl: leadership.leader?.url ?? null,
      lagTransactions: Math.max(0, control.written - control.replicated),
      lagMs: isFollowing && readWholeAtMs > 0 ? Math.max(0, nowMs - readWholeAtMs) : null,
      leaseLeftMs: control.leasedUntilMs - nowMs,
      standbys: this.standbys.list(),
    };
  }

  private async startReplicator(storedThrough: number): Promise<void> {
    const { config, replicas } = this;
    const { exchangeId } = must(readGenesis(config.data), "the genesis that the store has read");
    if (config.replication === null) return refuseAlone(config.data);
    refuseOtherStream(config.data, config.replication.stream);
    const { thread, ended } = this.spawn<ReplicatorTask>("replicator", replicas.writtenDoorbell, {
      settings: { ...config.replication, exchangeId },
      dataDir: config.data,
      actorIds: [...this.actorIds],
      storedThrough,
      mayBegin: config.role === "leader",
      input: replicas.input,
      journalDoorbell: this.journalDoorbell.buffer,
      batch: replicas.batch,
      replicatedDoorbell: replicas.replicatedDoorbell.buffer,
    });
    this.replicator = thread;
    this.control.isFollowing = true;
    // It may wait for the stream's server, and says so.
    const opened = new Promise<CutTail | null>((resolve) => {
      thread.port.on("message", (message: ReplicatorMessage) => {
        if ("cut" in message) resolve(message.cut);
        else this.hear(message);
      });
    });
    this.cutTail = await Promise.race([opened, ended]);
  }

  private hear(message: Exclude<ReplicatorMessage, { cut: unknown }>): void {
    if ("silent" in message) return this.options.onStreamSilence?.(message.silent);
    if ("lost" in message) return this.onLost(message.lost);
    if ("mayHaveLostMs" in message) return this.onPossibleLoss(message.mayHaveLostMs);
    if ("unchecked" in message) return this.options.onUncheckedServers?.(message.unchecked);
    if ("standby" in message) return this.standbys.hear(message.standby, this.releasedSequence());
    if ("deposed" in message) return this.onDeposed(message.deposed);
    if ("leading" in message) return this.beginToLead(message.leading);
    this.leadership = { leader: message.following, epoch: 0 };
    this.onLeadership();
  }

  /** The gateway and all workers must have what the leaders before have done: then this process decides. */
  private beginToLead(epoch: number): void {
    const begun = this.whenAllDurable(() => {
      this.leadership = { leader: null, epoch };
      this.control.isFollowing = false;
      for (const { doorbell } of this.workers) doorbell.wake();
      this.lead();
      this.onLeadership();
    });
    if (!begun) setTimeout(() => this.beginToLead(epoch), RETRY_MS);
  }

  private async startJournal(protectedThrough: number): Promise<void> {
    const { config } = this;
    const { thread, ready } = this.spawn<JournalTask>("journal", this.journalDoorbell, {
      logDir: logOf(config.data),
      exchangeId: must(readGenesis(config.data), "the genesis that the store has read").exchangeId,
      segmentBytes: config.segmentBytes,
      protectedThrough,
      inputs: this.workers.map(({ out }) => out),
      front: this.frontRing,
      frontDoorbell: this.frontDoorbell.buffer,
      store: this.storeRing,
      storeDoorbell: this.storeDoorbell.buffer,
      replication:
        config.replication === null
          ? null
          : {
              input: this.replicas.input,
              workerDoorbells: this.workers.map(({ doorbell }) => doorbell.buffer),
              batch: this.replicas.batch,
              writtenDoorbell: this.replicas.writtenDoorbell.buffer,
              replicatedDoorbell: this.replicas.replicatedDoorbell.buffer,
              isSync: config.replication.mode === "sync",
              lingerMs: config.replication.lingerMs,
            },
    });
    this.journal = thread;
    const { lastSequence, truncation } = await ready<JournalReady>();
    this.logTruncation = truncation;
    thread.port.on("message", () => this.drain());
    this.startAt(lastSequence);
  }

  private async startActors(onProgress: (progress: Progress) => void): Promise<void> {
    const { config, control, marginTable, workers, journalDoorbell, options, store, journal, replicator, pastIds } =
      this;
    const actorThreads = new ActorThreads({
      ...{ config, control, marginTable, workers, journalDoorbell },
      engine: this,
      front: this.frontRing,
      store: this.storeRing,
      entry: options.actorEntry ?? "actor",
      pastIds,
      watchEveryMs: options.watchEveryMs,
      onRebuild: (note) => this.onRebuild(note),
      onFatal: (error) => this.onFatal(error),
    });
    this.actorThreads = actorThreads;
    const running = [
      must(store, "the store"),
      must(journal, "the journal"),
      ...(replicator === null ? [] : [replicator]),
    ];
    const begunAt = performance.now();
    const reporting = setInterval(() => {
      const total = workers.reduce((sum, worker) => sum + this.tailOf(worker), 0);
      onProgress({ records: control.recovered, total, elapsedMs: performance.now() - begunAt });
    }, PROGRESS_INTERVAL_MS);
    try {
      // These run already. During recovery this is the only place that notices their death.
      await Promise.race([actorThreads.start(), ...running.map(({ pinned }) => pinned.done)]);
    } finally {
      clearInterval(reporting);
    }
  }

  /** How many transactions the worker reads at a start: the log after the oldest snapshot of its actors. */
  private tailOf({ actorIds }: RebuildWorker): number {
    const oldest = Math.min(...actorIds.map((actorId) => this.control.storedSnapshotOf(actorId)));
    return this.releasedSequence() - oldest;
  }

  /** Starts a thread without which the exchange cannot go on. */
  private spawn<T extends ThreadTask>(name: string, doorbell: Doorbell, task: Omit<T, keyof ThreadTask>): Spawned {
    return spawnThread<T>(name, this.control, doorbell, task, (error) =>
      this.onFatal(new Error(`the ${name} thread died: ${error.message}`, { cause: error })),
    );
  }
}
