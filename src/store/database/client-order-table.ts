import { createHash } from "node:crypto";
import { decodeMessage, MESSAGE_HEADER_BYTES, messageBytes } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import type { ClientIdHashRecord, ClientIdRecord, ClientOrderRecord } from "./history-schema.ts";
import { type Key, type Range, RowTable } from "./table.ts";

/** The first element of the keys of runs. The keys of older versions begin with a number or with TEXT_RUN. */
const RUN = "HASH_RUN";
const TEXT_RUN = "RUN";
/** A search unpacks a whole chunk. */
export const IDS_PER_CHUNK = 64;
const HASH_BYTES = 6;

/**
 * 48 bits for an account's client order id. Nobody can find many ids with one hash, so a search reads few orders in vain. Two
 * ids may have the same hash, so the order decides.
 */
export const hashOfClientId = (accountId: number, clientOrderId: string): number =>
  createHash("sha256").update(`${accountId} ${clientOrderId}`).digest().readUIntBE(0, HASH_BYTES);

export const runChunkKey = (runId: number, { hash, orderId }: ClientIdHashRecord): Key => [RUN, runId, hash, orderId];

/** An id that an older version wrote. */
export interface OldClientId {
  readonly accountId: number;
  readonly clientOrderId: string;
  readonly orderId: number;
}

/**
 * The orders behind hashes of client order ids, in sorted runs: see client-id-runs.ts. A run is a sequence of chunks. The key
 * of a chunk is that of its first row. Older versions wrote runs with the ids themselves, and before that a row for each id,
 * under [generation, accountId, clientOrderId].
 */
export class ClientOrderTable extends RowTable<ClientOrderRecord> {
  /** The orders behind the hash in a run, the newest first. Reads one chunk, unless a chunk begins with the hash. */
  findInRun(runId: number, hash: number): number[] {
    let orderIds: number[] = [];
    const start = [RUN, runId, hash, Number.MAX_SAFE_INTEGER];
    this.eachValue({ start, end: [RUN, runId], reverse: true }, (key, rows) => {
      const found: number[] = [];
      const view = viewOf(rows);
      for (let at = 0; at < rows.length; at += messageBytes(view, at)) {
        // The hash is the first field.
        const rowHash = view.getFloat64(at + MESSAGE_HEADER_BYTES, true);
        if (rowHash > hash) break;
        if (rowHash === hash) found.push((decodeMessage(view, rows, at) as ClientIdHashRecord).orderId);
      }
      orderIds = [...found, ...orderIds];
      return (key as Key[])[2] === hash;
    });
    return orderIds;
  }

  /** The order behind the id in a run of an older version; 0 = the run does not hold the id. Reads one chunk. */
  findInTextRun(runId: number, accountId: number, clientOrderId: string): number {
    const start = [TEXT_RUN, runId, accountId, clientOrderId];
    const chunk = this.firstValue({ start, end: [TEXT_RUN, runId], reverse: true });
    const ids = chunk === undefined ? [] : textIdsOf(chunk.rows);
    return ids.findLast((id) => id.accountId === accountId && id.clientOrderId === clientOrderId)?.orderId ?? 0;
  }

  /** The first `limit` ids of a generation. */
  eachOfGeneration(generation: number, limit: number, visit: (key: Key, ids: OldClientId[]) => void): void {
    this.each({ start: [generation], end: [generation + 1], limit }, (key, { orderId }) => {
      const [, accountId, clientOrderId] = key as [number, number, string];
      visit(key, [{ accountId, clientOrderId, orderId }]);
    });
  }

  /** The first `limit` chunks of a run of an older version. */
  eachOfTextRun(runId: number, limit: number, visit: (key: Key, ids: OldClientId[]) => void): void {
    this.eachValue({ start: [TEXT_RUN, runId], end: [TEXT_RUN, runId + 1], limit }, (key, rows) => {
      visit(key, textIdsOf(rows));
      return true;
    });
  }

  readRun(runId: number): RunReader {
    return new RunReader(this, { start: [RUN, runId], end: [RUN, runId + 1] });
  }
}

function textIdsOf(rows: Uint8Array): ClientIdRecord[] {
  const ids: ClientIdRecord[] = [];
  const view = viewOf(rows);
  for (let at = 0; at < rows.length; at += messageBytes(view, at))
    ids.push(decodeMessage(view, rows, at) as ClientIdRecord);
  return ids;
}

/** Reads a run in order, one chunk at a time. close() it. */
export class RunReader {
  /** The next row; null at the end of the run. */
  next: ClientIdHashRecord | null = null;
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
    this.next = decodeMessage(this.view, this.rows, this.at) as ClientIdHashRecord;
    this.at += messageBytes(this.view, this.at);
  }

  /** Skips the rows with hashes up to and including `last`. */
  skipThrough(last: number): void {
    while (this.next !== null && this.next.hash <= last) this.advance();
  }

  isBefore(other: RunReader | null): boolean {
    if (this.next === null) return false;
    return other === null || other.next === null || this.next.hash < other.next.hash;
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
