import type { Page } from "../../client/types.ts";

/** One page of two lists, newest first. `nextCursor` is the end time of the next page. Pure. */
export function mergePages<Row extends { createdAt: number }>(pages: readonly Page<Row>[]): Page<Row> {
  const rows = pages.flatMap(({ data }) => data).sort((a, b) => b.createdAt - a.createdAt);
  // Where a list goes on, the other one may have rows that belong after the ones not read yet.
  const cut = Math.max(
    ...pages.map(({ data, nextCursor }) => (nextCursor === null ? 0 : (data.at(-1)?.createdAt ?? 0))),
  );
  if (cut === 0) return { data: rows, nextCursor: null };
  const later = rows.filter(({ createdAt }) => createdAt > cut);
  // A page of a single millisecond must not be read again and again.
  if (later.length === 0)
    return { data: rows.filter(({ createdAt }) => createdAt === cut), nextCursor: String(cut - 1) };
  return { data: later, nextCursor: String(cut) };
}
