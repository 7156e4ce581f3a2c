import type { Batch, PlacedBatch } from "../../src/replication/batch.ts";
import { partsOf } from "../../src/replication/batch.ts";
import {
  type BatchStream,
  type LeaseEntry,
  type LeaseStore,
  UnknownOutcomeError,
} from "../../src/replication/stream.ts";
import { record } from "../store/support/log-fixture.ts";

export const EXCHANGE = "6f0c2a4e-2f9b-4b1e-8a64-1d6f3a5b7c9d";

/** The records `first` to `last`, as one message. */
export function batchOf(first: number, last: number, changes: Partial<Batch> = {}): Batch {
  const bytes = Buffer.concat(Array.from({ length: last - first + 1 }, (_, i) => record(first + i, 24, 0)));
  return { exchangeId: EXCHANGE, epoch: 1, node: "a", first, last, part: 1, parts: 1, bytes, ...changes };
}

/** The same, in parts of `maxBytes`. */
export const inParts = (batch: Batch, maxBytes: number): Batch[] => [...partsOf(batch, maxBytes)];

/** A stream in memory. `answers`: what happens to the next appends; "" = as it should. */
export class MemoryStream implements BatchStream {
  readonly maxBytes = 1000;
  readonly answers: ("" | "ack lost" | "never arrived" | (() => void))[] = [];
  appends = 0;
  first = 1;
  private readonly messages: PlacedBatch[] = [];
  private inFlight = 0;
  /** Messages after this place cannot be read yet. */
  readableThrough = Number.POSITIVE_INFINITY;

  constructor(batches: readonly Batch[] = []) {
    for (const batch of batches) this.add(batch);
  }

  add(batch: Batch): void {
    this.messages.push({ ...batch, place: this.messages.length + 1 });
  }

  truncate(last: number): void {
    this.messages.length = last;
  }

  async bounds(): Promise<{ first: number; last: number }> {
    return { first: this.first, last: this.messages.length };
  }

  async get(place: number): Promise<PlacedBatch | null> {
    return place < this.first || place > this.readableThrough ? null : (this.messages[place - 1] ?? null);
  }

  async append(batch: Batch, place: number): Promise<boolean> {
    if (++this.inFlight > 1) throw new Error("two messages are in flight");
    await Promise.resolve();
    this.inFlight--;
    this.appends++;
    const answer = this.answers.shift() ?? "";
    if (typeof answer === "function") answer();
    if (answer === "never arrived") throw new UnknownOutcomeError("timeout");
    if (place !== this.messages.length) return false;
    this.add(batch);
    if (answer === "ack lost") throw new UnknownOutcomeError("timeout");
    return true;
  }

  async wait(_timeoutMs: number): Promise<void> {}

  async purgeThrough(place: number): Promise<void> {
    this.first = place + 1;
  }
}

/** A lease in memory. `losesAnswers`: to so many of the next updates, which are done. */
export class MemoryLease implements LeaseStore {
  entry: LeaseEntry | null = null;
  revision = 0;
  losesAnswers = 0;

  delete(): void {
    this.entry = null;
  }

  async read(): Promise<{ entry: LeaseEntry; revision: number } | null> {
    return this.entry === null ? null : { entry: this.entry, revision: this.revision };
  }

  /** Waits before the next update arrives. */
  delay: () => Promise<void> = async () => {};

  async update(entry: LeaseEntry, revision: number): Promise<number | null> {
    await this.delay();
    if (revision !== (this.entry === null ? 0 : this.revision)) return null;
    this.entry = entry;
    this.revision++;
    if (this.losesAnswers-- > 0) throw new UnknownOutcomeError("timeout");
    return this.revision;
  }
}

export const leaseOf = (node: string, epoch: number): LeaseEntry => ({
  ...{ node, epoch, url: node, instruments: "", isReleased: false },
});
