import { type Database, openDatabase } from "../store/database/database.ts";
import { Table } from "../store/database/table.ts";
import { readIndex } from "../store/history/history-fold.ts";
import { decodeMessage } from "../wire/codec.ts";
import { viewOf } from "../wire/record.ts";
import { resultOf, runChildProcess } from "./child-process.ts";
import { DamagedError, RefusedError } from "./errors.ts";
import { withReadOnlyView } from "./folder.ts";
import { keyFits } from "./row-keys.ts";

export interface DatabaseSummary {
  tables: number;
  /** Values in all tables. A value of a series holds many rows. */
  values: number;
  /** The history index holds everything through this sequence. */
  indexedSequence: number;
  /** By actor id: its snapshot holds its state through this sequence. */
  snapshotSequences: [actorId: number, sequence: number][];
}

/**
 * Reads every value of every table in a child process, because LMDB answers damaged pages with SIGSEGV, SIGBUS or an abort.
 * Changes nothing. Nobody may write meanwhile. The database must belong to the exchange in `dir`. Throws DamagedError,
 * NotDoneError, or RefusedError if an older version wrote the database.
 */
export async function checkDatabase(dir: string, databaseDir: string): Promise<DatabaseSummary> {
  const outcome = await withReadOnlyView(dir, databaseDir, async (view) => {
    const { stderr, ...rest } = await runChildProcess("database-check-main", view);
    return { ...rest, stderr: stderr.replaceAll(view, dir) };
  });
  return JSON.parse(resultOf(outcome, databaseDir)) as DatabaseSummary;
}

/** As checkDatabase(), within this process. */
export function readEverything(dir: string): DatabaseSummary {
  const database = openDatabase(dir, { readOnly: true });
  const declared = Object.values(database).filter((value) => value instanceof Table);
  const tables = declared.filter((table) => table.exists || table !== database.pastRows);
  const missing = tables.find(({ exists }) => !exists);
  if (missing !== undefined)
    throw isOlder(database) ? madeByOlder(dir) : new DamagedError(`table ${missing.name}: missing`);
  requireSameExchange(database);
  const snapshotSequences: [number, number][] = [];
  database.snapshotHeads.each({}, (actorId, { sequence }) => snapshotSequences.push([actorId as number, sequence]));
  return {
    tables: tables.length,
    values: tables.reduce((sum, table) => sum + checkTable(table), 0),
    indexedSequence: readIndex(database).sequence,
    snapshotSequences,
  };
}

/** A start creates missing tables. If only older versions have written, a missing table is new and not lost. */
const isOlder = ({ genesisRecords, index }: Database): boolean =>
  [genesisRecords, index].every((table) => table.exists && table.isOlder());

function madeByOlder(dir: string): RefusedError {
  const advice = "use the version that wrote it, or start and stop this version on it once";
  return new RefusedError(`${dir}: the database was written by an older version: ${advice}`);
}

function requireSameExchange({ genesis, genesisRecords }: Database): void {
  const owners: string[] = [];
  genesisRecords.each({}, (_key, { exchangeId }) => owners.push(exchangeId));
  if (owners.length === 1 && owners[0] === genesis.exchangeId) return;
  throw new DamagedError(`the database belongs to the exchange ${owners.join(", ") || "(none)"}, not to this one`);
}

/** Checks each value, its key and its first row. Returns the number of values. */
function checkTable(table: Table): number {
  table.eachValue({}, (key, rows) => {
    const row = decodeMessage(viewOf(rows), rows, 0);
    if (keyFits(key, row)) return true;
    throw new DamagedError(`table ${table.name}, key ${JSON.stringify(key)}: the row belongs under another key`);
  });
  return table.verify();
}
