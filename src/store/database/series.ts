import type { Message } from "../../core/protocol/message-schema.ts";
import { decodeMessage, messageBytes } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import { type Page, type PageQuery, parseCursor, printCursor } from "./pages.ts";
import { type Key, type Range, Table } from "./table.ts";
import type { WriteBatch } from "./write-batch.ts";

/**
 * The position of a row in a list. Times of different actors may differ a little from the log's order. So `clock` is the
 * latest time so far, in ms, which never goes back.
 */
export interface SeriesPosition {
  clock: number;
  sequence: number;
}

/** A row's own time may be this far behind the clock: queries for a time window look that much further. */
const CLOCK_SLACK_MS = 10_000;
/** The most rows that one call examines. It bounds the work of a query whose filter rejects most of them. */
const MAX_ROWS_SCANNED = 4000;
export const CURSOR_NUMBERS = 4;

export interface SeriesQuery extends PageQuery {
  /** Rows of later transactions are skipped. */
  throughSequence?: number;
}

interface Chunk {
  key: Key;
  /** References of WriteBatch.encodeRow(). */
  rows: number[];
}

/**
 * Many lists in one table, each in the order of the log: for example every account's fills. The rows of a list are in chunks of
 * at most half a file page. A batch first fills the last chunk of the list. One key and one write for each row would take more
 * than twice the time and space.
 *
 * The key of a chunk is [list, clock, sequence, part] of its first row. `part` tells apart chunks that begin in the same
 * transaction.
 */
export class SeriesTable<Row extends Message> extends Table {
  /**
   * Reads a list. `show` returns the result for a row, or null to leave it out. The numbers of `position` followed by
   * `index` are the cursor of a page that begins with this row, in either order. Throws BadCursorError.
   */
  read<Shown>(
    list: number,
    query: SeriesQuery,
    show: (row: Row, position: readonly number[], index: number) => Shown | null,
  ): Page<Shown> {
    const { limit, startTime = 0, endTime = Number.MAX_SAFE_INTEGER } = query;
    const { throughSequence = Number.MAX_SAFE_INTEGER } = query;
    const isAscending = query.sort === "ASC";
    const resume = query.cursor === undefined ? null : parseCursor(query.cursor, CURSOR_NUMBERS);
    const range = isAscending ? this.ascendingFrom(list, resume, startTime) : this.descendingFrom(list, resume, query);
    const data: Shown[] = [];
    let scanned = 0;
    let nextCursor: string | null = null;
    this.eachValue(range, (key, rows) => {
      const [, ...position] = key as number[];
      const [clock, sequence] = position;
      if (isAscending && (clock > endTime + CLOCK_SLACK_MS || sequence > throughSequence)) return false;
      const view = viewOf(rows);
      const offsets = offsetsOf(view);
      const isResumed = resume?.every((number, i) => i === position.length || number === position[i]);
      const step = isAscending ? 1 : -1;
      let i = isAscending ? 1 : offsets.length;
      if (isResumed) i = isAscending ? Math.max(resume?.at(-1) ?? 1, 1) : Math.min(resume?.at(-1) ?? 0, i);
      for (; i > 0 && i <= offsets.length; i += step) {
        if (data.length === limit || scanned === MAX_ROWS_SCANNED) {
          nextCursor = printCursor([...position, i]);
          return false;
        }
        scanned++;
        const shown = show(decodeMessage(view, rows, offsets[i - 1]) as Row, position, i);
        if (shown !== null) data.push(shown);
      }
      // Rows of older chunks are not later than the first row of this one.
      return isAscending || clock >= startTime;
    });
    return { data, nextCursor };
  }

  /** The last chunk that begins before `startTime` may hold later rows. */
  private ascendingFrom(list: number, resume: readonly number[] | null, startTime: number): Range {
    const end = [list + 1];
    if (resume !== null) return { start: [list, ...resume.slice(0, -1)], end };
    const start = [list, startTime];
    return { start: this.firstKey({ start, end: [list], reverse: true }) ?? start, end };
  }

  private descendingFrom(list: number, resume: readonly number[] | null, query: SeriesQuery): Range {
    const { endTime = Number.MAX_SAFE_INTEGER, throughSequence = Number.MAX_SAFE_INTEGER } = query;
    const newest = resume === null ? [list, endTime + CLOCK_SLACK_MS] : [list, ...resume.slice(0, -1)];
    return { start: this.startThrough(list, newest, throughSequence), end: [list], reverse: true };
  }

  /**
   * The key from which a list is read downwards, without chunks that begin after `throughSequence`. There may be any number
   * of these below `newest`, so they are not read one by one: clock and sequence ascend together.
   */
  private startThrough(list: number, newest: Key, throughSequence: number): Key {
    const latest = this.positionAt({ start: newest, end: [list], reverse: true });
    if (latest === null || latest.sequence <= throughSequence) return newest;
    // From `high` on, all chunks are later. Below `low`, not all are.
    let low = 0;
    let high = latest.clock + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const next = this.positionAt({ start: [list, middle], end: [list + 1] });
      if (next === null || next.sequence > throughSequence) high = middle;
      else low = middle + 1;
    }
    return [list, low - 1, throughSequence, Number.MAX_SAFE_INTEGER];
  }

  /** Of the first chunk of the range. */
  private positionAt(range: Range): SeriesPosition | null {
    const key = this.firstKey(range) as [number, number, number] | undefined;
    return key === undefined ? null : { clock: key[1], sequence: key[2] };
  }

  /** The row that the transaction at this position appended to the list and that `matches`. */
  find(list: number, { clock, sequence }: SeriesPosition, matches: (row: Row) => boolean): Row | undefined {
    let found: Row | undefined;
    const start = [list, clock, sequence, Number.MAX_SAFE_INTEGER];
    this.eachValue({ start, end: [list], reverse: true }, (key, rows) => {
      const view = viewOf(rows);
      for (const at of offsetsOf(view)) {
        const row = decodeMessage(view, rows, at) as Row;
        if (matches(row)) found = row;
      }
      // An earlier chunk of the same transaction may hold the row.
      return found === undefined && (key as number[])[2] === sequence;
    });
    return found;
  }
}

/** Collects the rows that a batch adds to the lists of a table. */
export class SeriesWriter<Row extends Message> {
  private readonly table: SeriesTable<Row>;
  private readonly rowsPerChunk: number;
  /** By list. */
  private readonly chunks = new Map<number, Chunk>();
  private part = 0;

  /** `rowsPerChunk` packed rows should fit into 4 KB. */
  constructor(table: SeriesTable<Row>, rowsPerChunk: number) {
    this.table = table;
    this.rowsPerChunk = rowsPerChunk;
  }

  /**
   * Encodes the row at once, since rows kept as objects cost more to garbage-collect than to write. Positions ascend. Reads the
   * database as of the last commit.
   */
  append(batch: WriteBatch, list: number, position: SeriesPosition, row: Row): void {
    let chunk = this.chunks.get(list);
    if (chunk === undefined) {
      chunk = this.continued(batch, list) ?? this.begin(list, position);
      this.chunks.set(list, chunk);
    } else if (chunk.rows.length === this.rowsPerChunk) {
      batch.putRows(this.table, chunk.key, chunk.rows);
      chunk = this.begin(list, position);
      this.chunks.set(list, chunk);
    }
    chunk.rows.push(batch.encodeRow(row));
  }

  /** Writes the rest. The next batch must begin after the last transaction of this one. */
  flush(batch: WriteBatch): void {
    for (const { key, rows } of this.chunks.values()) batch.putRows(this.table, key, rows);
    this.chunks.clear();
    this.part = 0;
  }

  private begin(list: number, { clock, sequence }: SeriesPosition): Chunk {
    return { key: [list, clock, sequence, this.part++], rows: [] };
  }

  /** The list's last chunk, if it has room. Its rows keep their place, so that cursors stay valid. */
  private continued(batch: WriteBatch, list: number): Chunk | null {
    const last = this.table.firstValue({ start: [list, Number.MAX_SAFE_INTEGER], end: [list], reverse: true });
    if (last === undefined) return null;
    const offsets = offsetsOf(viewOf(last.rows));
    if (offsets.length >= this.rowsPerChunk) return null;
    return { key: last.key, rows: batch.addRows(last.rows, offsets) };
  }
}

function offsetsOf(view: DataView): number[] {
  const offsets: number[] = [];
  for (let at = 0; at < view.byteLength; at += messageBytes(view, at)) offsets.push(at);
  return offsets;
}
