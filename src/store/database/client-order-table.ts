import { decodeMessage, decodeShared, MESSAGE_HEADER_BYTES, messageBytes } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import { ClientIdRecord, type ClientOrderRecord } from "./history-schema.ts";
import { type Key, type Range, RowTable } from "./table.ts";

/** The first element of the keys of runs. The keys of older versions begin with a number. */
const RUN = "RUN";
/** More would save little space, and a search unpacks a whole chunk. */
export const IDS_PER_CHUNK = 16;

export const runChunkKey = (runId: number, accountId: number, clientOrderId: string): Key => [
  RUN,
  runId,
  accountId,
  clientOrderId,
];

const isBefore = (a: ClientIdRecord, b: ClientIdRecord): boolean =>
  a.accountId === b.accountId ? a.clientOrderId < b.clientOrderId : a.accountId < b.accountId;

/**
 * The orders behind client order ids, in sorted runs: see client-id-runs.ts. A run is a sequence of chunks. The key of a chunk
 * is that of its first id. Older versions wrote a row for each id, under [generation, accountId, clientOrderId].
 */
export class ClientOrderTable extends RowTable<ClientOrderRecord> {
  /** The order behind the id in a run; 0 = the run does not hold the id. Reads one chunk. */
  findInRun(runId: number, accountId: number, clientOrderId: string): number {
    let orderId = 0;
    const range = { start: runChunkKey(runId, accountId, clientOrderId), end: [RUN, runId], reverse: true, limit: 1 };
    this.eachValue(range, (_key, rows) => {
      const view = viewOf(rows);
      for (let at = 0; at < rows.length; at += messageBytes(view, at)) {
        // Texts cost the most to decode. The account is the first field.
        if (view.getFloat64(at + MESSAGE_HEADER_BYTES, true) < accountId) continue;
        const row = decodeShared(view, rows, at) as ClientIdRecord;
        if (row.accountId > accountId || row.clientOrderId > clientOrderId) break;
        if (row.clientOrderId === clientOrderId) orderId = row.orderId;
      }
      return false;
    });
    return orderId;
  }

  /** The first `limit` ids of a generation. */
  eachOfGeneration(generation: number, limit: number, visit: (key: Key, id: ClientIdRecord) => void): void {
    this.each({ start: [generation], end: [generation + 1], limit }, (key, { orderId }) => {
      const [, accountId, clientOrderId] = key as [number, number, string];
      visit(key, { type: ClientIdRecord.code, accountId, clientOrderId, orderId });
    });
  }

  readRun(runId: number): RunReader {
    return new RunReader(this, { start: [RUN, runId], end: [RUN, runId + 1] });
  }
}

/** Reads a run in order, one chunk at a time. close() it. */
export class RunReader {
  /** The next id; null at the end of the run. */
  next: ClientIdRecord | null = null;
  /** The keys of the chunks that were read to their end. */
  readonly readKeys: Key[] = [];
  private readonly chunks: Iterator<{ key: Key; rows: Uint8Array }>;
  private key: Key | null = null;
  private rows: Uint8Array = new Uint8Array(0);
  private view = viewOf(this.rows);
  private at = 0;

  constructor(table: ClientOrderTable, range: Range) {
    this.chunks = table.values(range);
    this.advance();
  }

  advance(): void {
    if (this.at === this.rows.length && !this.readChunk()) {
      this.next = null;
      return;
    }
    this.next = decodeMessage(this.view, this.rows, this.at) as ClientIdRecord;
    this.at += messageBytes(this.view, this.at);
  }

  /** Skips the ids up to and including `last`. */
  skipThrough(last: ClientIdRecord): void {
    while (this.next !== null && !isBefore(last, this.next)) this.advance();
  }

  /** Skips this id if it is the next one. */
  skip(id: ClientIdRecord): void {
    const { next } = this;
    if (next !== null && next.clientOrderId === id.clientOrderId && next.accountId === id.accountId) this.advance();
  }

  isBefore(other: RunReader | null): boolean {
    if (this.next === null) return false;
    return other === null || other.next === null || isBefore(this.next, other.next);
  }

  close(): void {
    this.chunks.return?.();
  }

  private readChunk(): boolean {
    if (this.key !== null) this.readKeys.push(this.key);
    this.key = null;
    const { value, done } = this.chunks.next();
    if (done) return false;
    this.key = value.key;
    this.rows = value.rows;
    this.view = viewOf(value.rows);
    this.at = 0;
    return true;
  }
}
