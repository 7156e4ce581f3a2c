import type { LogWriter } from "../../store/log/log.ts";
import { seal } from "../../store/log/log-record.ts";
import { AT_KIND, AT_LOG_BYTES, AT_SEQUENCE, KIND_SNAPSHOT, KIND_TRANSACTION, viewOf } from "../../wire/record.ts";
import type { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { type Control, STOP_JOURNAL } from "./control.ts";
import { reserveOrWait } from "./reserve-or-wait.ts";

/** The most that one drain writes, so that latency stays bounded under load. The next drain takes the rest. */
const MAX_BATCH_BYTES = 1024 * 1024;
const IDLE_WAIT_MS = 20;
const LONG_WAIT_MS = 250;
/** How often it is checked that the log's folder still holds the segment in use. */
const WATCH_INTERVAL_MS = 250;
/** Large enough to share the cost of a sync. Small enough that a transaction waits for it a third of a millisecond. */
const PREPARE_BYTES = 128 * 1024;

export interface JournalOptions {
  log: LogWriter;
  control: Control;
  /** One ring from each worker. */
  inputs: readonly RingConsumer[];
  doorbell: Doorbell;
  front: RingProducer;
  store: RingProducer;
  clock: () => number;
}

/**
 * Merges the transactions of all workers into one log and releases them: collect in sequence order, write, fdatasync,
 * pass on. Nothing is passed on before everything that it depends on is on disk. So a transaction without events waits
 * for the last sequence that its actor could have known.
 */
export class Journal {
  private readonly options: JournalOptions;
  private batch = Buffer.allocUnsafeSlow(2 * MAX_BATCH_BYTES);
  private batchView = viewOf(this.batch);
  private batchBytes = 0;
  /** Bytes appended since the next segment file last grew. */
  private unpreparedBytes = 0;
  /** The records that this drain passes on, three numbers each: input, offset, length. */
  private collected: number[] = [];

  constructor(options: JournalOptions) {
    this.options = options;
  }

  run(): void {
    const { doorbell, control } = this.options;
    let idleMs = IDLE_WAIT_MS;
    let watchedAt = performance.now();
    for (;;) {
      if (performance.now() - watchedAt >= WATCH_INTERVAL_MS) {
        watchedAt = performance.now();
        this.options.log.requireSegment();
      }
      // Read it before the step: when it is set the actors have written their last record.
      const isStopping = control.phase >= STOP_JOURNAL;
      if (this.step()) {
        idleMs = IDLE_WAIT_MS;
        continue;
      }
      if (isStopping) break;
      doorbell.prepareSleep();
      // A record that waits for an earlier sequence is no reason to stay awake: that sequence's worker will wake us.
      if (!this.hasReleasable() && control.phase < STOP_JOURNAL) doorbell.wait(idleMs);
      doorbell.cancelSleep();
      if (this.isIdle() && this.prepareWhileIdle()) idleMs = LONG_WAIT_MS;
    }
    this.close();
  }

  /** While there is no work: writes a watermark and prepares the next segment. Returns whether the segment is ready. */
  prepareWhileIdle(): boolean {
    const { log, clock } = this.options;
    log.appendWatermark(clock());
    log.sync();
    return log.prepare(PREPARE_BYTES);
  }

  /** After the last step. */
  close(): void {
    const { log, clock } = this.options;
    log.appendWatermark(clock());
    log.sync();
    log.close();
  }

  /** One drain of all rings. Returns whether it passed anything on. */
  step(): boolean {
    const { log, control, inputs, front } = this.options;
    const first = control.durable + 1;
    const next = this.collect(first);
    if (this.collected.length === 0) return false;
    if (next > first) {
      log.append(this.batch.subarray(0, this.batchBytes), first, next - 1);
      log.sync();
      control.durable = next - 1;
    }
    this.release();
    for (const input of inputs) input.release();
    front.wake();
    // The next segment file grows twice as fast as this one fills, so that it is ready in time.
    this.unpreparedBytes += this.batchBytes;
    if (this.unpreparedBytes >= PREPARE_BYTES) {
      log.prepare(2 * this.unpreparedBytes);
      this.unpreparedBytes = 0;
    }
    return true;
  }

  private hasReleasable(): boolean {
    const { inputs, control } = this.options;
    const next = control.durable + 1;
    for (const input of inputs) {
      const at = input.peek();
      if (at < 0) continue;
      const sequence = input.view.getFloat64(at + AT_SEQUENCE, true);
      if (input.view.getUint8(at + AT_KIND) === KIND_TRANSACTION ? sequence === next : sequence < next) return true;
    }
    return false;
  }

  private isIdle(): boolean {
    for (const input of this.options.inputs) if (input.peek() >= 0) return false;
    return true;
  }

  /** Collects the records that may be passed on, in the order of their sequences. Returns the next free sequence. */
  private collect(first: number): number {
    const { inputs } = this.options;
    this.collected.length = 0;
    this.batchBytes = 0;
    let next = first;
    for (let found = true; found && this.batchBytes < MAX_BATCH_BYTES; ) {
      found = false;
      for (let i = 0; i < inputs.length; i++) {
        const input = inputs[i];
        for (let at = input.peek(); at >= 0 && this.batchBytes < MAX_BATCH_BYTES; at = input.peek()) {
          const sequence = input.view.getFloat64(at + AT_SEQUENCE, true);
          if (input.view.getUint8(at + AT_KIND) === KIND_TRANSACTION) {
            if (sequence !== next) break;
            this.addToBatch(input, at);
            next++;
          } else if (sequence >= next) break;
          this.collected.push(i, at, input.length);
          input.next();
          found = true;
        }
      }
    }
    return next;
  }

  /** Copies the logged part of a transaction into the batch and sets its checksum. */
  private addToBatch(input: RingConsumer, at: number): void {
    const logBytes = input.view.getUint32(at + AT_LOG_BYTES, true);
    if (this.batchBytes + logBytes > this.batch.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.batchBytes + logBytes));
      this.batch.copy(larger, 0, 0, this.batchBytes);
      this.batch = larger;
      this.batchView = viewOf(larger);
    }
    this.batch.set(input.bytes.subarray(at, at + logBytes), this.batchBytes);
    seal(this.batchView, this.batch, this.batchBytes, logBytes, this.options.control.durable);
    this.batchBytes += logBytes;
  }

  private release(): void {
    const { inputs, front, store } = this.options;
    for (let i = 0; i < this.collected.length; i += 3) {
      const input = inputs[this.collected[i]];
      const at = this.collected[i + 1];
      const length = this.collected[i + 2];
      if (input.view.getUint8(at + AT_KIND) !== KIND_SNAPSHOT) this.copy(input, at, length, front);
      else {
        this.copy(input, at, length, store);
        store.wake();
      }
    }
  }

  private copy(input: RingConsumer, at: number, length: number, to: RingProducer): void {
    const target = reserveOrWait(to, length, this.options.doorbell);
    to.bytes.set(input.bytes.subarray(at, at + length), target);
    to.commit(length);
  }
}
