import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { TimeMs } from "../../core/base/units.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message } from "../../core/protocol/message-schema.ts";

/**
 * One transaction of one actor, durable, in the order of the log. `messages` holds its events and then its replies.
 * Valid during the call only: the objects are filled in again for the next transaction. Copy what you keep.
 */
export interface ReleasedTransaction {
  readonly actorId: number;
  /** The transaction's own sequence. One without events carries the last sequence that its actor could have known. */
  readonly sequence: number;
  readonly time: number;
  /** How many of `messages` are events. They come first; the rest are replies. */
  readonly eventCount: number;
  readonly messages: readonly Message[];
}

export type OnReply = (transaction: ReleasedTransaction | null) => void;

/** The state of this process in a replicated exchange. */
export interface ReplicationStatus {
  /** Another process leads, or may lead: this one takes only commands that change nothing (isReadOnly). */
  readonly isFollowing: boolean;
  /** The epoch in which this process leads; 0 = it follows. */
  readonly epoch: number;
  /** Where the leader's clients reach it; null = this process leads, or no leader is known. */
  readonly leaderUrl: string | null;
  /** Transactions in this machine's log that the stream does not hold yet. */
  readonly lagTransactions: number;
  /** Of a follower: so many ms ago it had all of the stream. Null: it leads, or never had all. */
  readonly lagMs: number | null;
  /** For how long this process may still answer reads as the leader, in ms; below 0 = not any more. */
  readonly leaseLeftMs: number;
  /** Of the leader: those that it has heard in the last seconds, the furthest ahead first. */
  readonly standbys: readonly StandbyStatus[];
}

/** A standby, as the leader knows it. */
export interface StandbyStatus {
  /** Where its clients would reach it. */
  readonly url: string;
  readonly sequence: number;
  /** So many transactions it was behind when it was last heard. */
  readonly lagTransactions: number;
  /** Its disk has room and its threads work. */
  readonly healthy: boolean;
  readonly heardMsAgo: number;
}

/** The gateway thread's view of the engine. Single-threaded: all callbacks run on the main thread. */
export interface Engine {
  readonly instruments: readonly Instrument[];
  readonly marginTable: MarginTable;
  /**
   * Sends a command. `onReply` runs once, when the command's transaction is durable, after the listeners of
   * `onReleased` have seen it. It gets null if the actor's thread died before it did anything (503 UNAVAILABLE).
   *
   * Returns false, and does nothing, in these cases:
   * - another process leads, and the command would change something (503 NOT_LEADER);
   * - too many requests are on their way, or the actor's ring is full (503 OVERLOADED);
   * - the actor is down (503 UNAVAILABLE);
   * - the command would store more and the disk is nearly full (503 STORAGE_FULL).
   */
  request(actorId: number, command: Message, onReply: OnReply): boolean;
  /** The disk has enough room for new orders, deposits and other commands that store more. */
  readonly hasDiskRoom: boolean;
  /** Free on the disk of the data folder, as it was a moment ago; 0 = not known yet. */
  readonly diskFreeBytes: number;
  /** The disk or the replicated stream does not answer: transactions wait for it, and none becomes durable. */
  readonly isStalled: boolean;
  /** The history index makes no progress, although transactions wait for it. */
  readonly isHistoryStalled: boolean;
  /** Requests that wait for their reply. */
  readonly inFlight: number;
  /** How many released transactions the history index does not hold yet. */
  readonly historyLag: number;
  /** Since when the history is kept, in ms; 0 = from the beginning. Reads no disk. */
  readonly historySince: number;
  /** The actor's thread has died and the actor is being rebuilt. */
  isDown(actorId: number): boolean;
  /** The actor's thread has commands and takes none. It is ended and rebuilt if that lasts. */
  isUnresponsive(actorId: number): boolean;
  /** How often a thread has died and its actors were rebuilt. */
  readonly rebuilds: number;
  /** Null: the log is on this machine only. */
  readonly replication: ReplicationStatus | null;
  /** Calls the listener with every transaction that has events, of all actors, in order. */
  onReleased(listener: (transaction: ReleasedTransaction) => void): void;
  /** Calls the listener after each batch of released transactions: the place to publish what the batch brought. */
  onDrained(listener: () => void): void;
  /** The last sequence that was released. */
  releasedSequence(): number;
  /**
   * All transactions of the actor before this time were released, and no more can come. One of exactly this time may.
   * This is the log's clock: it may be ahead of the machine's, and lags it by about a tick (`tickMs`).
   */
  releasedTime(actorId: number): TimeMs;
  /**
   * Runs `then` when everything that any actor has done up to now is durable, at once if it can. Call it before you
   * read the margin table. Returns false, and never runs it, when too many wait already, as while the disk stalls.
   */
  whenAllDurable(then: () => void): boolean;
  /**
   * Resolves with true when the history index (LMDB) holds everything released up to now. Resolves with false at once
   * when too many wait already, as while a full disk stops the index.
   */
  historyCaughtUp(): Promise<boolean>;
}
