import type { SnapshotReader } from "../../core/protocol/actor.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { eachSnapshotEntry, readSnapshotPart } from "../../wire/snapshot.ts";
import type { Database } from "./database.ts";
import { SnapshotRecord } from "./history-schema.ts";
import type { Key } from "./table.ts";
import { noYield, WriteBatch } from "./write-batch.ts";

/** Tables whose names begin with "~" are not loaded but read row by row. These two are before and behind their names. */
const BEFORE_UNLOADED = "~";
const BEHIND_UNLOADED = "\u007f";

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
   * Visits every row of the actor's state, but for tables that are read row by row. Returns the sequence of
   * the state; 0 = there is none. Throws DatabaseCorruptError for a damaged row.
   */
  load(actorId: number, visit: (table: string, key: number | string, row: Message) => void): number {
    const { database } = this;
    database.refresh();
    const sequence = this.sequenceOf(actorId);
    const visitRow = (key: Key, row: Message): void => {
      const [, table, rowKey] = key as [number, string, number | string];
      visit(table, rowKey, row);
    };
    database.snapshotRows.each({ start: [actorId], end: [actorId, BEFORE_UNLOADED] }, visitRow);
    database.snapshotRows.each({ start: [actorId, BEHIND_UNLOADED], end: [actorId + 1] }, visitRow);
    // The caller's thread may block for ever, and would keep this state's pages from being reused.
    database.refresh();
    return sequence;
  }

  /** The rows of the actor's last snapshot, one by one. Each read sees the last commit. Throws DatabaseCorruptError. */
  readerOf(actorId: number): SnapshotReader {
    const { database } = this;
    return {
      find(table, key) {
        database.refresh();
        const row = database.snapshotRows.get([actorId, table, key]);
        database.refresh();
        return row;
      },
    };
  }
}
