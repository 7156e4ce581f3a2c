import type { Database } from "../../../src/store/database/database.ts";
import { Table } from "../../../src/store/database/table.ts";

/** Counts what a call reads from the database: each look-up, each search, and each entry that a search visits. */
export function countReads(database: Database): (read: () => unknown) => number {
  let reads = 0;
  for (const table of Object.values(database)) {
    if (!(table instanceof Table)) continue;
    const { lmdb } = table;
    const { getBinary, getRange, getKeys } = lmdb;
    lmdb.getBinary = (...args) => {
      reads++;
      return getBinary.apply(lmdb, args);
    };
    const counted = <Entry>(entries: Iterable<Entry>): Iterable<Entry> => ({
      *[Symbol.iterator]() {
        for (const entry of entries) {
          reads++;
          yield entry;
        }
      },
    });
    lmdb.getRange = ((...args: Parameters<typeof getRange>) => {
      reads++;
      return counted(getRange.apply(lmdb, args));
    }) as unknown as typeof getRange;
    lmdb.getKeys = ((...args: Parameters<typeof getKeys>) => {
      reads++;
      return counted(getKeys.apply(lmdb, args));
    }) as unknown as typeof getKeys;
  }
  return (read) => {
    reads = 0;
    read();
    return reads;
  };
}
