import { constants, setPriority } from "node:os";
import { must } from "../../assert.ts";
import { ClientIdRow } from "../../core/protocol/snapshot-schema.ts";
import { decodeMessage } from "../../wire/codec.ts";
import { viewOf } from "../../wire/record.ts";
import { DatabaseCorruptError } from "../files/genesis.ts";
import { ClientIdFilter } from "./client-id-filter.ts";
import { type Database, openDatabase } from "./database.ts";
import type { Key } from "./table.ts";

/** Of one read transaction. */
const ROWS_PER_STEP = 10_000;
/** How LMDB's errors about damaged pages begin. */
const LMDB_ERROR = /^MDB_(?!READERS_FULL)/;
// Exit codes.
const DAMAGED = 1;
const NOT_DONE = 2;

/**
 * Child program of past-rows-check.ts. Arguments: the folder, and how many client order ids there are at most. Checks every row
 * that a start leaves on disk, and prints a filter of the client order ids.
 */
try {
  // Opened in a moment, since the exchange commits meanwhile: see Database.requireLatest().
  const database = openDatabase(must(process.argv[2], "the folder"), { readOnly: true });
  setPriority(constants.priority.PRIORITY_LOW);
  const filter = new ClientIdFilter(ClientIdFilter.allocate(Number(process.argv[3])));
  filter.chooseHashes();
  check(database, filter);
  process.stdout.write(filter.bytes);
} catch (error) {
  const { message } = error as Error;
  process.stderr.write(`${message}\n`);
  process.exitCode = error instanceof DatabaseCorruptError || LMDB_ERROR.test(message) ? DAMAGED : NOT_DONE;
}

function check(database: Database, filter: ClientIdFilter): void {
  const { pastRows } = database;
  pastRows.requireAllKeys();
  const add = (_key: Key, rows: Uint8Array): void => {
    const row = decodeMessage(viewOf(rows), rows, 0);
    if (row.type !== ClientIdRow.code) return;
    const { accountId, clientOrderId } = row as unknown as { accountId: number; clientOrderId: string };
    filter.add(accountId, clientOrderId);
  };
  const parent = process.ppid;
  let last: Key | null = null;
  do {
    // The exchange was killed, and nobody waits for the result.
    if (process.ppid !== parent) process.exit(NOT_DONE);
    database.refresh();
    last = pastRows.verifyAfter(last, ROWS_PER_STEP, add);
  } while (last !== null);
}
