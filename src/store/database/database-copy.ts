import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { open } from "lmdb";
import { DEFAULT_MAP_BYTES } from "./database.ts";

/** The copy could not be written. This says nothing about the source. */
export class DatabaseCopyError extends Error {
  override name = "DatabaseCopyError";
}

/** LMDB's errors have only a text. Its own begin with MDB_. The other is the system's for a source file that was cut short. */
const SOURCE_ERROR = /^(MDB_|Bad address)/;

/**
 * Copies the database in the folder `from` to the new folder `to`: one consistent state, as of some moment during the call.
 * Another process may write meanwhile: LMDB knows its readers by the lock file beside the database. Does not read tables, so
 * it copies damage as it is. The content is durable when it resolves. The caller must sync the parent directory. Throws
 * DatabaseCopyError if the copy cannot be written.
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
    throw SOURCE_ERROR.test(message) ? error : new DatabaseCopyError(`${to}: ${message}`, { cause: error });
  } finally {
    await root.close();
  }
  const fd = openSync(join(to, "data.mdb"), "r+");
  fsyncSync(fd);
  closeSync(fd);
}
