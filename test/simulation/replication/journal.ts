import type { Batch } from "../../../src/replication/batch.ts";
import { LocalLog } from "../../../src/replication/local-log.ts";
import { LEASE_VALID_MS, type LocalSide } from "../../../src/replication/replicator.ts";
import type { Files } from "../../../src/store/files/files.ts";
import type { LogWriter } from "../../../src/store/log/log.ts";
import type { Random } from "../../e2e/support/random.ts";
import { sealRecord } from "./transactions.ts";

/** So long a journal waits for the stream after the rest of the process has stopped. */
const STOP_WAIT_MS = 1500;

export interface JournalParts {
  readonly logDir: string;
  readonly files: Files;
  readonly log: LogWriter;
  readonly random: Random;
  readonly lastRecordMs: number;
  readonly post: (delayMs: number, work: () => void) => () => void;
  /** A record of the leader was delivered. */
  readonly onDelivered: (record: Uint8Array) => void;
  /** Everything through this sequence counts. */
  readonly onReleased: (from: number, through: number) => void;
  /** Mutants. */
  readonly skipsSync: boolean;
  readonly skipsStream: boolean;
}

/**
 * The journal of a process, one step at a time: it writes a batch, syncs it, waits until the stream has it, and releases it
 * (actor/threads/journal.ts). Anything can happen between two steps.
 */
export class SimulatedJournal implements LocalSide {
  readonly mayFollow = true;
  readonly isHealthy = true;
  isStopping = false;
  readonly streamedThrough: number;
  leasedUntilMs = Number.NEGATIVE_INFINITY;
  readonly lastRecordMs: number;
  private readonly parts: JournalParts;
  private written: number;
  private durable: number;
  private inStream = 0;
  private reader: LocalLog | null = null;
  private queue: Buffer[] = [];
  private isBusy = false;
  private isSynced = false;
  /** The stream has not answered since the stop: the rest of the log never counts here. */
  private isCutShort = false;
  private wake: () => void = () => {};

  constructor(parts: JournalParts) {
    this.parts = parts;
    this.lastRecordMs = parts.lastRecordMs;
    this.written = parts.log.nextSequence - 1;
    this.durable = this.written;
    this.streamedThrough = this.written;
  }

  /** A transaction of this process's engine. */
  enqueue(record: Buffer): void {
    this.queue.push(record);
    this.begin();
  }

  stop(): void {
    this.isStopping = true;
    this.wake();
    this.parts.post(STOP_WAIT_MS, () => {
      this.isCutShort = this.isBusy;
      this.wake();
    });
  }

  readWhole(): void {}

  publishable(): number {
    return this.written;
  }

  released(): number {
    return this.durable;
  }

  readAfter(sequence: number): void {
    this.reader?.close();
    this.reader = new LocalLog(this.parts.logDir, sequence + 1, this.parts.files);
  }

  read(through: number, targetBytes: number): Pick<Batch, "first" | "last" | "bytes"> | null {
    return this.reader?.read(through, targetBytes) ?? null;
  }

  deliver(record: Uint8Array): Promise<void> {
    const copy = Buffer.from(record);
    this.parts.onDelivered(copy);
    this.enqueue(copy);
    // The ring to the journal may be full.
    return new Promise((resolve) => void this.parts.post(this.queue.length > 50 ? 5 : 0, resolve));
  }

  replicated(sequence: number): void {
    this.inStream = sequence;
    this.parts.post(this.parts.random.next(), () => this.release());
  }

  waitForMore(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.parts.post(250, resolve);
      this.wake = () => {
        cancel();
        this.parts.post(0, resolve);
      };
    });
  }

  /** The simulation purges the stream by itself. */
  neededFrom(): number {
    return 0;
  }

  leased(sentAtMs: number): void {
    this.leasedUntilMs = sentAtMs + LEASE_VALID_MS;
  }

  get isClosed(): boolean {
    return this.isStopping && (this.isCutShort || (!this.isBusy && this.queue.length === 0));
  }

  private begin(): void {
    if (this.isBusy || this.queue.length === 0) return;
    this.isBusy = true;
    this.parts.post(this.parts.random.next(), () => this.write());
  }

  private write(): void {
    const { log, random, post, skipsSync } = this.parts;
    const batch = this.queue.splice(0, random.between(1, 8));
    for (const record of batch) sealRecord(record, this.durable);
    log.append(Buffer.concat(batch), this.written + 1, this.written + batch.length);
    this.written += batch.length;
    this.wake();
    this.isSynced = skipsSync;
    if (skipsSync) this.release();
    else post(random.next() < 0.1 ? 20 * random.next() : random.next(), () => this.sync());
  }

  private sync(): void {
    this.parts.log.sync();
    this.isSynced = true;
    this.release();
  }

  private release(): void {
    const { log, random, onReleased, skipsStream } = this.parts;
    if (this.isCutShort || !this.isBusy || !this.isSynced || (this.inStream < this.written && !skipsStream)) return;
    const from = this.durable + 1;
    this.durable = this.written;
    this.isBusy = false;
    this.isSynced = false;
    onReleased(from, this.durable);
    if (this.queue.length === 0 && random.next() < 0.3) {
      log.appendWatermark(0);
      log.sync();
    }
    this.wake();
    this.begin();
  }
}
