import type { MarginTable } from "../accounts/margin-table.ts";
import type { Event } from "./events.ts";
import type { Reply } from "./replies.ts";

/**
 * One turn of an actor: one command, its time, and where what comes of it goes. A message is read during the call and
 * never kept, so the caller may fill the same object in again.
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

/** What every actor is: decides commands, applies events, keeps and restores its state. Pure: no clock, no I/O. */
export interface Actor {
  readonly actorId: number;
  decide(command: { type: number }, transaction: Transaction): void;
  /** A bounded share of the work that no command waits for, as a turn of its own. Returns whether more is left. */
  runBackground(transaction: Transaction): boolean;
  /** Something has come due that is not left until no command comes: fire() is called behind each one's turn. */
  readonly isFiring: boolean;
  /** A bounded share of it, as a turn of its own. */
  fire(transaction: Transaction): void;
  /** Changes state by one event of the log, exactly as the deciding turn did. */
  apply(event: { type: number }, time: number): void;
  /** The turn's events stand in the log at this sequence: stamp what it touched. */
  settle(sequence: number, time: number): void;
  /**
   * Hands over the rows that have changed since they were last handed over: all, or a share of about `most`, where the
   * next call goes on. Returns whether it came to the end; what has changed again behind it is for the next one.
   */
  snapshot(writer: SnapshotWriter, most?: number): boolean;
  load(table: string, key: number | string, row: { type: number }): void;
  /** After the last row or event of recovery: derive what is derived (cells, indexes). */
  restored(): void;
  /** Adds all that the cells have been given by this actor to `sums`. Between turns only. */
  contribute(sums: MarginTable): void;
}
