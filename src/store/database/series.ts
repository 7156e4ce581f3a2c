import type { Message } from "../../core/protocol/message-schema.ts";
import { decodeMessage, messageBytes } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import { type Page, type PageQuery, parseCursor, printCursor } from "./pages.ts";
import { type Key, Table } from "./table.ts";
import type { WriteBatch } from "./write-batch.ts";

/**
 * Where a row stands among all others. Times of different actors may run a little against the log's order; `clock`, the
 * latest time so far, does not.
 */
export interface SeriesPosition {
  clock: number;
  sequence: number;
}

/** How far a row's own time may lie behind the clock, and a time window still find it. */
const CLOCK_SLACK_MS = 10_000;
/** How many rows one call looks at, at most: bounds the work of a query whose filter refuses most of them. */
const MAX_ROWS_SCANNED = 4000;
export const CURSOR_NUMBERS = 4;

export interface SeriesQuery extends PageQuery {
  /** Rows of later turns are not looked at. */
  throughSequence?: number;
}

interface Chunk {
  key: Key;
  /** Of WriteBatch.hold(). */
  held: number[];
}

/**
 * Many lists in one table, each in the order of the log, for example every account's fills. Rows that a batch adds to a
 * list are written together, as chunks of a page of the file at most: a key and a put for each row cost more than twice
 * as much, in time and in bytes.
 *
 *     [list, clock, sequence, part]   of a chunk's first row; `part` tells apart what else begins in the same turn
 */
export class SeriesTable<Row extends Message> extends Table {
  /**
   * Reads a list, newest first. `show` answers what a row shows, or null for one that the filter leaves out; the numbers
   * of `place` and `index` behind it are the cursor of a page that begins with this row.
   */
  read<Shown>(
    list: number,
    query: SeriesQuery,
    show: (row: Row, place: readonly number[], index: number) => Shown | null,
  ): Page<Shown> {
    const { limit, startTime = 0, endTime = Number.MAX_SAFE_INTEGER } = query;
    const { throughSequence = Number.MAX_SAFE_INTEGER } = query;
    const resume = query.cursor === undefined ? null : parseCursor(query.cursor, CURSOR_NUMBERS);
    const start: Key = resume === null ? [list, endTime + CLOCK_SLACK_MS] : [list, ...resume.slice(0, -1)];
    const data: Shown[] = [];
    let scanned = 0;
    let nextCursor: string | null = null;
    this.eachValue({ start, end: [list], reverse: true }, (key, rows) => {
      const [, ...place] = key as number[];
      if (place[1] > throughSequence) return true;
      const view = viewOf(rows);
      const offsets = offsetsOf(view);
      const isResumed = resume?.every((number, i) => i === place.length || number === place[i]);
      for (let i = isResumed ? Math.min(resume?.at(-1) ?? 0, offsets.length) : offsets.length; i > 0; i--) {
        if (data.length === limit || scanned === MAX_ROWS_SCANNED) {
          nextCursor = printCursor([...place, i]);
          return false;
        }
        scanned++;
        const shown = show(decodeMessage(view, rows, offsets[i - 1]) as Row, place, i);
        if (shown !== null) data.push(shown);
      }
      // Older chunks hold nothing later than what this one begins with.
      return place[0] >= startTime;
    });
    return { data, nextCursor };
  }

  /** The row that a turn has appended to the list and that `matches`. */
  find(list: number, { clock, sequence }: SeriesPosition, matches: (row: Row) => boolean): Row | undefined {
    let found: Row | undefined;
    const start = [list, clock, sequence, Number.MAX_SAFE_INTEGER];
    this.eachValue({ start, end: [list], reverse: true }, (key, rows) => {
      const view = viewOf(rows);
      for (const at of offsetsOf(view)) {
        const row = decodeMessage(view, rows, at) as Row;
        if (matches(row)) found = row;
      }
      // What begins in this turn may go on with rows of it.
      return found === undefined && (key as number[])[2] === sequence;
    });
    return found;
  }
}

/** Gathers what a batch adds to the lists of a table. */
export class SeriesWriter<Row extends Message> {
  private readonly table: SeriesTable<Row>;
  private readonly rowsPerChunk: number;
  /** By list. */
  private readonly chunks = new Map<number, Chunk>();
  private part = 0;

  /** `rowsPerChunk` rows should fit into 4 KB. */
  constructor(table: SeriesTable<Row>, rowsPerChunk: number) {
    this.table = table;
    this.rowsPerChunk = rowsPerChunk;
  }

  /** Encodes the row at once: a batch of rows kept as objects costs more to collect than to write. Places never go back. */
  append(batch: WriteBatch, list: number, { clock, sequence }: SeriesPosition, row: Row): void {
    let chunk = this.chunks.get(list);
    if (chunk === undefined) {
      chunk = { key: [list, clock, sequence, this.part++], held: [] };
      this.chunks.set(list, chunk);
    }
    chunk.held.push(batch.encodeRow(row));
    if (chunk.held.length < this.rowsPerChunk) return;
    batch.putRows(this.table, chunk.key, chunk.held);
    this.chunks.delete(list);
  }

  /** Writes what is left. The next batch begins behind the last turn of this one. */
  flush(batch: WriteBatch): void {
    for (const { key, held } of this.chunks.values()) batch.putRows(this.table, key, held);
    this.chunks.clear();
    this.part = 0;
  }
}

function offsetsOf(view: DataView): number[] {
  const offsets: number[] = [];
  for (let at = 0; at < view.byteLength; at += messageBytes(view, at)) offsets.push(at);
  return offsets;
}
