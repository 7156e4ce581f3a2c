import type { Message } from "../../core/protocol/message-schema.ts";
import { eachSnapshotEntry, readSnapshotPart } from "../../wire/snapshot.ts";
import type { Database } from "./database.ts";
import { SnapshotRecord } from "./history-schema.ts";
import { noYield, WriteBatch } from "./write-batch.ts";

/** Each actor's state as of a sequence. Recovery loads it and applies the log's tail. */
export class Snapshots {
  private readonly database: Database;
  /** See IndexerOptions. */
  private readonly yieldNow: () => void;

  constructor(database: Database, yieldNow = noYield) {
    this.database = database;
    this.yieldNow = yieldNow;
  }

  /** The sequence of the actor's snapshot; 0 = it has none. */
  sequenceOf(actorId: number): number {
    return this.database.snapshotHeads.get(actorId)?.sequence ?? 0;
  }

  /** The time of the actor's last transaction in that state, in ms; 0 = unknown. */
  timeOf(actorId: number): number {
    return this.database.snapshotHeads.get(actorId)?.time ?? 0;
  }

  /**
   * Brings the actor's rows to `sequence` in one commit. `parts` are records of kind SNAPSHOT, in order. Durable when it
   * returns. The caller makes sure that the sequences of an actor ascend.
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
   * Visits every row of the actor's state, table by table. Returns the sequence of the state; 0 = there is none. Throws
   * DatabaseCorruptError for a damaged row.
   */
  load(actorId: number, visit: (table: string, key: number | string, row: Message) => void): number {
    const { database } = this;
    database.refresh();
    const sequence = this.sequenceOf(actorId);
    database.snapshotRows.each({ start: [actorId], end: [actorId + 1] }, (key, row) => {
      const [, table, rowKey] = key as [number, string, number | string];
      visit(table, rowKey, row);
    });
    // The caller's thread may block for ever, and would keep this state's pages from being reused.
    database.refresh();
    return sequence;
  }
}
