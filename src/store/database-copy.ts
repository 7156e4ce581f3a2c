import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { open } from "lmdb";
import { DEFAULT_MAP_BYTES } from "./database.ts";

/**
 * Copies the database in the folder `from` into a new folder `to`: one state of it, as of some moment of the call, also
 * while another process writes (LMDB knows its readers by the lock file beside the database). Looks into no table, so it
 * copies damage as it is. On disk when it resolves; its name is not, that is for the caller to sync.
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
  } finally {
    await root.close();
  }
  const fd = openSync(join(to, "data.mdb"), "r+");
  fsyncSync(fd);
  closeSync(fd);
}
