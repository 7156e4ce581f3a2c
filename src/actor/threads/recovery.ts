import type { TimeMs } from "../../core/base/units.ts";
import type { Actor } from "../../core/protocol/actor.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { NO_PAST_IDS, type PastIds } from "../../store/database/past-client-ids.ts";
import type { Snapshots } from "../../store/database/snapshots.ts";
import { DISK, type Files } from "../../store/files/files.ts";
import { LogReader } from "../../store/log/log-reader.ts";
import { eachMessage } from "../../wire/codec.ts";
import { AT_ACTOR_ID, AT_SEQUENCE, AT_TIME, RECORD_HEADER_BYTES } from "../../wire/record.ts";
import type { Control } from "./control.ts";

/** Progress is reported after this many records. */
const RECORDS_PER_STEP = 10_000;

/**
 * Recovers actors: loads their snapshots and applies the log's tail with the same `apply` that deciding transactions
 * use. Decides nothing again. Leaves `pastIds` on disk. Returns the time of the last transaction found, in ms: no later
 * transaction is earlier.
 */
export function recover(
  actors: readonly Actor[],
  snapshots: Snapshots,
  logDir: string,
  control: Control,
  files: Files = DISK,
  pastIds: PastIds = NO_PAST_IDS,
): number {
  const recovery = new Recovery(actors, snapshots, logDir, control, files, pastIds);
  recovery.catchUp();
  return recovery.finish();
}

/** Applies the log to actors, as far as it has come. A standby goes on with that for as long as another process leads. */
export class Recovery {
  private readonly byId = new Map<number, { actor: Actor; through: number; time: TimeMs }>();
  private readonly control: Control;
  private readonly reader: LogReader;
  private next: number;
  private lastTime = 0;
  private isRestored = false;

  /** Loads the actors' snapshots. */
  constructor(
    actors: readonly Actor[],
    snapshots: Snapshots,
    logDir: string,
    control: Control,
    files: Files = DISK,
    pastIds: PastIds = NO_PAST_IDS,
  ) {
    this.control = control;
    let from = control.durable;
    for (const actor of actors) {
      const visit = (table: string, key: number | string, row: Message): void => actor.load(table, key, row);
      const through = snapshots.load(actor.actorId, visit, pastIds.through.get(actor.actorId));
      control.setStoredSnapshotOf(actor.actorId, through);
      const time = snapshots.timeOf(actor.actorId);
      this.lastTime = Math.max(this.lastTime, time);
      this.byId.set(actor.actorId, { actor, through, time });
      from = Math.min(from, through);
    }
    this.next = from + 1;
    this.reader = new LogReader(logDir, this.next, files);
  }

  /** Applies the log through the last transaction that is released. Returns whether there was any. */
  catchUp(): boolean {
    const end = this.control.durable;
    if (this.next > end) return false;
    for (let read = -1; read !== 0; ) {
      read = this.reader.read(end, this.visit, RECORDS_PER_STEP);
      this.control.addRecovered(read);
    }
    this.next = end + 1;
    return true;
  }

  /** The actors hold everything through this sequence. */
  get through(): number {
    return this.next - 1;
  }

  /** The time of the last transaction, of the actor or of all. */
  timeOf(actorId: number): TimeMs {
    return this.byId.get(actorId)?.time ?? 0;
  }
  get time(): TimeMs {
    return this.lastTime;
  }

  /** The actors can be read. catchUp() may go on. */
  restore(): void {
    this.isRestored = true;
    for (const { actor } of this.byId.values()) actor.restored();
  }

  /** After the last catchUp(): the actors can decide. Returns the time of the last transaction, in ms. */
  finish(): number {
    this.reader.close();
    this.restore();
    return this.lastTime;
  }

  private readonly visit = (buffer: Buffer, view: DataView, offset: number, logBytes: number): void => {
    const entry = this.byId.get(view.getUint16(offset + AT_ACTOR_ID, true));
    const sequence = view.getFloat64(offset + AT_SEQUENCE, true);
    const time = view.getFloat64(offset + AT_TIME, true);
    this.lastTime = Math.max(this.lastTime, time);
    if (entry === undefined || sequence <= entry.through) return;
    const { actor } = entry;
    entry.time = time;
    eachMessage(view, buffer, offset + RECORD_HEADER_BYTES, offset + logBytes, (event) => actor.apply(event, time));
    if (this.isRestored) actor.settleFollowed(sequence, time);
    else actor.settle(sequence, time);
  };
}
