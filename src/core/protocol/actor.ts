import type { MarginTable } from "../accounts/margin-table.ts";
import type { Event } from "./events.ts";
import type { Reply } from "./replies.ts";

/**
 * One transaction of an actor: the time of its command, and where events and replies go. emit() and reply() keep no
 * reference to the message, so the caller may fill in the same object again.
 */
export interface Transaction {
  readonly time: number;
  emit(event: Event): void;
  reply(reply: Reply): void;
}

/** Where an actor writes the rows that changed since its last snapshot. Keys are unique within a table. */
export interface SnapshotWriter {
  put(table: string, key: number | string, row: { type: number }): void;
  remove(table: string, key: number | string): void;
}

/** Rows of the actor's last stored snapshot, for a table that it does not keep in memory. */
export interface SnapshotReader {
  /** Reads one row of the database. */
  find(table: string, key: number | string): { type: number } | undefined;
}

/** Decides commands, applies events, and hands its state over to snapshots. Pure: no clock, no I/O. */
export interface Actor {
  readonly actorId: number;
  decide(command: { type: number }, transaction: Transaction): void;
  /** Answers a command that changes nothing (isReadOnly), in any state. It emits no event. */
  read(command: { type: number }, transaction: Transaction): void;
  /** While true, decide(), runBackground() and fire() must not be called: call settleMark() first. */
  readonly isSettlingMark: boolean;
  /**
   * Settles a bounded part of a new mark, as a transaction of its own. Returns false if it must wait for other threads, which
   * are changing the same accounts.
   */
  settleMark(transaction: Transaction): boolean;
  /** Does a bounded part of the work that no command waits for, as a transaction of its own. Returns whether more is left. */
  runBackground(transaction: Transaction): boolean;
  /** Conditional orders are due and must not wait for an idle moment: fire() is called after each command. */
  readonly isFiring: boolean;
  /** Fires a bounded part of them, as a transaction of its own. */
  fire(transaction: Transaction): void;
  /** Changes the state by one event of the log, exactly as the deciding transaction did. */
  apply(event: { type: number }, time: number): void;
  /** The transaction's events are in the log at this sequence. The actor stamps what they changed. */
  settle(sequence: number, time: number): void;
  /**
   * As settle(), for a transaction that another process has decided. It also brings the margin table to what the transaction
   * has changed. Call restored() before the first one.
   */
  settleFollowed(sequence: number, time: number): void;
  /** Between followed transactions: brings a part of the margin table to the mark. Returns whether more is left. */
  followMark(): boolean;
  /**
   * Hands over the rows that have changed since they were last handed over: all, or about `most` of them, and the next
   * call goes on. Returns whether it came to the end. Rows that change again after they were passed are left for then.
   */
  snapshot(writer: SnapshotWriter, most?: number): boolean;
  /** All rows that were handed over are stored: the actor may forget them and read them from the database. */
  snapshotStored(): void;
  load(table: string, key: number | string, row: { type: number }): void;
  /**
   * Call it after the last row and event of recovery: derives the margin table's part and the indexes. A process that follows
   * another one calls it again when it leads.
   */
  restored(): void;
  /** Adds all that this actor has contributed to the margin table to `sums`. Only between transactions. */
  contribute(sums: MarginTable): void;
}
