import type { LogWriter } from "../../store/log/log.ts";
import { seal } from "../../store/log/log-record.ts";
import { AT_KIND, AT_LOG_BYTES, AT_SEQUENCE, KIND_SNAPSHOT, KIND_TRANSACTION, viewOf } from "../../wire/record.ts";
import type { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { type Control, STOP_JOURNAL } from "./control.ts";

/** A drain ends here, so that latency stays bounded under load; what is left comes with the next one. */
const MAX_BATCH_BYTES = 1024 * 1024;
const IDLE_WAIT_MS = 20;
const LONG_WAIT_MS = 250;
/** Large enough that the cost of a sync is shared, small enough that who comes meanwhile waits a third of a millisecond. */
const PREPARE_BYTES = 128 * 1024;

export interface JournalOptions {
  log: LogWriter;
  control: Control;
  /** One from each worker. */
  inputs: readonly RingConsumer[];
  doorbell: Doorbell;
  front: RingProducer;
  store: RingProducer;
  clock: () => number;
}

/**
 * Merges the actors' turns into one log and releases them: gather in ticket order → write → fdatasync → hand on. Nothing
 * is handed on before everything it rests on is on disk: a turn without events waits for the last ticket that its actor
 * could have known.
 */
export class Journal {
  private readonly options: JournalOptions;
  private batch = Buffer.allocUnsafeSlow(2 * MAX_BATCH_BYTES);
  private batchView = viewOf(this.batch);
  private batchBytes = 0;
  /** Appended since the next segment last grew. */
  private unpreparedBytes = 0;
  /** What the drain releases, three numbers each: input, offset, length. */
  private released: number[] = [];

  constructor(options: JournalOptions) {
    this.options = options;
  }

  run(): void {
    const { doorbell, control } = this.options;
    let idleMs = IDLE_WAIT_MS;
    for (;;) {
      // Before the step: what the actors have left behind when it is said is all there is.
      const isStopping = control.phase >= STOP_JOURNAL;
      if (this.step()) {
        idleMs = IDLE_WAIT_MS;
        continue;
      }
      if (isStopping) break;
      doorbell.prepareSleep();
      // A turn that waits for an earlier ticket is no reason to stay awake: whoever holds that ticket will ring.
      if (!this.hasReleasable() && control.phase < STOP_JOURNAL) doorbell.wait(idleMs);
      doorbell.cancelSleep();
      if (this.isIdle() && this.prepareWhileIdle()) idleMs = LONG_WAIT_MS;
    }
    this.close();
  }

  /**
   * When nobody waits: says how far the log is on disk, and makes the next segment ready. Returns whether that is done.
   */
  prepareWhileIdle(): boolean {
    const { log, clock } = this.options;
    log.appendWatermark(clock());
    log.sync();
    return log.prepare(PREPARE_BYTES);
  }

  /** Behind the last step. */
  close(): void {
    const { log, clock } = this.options;
    log.appendWatermark(clock());
    log.sync();
    log.close();
  }

  /** One drain of all rings. Returns whether there was anything. */
  step(): boolean {
    const { log, control, inputs, front } = this.options;
    const first = control.durable + 1;
    const next = this.collect(first);
    if (this.released.length === 0) return false;
    if (next > first) {
      log.append(this.batch.subarray(0, this.batchBytes), first, next - 1);
      log.sync();
      control.durable = next - 1;
    }
    this.release();
    for (const input of inputs) input.release();
    front.wake();
    // The next segment grows twice as fast as this one fills, so that rolling over never waits for it.
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

  /** Collects what may be written and released, in an order that respects every ticket. Returns the next ticket. */
  private collect(first: number): number {
    const { inputs } = this.options;
    this.released.length = 0;
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
          this.released.push(i, at, input.length);
          input.next();
          found = true;
        }
      }
    }
    return next;
  }

  /** Copies the logged part of a turn into the batch and seals it. */
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
    for (let i = 0; i < this.released.length; i += 3) {
      const input = inputs[this.released[i]];
      const at = this.released[i + 1];
      const length = this.released[i + 2];
      if (input.view.getUint8(at + AT_KIND) !== KIND_SNAPSHOT) this.copy(input, at, length, front);
      else {
        this.copy(input, at, length, store);
        store.wake();
      }
    }
  }

  private copy(input: RingConsumer, at: number, length: number, to: RingProducer): void {
    let place = to.reserve(length);
    while (place < 0) {
      to.wake();
      this.options.doorbell.prepareSleep();
      this.options.doorbell.wait(1);
      place = to.reserve(length);
    }
    to.bytes.set(input.bytes.subarray(at, at + length), place);
    to.commit(length);
  }
}
