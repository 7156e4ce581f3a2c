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

const CURSOR = /^\d{1,16}(\.\d{1,16})*$/;

export const TRADE_CURSOR_NUMBERS = 3;
/** The cursor of the page that begins with this trade, which need not stand in the history yet. */
export const tradeCursor = ({ time, sequence, tradeId }: { time: number; sequence: number; tradeId: number }): string =>
  printCursor([time, sequence, tradeId]);

/** Whole numbers as a cursor. */
export const printCursor = (numbers: readonly number[]): string => numbers.join(".");

/** The numbers of a cursor, of which there must be `count`. Throws BadCursorError. */
export function parseCursor(cursor: string, count: number): number[] {
  const numbers = CURSOR.test(cursor) ? cursor.split(".").map(Number) : [];
  if (numbers.length === count && numbers.every(Number.isSafeInteger)) return numbers;
  throw new BadCursorError("the cursor is not one of this list");
}

export const isWithin = (time: number, { startTime = 0, endTime = Number.MAX_SAFE_INTEGER }: PageQuery): boolean =>
  time >= startTime && time <= endTime;
