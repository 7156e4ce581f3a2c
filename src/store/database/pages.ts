/** The order of a list: the oldest first (ASC), or the newest first. */
export type Sort = "ASC" | "DESC";

/** A query for at most `limit` rows of a list from `cursor` on, newest first unless `sort` says otherwise. */
export interface PageQuery {
  /** At least 1. */
  limit: number;
  /** A `nextCursor` of the same list. */
  cursor?: string | undefined;
  /** Both ends included, in ms. */
  startTime?: number | undefined;
  endTime?: number | undefined;
  sort?: Sort | undefined;
}

export interface Page<Row> {
  /** May hold fewer rows than the limit, even none, although more follow: a search examines a limited number of rows. */
  data: Row[];
  /** Null = nothing follows. */
  nextCursor: string | null;
}

/** The cursor does not belong to this list. */
export class BadCursorError extends Error {
  override name = "BadCursorError";
}

const CURSOR = /^\d{1,16}(\.\d{1,16})*$/;

export const TRADE_CURSOR_NUMBERS = 3;
/** The cursor of a page that begins with this trade. The history need not hold the trade yet. */
export const tradeCursor = ({ time, sequence, tradeId }: { time: number; sequence: number; tradeId: number }): string =>
  printCursor([time, sequence, tradeId]);

/** Prints whole numbers as a cursor. */
export const printCursor = (numbers: readonly number[]): string => numbers.join(".");

/** Parses a cursor of `count` numbers. Throws BadCursorError. */
export function parseCursor(cursor: string, count: number): number[] {
  const numbers = CURSOR.test(cursor) ? cursor.split(".").map(Number) : [];
  if (numbers.length === count && numbers.every(Number.isSafeInteger)) return numbers;
  throw new BadCursorError("the cursor is not one of this list");
}

export const isWithin = (time: number, { startTime = 0, endTime = Number.MAX_SAFE_INTEGER }: PageQuery): boolean =>
  time >= startTime && time <= endTime;
