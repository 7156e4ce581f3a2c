import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { TimeMs } from "../../core/base/units.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message } from "../../core/protocol/message-schema.ts";

/**
 * What comes out of the journal: one turn of one actor, on disk, in the order of the log. `messages` holds its events
 * and then its replies. Valid during the call only: the objects are filled in again for the next turn. Copy what you keep.
 */
export interface ReleasedTransaction {
  readonly actorId: number;
  /** The turn's place in the log; a turn without events carries the sequence it rests on. */
  readonly sequence: number;
  readonly time: number;
  /** How many of `messages` are events (they stand first); the others are replies. */
  readonly eventCount: number;
  readonly messages: readonly Message[];
}

export type OnReply = (transaction: ReleasedTransaction | null) => void;

/** The front's end of the ring road (actor/ring-road implements it). Single-threaded: all callbacks run on the main thread. */
export interface Engine {
  readonly instruments: readonly Instrument[];
  readonly marginTable: MarginTable;
  /**
   * Sends a command. `onReply` runs once, when the command's turn is durable, after the listeners of `onReleased` have
   * seen that turn; with null when the actor's thread has died before it did anything (503 UNAVAILABLE). Returns false, and
   * does nothing, when the actor's ring is full or too much is on its way (503 OVERLOADED), when the actor is down
   * (503 UNAVAILABLE), or when the command would store more and there is no room on disk (503 STORAGE_FULL).
   */
  request(actorId: number, command: Message, onReply: OnReply): boolean;
  /** Whether the data folder's disk has the room that new orders, deposits and the like ask for. */
  readonly hasDiskRoom: boolean;
  /** Turns wait for the log, and none of them gets to disk: the disk does not answer. */
  readonly isStalled: boolean;
  /** Requests on their way. */
  readonly inFlight: number;
  /** How many released turns the history index does not hold yet. */
  readonly historyLag: number;
  /** The actor's thread has died, and the actor is being rebuilt: it cannot be asked for now. */
  isDown(actorId: number): boolean;
  /** How often a thread has died and its actors were rebuilt. */
  readonly rebuilds: number;
  /** Every turn that has events, of all actors, in order. */
  onReleased(listener: (transaction: ReleasedTransaction) => void): void;
  /** Runs after each drain of the journal's ring: the place to publish what the drain has gathered. */
  onDrained(listener: () => void): void;
  /** The last sequence that was released. */
  releasedSequence(): number;
  /**
   * Every turn of the actor's of an earlier time has been released, and none can come any more; one of this very time may.
   * By the log's clock, which may be ahead of the machine's; behind it by a tick (`tickMs`) or so.
   */
  releasedTime(actorId: number): TimeMs;
  /**
   * Runs `then` (at once, if it can) when all that any actor has done up to now is durable: for reading cells. Returns false,
   * and never does, when very many wait for that already, as while a disk does not answer.
   */
  whenAllDurable(then: () => void): boolean;
  /**
   * Resolves with true when the history index (LMDB) has taken in all that was released up to now; with false at once when
   * very many wait for that already, as while it stands still for want of room on the disk.
   */
  historyCaughtUp(): Promise<boolean>;
}
