import type { Message } from "../../core/protocol/message-schema.ts";
import { eachSnapshotEntry, readSnapshotPart } from "../../wire/snapshot.ts";
import type { Database } from "./database.ts";
import { SnapshotRecord } from "./history-schema.ts";
import { noYield, WriteBatch } from "./write-batch.ts";

/** Each actor's state as of a sequence, written behind: recovery loads it and folds the log's tail onto it. */
export class Snapshots {
  private readonly database: Database;
  /** See KeeperOptions. */
  private readonly yieldNow: () => void;

  constructor(database: Database, yieldNow = noYield) {
    this.database = database;
    this.yieldNow = yieldNow;
  }

  /** The sequence through which the actor's rows hold its state; 0 when it never had a snapshot. */
  sequenceOf(actorId: number): number {
    return this.database.snapshotHeads.get(actorId)?.sequence ?? 0;
  }

  /** The time of the actor's last turn in that state, in ms; 0 when nobody knows. */
  timeOf(actorId: number): number {
    return this.database.snapshotHeads.get(actorId)?.time ?? 0;
  }

  /**
   * Brings the actor's rows to `sequence`, all in one transaction: what the parts (records of kind SNAPSHOT, in order)
   * put and remove. On disk when it returns. Sequences of an actor never go back: the caller sees to that.
   */
  apply(actorId: number, sequence: number, parts: readonly Uint8Array[]): void {
    const { database } = this;
    const batch = new WriteBatch(this.yieldNow);
    const entries = {
      put: (table: string, key: number | string, row: Uint8Array) =>
        batch.putEncoded(database.snapshotRows, [actorId, table, key], row),
      remove: (table: string, key: number | string) => batch.remove(database.snapshotRows, [actorId, table, key]),
    };
    for (const part of parts) eachSnapshotEntry(part, entries);
    const time = Math.max(0, ...parts.map((part) => readSnapshotPart(part).time));
    batch.put(database.snapshotHeads, actorId, { type: SnapshotRecord.code, sequence, time });
    database.commit(batch);
  }

  /**
   * Visits every row of the actor's state, table by table, and returns the sequence that the state is of (0 = there is
   * none, start from nothing). Throws DatabaseCorruptError when a row is damaged.
   */
  load(actorId: number, visit: (table: string, key: number | string, row: Message) => void): number {
    const { database } = this;
    database.refresh();
    const sequence = this.sequenceOf(actorId);
    database.snapshotRows.each({ start: [actorId], end: [actorId + 1] }, (key, row) => {
      const [, table, rowKey] = key as [number, string, number | string];
      visit(table, rowKey, row);
    });
    // The caller's thread may never turn its event loop again, and would hold on to this state.
    database.refresh();
    return sequence;
  }
}
