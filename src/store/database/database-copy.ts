import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { open } from "lmdb";
import { DEFAULT_MAP_BYTES } from "./database.ts";

/** The copy could not be written: nothing is said about what was copied. */
export class DatabaseCopyError extends Error {
  override name = "DatabaseCopyError";
}

/** Of what went wrong LMDB tells the text alone: its own begin so, and the other is the system's of a file that was cut short. */
const IN_THE_SOURCE = /^(MDB_|Bad address)/;

/**
 * Copies the database in the folder `from` into a new folder `to`: one state of it, as of some moment of the call, also
 * while another process writes (LMDB knows its readers by the lock file beside the database). Looks into no table, so it
 * copies damage as it is. On disk when it resolves; its name is not, that is for the caller to sync.
 * Throws DatabaseCopyError when the disk does not take it.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  mkdirSync(to);
  const root = open(from, {
    readOnly: true,
    mapSize: DEFAULT_MAP_BYTES,
    encoding: "binary",
    cache: false,
    overlappingSync: false,
  });
  try {
    await root.backup(to, false);
  } catch (error) {
    const { message } = error as Error;
    throw IN_THE_SOURCE.test(message) ? error : new DatabaseCopyError(`${to}: ${message}`, { cause: error });
  } finally {
    await root.close();
  }
  const fd = openSync(join(to, "data.mdb"), "r+");
  fsyncSync(fd);
  closeSync(fd);
}
