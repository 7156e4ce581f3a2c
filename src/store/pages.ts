import type { Key, Table } from "./table.ts";

/** A list, newest first: at most `limit` rows behind `cursor`. */
export interface PageQuery {
  /** At least 1. */
  limit: number;
  /** A `nextCursor` of the same list. */
  cursor?: string | undefined;
  /** Both included, in ms. */
  startTime?: number | undefined;
  endTime?: number | undefined;
}

export interface Page<Row> {
  /** May be shorter than the limit, also empty, while more follows: a filter ends its search after so many rows. */
  data: Row[];
  /** Null = nothing follows. */
  nextCursor: string | null;
}

/** The cursor was not given out for this list. */
export class BadCursorError extends Error {
  override name = "BadCursorError";
}

/** How many keys one call looks at, at most: bounds the work of a query whose filter refuses most rows. */
const MAX_KEYS_SCANNED = 5000;
const CURSOR = /^\d{1,16}(\.\d{1,16})*$/;

interface PageRange {
  limit: number;
  cursor: string | undefined;
  /** What all keys of the list begin with. */
  prefix: (number | string)[];
  /** How many numbers follow the prefix in each key: they are the cursor. */
  numbers: number;
  /** Bounds of the first of them, both included. */
  from?: number | undefined;
  through?: number | undefined;
}

/**
 * Walks the keys of a list from the newest to the oldest. `take` answers what the row shows, or null for one that the
 * filter leaves out.
 */
export function readPage<Row>(table: Table, range: PageRange, take: (numbers: number[]) => Row | null): Page<Row> {
  const { limit, prefix, from, through = Number.MAX_SAFE_INTEGER } = range;
  const after = range.cursor === undefined ? null : parseCursor(range);
  const data: Row[] = [];
  let last: number[] = [];
  let scanned = 0;
  let isEnd = true;
  // A key is ordered before every longer one that begins with it, so these bounds are not keys themselves.
  const end: Key = from === undefined ? prefix : [...prefix, from];
  const start: Key = after === null ? [...prefix, through + 1] : [...prefix, ...after];
  table.eachKey({ start, end, reverse: true }, (key) => {
    const numbers = (key as number[]).slice(prefix.length);
    if (after !== null && isSame(numbers, after)) return true;
    if (data.length === limit || scanned === MAX_KEYS_SCANNED) {
      isEnd = false;
      return false;
    }
    scanned++;
    last = numbers;
    const row = take(numbers);
    if (row !== null) data.push(row);
    return true;
  });
  return { data, nextCursor: isEnd ? null : last.join(".") };
}

function parseCursor(range: PageRange): number[] {
  const { cursor = "", numbers: length, from = 0, through = Number.MAX_SAFE_INTEGER } = range;
  const numbers = CURSOR.test(cursor) ? cursor.split(".").map(Number) : [];
  const isSound = numbers.length === length && numbers.every(Number.isSafeInteger);
  const [first = -1] = numbers;
  if (!isSound || first < from || first > through) throw new BadCursorError("the cursor is not one of this list");
  return numbers;
}

const isSame = (a: readonly number[], b: readonly number[]): boolean => a.every((number, i) => number === b[i]);
