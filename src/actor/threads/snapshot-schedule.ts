import type { Actor } from "../../core/protocol/actor.ts";
import { pad8 } from "../../wire/record.ts";
import type { Doorbell, RingProducer } from "../../wire/ring.ts";
import { SnapshotPartWriter } from "../../wire/snapshot.ts";
import type { Control } from "./control.ts";
import { reserveOrWait } from "./reserve-or-wait.ts";

const ROWS_PER_CHUNK = 512;
/** If rows change faster than chunks are written, the rest is written at once after this many chunks. */
const MAX_CHUNKS = 4096;

export interface SnapshotScheduleOptions {
  actors: readonly Actor[];
  control: Control;
  doorbell: Doorbell;
  /** The ring to the journal, which passes snapshots on to the store. */
  out: RingProducer;
  snapshotIntervalMs: number;
  rowsPerSnapshotChunk?: number;
  /** Milliseconds. */
  monotonic: () => number;
}

interface ActorSnapshots {
  readonly actor: Actor;
  readonly writer: SnapshotPartWriter;
  /** The sequence of its last snapshot. */
  lastSequence: number;
  /** How many chunks of the next snapshot are written. */
  chunks: number;
}

/**
 * Writes snapshots of a worker's actors at an interval. Most rows go ahead in chunks, between transactions; rows that
 * change afterwards are written again. So the final part, for which all transactions wait, is small.
 */
export class SnapshotSchedule {
  private readonly options: SnapshotScheduleOptions;
  private readonly actors: readonly ActorSnapshots[];
  /** The actors whose snapshots are due. That of the first is in progress. */
  private due: ActorSnapshots[] = [];
  private nextAt = 0;

  constructor(options: SnapshotScheduleOptions) {
    this.options = options;
    const write = (part: Uint8Array): void => this.write(part);
    this.actors = options.actors.map((actor) => ({
      actor,
      writer: new SnapshotPartWriter(actor.actorId, write),
      lastSequence: options.control.storedSnapshotOf(actor.actorId),
      chunks: 0,
    }));
  }

  /**
   * Writes one chunk of the snapshot that is due. `sequence`: the actors hold everything of theirs through it. `time` is that of
   * the last transaction. Returns whether one was due.
   */
  step(time: number, sequence: number): boolean {
    if (this.due.length === 0) this.findDue(sequence);
    const { out, rowsPerSnapshotChunk = ROWS_PER_CHUNK } = this.options;
    const snapshots = this.due.at(0);
    if (snapshots === undefined) return false;
    snapshots.writer.stamp(sequence, time);
    if (snapshots.actor.snapshot(snapshots.writer, rowsPerSnapshotChunk) || ++snapshots.chunks === MAX_CHUNKS) {
      this.due.shift();
      this.complete(snapshots, time, sequence);
    }
    out.wake();
    return true;
  }

  /** Completes a snapshot of every actor. */
  writeAll(time: number, sequence: number): void {
    for (const snapshots of this.actors) this.complete(snapshots, time, sequence);
  }

  /** At each interval: every actor, if anything happened since its last snapshot and that one is stored. */
  private findDue(sequence: number): void {
    const { control, monotonic, snapshotIntervalMs } = this.options;
    const now = monotonic();
    if (now < this.nextAt) return;
    const isFirst = this.nextAt === 0;
    this.nextAt = now + snapshotIntervalMs;
    if (isFirst) return;
    this.due = this.actors.filter(
      ({ actor, lastSequence }) => control.storedSnapshotOf(actor.actorId) >= lastSequence && sequence !== lastSequence,
    );
    for (const { actor } of this.due) actor.snapshotStored();
  }

  private complete(snapshots: ActorSnapshots, time: number, sequence: number): void {
    snapshots.lastSequence = sequence;
    snapshots.chunks = 0;
    snapshots.writer.stamp(sequence, time);
    snapshots.actor.snapshot(snapshots.writer);
    snapshots.writer.end();
  }

  private write(part: Uint8Array): void {
    const { out, doorbell } = this.options;
    const at = reserveOrWait(out, pad8(part.length), doorbell);
    out.bytes.set(part, at);
    out.commit(part.length);
  }
}
