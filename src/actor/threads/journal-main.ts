import { type LogTruncation, openLog } from "../../store/log/log.ts";
import { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { SharedBatch } from "../../wire/shared-batch.ts";
import { Control, RUNNING, STOP_JOURNAL } from "./control.ts";
import { Journal, type LeaderSide, type Replicas } from "./journal.ts";
import { Linger } from "./linger.ts";
import type { ThreadTask } from "./thread-task.ts";

export interface JournalTask extends ThreadTask {
  logDir: string;
  exchangeId: string;
  segmentBytes: number;
  protectedThrough: number;
  inputs: SharedArrayBuffer[];
  front: SharedArrayBuffer;
  frontDoorbell: SharedArrayBuffer;
  store: SharedArrayBuffer;
  storeDoorbell: SharedArrayBuffer;
  replication: JournalReplication | null;
}
/** How the journal and the replicator talk. */
export interface JournalReplication {
  /** Transactions of the leader that this process follows. */
  input: SharedArrayBuffer;
  /** Tell the workers that more of these are on disk. */
  workerDoorbells: SharedArrayBuffer[];
  /** The replicator reads what was written last from it; null: from the log's files. */
  batch: SharedArrayBuffer | null;
  /** Tells the replicator that more was written. */
  writtenDoorbell: SharedArrayBuffer;
  /** Tells the journal that more was replicated. */
  replicatedDoorbell: SharedArrayBuffer;
  /** Whether each transaction must be in the stream before it counts. */
  isSync: boolean;
  /** How long a batch may wait for more in mode `sync`. */
  lingerMs: number;
}
/** Posted by the journal thread when it is ready. */
export interface JournalReady {
  lastSequence: number;
  /** See LogWriter.truncation. */
  truncation: LogTruncation | null;
}

export function runJournal(task: JournalTask): void {
  const control = new Control(task.control);
  const { segmentBytes, protectedThrough, exchangeId } = task;
  const log = openLog(task.logDir, { segmentBytes, protectedThrough, exchangeId });
  const lastSequence = log.nextSequence - 1;
  control.startAt(lastSequence);
  const journal = new Journal({
    log,
    control,
    inputs: task.inputs.map((input) => new RingConsumer(input)),
    leader: task.replication === null ? null : leaderOf(task.replication, control),
    doorbell: new Doorbell(task.doorbell),
    front: new RingProducer(task.front, new Doorbell(task.frontDoorbell, () => task.port.postMessage("released"))),
    store: new RingProducer(task.store, new Doorbell(task.storeDoorbell)),
    clock: Date.now,
    replicas: task.replication === null ? null : replicasOf(task.replication, control),
    linger: task.replication?.isSync
      ? new Linger({ maxMs: task.replication.lingerMs, bell: control.lingerBell })
      : null,
  });
  task.port.postMessage({ lastSequence, truncation: log.truncation } satisfies JournalReady);
  journal.run();
  task.port.close();
}

function leaderOf({ input, workerDoorbells }: JournalReplication, control: Control): LeaderSide {
  const workers = workerDoorbells.map((buffer) => new Doorbell(buffer));
  return {
    input: new RingConsumer(input),
    isLeading: () => control.isFollowing,
    wakeWorkers() {
      for (const worker of workers) worker.wake();
    },
    haveApplied: (sequence) =>
      control.phase !== RUNNING || workers.every((_, worker) => control.appliedBy(worker) >= sequence),
  };
}

/** It looks again at this interval, whatever the replicator says. */
const REPLICATED_WAIT_MS = 250;
/** At a stop it looks so often more. */
const LOOKS_AT_STOP = 3;

function replicasOf(replication: JournalReplication, control: Control): Replicas {
  const { isSync } = replication;
  const written = new Doorbell(replication.writtenDoorbell);
  const replicated = new Doorbell(replication.replicatedDoorbell);
  const batch = replication.batch === null ? null : new SharedBatch(replication.batch);
  return {
    handOver: (first, last, bytes) => batch?.put(first, last, bytes),
    wake: () => written.wake(),
    released: () => {
      if (!isSync) written.wake();
    },
    await(sequence) {
      let seen = 0;
      for (let looks = 0; isSync && control.replicated < sequence; looks++) {
        if (control.phase < STOP_JOURNAL || control.replicated > seen) looks = 0;
        else if (looks > LOOKS_AT_STOP) return false;
        seen = control.replicated;
        replicated.prepareSleep();
        if (control.replicated < sequence) replicated.wait(REPLICATED_WAIT_MS);
        replicated.cancelSleep();
      }
      return true;
    },
  };
}
