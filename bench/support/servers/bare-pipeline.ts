import { fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../../src/wire/ring.ts";
import { temporaryFolder } from "../folder.ts";

const RING_BYTES = 16 * 2 ** 20;
const FILE_BYTES = 16 * 2 ** 20;
const WAIT_MS = 250;

/** A thread of the pipeline: reads from a ring and writes to the next. */
interface Stage {
  /** The journal's file; null = a worker. */
  path: string | null;
  doorbell: SharedArrayBuffer;
  input: SharedArrayBuffer;
  output: SharedArrayBuffer;
  /** Doorbell of the next stage. */
  nextDoorbell: SharedArrayBuffer;
}

/**
 * The bare pipeline: perpd's threads, rings, doorbells and syncs with no work between them. Requests go to a worker,
 * which forwards them to a journal, which writes and syncs all that wait, and back.
 */
export class BarePipeline {
  private readonly doorbell = new Doorbell();
  private readonly commands: RingProducer;
  private readonly answers: RingConsumer;
  private readonly waiting: (() => void)[] = [];
  private wakePending = false;

  constructor() {
    const [workerDoorbell, journalDoorbell] = [new Doorbell(), new Doorbell()];
    const rings = Array.from({ length: 3 }, () => allocateRing(RING_BYTES));
    this.commands = new RingProducer(rings[0], workerDoorbell);
    this.answers = new RingConsumer(rings[2]);
    this.doorbell.prepareSleep();
    start({
      path: null,
      doorbell: workerDoorbell.buffer,
      input: rings[0],
      output: rings[1],
      nextDoorbell: journalDoorbell.buffer,
    });
    const path = join(temporaryFolder().path, "log");
    const { buffer: nextDoorbell } = this.doorbell;
    start({ path, doorbell: journalDoorbell.buffer, input: rings[1], output: rings[2], nextDoorbell }).on(
      "message",
      () => this.drain(),
    );
  }

  /** Sends bytes through the pipeline; `onDurable` runs when they are on disk. Throws when the ring is full. */
  send(bytes: Uint8Array, onDurable: () => void): void {
    const at = this.commands.reserve(bytes.length);
    if (at < 0) throw new Error("the bare pipeline is full");
    this.commands.bytes.set(bytes, at);
    this.commands.commit(bytes.length);
    this.waiting.push(onDurable);
    if (this.wakePending) return;
    this.wakePending = true;
    // One wake-up for all requests of an event-loop iteration.
    setImmediate(() => {
      this.wakePending = false;
      this.commands.wake();
    });
  }

  private drain(): void {
    const { answers, doorbell, waiting } = this;
    do {
      doorbell.cancelSleep();
      let count = 0;
      for (; answers.peek() >= 0; answers.next()) count++;
      answers.release();
      for (const onDurable of waiting.splice(0, count)) onDurable();
      doorbell.prepareSleep();
    } while (answers.peek() >= 0);
  }
}

const start = (station: Stage): Worker => new Worker(new URL(import.meta.url), { workerData: station });

function run({ path, doorbell: doorbellBuffer, input, output, nextDoorbell }: Stage): void {
  const doorbell = new Doorbell(doorbellBuffer);
  const from = new RingConsumer(input);
  // The main thread cannot block on a doorbell, so it gets a message.
  const notify = path === null ? null : () => parentPort?.postMessage("released");
  const to = new RingProducer(output, new Doorbell(nextDoorbell, notify));
  const store = path === null ? () => {} : openFile(path);
  const batch = Buffer.allocUnsafeSlow(RING_BYTES);
  for (;;) {
    const lengths: number[] = [];
    let batchBytes = 0;
    for (let at = from.peek(); at >= 0; at = from.peek()) {
      batch.set(from.bytes.subarray(at, at + from.length), batchBytes);
      batchBytes += from.length;
      lengths.push(from.length);
      from.next();
    }
    from.release();
    if (lengths.length > 0) {
      store(batch, batchBytes);
      let at = 0;
      for (const length of lengths) {
        const place = to.reserve(length);
        if (place < 0) throw new Error("the bare pipeline is full");
        to.bytes.set(batch.subarray(at, at + length), place);
        to.commit(length);
        at += length;
      }
      to.wake();
      continue;
    }
    doorbell.prepareSleep();
    if (from.peek() < 0) doorbell.wait(WAIT_MS);
    doorbell.cancelSleep();
  }
}

/** Opens a preallocated file that is written from start to end, again and again. */
function openFile(path: string): (bytes: Buffer, length: number) => void {
  const fd = openSync(path, "w");
  writeSync(fd, Buffer.alloc(FILE_BYTES, 1));
  fdatasyncSync(fd);
  let at = 0;
  return (bytes, length) => {
    if (at + length > FILE_BYTES) at = 0;
    writeSync(fd, bytes, 0, length, at);
    fdatasyncSync(fd);
    at += length;
  };
}

if (!isMainThread) run(workerData);
