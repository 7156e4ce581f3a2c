import { assert } from "../../assert.ts";
import type { Event } from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { eachMessage } from "../../wire/codec.ts";
import { AT_ACTOR_ID, AT_SEQUENCE, AT_TIME, RECORD_HEADER_BYTES } from "../../wire/record.ts";
import { readSnapshotPart } from "../../wire/snapshot.ts";
import type { Database } from "../database/database.ts";
import { Snapshots } from "../database/snapshots.ts";
import { noYield } from "../database/write-batch.ts";
import type { Files } from "../files/files.ts";
import { HistoryFold } from "../history/history-fold.ts";
import { LogReader } from "../log/log-reader.ts";
import { removeSegmentsBefore } from "../log/log-segment.ts";

/** Turns of one transaction, at most: large enough that a commit's cost is shared, small enough to be soon over. */
const BATCH_TRANSACTIONS = 20_000;

export interface IndexerOptions {
  /** Opened for writing: the keeper is its one writer. */
  database: Database;
  logDir: string;
  instruments: readonly Instrument[];
  /** Every actor that has state: the log is kept for the one whose snapshot is oldest. */
  actorIds: readonly number[];
  /** Segments that nothing needs any more stay where they are. */
  keepSegments?: boolean;
  /** Where the log is. Default: the disk. */
  files?: Files;
  /** Called every few microseconds of long work, also with a transaction open: may wait a moment. */
  yieldNow?: () => void;
  /** Told of each snapshot that has come in whole, and will be stored. */
  onSnapshotReceived?(actorId: number, sequence: number): void;
  /** Told of each snapshot that is stored: its actor may hand over the next one. */
  onSnapshotStored(actorId: number, sequence: number): void;
}

interface PendingSnapshot {
  readonly actorId: number;
  /** Of its latest part. */
  sequence: number;
  readonly parts: Uint8Array[];
}

/**
 * What the store thread does, a step at a time: follows the log into the history index, live and after a start alike,
 * commits snapshots, and lets go of the log's segments that both are past. Whatever it throws (DatabaseWriteError,
 * DatabaseCorruptError, LogCorruptError, AssertionError), the thread must stop, and the exchange with it: after a failed
 * commit nothing here can be trusted until it is opened again.
 */
export class Indexer {
  private readonly options: IndexerOptions;
  private readonly fold: HistoryFold;
  private readonly reader: LogReader;
  private readonly snapshots: Snapshots;
  /** Of each actor, as stored. */
  private readonly snapshotSequences = new Map<number, number>();
  /** By actor: the snapshot whose parts are coming in. */
  private readonly incoming = new Map<number, PendingSnapshot>();
  private readonly complete: PendingSnapshot[] = [];
  /** The last step has stored a snapshot. */
  private hasStored = false;
  /** What stands before it has been removed, or will be with the next removal. */
  private trimmedBefore: number;

  constructor(options: IndexerOptions) {
    this.options = options;
    this.fold = new HistoryFold(options.database, options.instruments, options.yieldNow);
    this.snapshots = new Snapshots(options.database, options.yieldNow);
    for (const actorId of options.actorIds) this.snapshotSequences.set(actorId, this.snapshots.sequenceOf(actorId));
    this.reader = new LogReader(options.logDir, this.fold.indexedSequence + 1, options.files);
    // Nothing is removed before there is something new: the journal may only now be opening the log.
    this.trimmedBefore = this.neededFrom;
  }

  /** Everything through this sequence is in the history index, on disk. */
  get indexedSequence(): number {
    return this.fold.indexedSequence;
  }

  /** The last sequence that the index or a snapshot goes through: the log had it on disk, and must not end before. */
  get storedThrough(): number {
    return Math.max(this.fold.indexedSequence, ...this.snapshotSequences.values());
  }

  /** Of the actor's snapshot, as stored; 0 = it has none. */
  snapshotSequenceOf(actorId: number): number {
    return this.snapshotSequences.get(actorId) ?? 0;
  }

  /** The first sequence that the log must still hold: recovery begins there, or the index goes on there. */
  get neededFrom(): number {
    return Math.min(this.fold.indexedSequence, ...this.snapshotSequences.values()) + 1;
  }

  /** Takes in a record of kind SNAPSHOT, by copy: one part. With its last part a snapshot is ready for step(). */
  onSnapshotRecord(record: Uint8Array): void {
    const { actorId, sequence, part, last } = readSnapshotPart(record);
    const snapshot = part === 0 ? { actorId, sequence, parts: [] } : this.incoming.get(actorId);
    const isNext = snapshot !== undefined && snapshot.sequence <= sequence && snapshot.parts.length === part;
    assert(isNext, `actor ${actorId}: part ${part} of the snapshot of ${sequence} came out of order`);
    snapshot.sequence = sequence;
    snapshot.parts.push(record.slice());
    this.incoming.set(actorId, snapshot);
    if (!last) return;
    this.incoming.delete(actorId);
    this.complete.push(snapshot);
    this.options.onSnapshotReceived?.(actorId, sequence);
  }

  /**
   * Does one transaction's worth of what `durableSequence`, the last sequence on disk, allows: a snapshot or the next turns,
   * one after the other where both wait, however fast snapshots come. Returns whether there is more to do. A transaction
   * costs a sync and whole pages however little it holds, so let turns gather unless somebody waits for the index.
   */
  step(durableSequence: number): boolean {
    const isIndexNext = this.hasStored && this.indexedSequence < durableSequence;
    this.hasStored = !isIndexNext && this.storeSnapshot(durableSequence);
    const hasMore = this.hasStored || this.index(durableSequence) || this.readySnapshot(durableSequence) >= 0;
    this.trim();
    return hasMore;
  }

  close(): void {
    this.reader.close();
  }

  /** The place of the oldest that is complete: not before the log holds on disk what it rests on. −1 = there is none. */
  private readySnapshot(durableSequence: number): number {
    return this.complete.findIndex(({ sequence }) => sequence <= durableSequence);
  }

  private storeSnapshot(durableSequence: number): boolean {
    const at = this.readySnapshot(durableSequence);
    if (at < 0) return false;
    const [{ actorId, sequence, parts }] = this.complete.splice(at, 1) as [PendingSnapshot];
    const before = this.snapshotSequenceOf(actorId);
    assert(sequence >= before, `actor ${actorId}: a snapshot of ${sequence} after one of ${before}`);
    this.snapshots.apply(actorId, sequence, parts);
    this.snapshotSequences.set(actorId, sequence);
    this.options.onSnapshotStored(actorId, sequence);
    return true;
  }

  /** Returns whether more turns are waiting. */
  private index(durableSequence: number): boolean {
    const { fold } = this;
    const { yieldNow = noYield } = this.options;
    if (fold.indexedSequence >= durableSequence) return false;
    const apply = (event: Message): void => fold.apply(event as Event);
    this.reader.read(
      durableSequence,
      (bytes, view, offset, logBytes) => {
        yieldNow();
        fold.transaction(
          view.getFloat64(offset + AT_SEQUENCE, true),
          view.getFloat64(offset + AT_TIME, true),
          view.getUint16(offset + AT_ACTOR_ID, true),
        );
        eachMessage(view, bytes, offset + RECORD_HEADER_BYTES, offset + logBytes, apply);
      },
      BATCH_TRANSACTIONS,
    );
    fold.commit();
    return fold.indexedSequence < durableSequence;
  }

  private trim(): void {
    const before = this.neededFrom;
    if (this.options.keepSegments || before === this.trimmedBefore) return;
    removeSegmentsBefore(this.options.logDir, before, this.options.files);
    this.trimmedBefore = before;
  }
}
