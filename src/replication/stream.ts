import type { Batch, PlacedBatch } from "./batch.ts";

/** The server did not answer, or not in time: whether it did the work is not known. */
export class UnknownOutcomeError extends Error {
  override name = "UnknownOutcomeError";
}

/**
 * An append-only stream of batches with compare-and-set: NATS JetStream, or a simulated one. Every call rejects with
 * UnknownOutcomeError while the server does not answer.
 */
export interface BatchStream {
  /** The largest message. */
  readonly maxBytes: number;
  /** The places of the first message that is kept and of the last one. Empty: `last` is below `first`. */
  bounds(): Promise<{ first: number; last: number }>;
  /** Null if no message is there, or not yet. Throws StreamFault for a damaged one. */
  get(place: number): Promise<PlacedBatch | null>;
  /** Adds a message right after `place`. Resolves with false if another one is there already: nothing was added. */
  append(batch: Batch, place: number): Promise<boolean>;
  /** Resolves when a message may have been added, or after `timeoutMs`. */
  wait(timeoutMs: number): Promise<void>;
  /** Removes messages from the front, up to and including `place`. */
  purgeThrough(place: number): Promise<void>;
}

/** A stream, for those who only read it. */
export type ReadableStream = Pick<BatchStream, "bounds" | "get" | "wait">;

/** The leader's entry. It makes a take-over quick; the stream decides who leads. */
export interface LeaseEntry {
  readonly node: string;
  /** 0 = of no leader: somebody else has written it. */
  readonly epoch: number;
  /** Where the leader's clients reach it. */
  readonly url: string;
  /** A hash of the instruments. A standby with others cannot read the log. */
  readonly instruments: string;
  /** The leader has stopped on purpose: a standby need not wait. */
  readonly isReleased: boolean;
  /** The last transaction that this leader had answered when it wrote the entry. An older program does not say it. */
  readonly sequence?: number;
}

/** How far a standby is. It says so every second; that is stored nowhere, so one that is not heard is not there. */
export interface StandbyNote {
  /** Of the process. */
  readonly id: string;
  /** Where its clients would reach it. */
  readonly url: string;
  /** The last transaction that counts there. */
  readonly sequence: number;
  /** Its disk has room and its threads work, so it may lead. An older program does not say it. */
  readonly isHealthy?: boolean;
  /** By the clock of its machine, when it sent this. An older program does not say it. */
  readonly timeMs?: number;
}

/** One entry that is replaced by compare-and-set. Calls reject as those of BatchStream. */
export interface LeaseStore {
  /** Null if there was never one. */
  read(): Promise<{ entry: LeaseEntry; revision: number } | null>;
  /** Returns the new revision, or null if the entry has another revision than `revision`; 0 = there must be none. */
  update(entry: LeaseEntry, revision: number): Promise<number | null>;
}
