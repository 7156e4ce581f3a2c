import { assert } from "../../assert.ts";
import type { TimeMs } from "../../core/base/units.ts";
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
import { HistoryPruner, KEEP_ALL, type Retention } from "../history/history-pruner.ts";
import { LogReader } from "../log/log-reader.ts";
import { removeSegmentsBefore, SegmentKeptError } from "../log/log-segment.ts";

/** The most transactions per commit: large enough to share the cost of a commit, small enough to end soon. */
const BATCH_TRANSACTIONS = 20_000;
/** While there is more to index, every so many steps remove old history. */
const STEPS_PER_REMOVAL = 16;
/** Steps until a segment that could not be removed is tried again: ten seconds when there is nothing else to do. */
const STEPS_UNTIL_NEXT_TRIM = 40;

interface IndexerOptions {
  /** Open for writing. The indexer is its only writer. */
  database: Database;
  logDir: string;
  instruments: readonly Instrument[];
  /** All actors. The log is kept from the oldest of their snapshots on. */
  actorIds: readonly number[];
  /** How much history is kept. Default: all. */
  retention?: Retention;
  /** Do not remove segments that are no longer needed. */
  keepSegments?: boolean;
  /** The last sequence that is in the replicated stream. Default: the log is on this machine only. */
  replicatedThrough?: () => number;
  /** Called when a segment cannot be removed, and again only after all could be. */
  onSegmentKept?(error: SegmentKeptError): void;
  /** The file system of the log. Default: the disk. */
  files?: Files;
  /** Called every few microseconds of long work, even within a database transaction. It may sleep briefly. */
  yieldNow?: () => void;
  /** Called for each snapshot that was received whole and will be stored. */
  onSnapshotReceived?(actorId: number, sequence: number): void;
  /** Called for each snapshot that was stored. Its actor may write the next one. */
  onSnapshotStored(actorId: number, sequence: number): void;
}

interface PendingSnapshot {
  readonly actorId: number;
  /** That of its latest part. */
  sequence: number;
  readonly parts: Uint8Array[];
}

/**
 * The store thread's work, in steps. Follows the log with the history index, stores snapshots, and removes log segments that
 * neither needs. If it throws (DatabaseWriteError, DatabaseCorruptError, LogCorruptError, AssertionError) the thread and the
 * exchange must stop: after a failed commit its state is unknown until it is opened again.
 */
export class Indexer {
  private readonly options: IndexerOptions;
  private readonly fold: HistoryFold;
  private readonly reader: LogReader;
  private readonly snapshots: Snapshots;
  private readonly pruner: HistoryPruner;
  private stepsUntilRemoval = 0;
  /** By actor: the sequence of its stored snapshot. */
  private readonly snapshotSequences = new Map<number, number>();
  /** By actor: the snapshot of which parts are still missing. */
  private readonly incoming = new Map<number, PendingSnapshot>();
  private readonly complete: PendingSnapshot[] = [];
  /** The last step stored a snapshot. */
  private hasStored = false;
  /** Segments before this sequence are removed, or will be at the next removal. */
  private trimmedBefore: number;
  private stepsUntilTrim = 0;
  private hasKeptSegment = false;

  constructor(options: IndexerOptions) {
    this.options = options;
    this.fold = new HistoryFold(options.database, options.instruments, options.yieldNow);
    this.snapshots = new Snapshots(options.database, options.yieldNow);
    const { database, instruments, retention = KEEP_ALL, yieldNow } = options;
    this.pruner = new HistoryPruner(database, instruments, retention, yieldNow);
    for (const actorId of options.actorIds) this.snapshotSequences.set(actorId, this.snapshots.sequenceOf(actorId));
    this.reader = new LogReader(options.logDir, this.fold.indexedSequence + 1, options.files);
    // Nothing is removed before something new arrives: the journal may still be opening the log.
    this.trimmedBefore = this.neededFrom;
  }

  /** The history index holds everything through this sequence, durably. */
  get indexedSequence(): number {
    return this.fold.indexedSequence;
  }

  /** The last sequence that the index or a snapshot includes. The log must not end before it. */
  get storedThrough(): number {
    return Math.max(this.fold.indexedSequence, ...this.snapshotSequences.values());
  }

  /** The sequence of the actor's stored snapshot; 0 = it has none. */
  snapshotSequenceOf(actorId: number): number {
    return this.snapshotSequences.get(actorId) ?? 0;
  }

  /** The first sequence that recovery or the index still needs from the log. */
  get neededFrom(): number {
    return Math.min(this.fold.indexedSequence, ...this.snapshotSequences.values()) + 1;
  }

  /** Receives a record of kind SNAPSHOT: a part of a snapshot. Copies it. step() stores a snapshot after its last part. */
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
   * Does one database commit: a snapshot, or the next transactions of the log, through `durableSequence` at most. Alternates
   * if both wait, so that frequent snapshots do not stop the index. Returns whether there is more to do. A commit costs a
   * sync and whole pages even if it is small: unless a client waits for the index, call it for many transactions at once.
   *
   * Some steps do a second commit, which removes old history. More of it is no reason to call again at once: so the disk
   * keeps its time for the log.
   */
  step(durableSequence: number): boolean {
    this.options.database.requireLatest();
    const isIndexNext = this.hasStored && this.indexedSequence < durableSequence;
    this.hasStored = !isIndexNext && this.storeSnapshot(durableSequence);
    const hasMore = this.hasStored || this.index(durableSequence) || this.readySnapshot(durableSequence) >= 0;
    this.trim();
    this.removeOld(hasMore);
    return hasMore;
  }

  close(): void {
    this.reader.close();
  }

  /** The index of the first complete snapshot whose sequence is durable; −1 = there is none. */
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

  /** Returns whether more transactions wait. */
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

  /** See HistoryPruner. */
  get historySince(): TimeMs {
    return this.pruner.historySince;
  }

  private removeOld(isBusy: boolean): void {
    if (isBusy && --this.stepsUntilRemoval > 0) return;
    this.stepsUntilRemoval = STEPS_PER_REMOVAL;
    this.pruner.step(this.fold.clock);
  }

  private trim(): void {
    const { replicatedThrough = () => Number.POSITIVE_INFINITY } = this.options;
    const before = Math.min(this.neededFrom, replicatedThrough() + 1);
    if (this.options.keepSegments || before === this.trimmedBefore) return;
    if (this.stepsUntilTrim > 0) {
      this.stepsUntilTrim--;
      return;
    }
    try {
      removeSegmentsBefore(this.options.logDir, before, this.options.files);
      this.trimmedBefore = before;
      this.hasKeptSegment = false;
    } catch (error) {
      if (!(error instanceof SegmentKeptError)) throw error;
      this.stepsUntilTrim = STEPS_UNTIL_NEXT_TRIM;
      if (!this.hasKeptSegment) this.options.onSegmentKept?.(error);
      this.hasKeptSegment = true;
    }
  }
}
