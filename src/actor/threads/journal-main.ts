import { type LogTruncation, openLog } from "../../store/log/log.ts";
import { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { Control } from "./control.ts";
import { Journal } from "./journal.ts";
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
    doorbell: new Doorbell(task.doorbell),
    front: new RingProducer(task.front, new Doorbell(task.frontDoorbell, () => task.port.postMessage("released"))),
    store: new RingProducer(task.store, new Doorbell(task.storeDoorbell)),
    clock: Date.now,
  });
  task.port.postMessage({ lastSequence, truncation: log.truncation } satisfies JournalReady);
  journal.run();
  task.port.close();
}
