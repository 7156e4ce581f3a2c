import { inspect, TRANSACTION } from "../store/log/log-record.ts";
import { AT_LOG_BYTES, AT_SEQUENCE, viewOf } from "../wire/record.ts";
import { type PlacedBatch, StreamFault } from "./batch.ts";
import { type ReadableStream, UnknownOutcomeError } from "./stream.ts";

/** Called with one record, sealed as its leader sealed it. Valid during the call only. */
export type VisitRecord = (bytes: Uint8Array, sequence: number) => void | Promise<void>;

/**
 * Reads the stream's records in the order of their sequences. It drops batches of deposed leaders and stops at a gap, a
 * damaged record or a batch of another exchange.
 */
export class StreamReader {
  private readonly stream: Pick<ReadableStream, "bounds" | "get">;
  private readonly exchangeId: string;
  /** The highest epoch seen. */
  epoch = 0;
  /** The node that leads in this epoch; "" = unknown. */
  node = "";
  /** The sequence of the next record to visit. */
  next: number;
  /** The place of the last message that was read. */
  place = 0;
  private parts: Uint8Array[] = [];
  private hasVisited = false;

  constructor(stream: Pick<ReadableStream, "bounds" | "get">, exchangeId: string, fromSequence: number) {
    this.stream = stream;
    this.exchangeId = exchangeId;
    this.next = fromSequence;
  }

  /** Finds the message from which to read on. Returns the sequence of the first record there, if it is later than `next`. */
  async seek(): Promise<number> {
    const { first, last } = await this.stream.bounds();
    this.place = last;
    if (last < first) return this.next;
    let low = await this.search(first, last);
    let at = low > last ? null : await this.mustGet(low);
    // Of the message before, only its epoch counts.
    let before = low > first ? await this.mustGet(low - 1) : null;
    if (before !== null && (await this.isMisled(before, at))) {
      low = first;
      at = await this.mustGet(first);
      before = null;
    }
    this.epoch = 0;
    this.parts = [];
    this.hasVisited = false;
    if (before !== null) this.enter(before);
    this.place = low - 1;
    return at === null ? this.next : Math.max(this.next, at.first);
  }

  /** Through which sequence the stream goes, as its last messages say. A later part of them may be missing. */
  async lastSequence(): Promise<number> {
    const { first, last } = await this.stream.bounds();
    let sequence = 0;
    // The last one may be of a deposed leader.
    for (let place = Math.max(first, last - 1); place <= last; place++)
      sequence = Math.max(sequence, (await this.mustGet(place)).last);
    return sequence;
  }

  /** The first message whose last record is `next` or later; `last` + 1 = there is none. */
  private async search(first: number, last: number): Promise<number> {
    let low = first;
    let high = last + 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((await this.mustGet(middle)).last < this.next) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Whether the search met a message of a deposed leader, which is out of order. Then the stream is read from its front. */
  private async isMisled(before: PlacedBatch, at: PlacedBatch | null): Promise<boolean> {
    if (at !== null) return at.first > this.next || at.epoch < before.epoch;
    const earlier = await this.stream.get(before.place - 1);
    return before.last !== this.next - 1 || (earlier !== null && earlier.epoch > before.epoch);
  }

  /** Reads the next message. Returns false if there is none yet. */
  async read(visit: VisitRecord): Promise<boolean> {
    const batch = await this.stream.get(this.place + 1);
    if (batch === null) return false;
    this.check(batch);
    this.place++;
    if (batch.epoch < this.epoch) return true;
    if (batch.part === 1) this.parts = [];
    this.enter(batch);
    this.checkFirst(batch);
    if (batch.last < this.next) return true;
    this.parts.push(batch.bytes);
    if (batch.part < batch.parts) return true;
    if (this.parts.length !== batch.parts)
      throw new StreamFault(`message ${batch.place} of the stream: a part is missing`);
    const bytes = batch.parts === 1 ? batch.bytes : Buffer.concat(this.parts);
    this.parts = [];
    await this.visitAll(batch, bytes, visit);
    return true;
  }

  /** Only before the first visit may a message have records that come before `next`. */
  private checkFirst({ place, first }: PlacedBatch): void {
    if (first === this.next || (first < this.next && !this.hasVisited)) return;
    const why = first > this.next ? "transactions are missing" : "the stream was cut, and then went on";
    throw new StreamFault(
      `message ${place} of the stream begins with transaction ${first} instead of ${this.next}: ${why}`,
    );
  }

  private async visitAll(batch: PlacedBatch, bytes: Uint8Array, visit: VisitRecord): Promise<void> {
    const view = viewOf(bytes);
    for (let offset = 0, sequence = batch.first; offset < bytes.length; sequence++) {
      if (inspect(view, bytes, offset, bytes.length, sequence) !== TRANSACTION)
        throw new StreamFault(`message ${batch.place} of the stream: the record of transaction ${sequence} is damaged`);
      const logBytes = view.getUint32(offset + AT_LOG_BYTES, true);
      if (view.getFloat64(offset + AT_SEQUENCE, true) >= this.next) {
        await visit(bytes.subarray(offset, offset + logBytes), sequence);
        this.next = sequence + 1;
        this.hasVisited = true;
      }
      offset += logBytes;
    }
  }

  private enter({ epoch, node }: PlacedBatch): void {
    if (epoch < this.epoch) return;
    this.epoch = epoch;
    this.node = node;
  }

  /** A replica of the stream that lags behind may not have the message yet. */
  private async mustGet(place: number): Promise<PlacedBatch> {
    const batch = await this.stream.get(place);
    if (batch === null) throw new UnknownOutcomeError(`message ${place} of the stream cannot be read yet`);
    return this.check(batch);
  }

  private check(batch: PlacedBatch): PlacedBatch {
    if (batch.exchangeId !== this.exchangeId)
      throw new StreamFault(
        `the stream holds the log of the exchange ${batch.exchangeId}, and this folder belongs to ${this.exchangeId}; use another stream, or restore a backup of that exchange`,
      );
    return batch;
  }
}
