import type { SnapshotReader } from "../../core/protocol/actor.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { CLIENT_IDS } from "../../core/state/symbol-rows.ts";
import { eachSnapshotEntry, readSnapshotPart } from "../../wire/snapshot.ts";
import type { Database } from "./database.ts";
import { SnapshotRecord } from "./history-schema.ts";
import { clientIdRange } from "./past-client-ids.ts";
import type { Key } from "./table.ts";
import { noYield, WriteBatch } from "./write-batch.ts";

/** Tables whose names begin with this are never loaded, but read row by row. */
const UNLOADED = "~";

/** Of an actor's tables, those of which most rows are about the past. They are in a table of their own, which no start reads. */
const isOfThePast = (table: string): boolean => table === CLIENT_IDS || table.startsWith(UNLOADED);

/**
 * Each actor's state as of a sequence. Recovery loads it and applies the log's tail. It loads those client order ids only that
 * the history index does not find: see past-client-ids.ts.
 */
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
        batch.putEncoded(isOfThePast(table) ? database.pastRows : database.snapshotRows, [actorId, table, key], row),
      remove: (table: string, key: number | string) => {
        if (isOfThePast(table)) batch.remove(database.pastRows, [actorId, table, key]);
        // Also a row of the past, since older versions had it there.
        batch.remove(database.snapshotRows, [actorId, table, key]);
      },
    };
    for (const part of parts) eachSnapshotEntry(part, entries);
    const time = Math.max(0, ...parts.map((part) => readSnapshotPart(part).time));
    batch.put(database.snapshotHeads, actorId, { type: SnapshotRecord.code, sequence, time });
    database.commit(batch);
  }

  /**
   * Visits the rows of the actor's state, but for tables that are read row by row, and for the client order ids of orders through
   * `idsThrough`. Returns the sequence of the state; 0 = there is none. Throws DatabaseCorruptError for a damaged row.
   */
  load(actorId: number, visit: (table: string, key: number | string, row: Message) => void, idsThrough = 0): number {
    const { database } = this;
    database.refresh();
    const sequence = this.sequenceOf(actorId);
    const visitRow = (key: Key, row: Message): void => {
      const [, table, rowKey] = key as [number, string, number | string];
      visit(table, rowKey, row);
    };
    database.snapshotRows.each({ start: [actorId], end: [actorId + 1] }, visitRow);
    if (database.pastRows.exists) database.pastRows.each(clientIdRange(actorId, idsThrough), visitRow);
    // The caller's thread may block for ever, and would keep this state's pages from being reused.
    database.refresh();
    return sequence;
  }

  /** The rows of the actor's last snapshot that are never loaded, one by one. Each read sees the last commit. Throws DatabaseCorruptError. */
  readerOf(actorId: number): SnapshotReader {
    const { database } = this;
    return {
      find(table, key) {
        database.refresh();
        const row = database.pastRows.get([actorId, table, key]);
        database.refresh();
        return row;
      },
    };
  }
}
