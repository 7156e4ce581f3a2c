import type { LogWriter } from "../../store/log/log.ts";
import { seal } from "../../store/log/log-record.ts";
import { AT_KIND, AT_LOG_BYTES, AT_SEQUENCE, KIND_SNAPSHOT, KIND_TRANSACTION, viewOf } from "../../wire/record.ts";
import type { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { type Control, STOP_JOURNAL } from "./control.ts";
import type { Linger } from "./linger.ts";
import { reserveOrWait } from "./reserve-or-wait.ts";

/**
 * The most that one drain writes, so that latency stays bounded under load. The next drain takes the rest. Only the last record
 * may go beyond it.
 */
export const MAX_BATCH_BYTES = 1024 * 1024;
const IDLE_WAIT_MS = 20;
const LONG_WAIT_MS = 250;
/** An upper bound only: a worker that has applied a transaction of the leader wakes the journal. */
const APPLY_WAIT_MS = 1;
/** How often it is checked that the log's folder still holds the segment in use. */
const WATCH_INTERVAL_MS = 250;
/** Large enough to share the cost of a sync. Small enough that a transaction waits for it a third of a millisecond. */
const PREPARE_BYTES = 128 * 1024;

export interface JournalOptions {
  log: LogWriter;
  control: Control;
  /** One ring from each worker. */
  inputs: readonly RingConsumer[];
  /** Null: no other process can lead. */
  leader?: LeaderSide | null;
  doorbell: Doorbell;
  front: RingProducer;
  store: RingProducer;
  clock: () => number;
  /** Null: the log is on this machine only. */
  replicas?: Replicas | null;
  /** Null: a batch never waits for more. */
  linger?: Linger | null;
}

/** Another process that leads, and the workers that follow it. */
export interface LeaderSide {
  /** Its transactions. */
  readonly input: RingConsumer;
  /** It leads now. */
  isLeading(): boolean;
  /** Tells the workers that more of its transactions are on disk. */
  wakeWorkers(): void;
  /** Whether every worker has applied everything through the sequence, or applies no more. */
  haveApplied(sequence: number): boolean;
}

/** The copies of the log on other machines. */
export interface Replicas {
  /** This batch was written to the log's files. `control.written` does not count it yet. */
  handOver(first: number, last: number, bytes: Uint8Array): void;
  /** `control.written` has grown. */
  wake(): void;
  /**
   * Blocks until the copies hold everything through the sequence, if each transaction must be there before it counts. Returns
   * false if the process stops and they do not answer.
   */
  await(sequence: number): boolean;
  /** More counts on this machine. */
  released(): void;
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
  /** The end of the log does not count, since the copies do not have it. No watermark may say that it does. */
  private isCutShort = false;
  private readonly leader: LeaderSide | null;
  private readonly leaderInputs: readonly RingConsumer[];
  private readonly allInputs: readonly RingConsumer[];

  constructor(options: JournalOptions) {
    this.options = options;
    this.leader = options.leader ?? null;
    this.leaderInputs = this.leader === null ? [] : [this.leader.input];
    this.allInputs = [...options.inputs, ...this.leaderInputs];
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
      if (isStopping || this.isCutShort) break;
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
    if (!this.isCutShort) {
      log.appendWatermark(clock());
      log.sync();
    }
    log.close();
  }

  /** One drain of all rings. Returns whether it passed anything on. */
  step(): boolean {
    if (this.leader?.isLeading()) return this.follow(this.leader);
    const { control, inputs, linger = null } = this.options;
    const first = control.durable + 1;
    let next = this.collect(inputs, first);
    if (this.collected.length === 0) return false;
    // Replies alone do not wait.
    if (next > first)
      linger?.gather(first, () => {
        next = this.collectMore(inputs, next);
        return next - first;
      });
    if (next > first && !this.write(first, next - 1)) return false;
    this.release(inputs);
    return true;
  }

  /**
   * The same while another process leads. A worker applies a transaction when it is on disk, and its replies say what it has
   * applied. So a transaction is passed on after all replies that know nothing of it, and before all that do: as if the worker
   * had decided it.
   */
  private follow(leader: LeaderSide): boolean {
    const { control, doorbell, front } = this.options;
    const first = control.durable + 1;
    const hasReplies = this.passReplies(first);
    const next = this.collect(this.leaderInputs, first);
    if (next === first) {
      if (hasReplies) front.wake();
      return hasReplies;
    }
    if (!this.write(first, next - 1)) return false;
    leader.wakeWorkers();
    while (!leader.haveApplied(next - 1)) {
      if (this.passReplies(first)) continue;
      doorbell.prepareSleep();
      if (!leader.haveApplied(next - 1)) doorbell.wait(APPLY_WAIT_MS);
      doorbell.cancelSleep();
    }
    this.passReplies(first);
    this.release(this.leaderInputs);
    return true;
  }

  /** Passes on what workers have written that know nothing of the transaction `first`. Returns whether there was anything. */
  private passReplies(first: number): boolean {
    let hasPassed = false;
    for (const input of this.options.inputs) {
      for (let at = input.peek(); at >= 0; at = input.peek()) {
        const isReply = input.view.getUint8(at + AT_KIND) !== KIND_TRANSACTION;
        if (!isReply || input.view.getFloat64(at + AT_SEQUENCE, true) >= first) break;
        this.pass(input, at, input.length);
        input.next();
        input.release();
        hasPassed = true;
      }
    }
    return hasPassed;
  }

  /** Writes the batch to disk, and to the copies if it must be there before it counts. Returns false if it does not count. */
  private write(first: number, last: number): boolean {
    const { log, control, replicas = null } = this.options;
    const bytes = this.batch.subarray(0, this.batchBytes);
    log.append(bytes, first, last);
    replicas?.handOver(first, last, bytes);
    control.written = last;
    replicas?.wake();
    log.sync();
    if (replicas?.await(last) === false) {
      this.isCutShort = true;
      return false;
    }
    control.durable = last;
    replicas?.released();
    return true;
  }

  private hasReleasable(): boolean {
    const { control } = this.options;
    const next = control.durable + 1;
    for (const input of this.allInputs) {
      const at = input.peek();
      if (at < 0) continue;
      const sequence = input.view.getFloat64(at + AT_SEQUENCE, true);
      if (input.view.getUint8(at + AT_KIND) === KIND_TRANSACTION ? sequence === next : sequence < next) return true;
    }
    return false;
  }

  private isIdle(): boolean {
    for (const input of this.allInputs) if (input.peek() >= 0) return false;
    return true;
  }

  /** Collects the records that may be passed on, in the order of their sequences. Returns the next free sequence. */
  private collect(inputs: readonly RingConsumer[], first: number): number {
    this.collected.length = 0;
    this.batchBytes = 0;
    return this.collectMore(inputs, first);
  }

  /** As collect(), behind what was collected before. */
  private collectMore(inputs: readonly RingConsumer[], from: number): number {
    let next = from;
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

  /** Passes on what was collected from these rings, and gives their room back. */
  private release(inputs: readonly RingConsumer[]): void {
    const { log, front } = this.options;
    for (let i = 0; i < this.collected.length; i += 3)
      this.pass(inputs[this.collected[i]], this.collected[i + 1], this.collected[i + 2]);
    for (const input of inputs) input.release();
    front.wake();
    // The next segment file grows twice as fast as this one fills, so that it is ready in time.
    this.unpreparedBytes += this.batchBytes;
    if (this.unpreparedBytes < PREPARE_BYTES) return;
    log.prepare(2 * this.unpreparedBytes);
    this.unpreparedBytes = 0;
  }

  private pass(input: RingConsumer, at: number, length: number): void {
    const { front, store } = this.options;
    if (input.view.getUint8(at + AT_KIND) !== KIND_SNAPSHOT) return this.copy(input, at, length, front);
    this.copy(input, at, length, store);
    store.wake();
  }

  private copy(input: RingConsumer, at: number, length: number, to: RingProducer): void {
    const target = reserveOrWait(to, length, this.options.doorbell);
    to.bytes.set(input.bytes.subarray(at, at + length), target);
    to.commit(length);
  }
}
