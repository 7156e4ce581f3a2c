import { DeposedError } from "../../../src/replication/publisher.ts";
import { reconcile } from "../../../src/replication/reconcile.ts";
import { type LocalSide, Replicator } from "../../../src/replication/replicator.ts";
import { type BatchStream, type LeaseStore, UnknownOutcomeError } from "../../../src/replication/stream.ts";
import { openLog } from "../../../src/store/log/log.ts";
import { readLogEnd } from "../../../src/store/log/log-cut.ts";
import { LogReader } from "../../../src/store/log/log-reader.ts";
import { listSegments, removeSegmentsBefore } from "../../../src/store/log/log-segment.ts";
import { SimDisk } from "../disk.ts";
import { Killed } from "../scheduler.ts";
import { EMPTY, Engine, type Snapshot } from "./engine.ts";
import { SimulatedJournal } from "./journal.ts";
import type { ReplicationAuditor } from "./replication-auditor.ts";
import { type Caller, Link, RemoteStream, type StreamServer } from "./stream-server.ts";
import type { World } from "./world.ts";

export const EXCHANGE_ID = "6f0c2a4e-2f9b-4b1e-8a64-1d6f3a5b7c9d";
const DATA_FOLDER = "/";
const LOG_FOLDER = "/log";
const SEGMENT_BYTES = 8192;
const HOUR_MS = 3_600_000;
/** Longer than the requests to a silent stream's server that a stop may wait for, one after the other. */
const STOP_MS = 5000;
const START_MS = 1_700_000_000_000;

/** Replaces parts of a process by faulty ones: see mutants.ts. */
export interface ReplicationTampering {
  /** The only faults are partitions between a node and the stream, about as long as a lease. */
  partitionsOnly?: boolean;
  server?(server: StreamServer): void;
  stream?(stream: BatchStream, process: NodeProcess): BatchStream;
  lease?(lease: LeaseStore, process: NodeProcess): LeaseStore;
  local?(local: LocalSide, process: NodeProcess): LocalSide;
  sleepMs?(ms: number): number;
  /** The journal does not wait for its disk. */
  skipsSync?: boolean;
  /** The journal does not wait for the stream. */
  skipsStream?: boolean;
  /** A start does not compare its log with the stream. */
  skipsReconcile?: boolean;
  /** A leader answers reads at any time. */
  ignoresLease?: boolean;
}

/** How often something has happened, so that a test can tell whether it was reached. */
export type Counts = Record<
  | ("kills" | "powerCuts" | "stops" | "pauses" | "partitions" | "serverCrashes" | "clockJumps" | "joins")
  | ("takeovers" | "deposed" | "cutTails" | "readsRefused" | "commandsRepeated"),
  number
>;

export interface Surroundings {
  readonly world: World;
  readonly server: StreamServer;
  readonly auditor: ReplicationAuditor;
  readonly tampering: ReplicationTampering;
  readonly counts: Counts;
}

/** A machine: a disk, a clock, a link to the stream's server, and at most one process. */
export class Node {
  readonly name: string;
  readonly mayBegin: boolean;
  readonly disk: SimDisk;
  readonly link: Link;
  readonly surroundings: Surroundings;
  /** Its database. */
  snapshot: Snapshot = EMPTY;
  /** See replication-marker.ts. */
  wasReplicated = false;
  process: NodeProcess | null = null;
  /** How fast its monotonic clock runs. */
  readonly rate: number;
  private readonly bootedMs: number;
  private skewMs = 0;

  /** `mayBegin`: it may lead an exchange that was never led. */
  constructor(name: string, mayBegin: boolean, surroundings: Surroundings) {
    const { world, server } = surroundings;
    this.name = name;
    this.mayBegin = mayBegin;
    this.surroundings = surroundings;
    this.disk = new SimDisk(world.random);
    this.disk.writesShort = world.random.next() < 0.3;
    this.link = new Link(world, server);
    this.rate = 0.98 + 0.04 * world.random.next();
    this.bootedMs = world.random.between(0, 1_000_000);
  }

  get monotonicMs(): number {
    return Math.floor(this.bootedMs + this.surroundings.world.nowMs * this.rate);
  }

  get wallMs(): number {
    return Math.floor(START_MS + this.surroundings.world.nowMs + this.skewMs);
  }

  setClock(): void {
    this.skewMs = this.surroundings.world.random.between(-HOUR_MS, HOUR_MS);
  }

  /** Ends the process at once. `withPower`: the machine, too. */
  kill(withPower: boolean): void {
    const released = this.process?.released ?? 0;
    if (this.process !== null) this.process.isAlive = false;
    this.process = null;
    this.disk.onCall = () => {};
    if (withPower) this.disk.cutPower();
    else this.disk.kill();
    const kept = Math.max(this.snapshot.through, readLogEnd(LOG_FOLDER, this.disk).last);
    if (kept < released)
      this.surroundings.auditor.report(`${this.name} has shown ${released}, and its disk ends with ${kept}`);
  }

  start(): void {
    const process = new NodeProcess(this);
    this.process = process;
    this.disk.onCall = () => process.onDiskCall();
    void process.run();
  }

  /** Stores what is released. Then the log may begin later. */
  store(snapshot: Snapshot, removesLog: boolean): void {
    this.snapshot = snapshot;
    if (removesLog) removeSegmentsBefore(LOG_FOLDER, snapshot.through + 1, this.disk);
  }
}

/**
 * One process of the exchange. Its replicator, its log and the comparison at the start are real. Its journal and engine are
 * simulated.
 */
export class NodeProcess implements Caller {
  isAlive = true;
  isLeading = false;
  /** How many disk calls it still makes before it is killed. */
  diskCallsLeft = Number.POSITIVE_INFINITY;
  readonly node: Node;
  readonly remote: RemoteStream;
  private journal: SimulatedJournal | null = null;
  private engine = new Engine(EMPTY);
  private epoch = 0;
  /** While it is stopped by SIGSTOP: what it does when it goes on. */
  private deferred: (() => void)[] | null = null;
  /** By sequence: clients that wait for it. */
  private readonly answers = new Map<number, { command: number; answer: () => void }[]>();

  constructor(node: Node) {
    this.node = node;
    this.remote = new RemoteStream(this, node.surroundings.server, node.link);
  }

  readonly post = (delayMs: number, work: () => void): (() => void) => {
    let isCancelled = false;
    const act = (): void => {
      if (!this.isAlive || isCancelled) return;
      if (this.deferred === null) this.guard(work);
      else this.deferred.push(act);
    };
    const cancel = this.node.surroundings.world.after(delayMs, act);
    return () => {
      isCancelled = true;
      cancel();
    };
  };

  /** SIGSTOP. */
  pause(): void {
    this.deferred ??= [];
  }

  /** SIGCONT. */
  resume(): void {
    const waiting = this.deferred ?? [];
    this.deferred = null;
    for (const work of waiting) this.post(this.node.surroundings.world.random.next(), work);
  }

  onDiskCall(): void {
    if (this.isAlive && --this.diskCallsLeft > 0) return;
    this.isAlive = false;
    throw new Killed();
  }

  /** From the start to the end. */
  async run(): Promise<void> {
    try {
      const journal = await this.open();
      await this.replicator(journal).run();
      this.node.surroundings.counts.stops++;
    } catch (error) {
      this.fail(error as Error);
    }
    this.isAlive = false;
  }

  /** SIGTERM. */
  stop(): void {
    if (this.journal === null) this.isAlive = false;
    if (this.journal === null || this.journal.isStopping) return;
    this.journal.stop();
    // Also while the stream does not answer. One that was paused meanwhile has a second chance.
    const { world, auditor } = this.node.surroundings;
    this.post(STOP_MS, () =>
      this.post(STOP_MS, () => auditor.report(`${this.node.name} has not stopped at ${world.nowMs}`)),
    );
  }

  /** Whether it would answer clients now. */
  get isServing(): boolean {
    return this.isAlive && this.isLeading && this.deferred === null && this.journal?.isStopping === false;
  }

  /** A client sends a command: `answer` is called when its transaction counts. */
  command(command: number, answer: () => void): void {
    const { journal, engine, node } = this;
    if (journal === null || !this.isServing) return;
    const { world, counts } = node.surroundings;
    this.guard(() => {
      let sequence = engine.sequenceOf(command);
      if (sequence !== 0) counts.commandsRepeated++;
      else {
        const extraBytes = world.random.next() < 0.1 ? world.random.between(0, 900) : 0;
        journal.enqueue(engine.decide(command, node.wallMs, extraBytes));
        sequence = engine.last;
      }
      const waiting = this.answers.get(sequence) ?? [];
      this.answers.set(sequence, [...waiting, { command, answer }]);
      if (sequence <= journal.released()) this.answer(sequence);
    });
  }

  /** A client reads. */
  read(): void {
    const { journal, node } = this;
    const { auditor, tampering, counts } = node.surroundings;
    if (journal === null || !this.isServing) return;
    if (node.monotonicMs > journal.leasedUntilMs && tampering.ignoresLease !== true) counts.readsRefused++;
    else auditor.onRead(node.name, journal.released());
  }

  get isLeaseOld(): boolean {
    return this.journal === null || this.node.monotonicMs > this.journal.leasedUntilMs;
  }

  get released(): number {
    return this.journal?.released() ?? 0;
  }

  private guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private fail(error: Error): void {
    const { name, surroundings } = this.node;
    const wasAlive = this.isAlive;
    this.isAlive = false;
    if (error instanceof Killed || !wasAlive) return;
    // The server did not answer during the start: another start will do.
    if (error instanceof UnknownOutcomeError && this.journal === null) return;
    if (error instanceof DeposedError) {
      surroundings.counts.deposed++;
      const { auditor, server } = surroundings;
      const hasRival = auditor.epoch > this.epoch || (server.lease?.entry.epoch ?? 0) > this.epoch || server.strays > 0;
      if (!hasRival) auditor.report(`${name} ends because of another leader, and there is none`);
    } else surroundings.auditor.report(`${name} ends: ${error.stack}`);
  }

  /** Compares the log with the stream, opens it and recovers from it. */
  private async open(): Promise<SimulatedJournal> {
    const { node, remote } = this;
    const { auditor, tampering, counts, world } = node.surroundings;
    const { disk, snapshot } = node;
    if (tampering.skipsReconcile !== true) {
      const before = this.sameThrough();
      const { cut } = await reconcile({
        ...{ dataDir: DATA_FOLDER, exchangeId: EXCHANGE_ID, stream: remote, files: disk },
        storedThrough: snapshot.through,
        wasReplicated: node.wasReplicated,
        mode: "sync",
      });
      if (cut !== null) counts.cutTails++;
      auditor.onOpened(node.name, readLogEnd(LOG_FOLDER, disk).last, { before, after: this.sameThrough() });
    }
    const log = openLog(LOG_FOLDER, {
      ...{ segmentBytes: SEGMENT_BYTES, exchangeId: EXCHANGE_ID, files: disk },
      protectedThrough: snapshot.through,
    });
    const last = log.nextSequence - 1;
    this.engine = new Engine(snapshot);
    this.readLog(snapshot.through + 1, last, (record) => this.engine.apply(record));
    const { engine } = this;
    auditor.onReleased(node.name, last, engine.digestAt(last));
    this.journal = new SimulatedJournal({
      ...{ logDir: LOG_FOLDER, files: disk, log, random: world.random, post: this.post },
      lastRecordMs: engine.timeAt(last),
      onDelivered: (record) => engine.apply(record),
      onReleased: (from, through) => this.onReleased(from, through),
      skipsSync: tampering.skipsSync === true,
      skipsStream: tampering.skipsStream === true,
    });
    return this.journal;
  }

  private replicator(journal: SimulatedJournal): Replicator {
    const { node, remote, post } = this;
    const { tampering, world, counts } = node.surroundings;
    return new Replicator({
      settings: { exchangeId: EXCHANGE_ID, url: node.name, instruments: "", mode: "sync" },
      stream: tampering.stream?.(remote, this) ?? remote,
      lease: tampering.lease?.(remote, this) ?? remote,
      local: tampering.local?.(journal, this) ?? journal,
      mayBegin: node.mayBegin,
      monotonicMs: () => node.monotonicMs,
      wallMs: () => node.wallMs,
      retentionMs: 0,
      sleep: (ms) =>
        new Promise((resolve) => {
          post((tampering.sleepMs?.(ms) ?? ms) / node.rate + world.random.next(), resolve);
        }),
      onLeading: (epoch) => {
        node.wasReplicated = true;
        this.epoch = epoch;
        post(world.random.next(), () => {
          this.isLeading = true;
          if (epoch > 1) counts.takeovers++;
        });
      },
      onFollowing: () => {
        node.wasReplicated = true;
      },
      onSilence: () => {},
      onLost: () => {},
      onPossibleLoss: () => {},
    });
  }

  private onReleased(from: number, through: number): void {
    const { node, engine } = this;
    const { auditor, world } = node.surroundings;
    for (let sequence = from; sequence <= through; sequence++) {
      auditor.onReleased(node.name, sequence, engine.digestAt(sequence));
      this.answer(sequence);
    }
    if (world.random.next() < 0.03) node.store(engine.snapshotAt(through), world.random.next() < 0.5);
  }

  private answer(sequence: number): void {
    const { auditor } = this.node.surroundings;
    for (const { command, answer } of this.answers.get(sequence) ?? []) {
      auditor.onAnswered(this.node.name, command, sequence);
      answer();
    }
    this.answers.delete(sequence);
  }

  /** Through which sequence the log and the stream are the same. */
  private sameThrough(): number {
    const { node } = this;
    const { auditor } = node.surroundings;
    const { last } = readLogEnd(LOG_FOLDER, node.disk);
    const { through } = node.snapshot;
    const probe = new Engine(node.snapshot);
    if (probe.digestAt(through) !== auditor.digestAt(through)) return 0;
    let same = through;
    this.readLog(through + 1, last, (record) => {
      probe.apply(record);
      if (probe.digestAt(probe.last) === auditor.digestAt(probe.last)) same = probe.last;
    });
    return same;
  }

  private readLog(from: number, through: number, visit: (record: Uint8Array) => void): void {
    const { disk } = this.node;
    if (from > through || listSegments(LOG_FOLDER, disk).length === 0) return;
    const reader = new LogReader(LOG_FOLDER, from, disk);
    reader.read(through, (bytes, _view, offset, length) => visit(bytes.subarray(offset, offset + length)));
    reader.close();
  }
}
