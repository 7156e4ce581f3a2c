import { EngineClient } from "../../src/actor/engine/engine-client.ts";
import { Rebuild, type RebuildOptions } from "../../src/actor/host/rebuild.ts";
import { ActorWorker } from "../../src/actor/threads/actor-worker.ts";
import { Control } from "../../src/actor/threads/control.ts";
import { Journal } from "../../src/actor/threads/journal.ts";
import { recover } from "../../src/actor/threads/recovery.ts";
import { StoreWorker } from "../../src/actor/threads/store-worker.ts";
import { LiquidationBids } from "../../src/core/accounts/liquidation-bids.ts";
import { MarginTable } from "../../src/core/accounts/margin-table.ts";
import { WeakAccounts } from "../../src/core/accounts/weak-accounts.ts";
import { LEDGER } from "../../src/core/base/enums.ts";
import { LedgerActor, type LedgerSettings } from "../../src/core/ledger/ledger.ts";
import type { Actor } from "../../src/core/protocol/actor.ts";
import type { Instrument } from "../../src/core/protocol/instrument.ts";
import { SymbolActor } from "../../src/core/symbol.ts";
import { ClientIdFilter } from "../../src/store/database/client-id-filter.ts";
import type { Database } from "../../src/store/database/database.ts";
import { findPastIds, PastIdReader, type SharedPastIds } from "../../src/store/database/past-client-ids.ts";
import { Snapshots } from "../../src/store/database/snapshots.ts";
import type { Files } from "../../src/store/files/files.ts";
import { Indexer } from "../../src/store/indexer/indexer.ts";
import { type LogWriter, openLog } from "../../src/store/log/log.ts";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../src/wire/ring.ts";
import type { Random } from "../e2e/support/random.ts";
import type { SimDisk } from "./disk.ts";
import type { Scheduler, Thread } from "./scheduler.ts";

export const LOG_FOLDER = "/log";
const COMMAND_RING_BYTES = 8192;
const RING_BYTES = 128 * 1024;
const SMALL_RING_BYTES = 32 * 1024;
/** The index of a ring's tail in its control block (wire/ring.ts). */
const TAIL_WORD = 16;

/** Replaces parts of the machine by faulty ones: see mutants.ts. */
export interface Tampering {
  files?(disk: Files): Files;
  log?(log: LogWriter): LogWriter;
  actor?(actor: Actor): Actor;
  snapshots?(snapshots: Snapshots): Snapshots;
  indexer?(indexer: Indexer, control: Control): Indexer;
  /** The control block that actors get. */
  control?(control: Control): Control;
  commands?(commands: RingConsumer): RingConsumer;
  notBefore?(time: number): number;
  rebuild?(parts: RebuildOptions): RebuildOptions;
}

export interface MachineOptions {
  instruments: readonly Instrument[];
  ledger: LedgerSettings;
  maxAccounts: number;
  workers: number;
  segmentBytes: number;
  snapshotIntervalMs: number;
  disk: SimDisk;
  database: Database;
  scheduler: Scheduler;
  random: Random;
  clock: () => number;
  monotonic: () => number;
  tampering: Tampering;
}

/** The consumer of a ring whose records arrive late: it sees at most `allowance` records. */
class SlowConsumer extends RingConsumer {
  allowance = Number.POSITIVE_INFINITY;

  override peek(): number {
    return this.allowance > 0 ? super.peek() : -1;
  }
  override next(): void {
    this.allowance--;
    super.next();
  }
}

/**
 * One process of the exchange: the real store, journal, actors and engine client, recovered in the order of a real start.
 * Its threads run when the scheduler steps them.
 */
export class Machine {
  readonly control = new Control();
  readonly marginTable: MarginTable;
  readonly engine: EngineClient;
  readonly front: Thread;
  readonly workers: Thread[] = [];
  readonly journal: Thread;
  readonly store: Thread;
  private readonly actorWorkers: ActorWorker[] = [];
  private readonly rebuild: Rebuild;
  /** Workers that have died or recovered, which the main thread does not know yet. */
  private readonly dead: number[] = [];
  private readonly recovered: number[] = [];
  private readonly realJournal: Journal;
  private readonly storeWorker: StoreWorker;
  private readonly slow: SlowConsumer[] = [];
  private readonly options: MachineOptions;

  constructor(options: MachineOptions) {
    this.options = options;
    const { scheduler, database, instruments, random, clock, monotonic, tampering } = options;
    const files = tampering.files?.(options.disk) ?? options.disk;
    const ring = (bytes: number): SharedArrayBuffer => scheduler.share(allocateRing(bytes));
    const doorbell = (): Doorbell => new SimDoorbell(scheduler);
    const { control } = this;
    scheduler.share(control.buffer);
    this.marginTable = MarginTable.allocate(options.maxAccounts, options.workers);
    scheduler.share(this.marginTable.buffer);
    const actorIds = [LEDGER, ...instruments.map(({ id }) => id)];

    // The store first: it knows which records the log must keep.
    const storeRing = ring(RING_BYTES);
    const indexDoorbell = doorbell();
    const storeDoorbell = doorbell();
    database.refresh();
    const indexer = new Indexer({
      database,
      logDir: LOG_FOLDER,
      instruments,
      actorIds,
      files,
      onSnapshotReceived: (actorId, sequence) => control.setReceivedSnapshotOf(actorId, sequence),
      onSnapshotStored: (actorId, sequence) => control.setStoredSnapshotOf(actorId, sequence),
    });
    control.indexed = indexer.indexedSequence;
    const found = findPastIds(database, actorIds);
    const pastIds = { ...found, filter: ClientIdFilter.allocate(found.count) };
    this.storeWorker = new StoreWorker({
      indexer: tampering.indexer?.(indexer, control) ?? indexer,
      control,
      input: this.slowly(new SlowConsumer(storeRing)),
      frontDoorbell: indexDoorbell,
    });

    const { segmentBytes } = options;
    const log = openLog(LOG_FOLDER, { segmentBytes, protectedThrough: indexer.storedThrough, files });
    const lastSequence = log.nextSequence - 1;
    control.startAt(lastSequence);
    const outputs = Array.from({ length: options.workers }, () => ring(RING_BYTES));
    const frontRing = ring(random.pick([SMALL_RING_BYTES, RING_BYTES]));
    const journalDoorbell = doorbell();
    const frontDoorbell = doorbell();
    this.realJournal = new Journal({
      log: tampering.log?.(log) ?? log,
      control,
      inputs: outputs.map((output) => this.slowly(new SlowConsumer(output))),
      doorbell: journalDoorbell,
      front: new RingProducer(frontRing, frontDoorbell),
      store: new RingProducer(storeRing, storeDoorbell),
      clock,
    });

    const frontInput = this.slowly(new SlowConsumer(frontRing));
    const { marginTable } = this;
    this.engine = new EngineClient({
      instruments,
      marginTable,
      control,
      front: frontInput,
      frontDoorbell,
      indexDoorbell,
      storeDoorbell,
    });
    this.engine.startAt(lastSequence);

    const used = (buffer: SharedArrayBuffer): number => {
      const words = new Int32Array(buffer);
      return ((words[0] as number) - (words[TAIL_WORD] as number)) >>> 0;
    };
    const waiting = (): number => outputs.reduce((sum, output) => sum + used(output), 4096);
    const hasRoom = (buffer: SharedArrayBuffer): boolean => buffer.byteLength - used(buffer) > 2 * waiting();

    const sums = MarginTable.allocate(options.maxAccounts, options.workers);
    const bids = scheduler.share(LiquidationBids.allocate(options.maxAccounts, instruments.length));
    const weak = scheduler.share(WeakAccounts.allocate(options.workers));
    /** The first step of a worker's thread: recovers its actors from snapshots and the log. */
    const openWorker = (
      i: number,
      commands: SharedArrayBuffer,
      workerDoorbell: Doorbell,
      joins: boolean,
    ): ActorWorker => {
      // Each worker has its own object, as on a real thread: the memory is shared, deferred changes are not.
      const tableOf = ({ buffer }: MarginTable): SimMarginTable =>
        new SimMarginTable(scheduler, buffer, options.workers, i);
      const own = tableOf(joins ? MarginTable.allocate(options.maxAccounts, options.workers) : marginTable);
      own.bids = new LiquidationBids(
        bids,
        instruments.map(({ symbol }) => symbol),
      );
      own.weakAccounts = new WeakAccounts(weak, options.workers, i);
      const snapshots = tampering.snapshots?.(new Snapshots(database)) ?? new Snapshots(database);
      const actors = pinned[i]!.map((actorId) => {
        const actor = this.newActor(actorId, own, snapshots, pastIds);
        return tampering.actor?.(actor) ?? actor;
      });
      const lastTime = recover(actors, snapshots, LOG_FOLDER, control, files, pastIds);
      const input = this.slowly(new SlowConsumer(commands));
      return new ActorWorker({
        ...{ worker: i, actors, marginTable: own, sums: tableOf(sums), clock, monotonic },
        ...(joins ? { joinTable: marginTable.buffer } : {}),
        control: tampering.control?.(control) ?? control,
        notBefore: tampering.notBefore?.(lastTime) ?? lastTime,
        commands: tampering.commands?.(input) ?? input,
        doorbell: workerDoorbell,
        out: new RingProducer(outputs[i]!, journalDoorbell),
        snapshotIntervalMs: options.snapshotIntervalMs,
        // Small chunks, so that commands, dying threads and power cuts come between the parts of a snapshot.
        rowsPerSnapshotChunk: 3,
      });
    };
    const pinned = outputs.map((_, i) => actorIds.filter((_, place) => place % options.workers === i));
    const doorbells = outputs.map(doorbell);
    /** The next step of each worker's thread; null when it has died. */
    const steps: (null | (() => void))[] = [];
    for (const [i, output] of outputs.entries()) {
      const commands = ring(COMMAND_RING_BYTES);
      const worker = openWorker(i, commands, doorbells[i]!, false);
      this.actorWorkers[i] = worker;
      steps[i] = () => void worker.step();
      this.engine.addWorker(new RingProducer(commands, doorbells[i]!), pinned[i]!);
      this.workers.push({
        name: `worker ${i}`,
        kind: "actors",
        step: () => steps[i]?.(),
        canRunWithin: (kinds) => !kinds.has("journal") || used(output) < output.byteLength / 8,
        onThrown: () => {
          steps[i] = null;
          this.dead.push(i);
        },
      });
    }
    const parts: RebuildOptions = {
      ...{ control, marginTable, sums, engine: this.engine, front: frontRing, store: storeRing },
      workers: outputs.map((out, i) => ({ out, actorIds: pinned[i]!, doorbell: doorbells[i]! })),
      start: (i) => {
        const commands = ring(COMMAND_RING_BYTES);
        steps[i] = () => {
          const worker = openWorker(i, commands, doorbells[i]!, true);
          this.actorWorkers[i] = worker;
          steps[i] = () => void worker.step();
          this.recovered.push(i);
        };
        return new RingProducer(commands, doorbells[i]!);
      },
    };
    this.rebuild = new Rebuild(tampering.rebuild?.(parts) ?? parts);
    this.front = { name: "front", kind: "front", step: () => this.stepFront(), canRunWithin: () => true };
    this.journal = {
      name: "journal",
      kind: "journal",
      step: () => {
        if (!this.realJournal.step() && random.next() < 0.3) this.realJournal.prepareWhileIdle();
      },
      canRunWithin: (kinds) =>
        (!kinds.has("front") || hasRoom(frontRing)) && (!kinds.has("store") || hasRoom(storeRing)),
    };
    this.store = { name: "store", kind: "store", step: () => void this.storeWorker.step(), canRunWithin: () => true };
    scheduler.threads = [this.front, ...this.workers, this.journal, this.store];
  }

  /** Decides anew how many of its records each ring shows. */
  delay(): void {
    const { random } = this.options;
    for (const consumer of this.slow)
      consumer.allowance = random.next() < 0.5 ? random.between(0, 6) : Number.POSITIVE_INFINITY;
  }

  /** Runs until all work has drained. Returns false if it never does. */
  settle(): boolean {
    const { scheduler } = this.options;
    for (let round = 0; round < 1000; round++) {
      for (const consumer of this.slow) consumer.allowance = Number.POSITIVE_INFINITY;
      for (const thread of [...this.workers, this.journal, this.front, this.store]) scheduler.run(thread);
      const { engine, control } = this;
      const last = control.lastSequence;
      const isThrough = engine.inFlight === 0 && engine.releasedSequence() === last && control.indexed === last;
      if (isThrough && this.rebuild.isDone && this.dead.length === 0) return true;
    }
    return false;
  }

  /** Shuts down in order: workers, journal, front, store. */
  stop(): void {
    const { scheduler } = this.options;
    for (const consumer of this.slow) consumer.allowance = Number.POSITIVE_INFINITY;
    this.actorWorkers.forEach((worker, i) => void scheduler.run(this.workers[i] as Thread, () => worker.finish()));
    scheduler.threads = [this.front, this.journal, this.store];
    scheduler.run(this.journal, () => {
      while (this.realJournal.step());
      this.realJournal.close();
    });
    scheduler.threads = [this.front, this.store];
    scheduler.run(this.front);
    scheduler.run(this.store, () => {
      while (this.storeWorker.step());
    });
  }

  private slowly(consumer: SlowConsumer): SlowConsumer {
    this.slow.push(consumer);
    return consumer;
  }

  /** A step of the main thread: rebuilds dead threads and delivers released transactions. */
  private stepFront(): void {
    for (const worker of this.dead.splice(0)) this.rebuild.died(worker);
    for (const worker of this.recovered.splice(0)) this.rebuild.recovered(worker);
    this.engine.drain();
    this.rebuild.step();
  }

  private newActor(actorId: number, marginTable: MarginTable, snapshots: Snapshots, pastIds: SharedPastIds): Actor {
    const { instruments, ledger, database } = this.options;
    if (actorId === LEDGER) return new LedgerActor(ledger, marginTable, snapshots.readerOf(LEDGER));
    const instrument = instruments.find(({ id }) => id === actorId) as Instrument;
    const past = new PastIdReader(database, pastIds).of(actorId);
    return new SymbolActor(instrument, marginTable, undefined, past);
  }
}

/** Each read and write of a value is a point of the scheduler. */
class SimMarginTable extends MarginTable {
  private readonly scheduler: Scheduler;

  constructor(scheduler: Scheduler, buffer: SharedArrayBuffer, stripeCount: number, stripe: number) {
    super(buffer, stripeCount, stripe);
    this.scheduler = scheduler;
  }

  protected override load(index: number): number {
    this.scheduler.point();
    return super.load(index);
  }

  protected override addTo(index: number, delta: number): void {
    this.scheduler.point();
    super.addTo(index, delta);
  }
}

/** A thread that would sleep lets others run. */
class SimDoorbell extends Doorbell {
  private readonly scheduler: Scheduler;

  constructor(scheduler: Scheduler) {
    super(scheduler.share(new SharedArrayBuffer(8)));
    this.scheduler = scheduler;
  }

  override wait(): void {
    this.scheduler.block();
    this.cancelSleep();
  }
}
