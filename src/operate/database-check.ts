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
  /** Values in all tables; a value of a list holds many entries. */
  values: number;
  /** The history index holds everything through this sequence. */
  indexedSequence: number;
  /** By actor id: its snapshot holds its state through this sequence. */
  snapshotSequences: [actorId: number, sequence: number][];
}

/**
 * Reads every value of every table, in a process of its own: LMDB answers damaged pages with SIGSEGV, SIGBUS or an abort.
 * Changes nothing; nobody may write meanwhile. `dir` is whose genesis it must have. Throws DamagedError; RefusedError when
 * an older version has written it; NotDoneError.
 */
export async function checkDatabase(dir: string, databaseDir: string): Promise<DatabaseSummary> {
  const outcome = await withReadOnlyView(dir, databaseDir, async (view) => {
    const { stderr, ...rest } = await runChildProcess("database-check-main", view);
    return { ...rest, stderr: stderr.replaceAll(view, dir) };
  });
  return JSON.parse(resultOf(outcome, databaseDir)) as DatabaseSummary;
}

/** Throws where anything is wrong; see also database-check-main.ts. */
export function readEverything(dir: string): DatabaseSummary {
  const database = openDatabase(dir, { readOnly: true });
  const tables = Object.values(database).filter((value) => value instanceof Table);
  const missing = tables.find(({ lmdb }) => lmdb === undefined);
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

/** Tables are made by a start: one that is missing is none that was lost where no version that knows it has written. */
const isOlder = ({ genesisRecords, index }: Database): boolean =>
  [genesisRecords, index].every((table) => table.lmdb !== undefined && table.isOlder());

function madeByOlder(dir: string): RefusedError {
  const ways = "verify and restore it with the version that wrote it, or start this one on it, and stop it again";
  return new RefusedError(`${dir}: an older version has written the database: ${ways}`);
}

function requireSameExchange({ genesis, genesisRecords }: Database): void {
  const owners: string[] = [];
  genesisRecords.each({}, (_key, { exchangeId }) => owners.push(exchangeId));
  if (owners.length === 1 && owners[0] === genesis.exchangeId) return;
  throw new DamagedError(`the database belongs to the exchange ${owners.join(", ") || "(none)"}, not to this one`);
}

/** Each value, its key, and its first row. Returns how many there are. */
function checkTable(table: Table): number {
  table.eachValue({}, (key, rows) => {
    const row = decodeMessage(viewOf(rows), rows, 0);
    if (keyFits(key, row)) return true;
    throw new DamagedError(`table ${table.name}, key ${JSON.stringify(key)}: a row that belongs under another key`);
  });
  return table.verify();
}
