import { existsSync } from "node:fs";
import type { MessagePort } from "node:worker_threads";
import { LiquidationBids } from "../../core/accounts/liquidation-bids.ts";
import { MarginTable } from "../../core/accounts/margin-table.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { LedgerActor, type LedgerSettings } from "../../core/ledger/ledger.ts";
import type { Actor } from "../../core/protocol/actor.ts";
import { compileInstrument, type InstrumentConfig } from "../../core/protocol/instrument.ts";
import { SymbolActor, type SymbolSettings } from "../../core/symbol.ts";
import { openDatabase } from "../../store/database/database.ts";
import { Snapshots } from "../../store/database/snapshots.ts";
import { logOf } from "../../store/files/data-folder.ts";
import { DiskRoom } from "../../store/files/disk-room.ts";
import { DatabaseCorruptError, readGenesis } from "../../store/files/genesis.ts";
import { Indexer } from "../../store/indexer/indexer.ts";
import { type LogTruncation, openLog } from "../../store/log/log.ts";
import { listSegments } from "../../store/log/log-segment.ts";
import { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { ActorWorker } from "./actor-worker.ts";
import { Control, STOP_STORE } from "./control.ts";
import { CooperativeYield } from "./cooperative-yield.ts";
import { Journal } from "./journal.ts";
import { recover } from "./recovery.ts";
import { StoreWorker } from "./store-worker.ts";

/**
 * The main function of each thread. It posts a message when it is ready, then runs until the exchange stops. An error
 * ends the thread and reaches the host. The host rebuilds an actor thread (see actor-threads.ts). Without one of the other
 * threads the exchange ends.
 */
export interface ThreadTask {
  port: MessagePort;
  control: SharedArrayBuffer;
  doorbell: SharedArrayBuffer;
}

export interface StoreTask extends ThreadTask {
  dataDir: string;
  /** Snapshots, from the journal. */
  input: SharedArrayBuffer;
  /** Woken after each commit: the gateway may wait for the index. */
  frontDoorbell: SharedArrayBuffer;
  actorIds: number[];
  instruments: InstrumentConfig[];
  keepSegments: boolean;
  /** Below this the database is not written to. By then the gateway refuses most commands that store more. */
  minFreeBytes: number;
}
/** Posted by the store thread when it is ready. */
export interface StoreReady {
  /** See Indexer.storedThrough. */
  storedThrough: number;
}

export interface JournalTask extends ThreadTask {
  logDir: string;
  segmentBytes: number;
  protectedThrough: number;
  inputs: SharedArrayBuffer[];
  front: SharedArrayBuffer;
  frontDoorbell: SharedArrayBuffer;
  store: SharedArrayBuffer;
  storeDoorbell: SharedArrayBuffer;
}
/** Posted by the journal thread when it is ready. */
export interface JournalReady {
  lastSequence: number;
  /** See LogWriter.truncation. */
  truncation: LogTruncation | null;
}

export interface ActorTask extends ThreadTask {
  /** The worker's number, from 0, and how many there are. */
  worker: number;
  workers: number;
  dataDir: string;
  commands: SharedArrayBuffer;
  out: SharedArrayBuffer;
  journalDoorbell: SharedArrayBuffer;
  marginTable: SharedArrayBuffer;
  liquidationBids: SharedArrayBuffer;
  /** As large as the margin table: see recount.ts. */
  sums: SharedArrayBuffer;
  /** It replaces a thread that has died, while the others go on: see rebuild.ts. */
  isReplacement: boolean;
  actorIds: number[];
  instruments: InstrumentConfig[];
  ledger: LedgerSettings;
  symbols: SymbolSettings;
  snapshotIntervalMs: number;
}

/** The store looks for new transactions at this interval. A client that waits for the index wakes it at once. */
const STORE_WAIT_MS = 250;

export async function runStore(task: StoreTask): Promise<void> {
  refuseOrphanedLog(task.dataDir);
  const control = new Control(task.control);
  const doorbell = new Doorbell(task.doorbell);
  const frontDoorbell = new Doorbell(task.frontDoorbell, () => task.port.postMessage("indexed"));
  const input = new RingConsumer(task.input);
  const database = openDatabase(task.dataDir);
  const indexer = new Indexer({
    database,
    logDir: logOf(task.dataDir),
    instruments: task.instruments.map(compileInstrument),
    actorIds: task.actorIds,
    keepSegments: task.keepSegments,
    yieldNow: () => worker.yieldNow(),
    onSnapshotReceived: (actorId, sequence) => control.setReceivedSnapshotOf(actorId, sequence),
    onSnapshotStored: (actorId, sequence) => control.setStoredSnapshotOf(actorId, sequence),
  });
  control.indexed = indexer.indexedSequence;
  for (const actorId of task.actorIds) control.setStoredSnapshotOf(actorId, indexer.snapshotSequenceOf(actorId));
  task.port.postMessage({ storedThrough: indexer.storedThrough } satisfies StoreReady);
  const disk = new DiskRoom(task.dataDir, task.minFreeBytes);
  const worker: StoreWorker = new StoreWorker({
    ...{ indexer, control, input, frontDoorbell },
    hasRoom: () => disk.isEnough(),
    cooperativeYield: new CooperativeYield(control),
  });
  while (control.phase < STOP_STORE) {
    if (worker.step()) continue;
    doorbell.prepareSleep();
    if (worker.maySleep && control.phase < STOP_STORE) doorbell.wait(STORE_WAIT_MS);
    doorbell.cancelSleep();
    // lmdb-js leaves timers behind that only the event loop clears.
    await new Promise((resolve) => setImmediate(resolve));
  }
  worker.finish(() => performance.now());
  indexer.close();
  database.close();
  task.port.close();
}

/** Throws DatabaseCorruptError for a log without a database: a fresh database would hide that the old one was lost. */
export function refuseOrphanedLog(dataDir: string): void {
  const logDir = logOf(dataDir);
  if (readGenesis(dataDir) !== null || !existsSync(logDir) || listSegments(logDir).length === 0) return;
  throw new DatabaseCorruptError(`${logDir} holds a log, but ${dataDir} has lost its genesis.json and its database`);
}

export function runJournal(task: JournalTask): void {
  const control = new Control(task.control);
  const { segmentBytes, protectedThrough } = task;
  const log = openLog(task.logDir, { segmentBytes, protectedThrough });
  const lastSequence = log.nextSequence - 1;
  control.startAt(lastSequence);
  const journal = new Journal({
    log,
    control,
    inputs: task.inputs.map((input) => new RingConsumer(input)),
    doorbell: new Doorbell(task.doorbell),
    front: new RingProducer(task.front, new Doorbell(task.frontDoorbell, () => task.port.postMessage("released"))),
    store: new RingProducer(task.store, new Doorbell(task.storeDoorbell)),
    clock: Date.now,
  });
  task.port.postMessage({ lastSequence, truncation: log.truncation } satisfies JournalReady);
  journal.run();
  task.port.close();
}

/** Tests pass `wrap` to replace actors. */
export function runActors(task: ActorTask, wrap: (actor: Actor) => Actor = (actor) => actor): void {
  const control = new Control(task.control);
  const { worker: stripe, workers: stripeCount } = task;
  const shared = new MarginTable(task.marginTable, stripeCount, stripe);
  const marginTable = task.isReplacement ? MarginTable.allocate(shared.maxAccounts, stripeCount, stripe) : shared;
  const symbols = task.instruments.map(({ symbol }) => symbol);
  marginTable.bids = new LiquidationBids(task.liquidationBids, symbols);
  const actors = task.actorIds.map((actorId): Actor => {
    if (actorId === LEDGER) return wrap(new LedgerActor(task.ledger, marginTable));
    const config = task.instruments.find((instrument) => instrument.id === actorId);
    if (config === undefined) throw new Error(`no instrument has the id ${actorId}`);
    return wrap(new SymbolActor(compileInstrument(config), marginTable, task.symbols));
  });
  const database = openDatabase(task.dataDir, { readOnly: true });
  const notBefore = recover(actors, new Snapshots(database), logOf(task.dataDir), control);
  database.close();
  const worker = new ActorWorker({
    worker: task.worker,
    actors,
    marginTable,
    sums: new MarginTable(task.sums, stripeCount, stripe),
    ...(task.isReplacement ? { joinTable: task.marginTable } : {}),
    control,
    commands: new RingConsumer(task.commands),
    doorbell: new Doorbell(task.doorbell),
    out: new RingProducer(task.out, new Doorbell(task.journalDoorbell)),
    snapshotIntervalMs: task.snapshotIntervalMs,
    clock: Date.now,
    monotonic: () => performance.now(),
    notBefore,
  });
  task.port.postMessage("ready");
  worker.run();
  task.port.close();
}
