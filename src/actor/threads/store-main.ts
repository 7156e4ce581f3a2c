import { existsSync } from "node:fs";
import { compileInstrument, type InstrumentConfig } from "../../core/protocol/instrument.ts";
import { openDatabase } from "../../store/database/database.ts";
import { findPastIds, type PastIds } from "../../store/database/past-client-ids.ts";
import { logOf } from "../../store/files/data-folder.ts";
import { DiskRoom } from "../../store/files/disk-room.ts";
import { DatabaseCorruptError, readGenesis } from "../../store/files/genesis.ts";
import type { Retention } from "../../store/history/history-pruner.ts";
import { Indexer } from "../../store/indexer/indexer.ts";
import { listSegments } from "../../store/log/log-segment.ts";
import { Doorbell, RingConsumer } from "../../wire/ring.ts";
import { Control, STOP_STORE } from "./control.ts";
import { CooperativeYield } from "./cooperative-yield.ts";
import { StoreWorker } from "./store-worker.ts";
import { lowerPriority, ownThread } from "./thread-priority.ts";
import type { ThreadTask } from "./thread-task.ts";

export interface StoreTask extends ThreadTask {
  dataDir: string;
  /** Snapshots, from the journal. */
  input: SharedArrayBuffer;
  /** Woken after each commit: the gateway may wait for the index. */
  frontDoorbell: SharedArrayBuffer;
  actorIds: number[];
  instruments: InstrumentConfig[];
  keepSegments: boolean;
  isReplicated: boolean;
  /** How much history is kept. */
  retention: Retention;
  /** Below this the database is not written to. By then the gateway refuses most commands that store more. */
  minFreeBytes: number;
}
/** Posted by the store thread when it is ready. */
export interface StoreReady {
  /** See Indexer.storedThrough. */
  storedThrough: number;
  pastIds: PastIds;
}

/** Posted by the store thread later: after a commit, or the reason why a segment that is not needed cannot be removed. */
export type StoreMessage = "indexed" | { segmentKept: string };

/** The store looks for new transactions at this interval. A client that waits for the index wakes it at once. */
const STORE_WAIT_MS = 250;
/** No order waits for the store, unless its ring is full. It leaves a third of the weight of the threads that an order passes. */
const STORE_NICENESS = 5;

export async function runStore(task: StoreTask): Promise<void> {
  lowerPriority(ownThread, STORE_NICENESS);
  refuseOrphanedLog(task.dataDir);
  const control = new Control(task.control);
  const doorbell = new Doorbell(task.doorbell);
  const post = (message: StoreMessage): void => task.port.postMessage(message);
  const frontDoorbell = new Doorbell(task.frontDoorbell, () => post("indexed"));
  const input = new RingConsumer(task.input);
  const database = openDatabase(task.dataDir);
  const indexer = new Indexer({
    database,
    logDir: logOf(task.dataDir),
    instruments: task.instruments.map(compileInstrument),
    actorIds: task.actorIds,
    keepSegments: task.keepSegments,
    ...(task.isReplicated ? { replicatedThrough: () => control.replicated } : {}),
    retention: task.retention,
    yieldNow: () => worker.yieldNow(),
    onSegmentKept: ({ message }) => post({ segmentKept: message }),
    onSnapshotReceived: (actorId, sequence) => control.setReceivedSnapshotOf(actorId, sequence),
    onSnapshotStored: (actorId, sequence) => control.setStoredSnapshotOf(actorId, sequence),
  });
  control.historySince = indexer.historySince;
  control.indexed = indexer.indexedSequence;
  for (const actorId of task.actorIds) control.setStoredSnapshotOf(actorId, indexer.snapshotSequenceOf(actorId));
  const pastIds = findPastIds(database, task.actorIds);
  task.port.postMessage({ storedThrough: indexer.storedThrough, pastIds } satisfies StoreReady);
  const disk = new DiskRoom(task.dataDir, task.minFreeBytes);
  const worker: StoreWorker = new StoreWorker({
    ...{ indexer, control, input, frontDoorbell },
    hasRoom: () => disk.isEnough(),
    cooperativeYield: new CooperativeYield(control),
  });
  const now = (): number => performance.now();
  while (control.phase < STOP_STORE) {
    const beganAt = now();
    if (worker.step()) continue;
    worker.rest(doorbell, Math.min(now() - beganAt, STORE_WAIT_MS), now);
    doorbell.prepareSleep();
    if (worker.maySleep && control.phase < STOP_STORE) doorbell.wait(STORE_WAIT_MS);
    doorbell.cancelSleep();
    // lmdb-js leaves timers behind that only the event loop clears.
    await new Promise((resolve) => setImmediate(resolve));
  }
  worker.finish(now);
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
