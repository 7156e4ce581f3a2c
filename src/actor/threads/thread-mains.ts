import { existsSync } from "node:fs";
import type { MessagePort } from "node:worker_threads";
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
 * What runs on each thread, from its first line to its last. Each says through its port when it is ready, then loops until
 * the exchange stops. An error ends the thread, and the host hears of it: an actor thread is rebuilt (see workers.ts), without
 * the others the exchange ends.
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
  /** Rung after each commit: the front waits for the index. */
  frontDoorbell: SharedArrayBuffer;
  actorIds: number[];
  instruments: InstrumentConfig[];
  keepSegments: boolean;
  /** The database is not written to below this: what the front lets through by then is little. */
  minFreeBytes: number;
}
/** What a store says when it is ready. */
export interface StoreReady {
  /** See Keeper. */
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
export interface JournalReady {
  lastSequence: number;
  /** See LogWriter. */
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
  /** As large as the cells: see recount.ts. */
  sums: SharedArrayBuffer;
  /** It takes the place of a thread that has died while the others go on: see rebuild.ts. */
  isReplacement: boolean;
  actorIds: number[];
  instruments: InstrumentConfig[];
  ledger: LedgerSettings;
  symbols: SymbolSettings;
  snapshotIntervalMs: number;
}

/** The store looks for new turns this often by itself; who waits for the index wakes it at once. */
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
    // lmdb-js leaves timers behind that only a turning event loop clears.
    await new Promise((resolve) => setImmediate(resolve));
  }
  worker.finish(() => performance.now());
  indexer.close();
  database.close();
  task.port.close();
}

/** A log without its database is an exchange that has lost one: starting anew over it would hide that. */
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

/** `equip` stands something else in an actor's place: for tests. */
export function runActors(task: ActorTask, equip: (actor: Actor) => Actor = (actor) => actor): void {
  const control = new Control(task.control);
  const { worker: lane, workers: laneCount } = task;
  const shared = new MarginTable(task.marginTable, laneCount, lane);
  const marginTable = task.isReplacement ? MarginTable.allocate(shared.maxAccounts, laneCount, lane) : shared;
  const actors = task.actorIds.map((actorId): Actor => {
    if (actorId === LEDGER) return equip(new LedgerActor(task.ledger, marginTable));
    const config = task.instruments.find((instrument) => instrument.id === actorId);
    if (config === undefined) throw new Error(`no instrument has the id ${actorId}`);
    return equip(new SymbolActor(compileInstrument(config), marginTable, task.symbols));
  });
  const database = openDatabase(task.dataDir, { readOnly: true });
  const notBefore = recover(actors, new Snapshots(database), logOf(task.dataDir), control);
  database.close();
  const worker = new ActorWorker({
    worker: task.worker,
    actors,
    marginTable,
    sums: new MarginTable(task.sums, laneCount, lane),
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
